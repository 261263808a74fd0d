"""Whether a call of a sweep holds but for the port's choices beside an edge (`compare.prove.near_choices`)."""

from __future__ import annotations

import dataclasses

from compare.hlo.executing import Options
from compare.parity import stability
from compare.parity.evidence import Choices
from compare.parity.measure import is_float, wide
from compare.parity.stability import BETTER, HOLDS, Rounding, Values
from compare.prove.near_choices import FUSED, allowed, explain_by_choices
from compare.prove.running import Running
from workloads._framework import Program
from workloads._spec import Arrays

_CALL = ""


def holds_but_for_choices(
    port: Running,
    original: Program,
    values: Values,
    call: Arrays,
    pass_: str,
    rounding: Rounding,
    options: Options,
) -> bool:
    """Whether a call holds without what choices that rounding turned do to it.

    What they do is told by the port's program in float64, which has to hold where it makes choices of its own.

    Args:
      port: its program.
      original: that of the original, in float32, which tells how far rounding takes what is decided by.
      values: what the call gave.
      call: its inputs, by name.
      pass_: that is computed.
      rounding: of it.
      options: of XLA, that the port is compiled with.

    Raises:
      UnreadableProgram: XLA cannot run a program apart.
      PromotionError: the program has no float64 self.
    """
    twin = dataclasses.replace(port.twin, cases={_CALL: call})
    edges = allowed(original, twin, pass_, [_CALL], rounding.unit)

    def holds(results: Arrays) -> bool:
        said = stability.by_leaf(dataclasses.replace(values, found=results), rounding)
        return stability.worst(said.values()).status in (HOLDS, BETTER)

    for fused in FUSED.values():
        ways = {**options, **fused}
        explained = explain_by_choices(twin, port.program, pass_, [_CALL], rounding.unit, options=ways, edges=edges)
        choices = explained.get(_CALL)
        if choices is not None and choices.turned and holds(choices.own) and holds(_without(choices, values.found)):
            return True
    return False


def _without(choices: Choices, results: Arrays) -> Arrays:
    """Results less what the turned choices do to those in float64."""
    return {
        leaf: wide(array) - (choices.decided[leaf] - choices.own[leaf])
        if is_float(array) and leaf in choices.own
        else array
        for leaf, array in results.items()
    }
