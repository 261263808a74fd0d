"""Several training steps in one compiled program."""

from workloads.core.spec import ArraySpec
from workloads.limits._statement import LECTURE, Statement, outcomes

BATCHES = {
    "weight": ArraySpec((8, 4), scale=0.5), "x": ArraySpec((5, 16, 8)), "y": ArraySpec((5, 16, 4)),
}  # fmt: skip

STATEMENTS = (
    Statement(
        "training_steps_in_a_loop",
        "five training steps, gradients and updates of a variable, in one tf.range loop",
        "The larger the compiled block, the better: a whole training step is compiled, and several of them can be.",
        LECTURE,
        BATCHES,
        says={"tf/jit": "same"},
        seen=outcomes(),
        port="jax.lax.scan over the batches",
    ),
)  # fmt: skip
