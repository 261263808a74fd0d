"""Runs made by hand and by the real arithmetic, for the specifications of histories."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compare.bench import timing
from compare.history import moves, series
from compare.history.moves import Change, Recurrence
from compare.plain_json import to_json
from compare.record import envelope
from compare.record.results_file import decode
from workloads.core.modes import JAX_JIT, TF_JIT, Arm, parse_arm

Record = dict[str, Any]

PAIRS, ROUNDS = 8, 6
PORT = "jax/jit vs tf/jit"


def measured(seed: int, slowdown: float = 0.0, spread: float = 0.02) -> dict[str, Any]:
    """The timing that the real arithmetic makes of a run: pairs of processes `spread` apart, jax/jit 0.6 of tf/jit."""
    generator = np.random.default_rng(seed)

    def rounds(seconds: float) -> list[list[float]]:
        pairs = seconds * np.exp(generator.normal(0, spread / math.sqrt(2), PAIRS))
        return [list(pair * np.exp(generator.normal(0, 0.005, ROUNDS))) for pair in pairs]

    seconds = {"tf/jit": 1e-3, "jax/jit": 6e-4 * (1 + slowdown), "tf/jit#2": 1e-3, "jax/jit#2": 6e-4 * (1 + slowdown)}
    nulls = {Arm(mode): Arm(mode, copy=2) for mode in (TF_JIT, JAX_JIT)}
    return to_json(timing.summarise({parse_arm(arm): rounds(each) for arm, each in seconds.items()}, {}, nulls))


def record(timed: dict[str, Any], minute: int = 0) -> Record:
    """A run of one workload, as it is read back from a file."""
    side = {"python": "3.11.7", "numpy": "2.4.6", "device": "cpu", "threads": 2, "recorded": None}
    return {
        "schema": 1,
        "created": f"2026-11-20T10:{minute:02d}:00+00:00",
        "environment": {
            "jaxport": "0.1.0",
            **{"python": "3.11.7", "platform": "Linux", "cpu": "AMD EPYC", "cores": 2},
            "sides": {
                "tf": side | {"tensorflow": "2.21.0", "keras": "3.15.1"},
                "jax": side | {"jax": "0.10.2", "jaxlib": "0.10.2", "flax": "0.12.8", "optax": "0.2.8"},
            },
        },
        "workloads": {
            "add": {
                **{"size": "default", "dimensions": {"side": 100}, "dtype": "float32", "sha256": "ab"},
                "timing": {
                    **timed,
                    "threads": {"asked": 2, "sides": {"tf": {"processors": [0, 1], "parallelism": 1.9}}},
                },
                "peers": {"tf2jax": {"verdict": "pass", "version": "0.3.8"}},
            }
        },
    }


def stated(ratio: float, half: float = 0.02, pairs: int = 8, margin: float = 0.05) -> dict[str, Any]:
    """A timing with one ratio whose 95 % interval is `half` wide on either side, on the log scale."""
    row = {"ratio": ratio, "ci95": [ratio * math.exp(-half), ratio * math.exp(half)], "pairs": pairs, "withheld": ""}
    modes = {"jax/jit": {"median_s": 1e-3 * ratio}, "tf/jit": {"median_s": 1e-3}}
    return {"modes": modes, "ratios": {PORT: row}, "margin": margin}


def history_of(*ratios: float) -> list[Record]:
    """Runs whose one ratio is that."""
    return [record(stated(ratio), minute) for minute, ratio in enumerate(ratios)]


def changed(path: str, value: Any, *, of: Record | None = None) -> Record:
    """A copy with one value changed, by its dotted place."""
    found = copy.deepcopy(of or record(stated(0.6)))
    *keys, last = path.split("/")
    place = found
    for key in keys:
        place = place[key]
    place[last] = value
    return found


def decoded(run: Record) -> envelope.Record:
    """The record as the history reads it from a file."""
    return decode(run, Path("results.json"))


def compare_all(runs: Sequence[Record]) -> tuple[Recurrence, ...]:
    """`moves.compare_all` of runs as they are in files."""
    return moves.compare_all([decoded(run) for run in runs])


def change_of(before: Record, after: Record) -> Change:
    """The change of the one ratio of two runs."""
    (recurrence,) = compare_all([before, after])
    (change,) = recurrence.changes
    return change


def recurring(runs: Sequence[Record]) -> Recurrence:
    """`moves.recurring` of the one ratio of runs as they are in files."""
    return moves.recurring([decoded(run) for run in runs], "add", PORT)


def trend(runs: Mapping[int, Record]) -> series.Trend:
    """`series.trend` of runs as they are in files."""
    return series.trend({number: decoded(run) for number, run in runs.items()})
