"""Values that are read from records of `jaxport distribute`, and from the times that examples print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from compare.figures.further_readings import find_named
from compare.figures.readings import SECONDS, number_at, reading, value_at
from compare.figures.row import Answer, Reading, Unread
from compare.record.vocabulary import PASS

_TOLD = ("batch_s", "step_s", "loop_s")
"""Times that `examples/input_pipeline` prints: each part alone, then both together."""


def compilations(name: str, strategy: str, devices: int) -> Reading:
    """Programs that XLA compiled for a step.

    Args:
      strategy: as `jaxport distribute` names it.
    """

    def read(data: Any) -> float:
        step = _step(data, name, strategy)
        if value_at(step, "devices") != devices:
            raise Unread(f"expected a record of {devices} devices, found one of {step['devices']}")
        return number_at(step, "compilations")

    return reading(f"compilations of {strategy} on {devices} devices", "", read)


def holding(name: str, strategy: str) -> Reading:
    """How many steps were compared; none where the strategy does not compute what it should.

    Args:
      strategy: as `jaxport distribute` names it.
    """

    def read(data: Any) -> float:
        step = _step(data, name, strategy)
        if value_at(step, "verdict") != PASS:
            raise Unread(f"{strategy} does not hold: {step.get('reason') or step['verdict']}")
        return number_at(find_named(value_at(data, "workloads"), name), "steps")

    return reading(f"steps of {strategy} that hold", "", read)


def transfers(name: str, strategy: str) -> Reading:
    """The number of exchanges between devices in one step.

    Args:
      strategy: as `jaxport distribute` names it.
    """

    def read(data: Any) -> float:
        return sum(number_at(transfer, "count") for transfer in value_at(_step(data, name, strategy), "transfers"))

    return reading(f"exchanges in a step of {strategy}", "", read)


def written_times(label: str, names: Sequence[str]) -> tuple[Reading, ...]:
    """The times that an example prints as its last line."""

    def of(key: str, name: str) -> Reading:
        return Reading(
            f"{label}: time of {name}", SECONDS, lambda answer: (number_at(_printed_json(answer), key), None)
        )

    return tuple(of(key, name) for key, name in zip(_TOLD, names, strict=True))


def steps_that_run() -> tuple[Reading, ...]:
    """Readings of `all_reduce` in the replica context: whether the plain step runs, how many compiled do."""

    def run(answer: Answer, with_xla: bool) -> tuple[float, None]:
        record = _printed_json(answer)
        if value_at(record, "wrong"):
            raise Unread(f"weights are wrong after: {', '.join(value_at(record, 'wrong'))}")
        refusals = value_at(record, "refused")
        return sum(not reason for name, reason in refusals.items() if ("compiled" in name) == with_xla), None

    return (
        Reading("whole steps with all_reduce that run uncompiled", "", lambda answer: run(answer, False)),
        Reading("compiled steps or exchanges that run (4 were tried)", "", lambda answer: run(answer, True)),
    )


def _printed_json(answer: Answer) -> Any:
    lines = answer.text.strip().splitlines()
    try:
        return json.loads(lines[-1] if lines else "")
    except ValueError as error:
        raise Unread(f"expected a line of JSON, found {lines[-1][:80] if lines else 'nothing'!r}") from error


def _step(data: Any, name: str, strategy: str) -> Any:
    return value_at(find_named(value_at(data, "workloads"), name), "strategies", strategy)
