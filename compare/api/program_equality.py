"""Whether two programs are equal at a level, as hlo.json has them, and in one line why they are not."""

from __future__ import annotations

from collections.abc import Iterator

from compare.files import Json
from compare.prove.program_alignment import OPTIMIZED
from compare.record.vocabulary import FAIL, NOT_JUDGED


def unequal(pair: Json, expected: str) -> Iterator[tuple[str, str, str]]:
    """For a pair, and for each target where that is expected: "fail" or "not_judged", its name, and why.

    Args:
      pair: as hlo.json has it.
      expected: the level.
    """
    level = pair["levels"].get(expected, {"reason": "it has no such level"})
    if not level.get("equal"):
        why = level.get("reason") or _assumption(level) or _unmatched_text(level)
        line = f"expected {pair['name']} to be equal at {expected}, found that {why}"
        yield (NOT_JUDGED if level.get("reason") else FAIL), pair["name"], line
    if expected == OPTIMIZED:
        yield from _unequal_on_targets(pair)


def _assumption(level: Json) -> str:
    return f"they are only where {' and '.join(level['assumes'])}" if level["assumes"] else ""


def _unmatched_text(level: Json) -> str:
    alone = level["left_only"], level["right_only"]
    if any(alone):
        return f"{alone[0]} and {alone[1]} values are unmatched"
    if level["unequal"]:
        return f"results are not equal: {', '.join(level['unequal'])}"
    return "bodies within them differ"


def _unequal_on_targets(pair: Json) -> Iterator[tuple[str, str, str]]:
    """Each target on which two modules are not known to be equal, as `unequal` has it."""
    for name, target in pair["targets"].items():
        reasons = [cell["reason"] for cell in (target["tf@jax"], target["jax@jax"]) if cell and cell["reason"]]
        if not target["equal"]:
            why = "; ".join(reasons or target["differences"]) or "values are unmatched"
            line = f"expected {pair['name']} to be equal on {name}, found that they are not: {why}"
            yield (NOT_JUDGED if target["equal"] is None else FAIL), f"{pair['name']} on {name}", line
