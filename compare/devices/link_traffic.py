"""The least bytes that a device sends over each kind of link in a collective, by the groups and the hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workloads.protocol.distributing import Collective


@dataclass(frozen=True)
class Sent:
    """Bytes that the busiest device sends: inside its host (or slice), and to other hosts."""

    inside: float = 0.0
    between: float = 0.0


def bytes_sent(collectives: Iterable[Collective], hosts: Sequence[int]) -> Sent:
    """Bytes that a device sends in one call, every collective by the algorithm that sends least.

    Args:
      hosts: by number of a device, its host.
    """
    of_collectives = [of_one(collective, hosts) for collective in collectives]
    return Sent(sum(one.inside for one in of_collectives), sum(one.between for one in of_collectives))


def of_one(collective: Collective, hosts: Sequence[int]) -> Sent:
    """Bytes of one collective in the group where they are most.

    With n devices on each of h hosts, an all-reduce of S bytes sends 2 S (n - 1) / n inside and 2 S (h - 1) / (h n)
    between: reduce-scatter and all-gather on each level, every device with a part (Patarasuk and Yuan 2009, "Bandwidth
    optimal all-reduce algorithms"; Thakur et al. 2005 for the halves). A halved one is an all-gather or reduce-scatter.

    Args:
      hosts: by number of a device, its host.
    """
    if collective.kind == "collective-permute":
        return _sent_by_permutation(collective, hosts)
    in_groups = [_in_group(collective, [hosts[device] for device in group]) for group in collective.groups]
    return Sent(max(one.inside for one in in_groups), max(one.between for one in in_groups))


def _in_group(collective: Collective, hosts: Sequence[int]) -> Sent:
    on_host = Counter(hosts)
    # Where hosts have unlike numbers of devices, the most: a bound stays one.
    per_host, count, size = max(on_host.values()), len(on_host), collective.bytes
    if collective.kind in ("all-to-all", "ragged-all-to-all"):
        return Sent(size * (per_host - 1) / len(hosts), size * (len(hosts) - per_host) / len(hosts))
    passes = 2 if collective.kind == "all-reduce" else 1
    return Sent(passes * size * (per_host - 1) / per_host, passes * size * (count - 1) / (count * per_host))


def _sent_by_permutation(collective: Collective, hosts: Sequence[int]) -> Sent:
    pairs = [(source, target) for source, target in collective.groups if source != target]
    stays = any(hosts[source] == hosts[target] for source, target in pairs)
    leaves = any(hosts[source] != hosts[target] for source, target in pairs)
    return Sent(float(collective.bytes * stays), float(collective.bytes * leaves))
