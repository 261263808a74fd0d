"""Rules about the costs of a call: the roofline, dispatch, page faults, start-up, other threads."""

from __future__ import annotations

import math
from collections.abc import Iterator

from compare.explaining.sentences import FASTER, SLOWER, Case, Figure, Sentence, figure, present_figures, ratio_text
from compare.record.cost_parts import Handover, Phases, Share, SizedCall, Stages
from compare.record.timing_part import Mode as ModeTime
from compare.report import numbers, tables
from compare.report.rooflines import BOUNDS
from workloads.core.modes import JAX, JAX_EAGER, JAX_JIT, JAX_SYNCHRONOUS, PORT, TF, TF_EAGER, TF_GRAPH, TF_JIT, Mode

MOSTLY = 0.25
"""The smallest share of a call at which the cost of making the call is reported."""

SHORT_S = 2e-4
"""A call so short can be changed by the tens of microseconds that handing it over costs."""

FAR_BELOW = 0.1
"""The share of a call's time below which the bound by memory and arithmetic does not explain it."""


def limit(case: Case) -> Iterator[Sentence]:
    """The least time of a call on this machine, and what of it each side reaches."""
    fastest, roofline = case.comparable, case.part.roofline
    if fastest is None or roofline is None or not roofline.bound:
        return
    modes = {mode: roofline.modes.get(str(mode), Share()) for mode in (PORT, fastest)}
    shares = present_figures(
        [case.figure(of.share, "roofline", "modes", str(mode), "share") for mode, of in modes.items()]
    )
    least = case.figure(roofline.limit_s, "roofline", "limit_s")
    if least is None or len(shares) < len(modes):
        return
    shares_text = ", ".join(f"{mode} {_percent(of.share)}" for mode, of in modes.items())
    notes = "".join(f"; {mode}: {of.note}" for mode, of in modes.items() if of.note)
    yield Sentence(
        "limit",
        f"a lower bound of a call on this machine is about {numbers.seconds(least.value)}, from "
        f"{BOUNDS.get(roofline.bound, roofline.bound)}; of that speed {shares_text} is reached{notes}",
        (least, *shares),
        case.commands.by("bench"),
        seconds=least.value,
    )


def dispatch(case: Case) -> Iterator[Sentence]:
    """Calls so short that calling is much of them."""
    fastest = case.comparable
    if fastest is None or case.part.unrolled:  # times are per step, and a call has several
        return
    sentences: list[str] = []
    figures: list[Figure] = []
    shares: list[float] = []
    calls: list[float] = []
    for mode in (PORT, fastest):
        entry, median = case.record.dispatch.get(str(mode)), tables.median(case.timing, mode)
        empty = figure(entry.public_s if entry else None, "dispatch", str(mode), "public_s")
        if empty is None or not median:
            continue
        sentences.append(f"{numbers.seconds(empty.value)} in {mode}, where {case.name} takes {numbers.seconds(median)}")
        figures += [empty, *case.of_median(mode)]
        shares.append(empty.value / median)
        calls.append(empty.value)
    if shares and max(shares) >= MOSTLY:
        yield Sentence(
            "dispatch",
            f"a call that computes next to nothing (x + 1 of eight elements) takes {', and '.join(sentences)}",
            tuple(figures),
            case.commands.by("bench"),
            seconds=max(calls),
        )


def page_faults(case: Case) -> Iterator[Sentence]:
    """Memory that the port maps anew in each call, where the fastest TensorFlow mode does not."""
    fastest = case.comparable
    if fastest is None or not tables.page_faults_in_words(case.part):
        return
    modes = (PORT, fastest)
    counts = [case.timing.modes.get(str(mode), ModeTime()).page_faults for mode in modes]
    counts_text = ", ".join(f"{mode} {numbers.count(count)}" for mode, count in zip(modes, counts, strict=True))
    places = [
        case.figure(count, "timing", "modes", str(mode), "page_faults")
        for mode, count in zip(modes, counts, strict=True)
    ]
    yield Sentence(
        "page_faults",
        f"page faults in a call: {counts_text}; `{tables.LARGE_PAGES}` in the environment asks for large pages, "
        "and `jaxport bench --allocator retain` measures what keeping the memory saves",
        present_figures(places),
        case.commands.by("bench"),
        seconds=min(tables.FAULT_S * (numbers.finite(counts[0]) or 0.0), tables.median(case.timing, PORT) or 0.0),
    )


