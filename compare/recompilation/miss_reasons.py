"""Why a call was traced or compiled: the arguments that miss the cache when they alone are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compare.recompilation.changed_arguments import changes, only_numbers, only_values
from compare.sides.replies import Seen
from workloads.protocol.recompiling import Named

Probe = Callable[[Named, Named, bool], Seen | None]
"""(first call, second call, whether the function itself runs) -> effect of the second call; None if it fails."""

FIRST = "first call"


@dataclass(frozen=True)
class Reason:
    """Why, in one sentence, and whether it was found with all else held fixed; None where there is nothing to find."""

    text: str
    established: bool | None


def reason(call: Named, earlier: Mapping[int, Named], observation: Seen, probe: Probe, side: str) -> Reason:
    """Why a call was traced, or compiled without being traced.

    Args:
      earlier: by number, the calls before it that gave results.
      probe: tries two calls in an empty cache.
      side: "tf" or "jax".
    """
    if not earlier:
        return Reason(FIRST, None)
    number, nearest = _nearest(call, earlier)
    differences = changes(nearest, call, side)
    if not differences:
        return Reason(f"not known: call {number} had the same arguments", False)
    traced = observation.traces > 0
    if not traced and len(differences) == 1:
        # The stream itself held all else fixed: call N is in the cache, and nothing else is different.
        return Reason(_compilation_reason(nearest, call, differences), True)
    alone = _alone(nearest, call, differences, traced, probe)
    if alone:
        return Reason(_compilation_reason(nearest, call, alone) if not traced else "; ".join(alone.values()), True)
    together = probe(nearest, call, not traced)
    if together is not None and _is_missed(together, traced):
        return Reason(f"together: {'; '.join(differences.values())}", True)
    return Reason(f"not known: {'; '.join(differences.values())}, which does not repeat it", False)


def _nearest(call: Named, earlier: Mapping[int, Named]) -> tuple[int, Named]:
    """The call with the fewest changed arguments, of equals the last."""

    def distance(number: int) -> tuple[int, int, int]:
        differences = changes(earlier[number], call)
        structural = [name for name in differences if not only_values(earlier[number], call, name)]
        return len(structural), len(differences), -number

    number = min(earlier, key=distance)
    return number, earlier[number]


def _alone(before: Named, after: Named, differences: Mapping[str, str], traced: bool, probe: Probe) -> dict[str, str]:
    """The changes that miss the cache when all other arguments stay as they were."""
    alone: dict[str, str] = {}
    for name, text in differences.items():
        if traced and only_values(before, after, name) and len(differences) > 1:
            continue
        one = _with(before, after, name)
        observation = probe(before, one, not traced)
        if observation is not None and _is_missed(observation, traced):
            alone[name] = text
    return alone


def _with(before: Named, after: Named, name: str) -> Named:
    """The earlier arguments with one of the later call, in the order of that."""
    mixture = {key: after[key] if key == name else before[key] for key in after if key == name or key in before}
    return {**mixture, **{key: value for key, value in before.items() if key not in mixture and key != name}}


def _is_missed(observation: Seen, traced: bool) -> bool:
    return observation.traces > 0 if traced else observation.compilations > 0


def _compilation_reason(before: Named, after: Named, differences: Mapping[str, str]) -> str:
    changes_text = "; ".join(differences.values())
    if all(only_numbers(before, after, name) for name in differences):
        return f"{changes_text}, which XLA needs as a constant: compiled again under the same trace"
    return f"{changes_text}: compiled again under the same trace"
