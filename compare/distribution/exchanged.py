"""Converts the exchanges of steps, and copies that differ, to the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from compare.record.distribution_part import Transfer, UnlikeCopies
from workloads.protocol.distributing import Collective, Unlike


def unlike_copies(unlike: Unlike) -> UnlikeCopies:
    """An array whose copies differ."""
    return UnlikeCopies(unlike.leaf, unlike.step, unlike.index, unlike.devices, *unlike.values)


def alike(collectives: Sequence[Collective]) -> tuple[Transfer, ...]:
    """Collectives of one kind, groups and line together, the most bytes first."""
    together: dict[tuple[str, tuple[tuple[int, ...], ...], str], list[Collective]] = defaultdict(list)
    for collective in collectives:
        together[collective.kind, collective.groups, collective.source].append(collective)
    transfers = (
        Transfer(
            kind,
            len(alike),
            sum(collective.arrays for collective in alike),
            sum(collective.bytes for collective in alike),
            groups,
            source,
        )
        for (kind, groups, source), alike in together.items()
    )
    return tuple(sorted(transfers, key=lambda transfer: -(transfer.bytes or 0)))
