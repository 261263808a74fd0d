"""The timing record: what is stated, what is withheld and why, on machines whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from compare.bench.stats import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from compare.bench.timing import Planted, summarise
from compare.plain_json import to_json
from compare.record import timing_part
from compare.record.timing_part import Power, Timing
from workloads.core.modes import Arm, parse_arm

PAIRS, ROUNDS = 8, 12
SECONDS = {
    "tf/eager": 4.0,
    "tf/graph": 3.0,
    "tf/autocluster": 1.3,
    "tf/jit": 1.0,
    "tf/jit#2": 1.0,
    "jax/eager": 5.0,
    "jax/jit": 0.5,
    "jax/jit#2": 0.5,
    "jax/donated": 1.01,
    "jax/tuned": 0.4,
    "tf@tf": 0.9,
    "jax@tf": 0.6,
}
TF, TF_AGAIN, JAX, JAX_AGAIN = (parse_arm(name) for name in ("tf/jit", "tf/jit#2", "jax/jit", "jax/jit#2"))
PLANTED = (
    Planted(parse_arm("jax/jit+5%"), JAX_AGAIN),
    Planted(parse_arm("jax/jit#2+10%"), JAX),
)
NULLS = {TF: TF_AGAIN, JAX: JAX_AGAIN}
PHASES = {JAX: timing_part.Mode(first_call_s=0.3, trace_s=0.01, compile_s=0.2, peak_rss_bytes=1 << 28)}

Samples = dict[Arm, tuple[tuple[float, ...], ...]]


def measured(seconds: Mapping[str, float], pairs: int = PAIRS, noise: float = 0.02, seed: int = 3) -> Samples:
    """Times of arms around `seconds`; every process has a level of its own, and every round noise."""
    generator = np.random.default_rng(seed)

    def arm(median: float) -> tuple[tuple[float, ...], ...]:
        levels = generator.normal(0, noise, size=(pairs, 1))
        times = median * np.exp(levels + generator.normal(0, noise, size=(pairs, ROUNDS)))
        return tuple(tuple(rounds) for rounds in times.tolist())

    return {parse_arm(name): arm(median) for name, median in seconds.items()}


def timing(**changed: float) -> Timing:
    """The whole run, with the seconds of some arms changed."""
    return summarise(measured({**SECONDS, **changed}), PHASES, NULLS)


def without(samples: Samples, name: str, *pairs: int) -> Samples:
    """As if `arm` had failed in those pairs."""
    arm = parse_arm(name)
    times = tuple(() if number in pairs else rounds for number, rounds in enumerate(samples[arm]))
    return {**samples, arm: times}


def test_modes_hold_the_median_and_the_phases_and_no_second_processes() -> None:
    modes = timing().modes
    assert list(modes) == [
        "tf/eager",
        "tf/graph",
        "tf/autocluster",
        "tf/jit",
        "jax/eager",
        "jax/jit",
        "jax/donated",
        "jax/tuned",
    ]
    assert {name: mode.median_s for name, mode in modes.items()} == pytest.approx(
        {name: SECONDS[name] for name in modes}, rel=0.05
    )
    jit = modes["jax/jit"]
    assert (jit.first_call_s, jit.trace_s, jit.compile_s, jit.peak_rss_bytes) == (0.3, 0.01, 0.2, 1 << 28)
    assert modes["tf/jit"] == timing_part.Mode(median_s=modes["tf/jit"].median_s)


def test_the_median_is_over_pairs_so_that_a_pair_of_many_rounds_weighs_no_more() -> None:
    samples = {TF: ((1.0, 1.0, 1.0, 1.0, 1.0), (2.0,), (3.0,))}
    assert summarise(samples, {}, {}).modes["tf/jit"].median_s == 2.0


def test_cells_are_reported_apart() -> None:
    cells = timing().cells
    assert {name: cell.median_s for name, cell in cells.items()} == pytest.approx(
        {"tf@tf": 0.9, "jax@tf": 0.6}, rel=0.05
    )


def test_the_two_programs_are_held_against_each_other_under_one_compiler() -> None:
    found = timing(**{"jax@jax": 0.5, "tf@jax": 1.0}).program_ratios
    assert list(found) == ["jax@jax vs tf@jax", "jax@tf vs tf@tf"]
    assert found["jax@jax vs tf@jax"].ratio == pytest.approx(0.5, rel=0.02)
    assert found["jax@jax vs tf@jax"].verdict == "faster"


def test_programs_need_no_tensorflow_to_be_held_against_each_other_and_the_control_decides() -> None:
    seconds = {**SECONDS, "jax@jax": 0.5, "tf@jax": 1.0}
    alone = {arm: rounds for arm, rounds in measured(seconds).items() if arm.side == "jax"}
    control = {JAX: JAX_AGAIN}
    assert list(summarise(alone, {}, control).program_ratios) == ["jax@jax vs tf@jax"]
    (withheld,) = summarise(alone, {}, control, doubt="the machine was busy").program_ratios.values()
    assert (withheld.ratio, withheld.withheld) == (None, "the machine was busy")


def test_compiled_jax_modes_are_held_against_every_tf_mode_and_each_sides_modes_among_one_another() -> None:
    against = ["tf/eager", "tf/graph", "tf/autocluster", "tf/jit"]
    assert list(timing().ratios) == [
        *(f"jax/jit vs {mode}" for mode in against),
        *(f"jax/donated vs {mode}" for mode in against),
        *(f"jax/tuned vs {mode}" for mode in against),
        "jax/jit vs jax/eager",
        "jax/tuned vs jax/jit",
        "tf/graph vs tf/eager",
        "tf/jit vs tf/eager",
        "tf/autocluster vs tf/graph",
        "tf/jit vs tf/graph",
    ]


def test_a_ratio_is_that_of_the_first_over_the_second_and_the_verdict_is_about_the_first() -> None:
    ratios = timing().ratios
    jit, donated = ratios["jax/jit vs tf/jit"], ratios["jax/donated vs tf/jit"]
    assert jit.ratio == pytest.approx(0.5, rel=0.05) and jit.verdict == FASTER
    assert jit.ci95 is not None and jit.ci95[0] < 0.5 < jit.ci95[1] < 1
    assert (jit.pairs, jit.rounds, jit.withheld, jit.note) == (PAIRS, PAIRS * ROUNDS, "", "")
    assert donated.verdict == EQUIVALENT
    assert timing(**{"jax/jit": 1.5, "jax/jit#2": 1.5}).ratios["jax/jit vs tf/jit"].verdict == SLOWER


def test_identical_code_comes_out_equal_and_is_shown() -> None:
    null = timing().null
    assert list(null) == ["tf/jit vs itself", "jax/jit vs itself"]
    assert {entry.verdict for entry in null.values()} == {EQUIVALENT}
    assert all(entry.ratio == pytest.approx(1, abs=0.05) and entry.pairs == PAIRS for entry in null.values())


@pytest.mark.parametrize("arm", NULLS, ids=str)
def test_where_identical_code_differs_every_ratio_is_withheld(arm: Arm) -> None:
    spoilt = timing(**{str(NULLS[arm]): SECONDS[str(arm)] * 1.15})
    for entry in spoilt.ratios.values():
        assert (entry.ratio, entry.ci95, entry.between_pair_share, entry.verdict) == (None, None, None, INCONCLUSIVE)
        assert (entry.pairs, entry.rounds) == (PAIRS, PAIRS * ROUNDS)
        assert f"{arm} against a second process of itself gives 0.8" in entry.withheld
    null = spoilt.null[f"{arm} vs itself"]
    assert null.verdict == FASTER and null.ratio == pytest.approx(1 / 1.15, rel=0.05) and null.withheld == ""
    assert null.ci99 is not None and null.ci99[1] < 1
    assert spoilt.modes.keys() == timing().modes.keys()


def test_an_interval_of_99_9_percent_decides_so_that_chance_seldom_withholds() -> None:
    samples = {
        TF: tuple((1.0003 + 0.001 * pair,) for pair in range(8)),
        TF_AGAIN: ((1.0,),) * 8,
        JAX: ((0.5,),) * 8,
    }
    shifted = summarise(samples, {}, {TF: TF_AGAIN})
    null = shifted.null["tf/jit vs itself"]
    assert null.ci99 is not None and null.ci99[0] > 1
    assert shifted.ratios["jax/jit vs tf/jit"].verdict == FASTER


def test_a_planted_slowdown_is_held_against_its_mode_and_has_no_row_of_its_own() -> None:
    samples = measured({**SECONDS, "jax/jit+5%": 0.525, "jax/jit#2+10%": 0.55})
    found = summarise(samples, PHASES, NULLS, PLANTED)
    small, large = found.power.planted["jax/jit +5 %"], found.power.planted["jax/jit +10 %"]
    assert small.ratio == pytest.approx(1.05, abs=0.03) and large.ratio == pytest.approx(1.1, abs=0.03)
    assert large.verdict == SLOWER
    assert found.modes.keys() == timing().modes.keys() and found.ratios.keys() == timing().ratios.keys()


def test_a_harness_that_cannot_see_ten_percent_says_so() -> None:
    samples = measured({**SECONDS, "jax/jit#2+10%": 0.55}, noise=0.4)
    power = summarise(samples, PHASES, NULLS, PLANTED).power
    assert power.planted["jax/jit +10 %"].verdict == INCONCLUSIVE
    assert all(slowdown is not None and slowdown > 0.1 for slowdown in power.smallest.values())


def test_a_planted_arm_that_never_ran_with_its_mode_is_named() -> None:
    samples = without(measured({**SECONDS, "jax/jit+5%": 0.525}), "jax/jit#2", *range(PAIRS))
    assert "did not both run" in summarise(samples, PHASES, NULLS, PLANTED).power.planted["jax/jit +5 %"].withheld


def test_a_doubt_that_was_known_before_withholds_every_ratio() -> None:
    found = summarise(measured(SECONDS), PHASES, NULLS, doubt="tf computed on 1 processor, jax on 2")
    assert {entry.withheld for entry in found.ratios.values()} == {"tf computed on 1 processor, jax on 2"}
    assert found.null["jax/jit vs itself"].ratio is not None


@pytest.mark.parametrize("failed", [range(PAIRS), None], ids=["failed in every pair", "never there"])
def test_identical_code_that_was_to_be_timed_and_was_not_vouches_for_nothing(failed: range | None) -> None:
    samples = measured(SECONDS)
    samples = (
        {k: v for k, v in samples.items() if k != TF_AGAIN} if failed is None else without(samples, "tf/jit#2", *failed)
    )
    found = summarise(samples, PHASES, NULLS)
    assert all("tf/jit was not timed against a second process" in entry.withheld for entry in found.ratios.values())
    assert found.null["tf/jit vs itself"].ratio is None and found.null["tf/jit vs itself"].withheld


def test_a_mode_that_never_ran_asks_for_no_second_process_and_has_no_row() -> None:
    samples = {name: times for name, times in measured(SECONDS).items() if name not in (TF, TF_AGAIN)}
    found = summarise({**samples, TF: ((),) * PAIRS}, PHASES, NULLS)
    assert "tf/jit" not in found.modes and list(found.null) == ["jax/jit vs itself"]
    assert found.ratios["jax/jit vs tf/graph"].verdict == FASTER


def test_the_margin_is_what_identical_code_needs() -> None:
    assert timing().margin == 0.05
    noisy = summarise(measured(SECONDS, noise=0.1), PHASES, NULLS)
    assert 0.05 < noisy.margin < 0.25
    assert noisy.ratios["jax/donated vs tf/jit"].verdict in (EQUIVALENT, INCONCLUSIVE)


@pytest.mark.parametrize(("seconds", "verdict"), [(0.535, EQUIVALENT), (0.4, SLOWER), (0.7, FASTER)])
def test_a_peer_is_called_only_beyond_what_its_lonely_process_explains(seconds: float, verdict: str) -> None:
    found = summarise(measured({**SECONDS, "tf2jax/jit": seconds}, noise=0.01), PHASES, NULLS)
    entry = found.ratios["jax/jit vs tf2jax/jit"]
    assert entry.verdict == verdict
    assert "runs nothing else" in entry.note
    assert entry.ratio == pytest.approx(0.5 / seconds, rel=0.03)


def test_an_arm_that_failed_in_one_pair_is_compared_in_the_others() -> None:
    entry = summarise(without(measured(SECONDS), "jax/jit", 2), PHASES, NULLS).ratios["jax/jit vs tf/jit"]
    assert (entry.pairs, entry.rounds, entry.verdict) == (PAIRS - 1, (PAIRS - 1) * ROUNDS, FASTER)


def test_arms_that_never_ran_in_one_pair_have_no_ratio() -> None:
    samples = without(without(measured(SECONDS), "jax/donated", 0, 1, 2, 3), "tf/graph", 4, 5, 6, 7)
    entry = summarise(samples, PHASES, NULLS).ratios["jax/donated vs tf/graph"]
    assert (entry.ratio, entry.pairs, entry.rounds) == (None, 0, 0)
    assert entry.withheld == "jax/donated and tf/graph did not both run in any pair of processes"


def test_one_pair_of_processes_shows_an_estimate_and_says_what_it_lacks() -> None:
    found = summarise(measured(SECONDS, pairs=1), PHASES, NULLS)
    entry = found.ratios["jax/jit vs tf/jit"]
    assert entry.ratio == pytest.approx(0.5, rel=0.1)
    assert (entry.ci95, entry.verdict, entry.withheld) == ((0, float("inf")), INCONCLUSIVE, "")
    assert entry.note.startswith("fewer than 5 pairs of processes")
    assert found.power.smallest == {"tf/jit": None, "jax/jit": None}


def test_the_record_is_plain_json_under_the_names_that_others_script_against() -> None:
    record: dict[str, Any] = json.loads(json.dumps(to_json(timing()), allow_nan=False))
    assert record.keys() == {"modes", "cells", "ratios", "program_ratios", "null", "margin", "power", "threads"}
    assert record["power"].keys() == {"planted", "smallest"}
    mode = {"median_s", "first_call_s", "trace_s", "lower_s", "compile_s", "peak_rss_bytes", "page_faults"}
    assert record["modes"]["jax/jit"].keys() == mode
    entry = {"ratio", "ci95", "ci99", "verdict", "pairs", "rounds", "between_pair_share", "withheld", "note"}
    assert record["ratios"]["jax/jit vs tf/jit"].keys() == record["null"]["tf/jit vs itself"].keys() == entry
    assert record["cells"]["tf@tf"].keys() == {"median_s"}
    assert len(record["ratios"]["jax/jit vs tf/jit"]["ci95"]) == 2


def test_a_run_without_times_is_an_empty_record() -> None:
    assert summarise({}, {}, NULLS) == Timing(margin=0.05, power=Power())
