"""The file names that XLA gives to what it dumps: a small regular grammar. Pure.

A name is [timestamp.]module_NUMBER.NAME.TAIL. NAME may hold dots (TensorFlow's ends in ".2"), and so may TAIL:
the tails that cannot be mistaken are read first, and the names found there divide every other file name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

BEFORE, AFTER = "before_optimizations", "after_optimizations"

STAGE, PASS, REPORT, LLVM, MLIR, PTX, OBJECT = "stage", "pass", "report", "llvm", "mlir", "ptx", "object"
THUNKS, THUNK_NAMES, OPTIONS, INPUT = "thunks", "thunk names", "options", "input"
SNAPSHOT, PICTURE, LOG, OTHER = "snapshot", "picture", "log", "other"
PARTITIONED, CONFIG, GPU, TUNED = "partitioned", "config", "gpu", "tuned"

KINDS: Mapping[str, str] = {
    STAGE: "HLO before or after all passes",
    PASS: "HLO between two passes",
    REPORT: "buffers and memory",
    LLVM: "LLVM IR",
    MLIR: "MLIR of one kernel",
    PTX: "PTX",
    OBJECT: "machine code",
    THUNKS: "thunk sequence",
    THUNK_NAMES: "instructions of thunks",
    OPTIONS: "debug options",
    INPUT: "what the frontend handed over",
    SNAPSHOT: "program with inputs",
    PICTURE: "drawing of a graph",
    LOG: "passes over the MLIR of one kernel",
    PARTITIONED: "HLO after it was divided among devices",
    CONFIG: "how the module was to be compiled",
    GPU: "GPU that it was compiled for",
    TUNED: "kernels that autotuning chose",
    OTHER: "not read",
}

_HEAD = r"(?:(?P<timestamp>\d+)\.)?module_(?P<number>\d{4,})"
# A platform such as "cpu", "gpu" or "sm_9.0a_gpu" stands before a stage that is not the first.
_STAGE = rf"(?:(?P<platform>(?:sm_[\d.]+[a-z]?_)?[A-Za-z0-9]+)_)?(?P<stage>{BEFORE}|{AFTER})"
_FORMAT = r"(?P<format>txt|hlo\.pb|hlo\.pb\.gz)"
_PASS = r"(?P<order>\d{4})\.(?P<pipeline>[^.]+)\.after_(?P<after>[^.]+?)(?:\.before_(?P<before>[^.]+))?"
_PICTURE = r"(?:\w+\.)?(?:dot|html|url)"
_TAILS = {
    STAGE: rf"{_STAGE}\.{_FORMAT}",
    PASS: rf"{_PASS}\.{_FORMAT}",
    REPORT: (
        rf"{_STAGE}-(?P<detail>buffer-assignment|buffer-assignment-values|live-range|memory-usage-report)"
        r"\.(?P<format>txt|pb|pb\.gz)"
    ),
    OPTIONS: r"debug_options",
    LLVM: r"(?:(?P<kernel>.+)\.)?ir-(?P<detail>no-opt|with-opt)(?:-noconst)?\.ll",
    MLIR: r"(?P<kernel>.+?)(?:-(?P<detail>pre-optimization|post-optimization|post-lowering))?\.mlir",
    PTX: r"(?:(?P<kernel>.+)\.)?ptx",
    OBJECT: r"obj-file\.(?P<kernel>.+)\.o",
    # The first is the name that XLA gave it until 2023, the second that of 2024, before it had an ending.
    THUNKS: r"(?P<detail>thunk_schedule|thunk_sequence(?:_after_thunk_passes)?)(?:\.txt)?",
    THUNK_NAMES: r"thunk_metadata\.txt",
    SNAPSHOT: r"(?:snapshot\.-?\d+|execution_\d+\.hlo_unoptimized_snapshot)\.(?:pb(?:\.gz)?|txt)",
    LOG: r"(?P<kernel>.+)\.mlir-passes\.log",
    PARTITIONED: r"after_spmd_partitioner\.(?:txt|hlo\.pb)",
    CONFIG: r"config\.pbtxt",
    GPU: r"gpu_target_config\.pbtxt",
    TUNED: r"autotune_results\.pbtxt",
    PICTURE: rf"(?:{_STAGE}|{_PASS})\.{_PICTURE}",
}
_PATTERNS = {kind: re.compile(tail) for kind, tail in _TAILS.items()}
_SURE = (STAGE, PASS, REPORT, OPTIONS)
_WHOLE = [re.compile(rf"{_HEAD}\.(?P<name>.+?)\.{_TAILS[kind]}") for kind in _SURE]
_START = re.compile(rf"{_HEAD}\.(?P<rest>.+)", re.DOTALL)
# Drawings of fusions have the name of the computation first.
_FUSIONS = re.compile(rf".+?\.{_HEAD}\.(?P<name>.+)\._fusion\.html", re.DOTALL)
# What stands first in a rest that no sure tail divides; TensorFlow's generated names end in "_" and ".NUMBER".
_FIRST = re.compile(r"(?P<name>[^.]+_\.\d+|[^.]+)(?:\.(?P<tail>.+))?", re.DOTALL)

Key = tuple[int, str]
"""A module: its number and its name."""


@dataclass(frozen=True)
class FileName:
    """The parts of a file name: the module, the kind of file (one of KINDS), and named details.

    `details` may hold stage, platform, format, order, pipeline, after, before, kernel, detail.
    """

    number: int
    name: str
    kind: str
    tail: str
    details: Mapping[str, str]
    timestamp: str = ""


def find_modules(names: Iterable[str]) -> frozenset[Key]:
    """The modules of all files whose names have an unambiguous tail."""
    matches = (pattern.fullmatch(name) for name in names for pattern in _WHOLE)
    return frozenset((int(match["number"]), match["name"]) for match in matches if match)


def parse(filename: str, modules: frozenset[Key] = frozenset()) -> FileName | None:
    """Read one file name; None where it is no module's.

    Args:
      modules: what `find_modules` found in all names of the directory.
    """
    picture = _FUSIONS.fullmatch(filename)
    if picture:
        return FileName(int(picture["number"]), picture["name"], PICTURE, "_fusion.html", {})
    start = _START.fullmatch(filename)
    if start is None:
        return None
    number, rest = int(start["number"]), start["rest"]
    name, tail = _divide(rest, [name for owner, name in modules if owner == number])
    kind, details = _read(tail)
    return FileName(number, name, kind, tail, details, start["timestamp"] or "")


def parse_folder(folder: str, modules: frozenset[Key]) -> Key | None:
    """The module that a folder of a directory belongs to, such as JAX writes; None where it is no module's."""
    start = _START.fullmatch(folder)
    if start is None or start["timestamp"]:
        return None
    key = (int(start["number"]), start["rest"])
    return key if key in modules or not any(owner == key[0] for owner, _ in modules) else None


