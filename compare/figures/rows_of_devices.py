"""Rows about several devices: a collective step, the update left outside of what is compiled, all of it together."""

from __future__ import annotations

from compare.figures.readings_of_devices import compilations, holding, steps_that_run, transfers, written_times
from compare.figures.row import ANY, Claim, Experiment, Row
from compare.figures.verdict_rules import Counts

_ON_TWO = "compilations of tf/mirrored on 2 devices"
_REFUSED = (
    "compiled is the gradient: of the whole step TensorFlow says on logical CPUs that its variables lie on another "
    "device; JAX compiles one program for all devices"
)
_ON_GPUS = (
    "logical CPUs refuse even the all_reduce alone, at a variable of MirroredStrategy; where all devices are GPUs "
    "TensorFlow's source takes another way, which none of ours tried"
)
_TIMES = ("a batch", "a step", "a batch and its step")
_TRAININGS = {
    "tf": ("train_tf.py", "tf.data and MirroredStrategy"),
    "jax": ("train_jax.py", "tf.data and a step over a mesh"),
    "jax with Grain": ("train_jax.py grain", "Grain and a step over a mesh"),
}
_STRATEGIES = ("tf/mirrored", "jax/shard_map")

ROWS = (
    Row(
        "S13", "a collective training step: jit_compile within MirroredStrategy",
        (Claim("A C E", "one compilation a device", (_ON_TWO, "compilations of jax/spmd on 2 devices"), ANY,
               Counts({_ON_TWO: 2}), _REFUSED),
         Claim("A C E", "", ("whole steps with all_reduce that run uncompiled",
                             "compiled steps or exchanges that run (4 were tried)"), remark=_ON_GPUS)),
        (Experiment(
            ("jaxport distribute mnist_mlp --size default --steps 2 --no-timing --strategies tf/mirrored "
             "tf/mirrored-compiled jax/spmd",),
            tuple(compilations("mnist_mlp", strategy, 2) for strategy in ("tf/mirrored", "jax/spmd")),
        ), Experiment(("python examples/distribution/replica_all_reduce.py",), steps_that_run())),
    ),
    Row(
        "S14", "collectives that do not compile: the gradients compiled, the update left outside",
        (Claim("A C", "", tuple(f"{before}{strategy}{after}" for strategy in _STRATEGIES for before, after in
                                (("steps of ", " that hold"), ("exchanges in a step of ", "")))),),
        (Experiment(
            ("jaxport distribute mnist_mlp --size default --no-timing --strategies tf/mirrored jax/shard_map",),
            tuple(read("mnist_mlp", strategy) for strategy in _STRATEGIES
                  for read in (holding, transfers)),
        ),),
    ),
    Row(
        "S15", "a data pipeline, distribution, mixed precision and XLA in one example",
        tuple(
            Claim("A", "", tuple(f"{label}: time of {what}" for what in _TIMES), remark=remark)
            for label, (_, remark) in _TRAININGS.items()
        ),
        tuple(Experiment((f"python examples/input_pipeline/{script}",), written_times(label, _TIMES))
              for label, (script, _) in _TRAININGS.items()),
    ),
)  # fmt: skip
