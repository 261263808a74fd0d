"""Rows about kernels and traffic: the running example, sums and vectors, the smallest module, a whole training step."""

from __future__ import annotations

from compare.figures.further_readings import DISABLED, without_and_with_fusion
from compare.figures.readings import BYTES, OfRun
from compare.figures.row import ANY, GPU, Claim, Experiment, Row
from compare.figures.verdict_rules import Counts, SpeedUp

_DEVICE = "A100"
_TF_MODES = ("tf/graph", "tf/autocluster", "tf/jit")
_MODES = ("tf/eager", *_TF_MODES, "jax/jit")
_KERNELS = tuple(f"kernels of {mode}" for mode in _MODES)
_ON_CPU = "ours is of a CPU, theirs of a GPU"
_SCALAR = "XLA without fusion broadcasts a scalar by a kernel of its own"
_SUM = "XLA for a GPU sums a large array by two kernels"
_VECTOR_BYTES = 4 * 4194304


def _timing(name: str, size: str) -> Experiment:
    run = OfRun(name, size)
    return Experiment(
        (
            f"jaxport run {name} --size {size} --parity-size smoke --modes {' '.join(_TF_MODES)} --pairs 5 --budget 1 "
            "--no-alignment",
        ),
        (
            *run.kernels(*_MODES),
            *run.speed_ups("tf/graph", "tf/jit", "tf/autocluster"),
            *run.speed_ups("tf/eager", "tf/jit"),
            *run.seconds(*_MODES),
            run.number("bytes of tf/jit, by XLA", BYTES, "compiled", "tf@tf", "bytes"),
            run.number("bytes of jax/jit, by XLA", BYTES, "compiled", "jax@jax", "bytes"),
        ),
    )


def _on_target(name: str, size: str, vector_bytes: int | None = None) -> Experiment:
    return Experiment(
        (f"jaxport tune {name} --size {size} --target {_DEVICE} --option {DISABLED}",),
        without_and_with_fusion(name, _DEVICE, vector_bytes),
    )


def _fusion_claims(documents: str, without: int, remark: str, hardware: str = GPU) -> tuple[Claim, Claim]:
    """Kernels by mode as a CPU ran them, and as XLA compiles them for a GPU."""
    statement = f"{without} kernels to 1"
    names = tuple(f"kernels on {_DEVICE} {word} fusion" for word in ("without", "with"))
    return (
        Claim(
            documents, statement, _KERNELS, hardware, Counts({"kernels of tf/graph": without, "kernels of tf/jit": 1}),
            "our kernels are those of a CPU",
        ),
        Claim(documents, statement, names, hardware, Counts({names[0]: without, names[1]: 1}), remark),
    )  # fmt: skip


_SMALLEST = OfRun("add", "default")
_STEP = OfRun("mnist_mlp", "smoke")
_COUNTED = OfRun("running_example", "default")

ROWS = (
    Row(
        "S1", "the mean of (x**2)*3 + y over 16384 x 16384, in every mode",
        (
            *_fusion_claims("A C", 4, f"{_SCALAR}; {_SUM}"),
            Claim(
                "A C", '11.178 ms in eager to 3.403 ms, "nearly 4x"',
                ("tf/jit faster than tf/eager", *(f"time of {mode}" for mode in _MODES)),
                GPU, SpeedUp("tf/jit faster than tf/eager", 11.178 / 3.403, 4), _ON_CPU,
            ),
            Claim("A C", "", ("tf/jit faster than tf/graph", "tf/autocluster faster than tf/graph"),
                  remark="the document's factor is over eager"),
        ),
        (_timing("running_example", "paper"), _on_target("running_example", "paper")),
    ),
    Row(
        "S2", "reduce_sum(x + y*z): one kernel with XLA, and no intermediate written",
        (
            *_fusion_claims("E", 3, _SUM, ANY),
            Claim(
                "E", "", ("bytes of tf/jit, by XLA", "bytes of jax/jit, by XLA",
                          f"bytes on {_DEVICE} without fusion", f"bytes on {_DEVICE} with fusion"),
                remark="TensorFlow counts no bytes of its graph mode: XLA without fusion stands in for it",
            ),
        ),
        (_timing("sum_of_products", "default"), _on_target("sum_of_products", "default")),
    ),
    Row(
        "S3", "a*x + y over vectors: two kernels against one fused",
        (
            *_fusion_claims("A C", 2, _SCALAR),
            Claim(
                "A C", "5 vectors read or written to 3",
                (f"vectors moved on {_DEVICE} without fusion", f"vectors moved on {_DEVICE} with fusion",
                 "bytes of tf/jit, by XLA"),
                GPU,
                Counts({f"vectors moved on {_DEVICE} without fusion": 5, f"vectors moved on {_DEVICE} with fusion": 3},
                       0.001),
                "without fusion XLA also writes and reads the scalar as a vector",
            ),
        ),
        (_timing("scale_and_add", "default"), _on_target("scale_and_add", "default", _VECTOR_BYTES)),
    ),
    Row(
        "S4", "the addition of two f32[100,100] as the smallest HLO module",
        (Claim("A C", "", ("operations that JAX hands to XLA", "operations that TensorFlow hands to XLA",
                           "instructions of the optimized module", "kernels of tf/jit", "kernels of jax/jit")),),
        (Experiment(
            ("jaxport run add --size default --no-timing",),
            (
                _SMALLEST.number("operations that JAX hands to XLA", "", "programs", "jax", "instructions"),
                _SMALLEST.number("operations that TensorFlow hands to XLA", "", "programs", "tf", "instructions"),
                _SMALLEST.number("instructions of the optimized module", "", "compiled", "tf@tf", "instructions"),
                *_SMALLEST.kernels("tf/jit", "jax/jit"),
            ),
        ),),
    ),
    Row(
        "S5", "kernels counted by a profiler in each mode, not only read off the HLO",
        (Claim("A C", "4 against 1", _KERNELS, GPU, Counts({"kernels of tf/graph": 4, "kernels of tf/jit": 1}),
               _ON_CPU),),
        (Experiment(
            ("jaxport run running_example --size default --parity-size smoke --no-timing --no-alignment",),
            _COUNTED.kernels(*_MODES),
        ),),
    ),
    Row(
        "S6", "the whole training step of an MNIST model compiled: forward, loss, gradients, update",
        (Claim("A C E", "", (*_KERNELS, "tf/jit faster than tf/graph", "gates of parity that hold")),),
        (Experiment(
            (f"jaxport run mnist_mlp --size smoke --modes {' '.join(_TF_MODES)} --pairs 5 --budget 1 --no-alignment",),
            (*_STEP.kernels(*_MODES), *_STEP.speed_ups("tf/graph", "tf/jit"), _STEP.gates()),
        ),),
    ),
)  # fmt: skip
