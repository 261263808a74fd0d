"""What two compilers made of two programs, as lists to be read. From JSON alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compare.report import numbers
from compare.report.showable import entries, mapping, part, text


@dataclass(frozen=True)
class Item:
    """One difference, what kind it is of, and the lines that it comes from."""

    kind: str
    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Differences of one direction; `none` says what an empty list means."""

    title: str
    note: str
    items: tuple[Item, ...]
    none: str


def groups(pair: object) -> tuple[Group, ...]:
    """All of a pair, or of a workload of a run, beyond the programs; what was not looked at is left out."""
    return tuple(_groups(pair))


def _groups(pair: object) -> Iterator[Group]:
    compilers = mapping(pair, "compilers")
    if compilers.get("reason"):
        yield Group("Compilers", "", (Item("", text(compilers, "reason")),), "")
    elif compilers:
        yield Group(
            "Frontend",
            "two programs under one compiler, beside where they part",
            _items(compilers, "frontend"),
            "no difference",
        )
        yield Group("Compiler", "one program under two compilers", _items(compilers, "compiler"), "no difference")
        lines = tuple(Item("", str(line)) for line in entries(compilers, "partitions"))
        yield Group("Kernels", "how tf@tf and jax@jax are cut into kernels", lines, "cut alike")
    for cell in ("tf@tf", "jax@jax"):
        found = mapping(pair, "compiled", cell)
        if entries(found, "times"):
            yield Group(f"Time in {cell}", "longest kernels, and where they come from", tuple(_times(found)), "")
            runs = tuple(_small_run(each) for each in entries(found, "small_runs"))
            yield Group(f"Small kernels in {cell}", "in a row: candidates to compile together", runs, "none in a row")
    if mapping(pair, "passes"):
        yield Group("Pass by pass", "both compiled here", tuple(_passes(pair)), "")
    donation = mapping(pair, "donation") or mapping(pair, "alignment", "donation")
    if donation:
        yield Group("Donation", "what a training step overwrites in place", tuple(_donations(donation)), "")


def _items(compilers: object, name: str) -> tuple[Item, ...]:
    # Operations that part are the frontier, which stands above with more to say of each.
    return tuple(
        Item(text(each, "kind"), text(each, "text"), tuple(map(str, entries(each, "sources"))))
        for each in entries(compilers, name)
        if text(each, "kind") != "operation"
    )


def _times(found: object) -> Iterator[Item]:
    for each in entries(found, "times"):
        time, part_of = numbers.seconds(part(each, "seconds")), numbers.share(part(each, "share"))
        yield Item(time, f"{text(each, 'name')}, {part_of} of the time", tuple(map(str, entries(each, "sources"))))


def _small_run(run: object) -> Item:
    names = ", ".join(map(str, entries(run, "names")))
    return Item(numbers.seconds(part(run, "seconds")), names, tuple(map(str, entries(run, "sources"))))


def _passes(pair: object) -> Iterator[Item]:
    if reason := text(pair, "passes", "reason"):
        yield Item("", reason)
    for line in entries(pair, "passes", "lines"):
        yield Item("", str(line))


def _donations(donation: Mapping[str, object]) -> Iterator[Item]:
    for side, found in donation.items():
        missed = [str(each) for each in entries(found, "missed")]
        verdict = "all donated arrays are overwritten" if part(found, "holds") else f"{len(missed)} are not overwritten"
        place = numbers.binary_bytes(part(found, "bytes_in_place"))
        yield Item(side, f"{text(found, 'donated')} arrays donated: {verdict}; {place} updated in place")
        for each in missed:
            yield Item(side, each)