def _divide(rest: str, names: list[str]) -> tuple[str, str]:
    """A module's name and the tail after it; of the names that fit, the longest."""
    fitting = [name for name in names if rest.startswith(f"{name}.")]
    if fitting:
        name = max(fitting, key=len)
        return name, rest[len(name) + 1 :]
    first = _FIRST.fullmatch(rest)
    return (first["name"], first["tail"] or "") if first else (rest, "")


def _read(tail: str) -> tuple[str, dict[str, str]]:
    for kind, pattern in _PATTERNS.items():
        match = pattern.fullmatch(tail)
        if match:
            return kind, {key: value for key, value in match.groupdict().items() if value}
    return OTHER, {}


# A function compiled inside another has no attributes after its number, such as Keras's training step.
_TENSORFLOW = re.compile(
    r"a_(?P<role>inference|forward)_(?:__(?P<backward>backward)_(?P<forward>.+?)_\d+|(?P<function>.+?))_\d+__.*",
    re.DOTALL,
)
_CLUSTER = re.compile(r"cluster_(?P<cluster>\d+)__XlaCompiledKernel_true.*", re.DOTALL)
_CALL = re.compile(
    r"__XlaMustCompile_(?P<must>true|false)_config_proto_(?P<config>\d+)_executor_type_(?P<executor>\d+)_"
)
_OF_NOTHING = str(0x9AE16A3B2F90404F)
"""TensorFlow's Fingerprint64, FarmHash, of an empty string: its constant k2."""

_JAX = re.compile(r"(?:jit|pmap)_(?P<function>.+)", re.DOTALL)
# Both frameworks write a lambda's "<lambda>" with what a file name cannot hold replaced or dropped.
_LAMBDAS = ("_lambda", "_lambda_")


@dataclass(frozen=True)
class Origin:
    """The origin of a module: framework ("TensorFlow", "JAX" or ""), and its function or autocluster's number.

    `direction` is "forward" or "backward" where a tape split TensorFlow's function, else "".
    """

    framework: str = ""
    function: str = ""
    cluster: int | None = None
    direction: str = ""


def origin(name: str) -> Origin:
    """The origin of a module, by its name."""
    cluster, tensorflow, jax = (pattern.fullmatch(name) for pattern in (_CLUSTER, _TENSORFLOW, _JAX))
    if cluster:
        return Origin("TensorFlow", cluster=int(cluster["cluster"]))
    if tensorflow:
        forward = "forward" if tensorflow["role"] == "forward" else ""
        function = tensorflow["function"] or tensorflow["forward"]
        return Origin("TensorFlow", _spell(function), direction=tensorflow["backward"] or forward)
    return Origin("JAX", _spell(jax["function"])) if jax else Origin()


def attributes(name: str) -> dict[str, str]:
    """Attributes of the compiled call in a module's name, by TensorFlow's names; may be empty.

    TensorFlow puts fingerprints of `config_proto` and `executor_type` there: equal ones are equal settings, and only
    that of an empty text can be read back.
    """
    call = _CALL.search(name)
    if call is None:
        return {}
    executor = "default" if call["executor"] == _OF_NOTHING else f"fingerprint {call['executor']}"
    return {
        "_XlaMustCompile": call["must"],
        "config_proto": "empty" if call["config"] == _OF_NOTHING else f"fingerprint {call['config']}",
        "executor_type": executor,
    }


def _spell(function: str) -> str:
    return "<lambda>" if function in _LAMBDAS else function
