"""Rows about models: convolutions, recurrent layers, translation, the Model Garden, batches, Keras, stages."""

from __future__ import annotations

from compare.figures.further_readings import (
    DISABLED,
    growth,
    largest_batches,
    largest_measured,
    without_and_with_fusion,
)
from compare.figures.readings import OfRun
from compare.figures.row import ANY, GPU, UNKNOWN, Claim, Experiment, Row
from compare.figures.verdict_rules import Less, SpeedUp

_TF_MODES = ("tf/graph", "tf/autocluster", "tf/jit")
_ON_CPU = "ours is of a CPU"


def _timing(
    name: str, size: str, label: str = "", modes: tuple[str, ...] = _TF_MODES, parity: str = "smoke"
) -> Experiment:
    run = OfRun(name, size, label)
    compiled = tuple(mode for mode in (*modes, "jax/jit") if mode != "tf/graph")
    # The record holds jax/jit over tf/graph, and every mode of TensorFlow over tf/graph.
    return Experiment(
        (
            f"jaxport run {name} --size {size} --parity-size {parity} --modes {' '.join(modes)} --pairs 5 --budget 1 "
            "--no-alignment",
        ),
        run.speed_ups("tf/graph", *compiled),
    )


def _faster(documents: str, statement: str, low: float, high: float | None = None, label: str = "",
            mode: str = "tf/jit", hardware: str = UNKNOWN, remark: str = _ON_CPU) -> Claim:  # fmt: skip
    prefix = f"{label}: " if label else ""
    figure = f"{prefix}{mode} faster than tf/graph"
    also = f"{prefix}jax/jit faster than tf/graph"
    return Claim(documents, statement, (figure, also), hardware, SpeedUp(figure, low, high), remark)


_GARDEN = {"bert": "BERT", "translation": "Transformer", "resnet50": "ResNet-50", "mask_rcnn": "Mask R-CNN"}
_REDUCED = "mixed_bfloat16"
_REDUCED_ON_CPU = "ours is of a CPU, in bfloat16"


def _garden() -> tuple[Claim, ...]:
    return tuple(
        claim
        for label in _GARDEN.values()
        for claim in (
            _faster("A C", f"{label}: jit 1.3x to 1.9x", 1.3, 1.9, label, hardware=GPU, remark=_REDUCED_ON_CPU),
            _faster("A C", f"{label}: autocluster 1.2x to 1.5x, one case slower", 1.2, 1.5, label, "tf/autocluster",
                    GPU, _REDUCED_ON_CPU),
        )
    )  # fmt: skip


_CELL = OfRun("lstm_cell", "default", "cell")
_KERAS = OfRun("mnist_mlp", "smoke")
_PIPELINE = OfRun("focalnet_pipeline", "smoke")
_INTERMEDIATES = ("intermediates on A100 without fusion", "intermediates on A100 with fusion")

