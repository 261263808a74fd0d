"""Loops whose number of turns is decided by values, and loops whose variables change their shapes."""

from workloads.core.spec import ArraySpec
from workloads.limits._statement import DOCUMENTATION, LECTURE, Raised, Statement, outcomes

X = {"x": ArraySpec((16,), low=1.0, high=2.0)}

STATEMENTS = (
    Statement(
        "while_loop",
        "tf.while_loop until a sum is large enough",
        "HLO has a loop of its own: control flow that depends on data is compiled.",
        LECTURE,
        X,
        says={"tf/jit": "same"},
        seen=outcomes(),
        port="jax.lax.while_loop",
    ),
    Statement(
        "autograph_while",
        "a Python `while` on a tensor, which AutoGraph turns into a loop of the graph",
        "AutoGraph turns a Python loop over tensors into a loop of the graph, which is compiled.",
        DOCUMENTATION,
        X,
        says={"tf/jit": "same"},
        seen=outcomes(naive="raises"),
        raises={"jax/naive": Raised("TracerBoolConversionError", "while")},
        port="jax.lax.while_loop: JAX rewrites no Python",
    ),
    Statement(
        "shape_that_grows_in_a_loop",
        "tf.while_loop whose tensor is twice as long after each turn",
        "Shapes are static: what a loop hands on has one shape.",
        DOCUMENTATION,
        X,
        says={"tf/jit": "raises"},
        seen=outcomes(jit="raises", naive="raises"),
        raises={
            "tf/jit": Raised("shapes of loop body do not match", "tf.while_loop"),
            "jax/naive": Raised("TypeError", "fori_loop"),
        },
        port="a Python loop, unrolled; or an array of the largest size that is written into",
    ),
)  # fmt: skip
