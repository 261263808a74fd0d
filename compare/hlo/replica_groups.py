"""Which devices take part in one collective together: the three forms in which HLO text writes it."""

from __future__ import annotations

import math
import re

import numpy as np

from compare.hlo.bindings import UnreadableProgram

Groups = tuple[tuple[int, ...], ...]

_LISTED = re.compile(r"\{((?:\{[\d,]*\},?)*)\}")
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(r"(?:@)?mesh\[([^\]]*)\](?:, device_ids=\(((?:[^()]|\([^()]*\))*)\))?\s*\{([^}]*)\}")
_AXIS = re.compile(r"'?([^'=,\s]+)'?=(\d+)")
_CHOSEN = re.compile(r"'([^']+)'(?::\((\d+)\)(\d+))?")


def groups(text: str, devices: int) -> Groups:
    """The groups that an attribute's text names, numbers of devices in each.

    Args:
      text: what follows `replica_groups=`: "{{0,1},{2,3}}", "[2,4]<=[8]", "[4,2]<=[2,4]T(1,0)" (XLA's
        IotaReplicaGroupList), or "mesh['x'=2,'y'=4] {'y'}" (its MeshAxesReplicaGroupList).
      devices: of the program; "{}" is all of them.

    Raises:
      UnreadableProgram: none of these forms, or other devices than the program's.
    """
    found = _iota(text) or _of_mesh(text) or _listed(text, devices)
    if found is None or sorted(device for group in found for device in group) != list(range(devices)):
        raise UnreadableProgram(
            f"expected replica groups of {devices} devices, found {text[:80]!r}: report this form of XLA"
        )
    return found


def source_target_pairs(text: str) -> tuple[tuple[int, int], ...]:
    """Who sends to whom in a collective-permute: what follows `source_target_pairs=`, "{{0,1},{1,0}}"."""
    return tuple((int(source), int(target)) for source, target in re.findall(r"\{(\d+),(\d+)\}", text))


def _listed(text: str, devices: int) -> Groups | None:
    match = _LISTED.match(text)
    if match is None:
        return None
    found = tuple(tuple(map(int, group.split(","))) for group in re.findall(r"\{([\d,]+)\}", match[1]))
    return found or (tuple(range(devices)),)


def _iota(text: str) -> Groups | None:
    """Numbers in order, reshaped to the right-hand list, transposed, and reshaped to the left-hand one."""
    match = _IOTA.match(text)
    if match is None:
        return None
    shape, dimensions = (tuple(map(int, part.split(","))) for part in match.groups()[:2])
    if math.prod(shape) != math.prod(dimensions):
        return None
    order = tuple(map(int, match[3].split(","))) if match[3] else tuple(range(len(dimensions)))
    numbers = np.arange(math.prod(dimensions)).reshape(dimensions).transpose(order)
    return _rows(numbers.reshape(-1, shape[-1]))


def _of_mesh(text: str) -> Groups | None:
    """Devices that differ in the chosen axes only; "'x':(2)4" is the part of 4 of an axis after a part of 2."""
    match = _MESH.match(text)
    if match is None:
        return None
    axes = {name: int(size) for name, size in _AXIS.findall(match[1])}
    chosen = {name: (int(before or 1), int(size or axes[name])) for name, before, size in _CHOSEN.findall(match[3])}
    shape: list[int] = []
    inside: list[int] = []
    for name, whole in axes.items():
        before, size = chosen.get(name, (whole, 1))
        if name in chosen:
            inside.append(len(shape) + 1)
        shape += [before, size, whole // (before * size)]
    ids = _ids(match[2], math.prod(axes.values()))
    outside = [axis for axis in range(len(shape)) if axis not in inside]
    count = math.prod(shape[axis] for axis in inside)
    return _rows(ids.reshape(shape).transpose([*outside, *inside]).reshape(-1, count))


def _ids(text: str | None, count: int) -> np.ndarray:
    if not text:
        return np.arange(count)
    iota = re.match(r"\[([\d,]+)\](?:T\(([\d,]+)\))?", text)
    if iota is None:
        return np.array([int(number) for number in re.findall(r"\d+", text)])
    dimensions = tuple(map(int, iota[1].split(",")))
    order = tuple(map(int, iota[2].split(","))) if iota[2] else tuple(range(len(dimensions)))
    return np.arange(count).reshape(dimensions).transpose(order).reshape(-1)


def _rows(numbers: np.ndarray) -> Groups:
    return tuple(tuple(map(int, row)) for row in numbers)
