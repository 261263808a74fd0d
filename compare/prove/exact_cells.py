"""Runs TensorFlow's program in float64, for comparison with cells where tf@tf itself is inexact."""

from __future__ import annotations

from collections.abc import Mapping

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.promote import PromotionError
from compare.prove.collect import Collected
from compare.prove.oracle import promote_program
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads.core.spec import Arrays
from workloads.protocol.framework import Program


def exact_results(sides: Mapping[str, Side], deliveries: Mapping[str, Collected], case: str) -> Arrays:
    """Results of TensorFlow's program with every float widened; empty where no side can run it.

    A sum of 2**28 numbers in float32 is off by 1 % in XLA's order for a CPU, and by nothing in its order for a GPU. By
    TensorFlow's XLA where it runs here, since an error of another compiler would be in both precisions.

    Args:
      sides: by side, its worker, if it is alive.
      deliveries: what each side delivered, by side.

    Raises:
      SideError: a side was lost.
    """
    program = deliveries["tf"].portable if "tf" in deliveries else None
    if program is None:
        return {}
    try:
        wide = promote_program(program)
    except (PromotionError, UnreadableProgram):
        return {}
    for side in sides.values():
        results = _run(side, wide, case)
        if results:
            return results
    return {}


def _run(side: Side, program: Program, case: str) -> Arrays:
    try:
        return requests.execute(side, requests.compile_program(side, program).handle, case)
    except SideError as error:
        if error.lost:
            raise
        return {}
