"""Clusters by name, and the least bytes that their links carry."""

from __future__ import annotations

import pytest

from compare.devices.cluster import cluster
from compare.devices.device import UnknownDevice
from compare.devices.link_traffic import Sent, bytes_sent, of_one
from workloads.protocol.distributing import Collective

TWO_HOSTS = (0, 0, 0, 0, 1, 1, 1, 1)
ALL = (tuple(range(8)),)


def test_gpus_are_hosts_by_gpus_and_a_slice_of_a_tpu_is_one_island() -> None:
    gpus, tpus = cluster("h100:2x4"), cluster("v5e:2x4")
    assert (gpus.name, gpus.hosts, gpus.device.topology["topology"]) == ("H100:2x4", TWO_HOSTS, "1x2x4")
    assert (gpus.inside.name, gpus.between and gpus.between.name) == ("NVLink", "network")
    assert (tpus.size, set(tpus.hosts), tpus.inside.name, tpus.between) == (8, {0}, "ICI", None)


@pytest.mark.parametrize(
    "name", ["H100", "H100:8", "H100:0x8", "H100:1x1", "v5e:1x1", "v5e:2x2x2", "B300:1x8", "x.pbtxt"]
)
def test_other_names_get_one_line(name: str) -> None:
    with pytest.raises(UnknownDevice, match=r"^expected"):
        cluster(name)


@pytest.mark.parametrize(
    ("kind", "groups", "expected"),
    [
        # Of 800 bytes, 4 on each of 2 hosts: twice 3/4 inside, twice 1/2 by four devices between.
        ("all-reduce", ALL, Sent(1200, 200)),
        ("all-gather", ALL, Sent(600, 100)),
        ("reduce-scatter", ALL, Sent(600, 100)),
        ("all-to-all", ALL, Sent(300, 400)),
        ("all-reduce", ((0, 1, 2, 3), (4, 5, 6, 7)), Sent(1200, 0)),
        ("all-reduce", ((0, 4), (1, 5), (2, 6), (3, 7)), Sent(0, 800)),
        ("collective-permute", ((0, 1), (2, 2)), Sent(800, 0)),
        ("collective-permute", ((0, 4), (4, 0)), Sent(0, 800)),
    ],
)
def test_bytes_by_link(kind: str, groups: tuple[tuple[int, ...], ...], expected: Sent) -> None:
    assert of_one(Collective(kind, 1, 800, groups), TWO_HOSTS) == expected


def test_the_bytes_of_a_step_are_summed() -> None:
    one = Collective("all-reduce", 1, 800, ALL)
    assert bytes_sent([one, one], TWO_HOSTS) == Sent(2400, 400)