def starting(case: Case) -> Iterator[Sentence]:
    """After how many calls the compiled port has made up for its start, or that it does not."""
    fastest = case.comparable
    if fastest is None or case.verdict(PORT, fastest) not in (FASTER, SLOWER):
        return
    first = {mode: _first_call(case, mode) for mode in (PORT, fastest)}
    medians = {mode: tables.median(case.timing, mode) for mode in (PORT, fastest)}
    own, other, own_call, other_call = first[PORT], first[fastest], medians[PORT], medians[fastest]
    if own is None or other is None or own_call is None or other_call is None or own.value <= other.value:
        return
    gain = other_call - own_call
    if (gain > 0) != (case.verdict(PORT, fastest) == FASTER):
        return  # the medians and the paired ratio disagree
    calls = math.ceil((own.value - other.value) / gain) if gain > 0 else 0
    pays = f"made up for after {calls:,} calls" if calls else "not made up for: each call takes longer too"
    yield Sentence(
        "starting",
        f"until the first result {PORT} takes {numbers.seconds(own.value)}, {fastest} {numbers.seconds(other.value)}; "
        f"that is {pays}",
        (own, other, *case.of_median(PORT), *case.of_median(fastest)),
        case.commands.by("bench"),
    )


def other_threads(case: Case) -> Iterator[Sentence]:
    """A compiled call, no faster than one that is not, whose size XLA was seen to hand to other threads."""
    elements = _largest_input(case)
    for compiled, side, others in ((JAX_JIT, JAX, (TF_EAGER, TF_GRAPH, JAX_EAGER)), (TF_JIT, TF, (TF_EAGER,))):
        handover = case.record.handover.get(side) or Handover()
        if handover.below is None or handover.above is None or elements < (handover.above.elements or math.inf):
            continue
        slower = next((mode for mode in others if case.verdict(compiled, mode) == SLOWER), None)
        if slower is None or not _short(case, compiled):
            continue
        ends = {end: getattr(handover, end) for end in ("below", "above")}
        figures = present_figures([
            figure(getattr(of, field), "handover", side, end, field)
            for end, of in ends.items() for field in ("elements", "seconds", "threads")
        ])  # fmt: skip
        inputs = f"{case.name} has inputs of up to {numbers.count(elements)} elements"
        took = numbers.seconds(tables.median(case.timing, compiled))
        remark, gain = _not_handed_over(case) if side == JAX else ("", ())
        yield Sentence(
            "other_threads",
            f"{compiled} takes {took} and is slower than {slower}, which asks for no compilation; "
            f"{tables.SIDES[side]}'s XLA {_handed_over(handover)}; {inputs}{remark}",
            (*figures, *case.of_ratio(compiled, slower), *case.of_median(compiled), *gain),
            case.commands.by("explain"),
            seconds=(handover.above.seconds or 0.0) - (handover.below.seconds or 0.0),
        )


def _handed_over(handover: Handover) -> str:
    below, above = handover.below or SizedCall(), handover.above or SizedCall()
    return (
        f"computed a sum of {numbers.count(below.elements)} elements on one thread, in "
        f"{numbers.seconds(below.seconds)}, and handed one of {numbers.count(above.elements)} to another thread, which "
        f"took {numbers.seconds(above.seconds)}"
    )


def _not_handed_over(case: Case) -> tuple[str, tuple[Figure, ...]]:
    """The measured time of a call of the port that is not handed over, or how to measure it."""
    ratio = case.ratio(JAX_SYNCHRONOUS, PORT)
    option = "`jax_cpu_enable_async_dispatch=False`"
    if ratio is None:
        return f"; `jaxport bench --dispatch synchronous` measures it without, by {option}", ()
    return f"; without, by {option}, it takes {ratio_text(ratio)}, of that", case.of_ratio(JAX_SYNCHRONOUS, PORT)


def _short(case: Case, mode: Mode) -> bool:
    """Whether a call is short although neither memory nor arithmetic takes the time."""
    median = tables.median(case.timing, mode)
    bounds = case.part.roofline.bounds if case.part.roofline else {}
    known_bounds = [numbers.finite(bounds.get(name)) for name in ("memory_s", "compute_s")]
    if median is None or median > SHORT_S or known_bounds[0] is None:
        return False
    return max(bound for bound in known_bounds if bound is not None) <= FAR_BELOW * median


def _largest_input(case: Case) -> int:
    """Elements of the largest input, as "f32[100,100]" says them; 0 where none is known."""
    shapes = [text.partition("[")[2].rstrip("]").split(",") for text in case.part.inputs.values() if "[" in text]
    return max((math.prod(int(size) for size in shape if size.strip().isdecimal()) for shape in shapes), default=0)


def _first_call(case: Case, mode: Mode) -> Figure | None:
    """Seconds until the first result: in a fresh process where phases were measured, else beside other modes."""
    fresh = (case.part.phases.get(str(mode), Phases()).cold or Stages()).first_call_s
    if numbers.finite(fresh) is not None:
        return case.figure(fresh, "phases", str(mode), "cold", "first_call_s")
    return case.figure(
        case.timing.modes.get(str(mode), ModeTime()).first_call_s, "timing", "modes", str(mode), "first_call_s"
    )


def _percent(share: float | None) -> str:
    """Small shares with a digit more: a tenth of a percent is not nothing."""
    number = numbers.finite(share)
    return numbers.share(number) if number is None or number >= 0.1 else f"{100 * number:.2g} %"
