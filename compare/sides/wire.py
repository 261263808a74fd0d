"""How requests and replies are written: JSON lines for values, safetensors files for arrays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from compare.arrays import BYTES, PARTS, map_arrays
from compare.arrays import load_arrays as load_arrays
from compare.sides._side import Reply
from compare.writing import UnwrittenError
from workloads._framework import Donation, Optimized, Parameter, Program, Result, Twin
from workloads._spec import Arrays

CASES, WEIGHTS, BATCHES = "cases", "weights", "batches"

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", *BYTES),
)
"""What safetensors both writes and reads as NumPy arrays, complex128, and types of a byte."""

MAPPED_BYTES = 1 << 24
"""A reply of at least so much is not read into memory at once."""
ROOM = 8
"""How many files of its size a disk must have room for, for a file to stay there."""


def save_arrays(arrays: Arrays, path: Path) -> None:
    """Write arrays of DTYPES. Never pickle.

    Raises:
      TypeError: an array of another dtype.
      UnwrittenError: the disk is full, say.
    """
    kept = contiguous(arrays)
    try:
        save_file(kept, path)
    except SafetensorError as error:
        raise UnwrittenError(f"expected to write {path}, found {error}: make room, or write elsewhere") from error


def received_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a reply; many stay on disk, where there is room, until they are read.

    A judge holds what every mode returned at once: for a model of 30 million weights, more than 6 GB.

    Raises:
      SafetensorError, OSError: the file is broken or absent.
    """
    size = path.stat().st_size
    mapped = size >= MAPPED_BYTES and shutil.disk_usage(path.parent).free > size * ROOM
    return map_arrays(path) if mapped else load_arrays(path)[0]


def contiguous(arrays: Arrays) -> dict[str, np.ndarray]:
    """The arrays as safetensors wants them: in row-major order, scalars as scalars, what it lacks as what it has.

    Raises:
      TypeError: an array of a dtype that would not be read back.
    """
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise TypeError(f"expected {name!r} of a dtype of {', '.join(DTYPES)}, found {array.dtype}: cast it")
    return dict(_parted(name, np.asarray(array, order="C")) for name, array in arrays.items())


def _parted(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if array.dtype.name in BYTES:
        return f"{name}#{array.dtype.name}", array.view(np.uint8)
    if array.dtype != np.complex128:
        return name, array
    return f"{name}{PARTS}", array[..., None].view(np.float64)


def pack_twin(cases: Mapping[str, Arrays], weights: Arrays, batches: Arrays) -> dict[str, np.ndarray]:
    """All arrays of a workload under one flat set of names, the same for both sides."""
    packed = {f"{WEIGHTS}/{path}": array for path, array in weights.items()}
    packed |= {f"{BATCHES}/{name}": array for name, array in batches.items()}
    for case, arrays in cases.items():
        packed |= {f"{CASES}/{case}/{name}": array for name, array in arrays.items()}
    return packed


def unpack_twin(parameters: Mapping[str, Any], packed: Arrays) -> Twin:
    """The twin that a load request describes. Inputs keep the order that the workload gives them."""
    cases: dict[str, dict[str, np.ndarray]] = {}
    for case in parameters["cases"]:
        prefix = f"{CASES}/{case}/"
        arrays = {name.removeprefix(prefix): array for name, array in packed.items() if name.startswith(prefix)}
        ordered = {name: arrays.pop(name) for name in parameters["inputs"]}
        cases[case] = ordered | arrays
    groups = {
        group: {name.removeprefix(f"{group}/"): array for name, array in packed.items() if name.startswith(f"{group}/")}
        for group in (WEIGHTS, BATCHES)
    }
    return Twin(
        target=parameters["target"],
        builds=parameters["builds"],
        dimensions=parameters["dimensions"],
        cases=cases,
        weights=groups[WEIGHTS],
        batches=groups[BATCHES],
        main_pass=parameters.get("main_pass", ""),
        unrolled=parameters.get("unrolled", 0),
    )


def pack_program(program: Program) -> Reply:
    """A program as JSON and arrays."""
    value = {
        "parameters": [vars(parameter) for parameter in program.parameters],
        "results": [vars(result) for result in program.results],
        "sources": dict(program.sources),
    }
    arrays = {f"states/{name}": array for name, array in program.states.items()}
    return Reply(value, {"artifact": np.frombuffer(program.artifact, np.uint8)} | arrays)


def pack_bytes(name: str, data: bytes) -> Reply:
    """A file as an array of the reply."""
    return Reply(arrays={name: np.frombuffer(data, np.uint8)})


def unpack_program(reply: Reply) -> Program:
    """The program that was packed."""
    parameters, results = _signature(reply.value)
    return Program(
        artifact=reply.arrays["artifact"].tobytes(),
        parameters=parameters,
        results=results,
        states={
            name.removeprefix("states/"): array for name, array in reply.arrays.items() if name.startswith("states/")
        },
        sources=reply.value["sources"],
    )


def pack_optimized(optimized: Optimized) -> Reply:
    """An optimized module as JSON and arrays."""
    value = {"temp_bytes": optimized.temp_bytes, "executable_bytes": optimized.executable_bytes}
    return Reply(value, {"module": np.frombuffer(optimized.module, np.uint8)})


def unpack_optimized(reply: Reply) -> Optimized:
    """The optimized module that was packed."""
    told = reply.value
    return Optimized(reply.arrays["module"].tobytes(), told["temp_bytes"], told.get("executable_bytes"))


def pack_donation(donation: Donation) -> Reply:
    """A compiled training step as JSON and arrays."""
    value = {
        "parameters": [vars(parameter) for parameter in donation.parameters],
        "results": [vars(result) for result in donation.results],
        "donated": list(donation.donated),
    }
    return Reply(value, {"optimized": np.frombuffer(donation.optimized, np.uint8)})


def unpack_donation(reply: Reply) -> Donation:
    """The compiled training step that was packed."""
    parameters, results = _signature(reply.value)
    return Donation(reply.arrays["optimized"].tobytes(), parameters, results, tuple(reply.value["donated"]))


def _signature(value: Mapping[str, Any]) -> tuple[tuple[Parameter, ...], tuple[Result, ...]]:
    parameters = (
        Parameter(
            *(parameter["kind"], parameter["name"], tuple(parameter["shape"]), parameter["dtype"]),
            owner=parameter.get("owner", ""),
            part=parameter.get("part", ""),
        )
        for parameter in value["parameters"]
    )
    results = (Result(result["name"], tuple(result["shape"]), result["dtype"]) for result in value["results"])
    return tuple(parameters), tuple(results)


def encode(message: Mapping[str, Any]) -> bytes:
    """One JSON line."""
    return json.dumps(message).encode() + b"\n"
