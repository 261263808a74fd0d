"""The collectives of an optimized module: kind, bytes and who takes part, read off its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compare.hlo.replica_groups import Groups, groups, source_target_pairs

KINDS = (
    *("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
    *("collective-permute", "collective-broadcast"),
)

_OPERATION = re.compile(rf"^\s*(?:ROOT )?%?(\S+) = (.+?) ({'|'.join(KINDS)})(-start)?\(", re.MULTILINE)
_ARRAY = re.compile(r"\b([a-z]+\d*[a-z0-9]*)\[([\d,]*)\]")
_GROUPS = re.compile(r"replica_groups=(\{\{[\d,{}]*\}\}|\{\}|\[[^\]]*\]<=\[[^\]]*\](?:T\([\d,]+\))?|[^{]*\{[^}]*\})")
_PAIRS = re.compile(r"source_target_pairs=(\{\{[\d,{}]*\}\}|\{\})")
_CHANNEL = re.compile(r"channel_id=(\d+)")
_SOURCE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_HEADER = re.compile(r"^(?:ENTRY )?%?(\S+) \(.*\) -> .* \{$", re.MULTILINE)
_SCATTERS = re.compile(r"calls=%?(all-reduce-scatter\S*?)[,\s]")
_WIDTH = re.compile(r"\d+")


@dataclass(frozen=True)
class Collective:
    """One collective, as each device runs it once a call.

    Attributes:
      name: of the instruction.
      kind: as XLA names it, without "-start".
      bytes: of the whole array that the operation is about, on one device: what an all-reduce sums, what an all-gather
        gives, what a reduce-scatter takes, what an all-to-all or a permute hands on.
      groups: devices that take part together; of a permute, a sender and a receiver each.
      source: "file:line" of the user's code, "" where none is told.
    """

    name: str
    kind: str
    bytes: int
    groups: Groups
    source: str = ""


def collectives(text: str, devices: int) -> tuple[Collective, ...]:
    """Every collective of an optimized module's text; those of a loop's body once.

    A TPU's compiler makes a reduce-scatter of an all-reduce inside a fusion that is called "all-reduce-scatter", and
    writes one collective into several fusions that compute while it goes on: a channel counts once.

    Raises:
      UnreadableProgram: replica groups in a form that is not known.
    """
    return tuple(_collectives(text, devices))


def _collectives(text: str, devices: int) -> Iterator[Collective]:
    headers = [(match.start(), match[1]) for match in _HEADER.finditer(text)]
    scattering = set(_SCATTERS.findall(text))
    at, within, channels = 0, "", set[str]()
    for match in _OPERATION.finditer(text):
        while at < len(headers) and headers[at][0] < match.start():
            within, at = headers[at][1], at + 1
        line = text[match.start() : text.find("\n", match.end())]
        channel = _CHANNEL.search(line)
        if channel and channel[1] in channels:
            continue
        channels |= {channel[1]} if channel else set()
        kind = match[3]
        if kind == "all-reduce" and within in scattering:
            kind = "reduce-scatter"
        source = _SOURCE.search(line)
        taking_part = _taking_part(kind, line, devices)
        yield Collective(
            name=match[1],
            kind=kind,
            bytes=_bytes(match[3], bool(match[4]), match[2], len(taking_part[0]) if taking_part else 1),
            groups=taking_part,
            source=f"{source[1]}:{source[2]}" if source else "",
        )


def _taking_part(kind: str, line: str, devices: int) -> Groups:
    if kind == "collective-permute":
        found = _PAIRS.search(line)
        return source_target_pairs(found[1]) if found else ()
    found = _GROUPS.search(line)
    return groups(found[1].strip() if found else "{}", devices)


def _bytes(kind: str, started: bool, shape: str, size: int) -> int:
    """Bytes by the result's shape. What is started returns its operands too, before its results."""
    arrays = [_size(*array) for array in _ARRAY.findall(_results(shape) if started and kind != "all-reduce" else shape)]
    total = sum(arrays)
    # A reduce-scatter's result is one device's part of what was summed.
    return total * size if kind == "reduce-scatter" else total


def _results(shape: str) -> str:
    """The second part of `(operands, results, contexts...)`."""
    parts = _parts(shape[1:-1]) if shape.startswith("(") else [shape]
    return parts[1] if len(parts) > 1 else parts[0]


def _parts(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _size(dtype: str, dimensions: str) -> int:
    width = _WIDTH.search(dtype)
    bits = int(width[0]) if width else 8
    elements = 1
    for extent in filter(None, dimensions.split(",")):
        elements *= int(extent)
    return elements * bits // 8
