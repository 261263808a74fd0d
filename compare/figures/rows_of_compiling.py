"""Rows about what compiles, when, and how it is looked at: clusters, limits, recompilation, dumps, exports."""

from __future__ import annotations

from compare.figures.further_readings import (
    cast,
    cluster_readings,
    counted_operations,
    exported_error,
    files_in,
    in_blocks,
    ledger,
    limits_that,
    outcomes,
    replay_readings,
    sentences,
)
from compare.figures.readings import BYTES, SECONDS, OfRun, reading, value_at
from compare.figures.row import ANY, UNKNOWN, Claim, Experiment, Row
from compare.figures.verdict_rules import Counts, Faster, Within

_TOY = (
    "import tensorflow as tf; g = lambda x: tf.sin(x) * 2 + tf.cos(x) * x; "
    "tf.function(lambda x: g(tf.unique(g(x))[0]))(tf.ones(8))"
)
"""Two runs of operations that compile, with one between them that autoclustering leaves out."""

_EXAMPLE = OfRun("running_example", "default")
_STEP = OfRun("mnist_mlp", "smoke")
_PIPELINE = OfRun("focalnet_pipeline", "smoke")
_CALLS = (
    "tf: a call that compiles",
    "tf: a call that does not",
    "jax: a call that compiles",
    "jax: a call that does not",
)
_LIMITS = ("unique", "decode_jpeg", "read_file")
_RAISES = tuple(f"{name} raises in tf/jit" for name in _LIMITS)
_OPCODES = "the documents count a round number, ours are opcodes that calls became"
_TYPES = ("tf/eager", "tf/jit", "jax/jit")

_RUNNERS = ("jaxlib alone", "C++ and PJRT's C API", "C++ and TensorFlow's C API")

_BLOCKS = [in_blocks("elementwise_chain", mode, 16) for mode in ("tf/graph", "tf/eager", "jax/eager")]

