"""Pairs of small programs, and where they depart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compare.hlo import bindings
from compare.hlo.levels import Subject
from compare.hlo.locate import DOUBLE, Case, Departure, Findings, Precision, locate

SIZE = 8
ADD = "add_ { p = f64[] parameter(0) q = f64[] parameter(1) ROOT r = f64[] add(p, q) }"
MAX = "max_ { p = f64[] parameter(0) q = f64[] parameter(1) ROOT r = f64[] maximum(p, q) }"


def program(label: str, body: str, regions: str = "", results: Sequence[str] = ("out",)) -> Subject:
    """A program of x and y, f64[8] each; its last line is its result."""
    *lines, last = [line.strip() for line in body.strip().splitlines()]
    entry = "\n".join([*lines, f"ROOT {last}"])
    text = f"HloModule m\n{regions}\nENTRY e {{ x = f64[{SIZE}] parameter(0)\ny = f64[{SIZE}] parameter(1)\n{entry} }}"
    return Subject(label, bindings.hlo_from_text(text), ("input x", "input y"), tuple(results))


def cases(dtype: str = "float64") -> list[Case]:
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(SIZE).astype(dtype) for _ in range(2)]
    edges = [np.resize(values, SIZE).astype(dtype) for values in ([-1.0, 0.0, 1.0], [1.0, 2.0])]
    return [Case(arrays, arrays), Case(edges, edges, smooth=False)]


def found(left: str, right: str, regions: str = "", precision: Precision = DOUBLE, **more: Any) -> Findings:
    return locate(program("tf", left, regions, **more), program("jax", right, regions, **more), cases(), precision)


def only(findings: Findings) -> Departure:
    (departure,) = findings.departures
    return departure


def constant(value: float, name: str = "c") -> str:
    return f"{name}0 = f64[] constant({value})\n{name} = f64[{SIZE}] broadcast({name}0), dimensions={{}}\n"
