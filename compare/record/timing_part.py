"""What calls take, by mode and cell, and the ratios that may be stated."""

from __future__ import annotations

from compare.record.base import Count, Indices, Interval, Named, Number, Part, Text


class Mode(Part, frozen=True):
    median_s: Number = None
    first_call_s: Number = None
    trace_s: Number = None
    lower_s: Number = None
    compile_s: Number = None
    peak_rss_bytes: Number = None
    page_faults: Number = None


class Ratio(Part, frozen=True):
    ratio: Number = None
    ci95: Interval = None
    ci99: Interval = None
    verdict: Text = ""
    pairs: Count = None
    rounds: Count = None
    between_pair_share: Number = None
    withheld: Text = ""
    note: Text = ""


class Power(Part, frozen=True):
    planted: Named[Ratio] = {}
    smallest: Named[Number] = {}


class Bound(Part, frozen=True):
    processors: Indices = ()
    parallelism: Number = None


class Threads(Part, frozen=True):
    asked: Count = None
    sides: Named[Bound] = {}
    equal: bool | None = None
    reason: Text = ""


class Timing(Part, frozen=True):
    modes: Named[Mode] = {}
    cells: Named[Mode] = {}
    ratios: Named[Ratio] = {}
    null: Named[Ratio] = {}
    margin: Number = None
    power: Power | None = None
    threads: Threads | None = None