ROWS = (
    Row(
        "S16", "autoclustering: what became a cluster, what stayed out, and edits that change it",
        (
            Claim("A B C D E", "", ("clusters", "nodes in clusters", "nodes")),
            Claim("A B C D E", "", ("edits that cut clusters as stated", "edits that do not")),
        ),
        (
            Experiment(("jaxport compilation clusters mnist_mlp --size smoke",), cluster_readings("mnist_mlp")),
            Experiment(
                ("jaxport lookup limits clustering",),
                (limits_that("edits that cut clusters as stated", True, "clustering"),
                 limits_that("edits that do not", False, "clustering")),
            ),
        ),
    ),
    Row(
        "S17", "which blocks to compile: runs of small kernels, and larger blocks win",
        tuple(
            Claim("A C", "larger blocks are faster", tuple(figure.name for figure in figures), ANY,
                  Faster(figures[-1].name))
            for figures in _BLOCKS
        ),
        (Experiment(
            ("jaxport crossing blocks elementwise_chain --blocks 1,16 --pairs 8",),
            tuple(figure for figures in _BLOCKS for figure in figures),
        ),),
    ),
    Row(
        "S18", "operations that do not compile, and how many do",
        (
            Claim("A C D E", "about 1500 operations, about 500 of them compilable",
                  ("operations", "operations with a kernel for XLA"), ANY,
                  Counts({"operations": 1500, "operations with a kernel for XLA": 500}, 0.15),
                  "ours are those that tf.raw_ops has"),
            Claim("A C D E", "about 50 operations of HLO", ("opcodes of HLO",), ANY,
                  Counts({"opcodes of HLO": 50}, 0.15), _OPCODES),
            Claim("A C D E", "read_file, decode_jpeg and tf.unique do not compile", _RAISES, ANY,
                  Counts(dict.fromkeys(_RAISES, 1)),
                  "1 stands for an error of jit_compile=True, 0 for a result: tf.unique compiles today"),
        ),
        (
            Experiment(("jaxport lookup ops",), counted_operations()),
            Experiment(
                (f"jaxport lookup limits {' '.join(_LIMITS)}",),
                tuple(outcome for name in _LIMITS for outcome in outcomes(name, "tf/jit")),
            ),
        ),
    ),
    Row(
        "S19", "static shapes: a cached program is found, a new shape compiles, and what that takes",
        (
            Claim("A C E", "one compilation for each shape", ("tf: compilations", "jax: compilations"),
                  ANY, Counts({"tf: compilations": 3, "jax: compilations": 3}),
                  "5 calls have 3 shapes"),
            Claim("A C E", "", _CALLS),
        ),
        (
            Experiment(
                ("jaxport compilation recompiles cumsum --no-cures",),
                (*ledger("cumsum", "tf"), *ledger("cumsum", "jax")),
            ),
        ),
    ),
    Row(
        "S20", "arguments that must be constant: the axis of argmax, a static argument in JAX",
        (Claim("A C", "one compilation for each axis", ("tf: compilations", "jax: compilations"), ANY,
               Counts({"tf: compilations": 2, "jax: compilations": 2}),
                  "4 calls have 2 axes"),),
        (
            Experiment(
                ("jaxport compilation recompiles argmax --no-cures",),
                (*ledger("argmax", "tf"), *ledger("argmax", "jax")),
            ),
        ),
    ),
    Row(
        "S21", "inspection: the stages of a program, fusions and aliasing verified",
        (
            Claim("A C", "", ("stages of TensorFlow", "stages of JAX", "fusions of tf/jit", "kernels of tf/jit")),
            Claim("A C", "", ("bytes of jax/donated that overwrite an argument", "bytes of tf/jit that do")),
        ),
        (
            Experiment(
                ("jaxport run running_example --size default --parity-size smoke --no-timing",),
                (
                    _EXAMPLE.of("stages of TensorFlow", "", lambda part: len(value_at(part, "stages", "tf"))),
                    _EXAMPLE.of("stages of JAX", "", lambda part: len(value_at(part, "stages", "jax"))),
                    _EXAMPLE.number("fusions of tf/jit", "", "compiled", "tf@tf", "fusions"),
                    *_EXAMPLE.kernels("tf/jit"),
                ),
            ),
            Experiment(
                ("jaxport bench mnist_mlp --size smoke --modes tf/jit jax/donated --pairs 1 --max-pairs 1 --budget 0.2 "
                 "--threads all --phases 1 --no-limits --no-peers --no-alignment",),
                (
                    _STEP.number("bytes of jax/donated that overwrite an argument", BYTES,
                                 "phases", "jax/donated", "memory", "alias_bytes"),
                    _STEP.number("bytes of tf/jit that do", BYTES, "phases", "tf/jit", "memory", "alias_bytes"),
                ),
            ),
        ),
    ),
    Row(
        "S22", "a dump directory: its files, and the clusters that they belong to",
        (
            Claim("A B C E", "a toy model: 2 clusters", ("clusters dumped",), UNKNOWN, Counts({"clusters dumped": 2})),
            Claim("B", "a toy model: 18 files", ("files dumped",), UNKNOWN, Counts({"files dumped": 18}),
                  "the toy model is ours, and each release of XLA writes other files"),
        ),
        (Experiment(
            (f'jaxport compilation launch --auto-jit -o launched -- python -c "{_TOY}"', "jaxport dump launched/xla"),
            (
                reading("clusters dumped", "", lambda data: sum(
                    module["cluster"] is not None for module in value_at(data, "modules")
                )),
                files_in("files dumped", "launched/xla"),
            ),
        ),),
    ),
    Row(
        "S23", "from the longest operation to its instruction and source line",
        (Claim("B", "", ("share of the longest kernel", "source lines of the longest kernel", "kernels with a time")),),
        (Experiment(
            ("jaxport run focalnet_pipeline --size smoke --modes tf/jit --no-timing --no-alignment",),
            (
                _PIPELINE.number("share of the longest kernel", "", "compiled", "jax@jax", "times", 0, "share"),
                _PIPELINE.of("source lines of the longest kernel", "",
                             lambda part: len(value_at(part, "compiled", "jax@jax", "times", 0, "sources"))),
                _PIPELINE.of("kernels with a time", "",
                             lambda part: len(value_at(part, "compiled", "jax@jax", "times"))),
            ),
        ),),
    ),
    Row(
        "S25", "a bug report that another person can reproduce: dumps, clustering, one module replayed",
        (Claim("E", "", ("files in the bundle", "modules replayed", "results", "results that differ")),),
        (Experiment(
            ("jaxport bugreport mnist_mlp --size smoke -o bundle", "jaxport replay bundle"),
            (files_in("files in the bundle", "bundle"), *replay_readings()),
        ),),
    ),
    Row(
        "S26", "the cache of compiled programs, the time to compile, buffers in place, the size of the code",
        (
            Claim("D", "compiling takes seconds",
                  ("seconds to compile tf/jit", "seconds to compile jax/jit", "jax/jit from a filled cache"), UNKNOWN,
                  Within("seconds to compile tf/jit", 1, 60, SECONDS),
                  "our model is a small one"),
            Claim("D", "", ("code of tf/jit", "code of jax/jit", "bytes of tf/jit in place",
                            "bytes of jax/donated in place", "files in JAX's cache")),
        ),
        (Experiment(
            ("jaxport bench mnist_mlp --size smoke --modes tf/jit jax/donated --pairs 1 --max-pairs 1 --budget 0.2 "
             "--threads all --phases 3 --no-limits --no-peers --no-alignment",),
            (
                *(_STEP.number(f"seconds to compile {mode}", SECONDS, "phases", mode, "cold", "compile_s")
                  for mode in ("tf/jit", "jax/jit")),
                _STEP.number("jax/jit from a filled cache", SECONDS, "phases", "jax/jit", "cached", "compile_s"),
                *(_STEP.number(f"code of {mode}", BYTES, "phases", mode, "code_bytes")
                  for mode in ("tf/jit", "jax/jit")),
                *(_STEP.number(f"bytes of {mode} in place", BYTES, "phases", mode, "memory", "alias_bytes")
                  for mode in ("tf/jit", "jax/donated")),
                _STEP.number("files in JAX's cache", "", "phases", "jax/jit", "cache", "entries"),
            ),
        ),),
    ),
    Row(
        "S27", "feedback: which parts were compiled, and why a speed-up is missing",
        (Claim("D", "", ("sentences with a measurement",)),),
        (Experiment(("jaxport explain mnist_mlp --size smoke --pairs 5 --budget 1",), (sentences(),)),),
    ),
    Row(
        "S28", "a serialized computation that runs without Python or TensorFlow",
        (
            Claim("A C D", "", ("files of the SavedModel", *(f"error of the example, by {name}" for name in _RUNNERS)),
                  remark="PJRT's library needs neither Python nor TensorFlow, TensorFlow's C library no Python"),
        ),
        (
            Experiment(
                ("jaxport export mnist_mlp --size smoke -o exported", "python exported/run.py"),
                (files_in("files of the SavedModel", "exported/saved_model"), exported_error(_RUNNERS[0])),
            ),
            *(
                Experiment(
                    ("jaxport export mnist_mlp --size smoke -o exported", f"sh exported/run_cpp.sh {program}"),
                    (exported_error(name),),
                )
                for name, program in zip(_RUNNERS[1:], ("stablehlo", "saved_model"), strict=True)
            ),
        ),
    ),
    Row(
        "S29", "explicit placement on a device against automatic; several data types",
        (
            Claim("D", "", tuple(f"types that {mode} takes" for mode in _TYPES)),
            Claim("D", "explicit against automatic placement",
                  absent="two logical devices of a CPU are two devices, and a program can be placed on either; both "
                         "are the same cores, so that no time of ours says which placement is better"),
        ),
        (Experiment(
            ("jaxport lookup datatypes running_example --size smoke --types f32 f64 f16 bf16 i32",),
            tuple(cast("running_example", mode) for mode in _TYPES),
        ),),
    ),
)  # fmt: skip
