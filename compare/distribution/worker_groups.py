"""The processes that strategies run in: one with several devices, or several that compute together."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.sides import requests, strategy_requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet

PACKAGES = {"tf": ("tensorflow",), "jax": ("jax", "jaxlib")}


_TRIES = 3
_TAKEN = re.compile("(Could not|Failed to) start g?RPC server")
"""The messages of TensorFlow and JAX about an address that another process uses."""


@dataclass
class Group:
    """Processes that compute together, and what they have loaded."""

    sides: Sequence[Side]
    loaded: object = None


class Groups:
    """Groups by side, number of processes and devices of each; started when first asked for.

    Args:
      pythons: by side, its interpreter; None is this one.
      timeout_s: how long a request may take.
    """

    def __init__(self, pythons: Mapping[str, str | None], timeout_s: float, limit_s: float, scratch: Path) -> None:
        self._pythons, self._timeout_s, self._limit_s, self._scratch = pythons, timeout_s, limit_s, scratch
        self._groups: dict[tuple[str, int], Group] = {}
        self._kinds: dict[str, tuple[str, int]] = {}
        """By process, its side and how many devices it has."""
        self._workers = WorkerSet(self._start)

    def __enter__(self) -> Groups:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    def get(self, side: str, processes: int, devices: int) -> Group:
        """The processes, up and joined.

        Args:
          side: "tf" or "jax".

        Raises:
          SideError: one does not come up, or they do not find each other.
        """
        if (side, processes) not in self._groups:
            names = _names(side, processes)
            self._kinds |= dict.fromkeys(names, (side, devices))
            self._groups[side, processes] = Group(self._join(names))
        return self._groups[side, processes]

    def _join(self, names: Sequence[str]) -> list[Side]:
        """Processes that found each other. Between them and us anybody may take an address: then others are tried."""
        for attempts in reversed(range(_TRIES)):
            self._workers.start(names)
            sides = [self._workers.get(name) for name in names]
            try:
                if len(sides) > 1:
                    strategy_requests.join(sides, _free_addresses(len(sides)), self._limit_s)
                return sides
            except SideError as error:
                if not attempts or not _TAKEN.search(f"{error.reason} {error.details}"):
                    raise
                self._workers.replace(names)
        raise AssertionError("the last try returns or raises")

    def drop(self, side: str, processes: int) -> None:
        """Let a group be started anew: after an error TensorFlow's collectives cannot be used any more."""
        self._groups.pop((side, processes), None)
        # Those too that did not find each other: one that was lost takes the others with it.
        self._workers.replace(name for name in _names(side, processes) if name in self._workers.sides)

    def versions(self) -> dict[str, str]:
        """By package, of the frameworks whose processes were asked."""
        versions: dict[str, str] = {}
        for (side, _), group in self._groups.items():
            facts = requests.environment(group.sides[0])
            versions |= {package: str(facts[package]) for package in PACKAGES[side]}
        return versions

    def _start(self, name: str) -> Side:
        side, devices = self._kinds[name]
        settings = Settings(logical_devices=devices)
        return LiveSide(f"{side}_strategies", self._scratch, self._pythons.get(side), self._timeout_s, settings)


def _names(side: str, processes: int) -> list[str]:
    return [f"{side}/{processes}/{index}" for index in range(processes)]


def _free_addresses(count: int) -> list[str]:
    """Ports of loopback that are free now, all held until each has one of its own."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in sockets]
    for server in sockets:
        server.close()
    return addresses
