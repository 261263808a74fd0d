"""What steps exchange, and copies that differ, as the record has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from compare.record.distribution_part import Transfer, UnlikeCopies
from workloads._distributing import Collective, Unlike


def unlike_copies(unlike: Unlike) -> UnlikeCopies:
    """An array whose copies differ."""
    return UnlikeCopies(unlike.leaf, unlike.step, unlike.index, unlike.devices, *unlike.values)


def alike(found: Sequence[Collective]) -> tuple[Transfer, ...]:
    """Collectives of one kind, groups and line together, the most bytes first."""
    together: dict[tuple[str, tuple[tuple[int, ...], ...], str], list[Collective]] = defaultdict(list)
    for each in found:
        together[each.kind, each.groups, each.source].append(each)
    made = (
        Transfer(
            kind, len(alike), sum(each.arrays for each in alike), sum(each.bytes for each in alike), groups, source
        )
        for (kind, groups, source), alike in together.items()
    )
    return tuple(sorted(made, key=lambda transfer: -(transfer.bytes or 0)))
