"""Fusion partitions of two optimized modules: which matched values are computed together, which are written out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from compare.hlo import proto
from compare.hlo.align import Alignment, align
from compare.hlo.compiled import NO_CODE, bytes_of
from compare.hlo.graph import Graph, Node
from compare.hlo.levels import ALGEBRA, Subject, read

# Compilers compute these again wherever they are read: where they stand says nothing of the partition.
_REPEATED = NO_CODE | {"broadcast", "iota", "reshape"}


@dataclass(frozen=True)
class Regrouped:
    """One kernel of `side` that computes what several kernels of `other` do; `values` counts the matched ones.

    Kernels without a partner that stand between them are among them: half of a reduction made in two.
    """

    side: str
    other: str
    kernel: str
    kernels: tuple[str, ...]
    values: int
    sources: tuple[str, ...]

    def __str__(self) -> str:
        parts = f"{len(self.kernels)} kernels in {self.other}: {', '.join(self.kernels)}"
        return f"{self.side}'s {self.kernel} does what is {parts}"


@dataclass(frozen=True)
class Written:
    """A matched value that `side` writes to memory and `other` keeps within the kernel `kept_in`."""

    side: str
    other: str
    op: str
    shape: str
    bytes: int
    kernel: str
    kept_in: str
    source: str

    def __str__(self) -> str:
        place = f" ({self.source})" if self.source else ""
        return (
            f"{self.side} writes {self.op} {self.shape}, {self.bytes:,} bytes, from {self.kernel}; "
            f"{self.other} keeps it within {self.kept_in}{place}"
        )


@dataclass(frozen=True)
class Partitions:
    """Two partitions compared; everything is empty if they are equal.

    Attributes:
      matched: how many values that run code have a partner.
      kernels: how many kernels each side has.
      regrouped, written: the most values, and the most bytes, first.
      unmatched: by side, kernels that compute no value that has a partner, nor stand between any that do.
    """

    matched: int
    kernels: Mapping[str, int]
    regrouped: tuple[Regrouped, ...]
    written: tuple[Written, ...]
    unmatched: Mapping[str, tuple[str, ...]]

    @property
    def lines(self) -> list[str]:
        """All of it as one list to be read."""
        alone = [
            f"{side}'s {kernel} computes nothing that has a partner"
            for side, kernels in self.unmatched.items()
            for kernel in kernels
        ]
        return [*map(str, self.regrouped), *map(str, self.written), *alone]


@dataclass(frozen=True)
class _Side:
    """Where one module computes the values of its canonical graph."""

    label: str
    graph: Graph
    kernels: Mapping[int, frozenset[str]]
    written: Mapping[int, str]
    """By canonical value, the kernel that writes it to memory."""
    reads: Mapping[str, frozenset[str]]
    """By kernel, those whose results it reads; every kernel in the order of the module."""


def compare(left: Subject, right: Subject, cases: Sequence = ()) -> Partitions:
    """Hold the fusions of two optimized modules against each other.

    Args:
      cases: arguments of both, as for compare.hlo.align; without them values are matched by number alone.

    Raises:
      UnreadableProgram: a module cannot be read.
    """
    return of_aligned(left, right, align(left, right, ALGEBRA, cases))


def of_aligned(left: Subject, right: Subject, alignment: Alignment) -> Partitions:
    """The partitions of modules that are aligned already."""
    one, other = _side(left, alignment, 0), _side(right, alignment, 1)
    pairs = [(match.left, match.right) for match in alignment.matches if match.left in one.kernels]
    pairs = [pair for pair in pairs if pair[1] in other.kernels]
    idle = {left.label: _idle(one, [pair[0] for pair in pairs]), right.label: _idle(other, [pair[1] for pair in pairs])}
    pairs = [pair for pair in pairs if one.graph.nodes[pair[0]].opcode not in _REPEATED]
    back = [(theirs, own) for own, theirs in pairs]
    regroupings = _find_regroupings(pairs, one, other, idle[right.label]) + _find_regroupings(
        back, other, one, idle[left.label]
    )
    arrays = _find_writes(pairs, one, other) + _find_writes(back, other, one)
    regrouped_kernels = {(change.other, kernel) for change in regroupings for kernel in change.kernels}
    return Partitions(
        matched=len({a for a, _ in pairs}),
        kernels={side.label: len(side.reads) for side in (one, other)},
        regrouped=tuple(sorted(regroupings, key=lambda change: -change.values)),
        written=tuple(sorted(arrays, key=lambda buffer: -buffer.bytes)),
        unmatched={
            label: tuple(kernel for kernel in kernels if (label, kernel) not in regrouped_kernels)
            for label, kernels in idle.items()
        },
    )


def kernel_of(node: Node, fusions: frozenset[str]) -> str:
    """The fusion that a value of a transparent graph stands in, or the instruction itself; "" of what runs no code."""
    fusion = next((name for name in node.place if name in fusions), "")
    return fusion or ("" if node.opcode in NO_CODE else node.name.rpartition("/")[2])


def fusions_of(hlo: bytes) -> frozenset[str]:
    """Names of the fusion instructions of a module."""
    computations = proto.read_module(hlo).computations
    return frozenset(
        instruction.name for one in computations for instruction in one.instructions if instruction.opcode == "fusion"
    )


def _side(subject: Subject, alignment: Alignment, side: int) -> _Side:
    form = (alignment.left, alignment.right)[side]
    graph, fusions = read(subject), fusions_of(subject.hlo)
    places = {node.id: kernel_of(node, fusions) for node in graph}
    crossing = _crossing(graph, places)
    kernels: dict[int, set[str]] = {}
    writers: dict[int, str] = {}
    for old, new in form.stands_for.items():
        if places[old]:
            kernels.setdefault(new, set()).add(places[old])
        if old in crossing:
            writers[new] = places[old]
    kernel_sets = {key: frozenset(names) for key, names in kernels.items()}
    return _Side(subject.label, form.graph, kernel_sets, writers, _reads(graph, places))


def _reads(graph: Graph, places: Mapping[int, str]) -> dict[str, frozenset[str]]:
    sources: dict[int, set[str]] = {}
    reads: dict[str, set[str]] = {}
    for node in graph:
        read = {kernel for key in node.operands for kernel in sources[key]}
        place = places[node.id]
        # What runs no code passes on the memory that it was given.
        sources[node.id] = {place} if place else read
        if place:
            reads.setdefault(place, set()).update(read - {place})
    return {kernel: frozenset(read) for kernel, read in reads.items()}


def _crossing(graph: Graph, places: Mapping[int, str]) -> set[int]:
    """Values of kernels that another kernel reads, or that the module returns."""
    users = graph.users
    results = set(graph.results)

    def leaves(key: int, kernel: str) -> bool:
        # What runs no code passes on the memory that it was given.
        return key in results or any(
            places[user] != kernel if places[user] else leaves(user, kernel) for user in users[key]
        )

    return {key for key, kernel in places.items() if kernel and leaves(key, kernel)}


def _find_regroupings(
    pairs: Sequence[tuple[int, int]], side: _Side, other: _Side, idle: Sequence[str]
) -> list[Regrouped]:
    """Kernels of one side whose values no single kernel of the other computes."""
    members_by_kernel: dict[str, list[tuple[int, int]]] = {}
    for own, theirs in pairs:
        for kernel in sorted(side.kernels[own]):
            members_by_kernel.setdefault(kernel, []).append((own, theirs))
    regroupings = []
    for kernel, members in members_by_kernel.items():
        kernels = _covering([other.kernels[theirs] for _, theirs in members])
        if len(kernels) > 1:
            sources = dict.fromkeys(side.graph.nodes[own].source for own, _ in members)
            count = len({own for own, _ in members})
            within = kernels | _between(kernels, other, idle)
            kernel_names = tuple(name for name in other.reads if name in within)
            regroupings.append(
                Regrouped(side.label, other.label, kernel, kernel_names, count, tuple(filter(None, sources)))
            )
    return regroupings


def _between(kernels: set[str], side: _Side, idle: Sequence[str]) -> set[str]:
    """Idle kernels on a way from one of these kernels to another that passes idle ones only."""
    readers: dict[str, set[str]] = {}
    for kernel, sources in side.reads.items():
        for source in sources:
            readers.setdefault(source, set()).add(kernel)
    return _reach(kernels, side.reads, idle) & _reach(kernels, readers, idle)


def _reach(start: set[str], edges: Mapping[str, Collection[str]], through: Sequence[str]) -> set[str]:
    kernels: set[str] = set()
    waiting = list(start)
    while waiting:
        for kernel in edges.get(waiting.pop(), ()):
            if kernel in through and kernel not in kernels:
                kernels.add(kernel)
                waiting.append(kernel)
    return kernels


def _covering(choices: Sequence[frozenset[str]]) -> set[str]:
    """Few kernels that compute every value, where some values are computed in several."""
    cover: set[str] = set()
    for names in sorted(choices, key=len):
        if not names & cover:
            cover.add(min(names))
    return cover


def _find_writes(pairs: Sequence[tuple[int, int]], side: _Side, other: _Side) -> list[Written]:
    writes: dict[int, Written] = {}
    partners: dict[int, list[int]] = {}
    for own, theirs in pairs:
        partners.setdefault(own, []).append(theirs)
    for own, theirs in partners.items():
        if own in side.written and not any(key in other.written for key in theirs):
            node = side.graph.nodes[own]
            kept_in = min(other.kernels[theirs[0]])
            writes[own] = Written(side.label, other.label, node.opcode, str(node.shape), bytes_of(node.shape),
                                 side.written[own], kept_in, node.source)  # fmt: skip
    return list(writes.values())


def _idle(side: _Side, keys: Sequence[int]) -> tuple[str, ...]:
    """Kernels of which no value has a partner."""
    busy = {kernel for key in keys for kernel in side.kernels[key]}
    return tuple(kernel for kernel in side.reads if kernel not in busy)
