"""`jaxport.bench`: what a record of times says to a caller, and what cannot be timed is refused in one sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pages import Page
from places import DATA

import jaxport
from compare.api import file_check
from compare.api.bench_report import bench_report
from compare.api.timing_options import TimingOptions
from compare.inputs.request import Request
from compare.progress import Silent
from compare.record import results_file
from compare.record.envelope import Record
from compare.record.vocabulary import FAIL
from compare.record.workload_part import Failure
from compare.run import whole_run
from compare.run.whole_run import RunResult
from compare.sides.settings import available_processors

FILES = ("my_tf.py:f", "my_jax.py:f", {"x": "f32[3]"})


@pytest.fixture(scope="module")
def measured() -> Record:
    return results_file.load(DATA / "record_add.json")


def changed(record: Record, **parts: Any) -> Record:
    ((name, part),) = record.workloads.items()
    return msgspec.structs.replace(record, workloads={name: msgspec.structs.replace(part, **parts)})


def test_a_report_has_times_ratios_and_reasons_under_names(measured: Record) -> None:
    report = bench_report(measured)
    timing = measured.workloads["add"].timing
    assert timing is not None and report.passed and report.parity.verdict == "pass"
    assert report.times == {mode: timed.median_s for mode, timed in timing.modes.items()}
    assert report.ratio == report.ratios[f"jax/jit vs {report.fastest}"]
    assert report.ratio.verdict in ("faster", "slower", "equivalent", "inconclusive")
    assert report.reasons and report.headline in str(report) and report.reasons[0] in str(report)
    assert report.fastest in Page(report._repr_html_()).text
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.headline = ""  # pyright: ignore[reportAttributeAccessIssue]


def test_a_port_that_fails_was_not_timed_and_has_not_passed(measured: Record) -> None:
    parity = measured.workloads["add"].parity
    assert parity is not None
    report = bench_report(changed(measured, timing=None, parity=msgspec.structs.replace(parity, verdict=FAIL)))
    assert not report.passed and report.times == {} and report.ratio is None and report.fastest == ""
    assert "fail" in Page(report._repr_html_()).text


def test_times_that_are_missing_are_no_pass(measured: Record) -> None:
    report = bench_report(changed(measured, timing=None, failures=(Failure("tf", "time it", "it died"),)))
    assert not report.passed and report.parity.verdict == "incomplete" and "it died" in str(report)


def test_a_ratio_that_is_withheld_is_none_and_says_why(measured: Record) -> None:
    timing = measured.workloads["add"].timing
    assert timing is not None
    withheld = {
        name: msgspec.structs.replace(ratio, ratio=None, ci95=None, withheld="the machine was busy", verdict="")
        for name, ratio in timing.ratios.items()
    }
    report = bench_report(changed(measured, timing=msgspec.structs.replace(timing, ratios=withheld)))
    assert report.ratio is not None and report.ratio.ratio is None and report.ratio.interval is None
    assert report.ratio.withheld == "the machine was busy" and "busy" in Page(report._repr_html_()).text


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, measured: Record) -> list[Request]:
    """The requests for a run, each of which gives the record of another."""
    requests: list[Request] = []

    def run(request: Request, *_: Any) -> RunResult:
        requests.append(request)
        return RunResult(measured)

    monkeypatch.setattr(whole_run, "run", run)
    return requests


def files(folder: Path) -> tuple[str, str, dict[str, str]]:
    for name in ("my_tf", "my_jax"):
        (folder / f"{name}.py").write_text("def f(x):\n    return x\n")
    return str(folder / "my_tf.py:f"), str(folder / "my_jax.py:f"), {"x": "f32[3]"}


def test_what_is_asked_for_is_what_is_timed(asked: list[Request], tmp_path: Path) -> None:
    jaxport.bench(
        *files(tmp_path), modes=["tf/graph"], pass_="forward", pairs=3, budget=0.5, threads=1, phases=2, peers=True,
        limits=False, timeout_s=7,
    )  # fmt: skip
    (request,) = asked
    (plan,) = request.plans
    assert (plan.pairs, plan.most_pairs, plan.budget_s, plan.threads) == (3, 6, 0.5, 1)
    assert (request.extras.phases, request.extras.peers, request.extras.limits) == (2, True, False)
    assert [str(mode) for mode in request.modes] == ["tf/graph"] and request.main_pass == "forward"
    assert request.timeout_s == 7 and not request.parity_only


def test_without_options_all_modes_are_timed_on_all_processors(asked: list[Request], tmp_path: Path) -> None:
    jaxport.bench(*files(tmp_path))
    (plan,) = asked[0].plans
    assert (plan.pairs, plan.most_pairs, plan.threads) == (12, 24, available_processors())
    assert not asked[0].modes and asked[0].main_pass is None


def test_an_interrupt_is_no_report(asked: list[Request], measured: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_run, "run", lambda *_: RunResult(measured, interrupted=True))
    workload: Any = None
    with pytest.raises(KeyboardInterrupt):
        file_check.bench(workload, TimingOptions(), 3, Silent())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": 0}, "expected an integer of at least 1 as pairs, found 0"),
        ({"pairs": "3"}, "expected an integer of at least 1 as pairs, found '3'"),
        ({"pairs": 4, "max_pairs": 3}, "expected an integer of at least 4 as max_pairs, found 3"),
        ({"budget": 0}, "expected seconds above 0 as budget, found 0"),
        ({"budget": float("nan")}, "expected seconds above 0 as budget, found nan"),
        ({"threads": 10_000}, "expected threads of at most .*, found 10000"),
        ({"threads": "two"}, "expected an integer of at least 1 as threads, found 'two'"),
        ({"phases": -1}, "expected an integer of at least 0 as phases, found -1"),
        ({"modes": "tf/jit"}, "expected a list of modes, found 'tf/jit'"),
        ({"modes": ["tf/fast"]}, "expected modes of .*, found 'tf/fast'"),
        ({"pass_": "backward"}, "expected pass_ of forward, gradients, step, found 'backward'"),
    ],
)
def test_what_is_no_way_to_time_is_refused_in_one_sentence(
    options: dict[str, Any], message: str, asked: list[Request], tmp_path: Path
) -> None:
    with pytest.raises(jaxport.RequestError, match=message) as refused:
        jaxport.bench(*files(tmp_path), **options)
    assert not asked and "\n" not in str(refused.value)


def of_this_module(x: Any) -> Any:
    return x


def closure() -> Callable[[Any], Any]:
    def inner(x: Any) -> Any:
        return x

    return inner


class Callee:
    def __call__(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x: x, "a lambda"),
        (closure(), "inner, which its module does not have"),
        (Callee(), "an object of Callee"),
        (Callee().__call__, "__call__, which its module does not have"),
        (3, "an object of int"),
        (len, "len, which"),
    ],
)
@pytest.mark.parametrize("place", ["tf_fn", "jax_fn"])
def test_what_this_process_alone_has_cannot_be_timed(function: Any, found: str, place: str) -> None:
    both = {"tf_fn": of_this_module, "jax_fn": of_this_module} | {place: function}
    with pytest.raises(jaxport.RequestError, match=f"import as {place}, found {found}.*FILE.py:NAME"):
        jaxport.bench(*both.values(), {"x": "f32[3]"})


def test_functions_of_a_module_are_timed_by_their_names(asked: list[Request]) -> None:
    jaxport.bench(of_this_module, of_this_module, {"x": "f32[3]"})
    (workload,) = asked[0].workloads
    assert getattr(workload, "tf", "") == f"{__file__}:of_this_module" and workload.name == "of_this_module"


def test_functions_that_take_other_inputs_are_refused(asked: list[Request]) -> None:
    with pytest.raises(jaxport.RequestError, match=r"expected an input for each argument of tf_fn \(x\), found x, y"):
        jaxport.bench(of_this_module, of_this_module, {"x": "f32[3]", "y": "f32[3]"})
    assert not asked


def test_a_function_whose_file_has_changed_is_not_taken_for_that_in_the_file(
    asked: list[Request], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "edited_since.py"
    file.write_text("def f(x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import edited_since  # pyright: ignore[reportMissingImports]

    arguments = (edited_since.f, edited_since.f, {"x": "f32[3]"})
    jaxport.bench(*arguments)
    file.write_text("def f(x):\n    return x + 1\n")
    with pytest.raises(jaxport.RequestError, match="as it was imported as tf_fn, found another text there"):
        jaxport.bench(*arguments)
    file.write_text("def f(x:\n")
    with pytest.raises(jaxport.RequestError, match="found another text there"):
        jaxport.bench(*arguments)
    file.unlink()
    with pytest.raises(jaxport.RequestError, match="found another text there"):
        jaxport.bench(*arguments)
    assert len(asked) == 1


@pytest.mark.parametrize("door", [jaxport.check, jaxport.locate, jaxport.compare_programs])
def test_what_is_to_be_isolated_and_cannot_be_is_refused(door: Any) -> None:
    with pytest.raises(jaxport.RequestError, match="expected a function that a worker can import as jax_fn, found a l"):
        door(of_this_module, lambda x: x, {"x": "f32[3]"}, isolated=True)