ROWS = (
    Row(
        "S7", "a convolutional model on MNIST",
        (_faster("D", "+20 %", 1.2),),
        (_timing("conv_mnist", "default"),),
    ),
    Row(
        "S8", "LSTM layers of 100 and of 200 units, and the simple cell, all of composed primitives",
        (
            _faster("D", "100 units: +80 %", 1.8, label="100 units"),
            _faster("D", "200 units: +80 %", 1.8, label="200 units"),
            Claim("D", "a small cell: up to 40x",
                  ("cell: tf/jit faster than tf/graph", "cell: tf/jit faster than tf/eager",
                   "cell: jax/jit faster than tf/graph"),
                  UNKNOWN, SpeedUp("cell: tf/jit faster than tf/graph", 40), _ON_CPU),
        ),
        (
            _timing("lstm", "default", "100 units"),
            _timing("lstm", "paper", "200 units"),
            Experiment(
                ("jaxport run lstm_cell --size default --modes tf/graph tf/jit --pairs 5 --budget 1 --no-alignment",),
                (*_CELL.speed_ups("tf/graph", "tf/jit", "jax/jit"), *_CELL.speed_ups("tf/eager", "tf/jit")),
            ),
        ),
    ),
    Row(
        "S9", "a translation model",
        (
            _faster("D", "+20 %", 1.2, label="recurrent"),
            _faster("D", "+20 %", 1.2, label="Transformer"),
        ),
        (_timing("seq2seq", "smoke", "recurrent"), _timing("translation", "smoke", "Transformer")),
    ),
    Row(
        "S10", "a set of the Model Garden at reduced precision: plain, with autoclustering, with jit_compile",
        (
            *_garden(),
            Claim("A C", "a second set: 1.3x to 1.7x", hardware=GPU,
                  absent="which models the second set holds is not known to us"),
        ),
        tuple(_timing(name, _REDUCED, label, parity=_REDUCED) for name, label in _GARDEN.items()),
    ),
    Row(
        "S11", "larger batches, made possible by the smaller memory of fused code",
        (
            Claim("C", "fused code takes less memory", ("bytes an example in tf/graph", "bytes an example in tf/jit"),
                  GPU, Less("bytes an example in tf/jit", "bytes an example in tf/graph"), _ON_CPU),
            Claim("C", "larger batches fit", ("largest batch in tf/graph", "largest batch in tf/jit"), GPU,
                  Less("largest batch in tf/graph", "largest batch in tf/jit"), f"{_ON_CPU}, within 256 MiB"),
            Claim("C", "fused code takes less memory", (*_INTERMEDIATES, "largest batch of tf's program on A100",
                                                        "largest batch of jax's program on A100"), GPU,
                  Less(_INTERMEDIATES[1], _INTERMEDIATES[0]), "both programs of the largest batches are fused"),
        ),
        (
            Experiment(
                (
                    "jaxport bench mnist_mlp --size default --modes tf/graph tf/jit --pairs 1 --max-pairs 1 "
                    "--budget 0.2 --threads all --phases 0 --no-limits --no-peers --no-alignment "
                    "--batches 1024,4096,8192,16384,32768,65536 --memory-limit 256M",
                ),
                tuple(
                    read("mnist_mlp", mode) for mode in ("tf/graph", "tf/jit") for read in (largest_measured, growth)
                ),
            ),
            Experiment(
                ("jaxport hlo mnist_mlp --size default --target A100 --largest-batch",),
                largest_batches("mnist_mlp", "A100"),
            ),
            Experiment(
                (f"jaxport tune mnist_mlp --size default --target A100 --option {DISABLED}",),
                without_and_with_fusion("mnist_mlp", "A100"),
            ),
        ),
    ),
    Row(
        "S12", "Keras: model.compile(jit_compile=True)",
        (
            Claim("E", "", ("tf/keras faster than tf/graph", "kernels of tf/keras", "kernels of tf/graph")),
            Claim("E", "", ("tf/keras faster than tf/keras-graph", "kernels of tf/keras-graph"),
                  remark='jit_compile=False, which is what jit_compile="auto" is on a CPU'),
            Claim("E", "", ("tf/keras-steps faster than tf/keras", "kernels of tf/keras-steps"),
                  remark="steps_per_execution=8, told by the step"),
        ),
        (Experiment(
            ("jaxport run mnist_mlp --size smoke --modes tf/keras tf/keras-graph tf/keras-steps tf/graph tf/jit "
             "--pairs 5 --budget 1 --no-alignment",),
            (
                *_KERAS.speed_ups("tf/graph", "tf/keras"), *_KERAS.speed_ups("tf/keras-graph", "tf/keras"),
                *_KERAS.speed_ups("tf/keras", "tf/keras-steps"),
                *_KERAS.kernels("tf/keras", "tf/keras-graph", "tf/keras-steps", "tf/graph"),
            ),
        ),),
    ),
    Row(
        "S24", "a staged vision pipeline around a FocalNet: patches, preprocessing, three stages",
        (Claim("B", "", ("tf/jit faster than tf/graph", "jax/jit faster than tf/graph", "gates of parity that hold"),
               ANY),),
        (Experiment(
            ("jaxport run focalnet_pipeline --size smoke --modes tf/graph tf/jit --pairs 5 --budget 1 --no-alignment",),
            (*_PIPELINE.speed_ups("tf/graph", "tf/jit", "jax/jit"), _PIPELINE.gates()),
        ),),
    ),
)  # fmt: skip
