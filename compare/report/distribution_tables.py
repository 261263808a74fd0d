"""A distributed training step on a console: parity, programs, transfers and times of each strategy; departures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from compare.record.distribution_part import (
    DistributedStep,
    Distribution,
    Distributions,
    Resumed,
    StepDeparture,
    Transfer,
)
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.report import numbers
from compare.report.page_console import print_lines, print_rows
from compare.report.pages import Cell, Table, Tone, columns
from compare.report.showable import relative_place
from workloads.core.modes import recorded_mode
from workloads.protocol.distributing import IN_TURN, OWN, SINGLE

_WORDS = {PASS: "same", FAIL: "departs", None: numbers.MISSING}
_VERDICTS = {PASS: "holds", FAIL: "fails", NOT_APPLICABLE: "refused"}
_TONES: Mapping[str, Tone] = {PASS: "pass", FAIL: "fail", NOT_APPLICABLE: "note"}
_INDENT = "  "
_TITLES = ("one device", "in turn", "other framework", "copies", "compiled", "exchanged", "a step")
_MOST_GROUPS = 4


def print_distributions(record: Distributions, console: Console) -> None:
    """Print every workload: a line a strategy, then sentences."""
    for distribution in record.workloads:
        print_lines([_title(distribution)], console, "strong")
        print_rows(_table(distribution), console, _INDENT)
        print_lines(list(sentences(distribution)), console)
        console.print()
    for name in dict.fromkeys(distribution.name for distribution in record.workloads):
        several = [distribution for distribution in record.workloads if distribution.name == name]
        print_lines(list(_on_two_alone(several)), console)
        if sum(map(_has_times, several)) > 1:
            print_lines([f"{name}: {SCALED}"], console, "strong")
            print_rows(_scaling_table(several), console, _INDENT)
            console.print()
    print_lines([_note(record)], console, "note")


def _on_two_alone(several: Sequence[Distribution]) -> Iterator[str]:
    """The user's own steps that pass but ran on two devices alone, where a neighbour is every other device."""
    if max(distribution.devices or 0 for distribution in several) > 2:
        return
    for distribution in several:
        for name, step in distribution.strategies.items():
            if _name(name) == OWN and step.verdict == PASS:
                yield (
                    f"{distribution.name}: {name} was run on two devices alone, where who exchanges with a neighbour "
                    f"exchanges with all: 4 do not divide a batch of {distribution.batch}; take a size that they divide"
                )


SCALED = "a step over that of one device of the same framework, in the same rounds"


def scaling(several: Sequence[Distribution]) -> dict[str, dict[int, float]]:
    """By strategy and number of devices, the time of a step over that of one device, timed in the same rounds."""
    ratios: dict[str, dict[int, float]] = {}
    for distribution in several:
        for name, step in distribution.strategies.items():
            alone = distribution.references.get(f"{name.partition('/')[0]}/single")
            if step.seconds and alone and step.devices:
                ratios.setdefault(name, {1: 1.0})[step.devices] = step.seconds / alone
    return ratios


def _has_times(distribution: Distribution) -> bool:
    return any(step.seconds for step in distribution.strategies.values())


def _scaling_table(several: Sequence[Distribution]) -> Table:
    by_strategy = scaling(several)
    counts = sorted({count for ratios in by_strategy.values() for count in ratios})
    titles = (f"{count} device{'s' * (count > 1)}" for count in counts)
    rows = [
        (name, *(f"{ratios[count]:.2f}" if count in ratios else numbers.MISSING for count in counts))
        for name, ratios in by_strategy.items()
    ]
    return Table((*columns("strategy"), *columns(*titles, kind="number")), rows)


def _title(distribution: Distribution) -> str:
    return (
        f"{distribution.name} at size {distribution.size}: {distribution.batch} examples on {distribution.devices} "
        f"devices a process, {distribution.steps} steps"
    )


def _note(record: Distributions) -> str:
    return (
        f"Logical devices share {record.cores} cores: times say what distributing costs here, and nothing of how it "
        "scales on devices of their own."
    )


def _table(distribution: Distribution) -> Table:
    references = [
        (name, *[""] * len(_TITLES), numbers.seconds(seconds)) for name, seconds in distribution.references.items()
    ]
    strategies = [(name, _verdict(step.verdict or ""), *_cells(step)) for name, step in distribution.strategies.items()]
    return Table((*columns("strategy", "verdict"), *columns(*_TITLES, kind="number")), [*references, *strategies])


def _verdict(verdict: str) -> Cell:
    return Cell(_VERDICTS.get(verdict, numbers.MISSING), _TONES.get(verdict, ""))


