"""Two functions as programs, and the cases that only both suggest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import export

from compare.prove.further import Further, find_more_cases
from compare.prove.oracle import Doubles
from compare.prove.running import running
from compare.prove.special_cases import Original, Runs
from workloads.core.spec import Arrays, ArraySpec
from workloads.protocol.framework import FORWARD, Parameter, Program, Result, Twin


def doubles(tf: Callable[..., Any], port: Callable[..., Any], **arrays: np.ndarray) -> tuple[Twin, Doubles]:
    def program(function: Callable[..., Any]) -> Program:
        exported = export.export(jax.jit(function, keep_unused=True))(*arrays.values())
        parameters = tuple(Parameter("input", name, each.shape, str(each.dtype)) for name, each in arrays.items())
        (out,) = exported.out_avals
        return Program(exported.mlir_module_serialized, parameters, (Result("y", out.shape, str(out.dtype)),))

    programs = {("tf", FORWARD): program(tf), ("jax", FORWARD): program(port)}
    return Twin("", False, {}, {"seed0": arrays}, {}), Doubles(programs=programs)


def suggested(tf: Callable[..., Any], port: Callable[..., Any], specs: dict[str, ArraySpec]) -> Further:
    arrays = {name: np.zeros(spec.shape, spec.dtype) for name, spec in specs.items()}
    twin, found = doubles(tf, port, **arrays)
    return find_more_cases(twin, specs, found, as_compiled(found, twin))


def as_compiled(found: Doubles, twin: Twin) -> Original:
    """A TensorFlow whose one mode is the program."""

    def original(pass_: str, inputs: Arrays) -> Runs:
        return Runs({"tf/jit": running(found.programs["tf", pass_], twin)([inputs])[0]})

    return original


def differing(found: Further) -> set[str]:
    return {
        case for case in found.cases
        if not np.array_equal(found.arrays["tf", FORWARD, case]["y"], found.arrays["jax", FORWARD, case]["y"])
    }  # fmt: skip