def _name(mode_text: str) -> str:
    """The strategy or reference of one side, "tf/own"."""
    mode = recorded_mode(mode_text)
    return mode.name if mode else ""


def _cells(step: DistributedStep) -> Iterator[str]:
    if step.verdict == NOT_APPLICABLE:
        yield from [numbers.MISSING] * len(_TITLES)
        return
    by_reference = {_name(departure.against): departure.verdict for departure in step.parity}
    yield _WORDS.get(by_reference.get(SINGLE), "")
    yield _WORDS.get(by_reference.get(IN_TURN), "")
    yield _WORDS.get(step.across.verdict if step.across else None, "")
    yield f"{len({array.leaf for array in step.unlike})} differ" if step.unlike else "alike"
    yield numbers.MISSING if step.compilations is None else str(step.compilations)
    yield exchange_text(step)
    yield numbers.seconds(step.seconds)


def exchange_text(step: DistributedStep) -> str:
    """How many transfers there are in a step, and the bytes that a device puts in."""
    count, size = (sum(getattr(transfer, name) or 0 for transfer in step.transfers) for name in ("count", "bytes"))
    return f"{count}, {numbers.binary_bytes(size)}" if count else "nothing"


def sentences(distribution: Distribution) -> Iterator[str]:
    """The conclusions from the record, one line each."""
    for name, step in distribution.strategies.items():
        yield from (f"  {name}: {line}" for line in _of_step(step))
    for name, blind in distribution.blind.items():
        if blind.seen == 0:
            yield f"  {name} gives the same arrays: a mistake of this kind would not be seen, and nothing is proved"
    for departure in distribution.equal_parts.values():
        if departure.verdict == FAIL:
            yield f"  of equal parts, what replicas compute {departs(departure)}"
    if distribution.alike:
        yield f"  alike on all devices in every batch, so that a mix-up is not seen: {', '.join(distribution.alike)}"
    for failure in distribution.failures:
        yield f"  {failure.side}: {failure.doing}: {failure.reason}"


def _of_step(step: DistributedStep) -> Iterator[str]:
    if step.verdict == NOT_APPLICABLE:
        yield f"refused: {step.reason}"
        return
    if step.lost_first:
        yield f"run again: in a first run {step.lost_first}"
    if step.verdict == FAIL:
        yield f"fails: {step.reason}"
    for departure in (*step.parity, *([step.across] if step.across else [])):
        if departure.verdict == FAIL:
            yield departs(departure)
    if step.unlike:
        first = step.unlike[0]
        after = f" after step {first.step}" if first.step else ""
        yield (
            f"{first.leaf}{_index_text(first.index)}{after} is {first.found:g} on {first.devices[0]} "
            f"and {first.other:g} on {first.devices[1]}; "
            f"arrays that differ so: {len({array.leaf for array in step.unlike})}"
        )
    if step.resumed:
        yield _resumption_text(step.resumed)
    yield from map(_transfer, step.transfers)


def _resumption_text(resumption: Resumed) -> str:
    if resumption.departure is None:
        return f"not resumed after step {resumption.after}: {resumption.reason}"
    beginning = (
        f"killed after step {resumption.after} ({resumption.killed}), resumed from its checkpoint in another process: "
    )
    if resumption.identical:
        return f"{beginning}every array that follows is the same to the last bit"
    if resumption.departure.verdict == FAIL:
        return f"{beginning}{departs(resumption.departure)}"
    return f"{beginning}the same but for rounding, error {numbers.error(resumption.departure.error)}"


def departs(departure: StepDeparture) -> str:
    """The first value that departs from a reference."""
    if departure.message:
        return f"departs from {departure.against}: {departure.message}"
    return (
        f"departs from {departure.against} first at step {departure.step}, {departure.dtype} {departure.leaf}"
        f"{_index_text(departure.index)}: {departure.found:.7g} for {departure.expected:.7g}, error "
        f"{numbers.error(departure.error)} of the largest value, bound {numbers.error(departure.bound)}"
    )


def _index_text(index: Sequence[int]) -> str:
    return str(list(index)) if index else ""


def _transfer(transfer: Transfer) -> str:
    groups = [f"{{{','.join(map(str, group))}}}" for group in transfer.groups[:_MOST_GROUPS]]
    groups += ["..."] if len(transfer.groups) > _MOST_GROUPS else []
    among = f" among {' '.join(groups)}" if groups else ""
    where = f", {relative_place(transfer.source)}" if transfer.source else ""
    return (
        f"{transfer.count} x {transfer.kind} of {transfer.arrays} arrays, {numbers.binary_bytes(transfer.bytes)}"
        f"{among}{where}"
    )
