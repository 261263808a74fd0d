"""The pytest plugin: what its fixtures do with what they are told, and with which words tests fail."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from places import DATA, ROOT
from plugin_sessions import PASSED, WRITTEN, Session, session

from compare.bench.stats import LEAST_PAIRS
from jaxport._pytest_plugin import PAIRS

pytestmark = pytest.mark.process

# A repository whose ports are made up.

RECORD = DATA / "record_small.json"

PROVER = f"""
import pytest
from pathlib import Path
from types import SimpleNamespace
from compare.record import results_file
from compare.record.envelope import Environment

from msgspec import structs

WORKLOADS = results_file.load(Path({str(RECORD)!r})).workloads

class MadeUp:
    environment = Environment(cpu="made up")

    def judge(self, asked, size, pairs, parity_only=False):
        (port,) = asked
        print("asked", port.reference, size, pairs, "parity only" * parity_only)
        print("pass", port.main_pass)
        if port.reference == "nothing":
            from compare.sides._side import BadTarget
            raise BadTarget("jax", "load", "expected a function,\\n found none")
        part = WORKLOADS[port.reference]
        if size == "nothing compiled":
            profile = structs.replace(part.profile["tf/autocluster"], same_as="tf/graph")
            part = structs.replace(part, profile={{**part.profile, "tf/autocluster": profile}})
        return [SimpleNamespace(name=port.reference, part=part)]

    def rounds(self, port, size, mode):
        seconds = iter([9.0, 0.004, 0.001, 0.003, *[0.002] * 100])
        def once():
            if str(mode) == "tf/graph":
                from compare.sides._side import SideError
                raise SideError("tf", "round graph", "the worker ended by signal SIGSEGV", is_lost=True)
            return next(seconds)
        return once

@pytest.fixture(scope="session")
def jaxport_prover(request):
    from jaxport import _pytest_plugin
    request.config.stash[_pytest_plugin._PROVER] = MadeUp()
    return MadeUp()
"""

TESTS = """
import pytest

@pytest.mark.benchmark(min_rounds=4, max_time=0)
def test_measured(port_benchmark):
    port_benchmark("running_example")

@pytest.mark.benchmark(group="mine")
def test_another_mode(port_benchmark):
    port_benchmark("running_example", mode="tf/eager", size="smoke")

def test_an_eager_port(port, port_benchmark):
    port("running_example")
    port_benchmark("running_example", mode="jax/eager")

def test_parity_alone(port):
    port("running_example", size="smoke", parity_only=True)

def test_inference(port_benchmark):
    port_benchmark("running_example", main_pass="forward")

def test_proving_no_such_pass(port):
    port("running_example", main_pass="backward")

def test_benchmarking_no_such_pass(port_benchmark):
    port_benchmark("running_example", main_pass="backward")

@pytest.mark.parametrize("name", ["mnist_mlp", "lstm", "nothing"])
def test_proving(port, name):
    port(name)

@pytest.mark.parametrize("name", ["mnist_mlp", "lstm", "nothing"])
def test_benchmarking(port_benchmark, name):
    port_benchmark(name)

def test_no_such_mode(port_benchmark):
    port_benchmark("running_example", mode="jax/fast")

def test_a_mode_that_the_port_has_not(port_benchmark):
    port_benchmark("running_example", mode="jax/donated")

def test_a_mode_that_compiled_nothing(port_benchmark):
    port_benchmark("running_example", mode="tf/autocluster", size="nothing compiled")

def test_a_lost_worker(port_benchmark):
    port_benchmark("running_example", mode="tf/graph")

def test_asked_for_late(request, benchmark):
    benchmark(int)
    request.getfixturevalue("port_benchmark")
"""


def made_up(folder: Path, *options: str) -> Session:
    (folder / "conftest.py").write_text(PROVER)
    (folder / "test_made_up.py").write_text(TESTS)
    return session(folder, *options)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return made_up(tmp_path_factory.mktemp("told"), WRITTEN, "--jaxport-size=default", "-rP")


def test_times_are_those_that_the_worker_measured_and_the_first_round_is_not_among_them(told: Session) -> None:
    assert told.tests["test_measured"] == PASSED, told.printed
    statistics = told.benchmarks["test_measured"]["stats"]
    assert statistics["data"] == pytest.approx([0.004, 0.001, 0.003, 0.002])
    assert statistics["median"] == pytest.approx(0.0025)


def test_a_port_stands_against_the_fastest_mode_of_the_original(told: Session) -> None:
    found = told.benchmarks["test_measured"]["extra_info"]
    assert (found["ratio_of"], found["ratio"], found["ci95"], found["verdict"]) == (
        *("jax/jit vs tf/jit", 0.405, [0.384, 0.428]),
        "faster",
    )
    assert (found["first_call_s"], found["trace_s"], found["compile_s"]) == (0.047, 0.005, 0.036)


@pytest.mark.parametrize(("test", "ratio"), [("test_another_mode", 0.123), ("test_an_eager_port", 0.158)])
def test_the_port_stands_against_any_other_mode(told: Session, test: str, ratio: float) -> None:
    found = told.benchmarks[test]["extra_info"]
    assert (found["ratio_of"], found["ratio"]) == (f"jax/jit vs {found['mode']}", ratio)


def test_benchmarks_are_grouped_by_workload_unless_their_test_says_otherwise(told: Session) -> None:
    groups = {name: benchmark["group"] for name, benchmark in told.benchmarks.items()}
    assert groups["test_measured"] == "running_example" and groups["test_another_mode"] == "mine"
    assert told.benchmarks["test_another_mode"]["stats"]["rounds"] == 100


def test_a_size_that_the_test_names_comes_before_the_option(told: Session) -> None:
    assert "asked running_example default 5" in told.printed
    assert "asked running_example smoke 5" in told.printed


@pytest.mark.parametrize("kind", ["test_proving", "test_benchmarking"])
@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        (
            "mnist_mlp",
            [
                "mnist_mlp: semantics gate, forward pass, case seed0, leaf logits[3, 17]: jax 0.123456789012",
                "mnist_mlp: rounding gate",
                "mnist_mlp: jax: jax/donated: profile: Unsupported: no profiler session could be started",
            ],
        ),
        ("lstm", ["tf: start the worker: the process ended with signal 11 (SIGSEGV) last line: F tensorflow"]),
        ("nothing", ["jax: load: expected a function, found none"]),
    ],
)
def test_what_does_not_hold_or_was_not_had_fails_either_way(
    told: Session, kind: str, name: str, sentences: list[str]
) -> None:
    said = told.tests[f"{kind}[{name}]"]
    for sentence in sentences:
        assert any(sentence in line for line in said.splitlines()), said


@pytest.mark.parametrize(
    ("test", "line"),
    [
        (
            "test_no_such_mode",
            "expected a mode (tf/eager, tf/graph, tf/autocluster, tf/jit, tf/keras, tf/keras-graph, "
            "tf/keras-steps, tf/handwritten, tf/apart, jax/eager, jax/apart, jax/jit, jax/donated, jax/tuned), "
            "found 'jax/fast': name one of those",
        ),
        (
            "test_a_mode_that_the_port_has_not",
            "expected a mode of running_example (tf/eager, tf/graph, tf/autocluster, tf/jit, jax/eager, jax/jit), "
            "found 'jax/donated': name one of those",
        ),
        (
            "test_a_mode_that_compiled_nothing",
            "expected a mode of running_example with code of its own, found 'tf/autocluster', which compiled nothing: "
            "name tf/graph, it is the same",
        ),
        ("test_a_lost_worker", "tf: round graph: the worker ended by signal SIGSEGV"),
    ],
)
def test_a_mode_that_cannot_be_timed_is_one_line(told: Session, test: str, line: str) -> None:
    assert told.tests[test] == line


def test_a_benchmark_that_missed_the_workers_clock_is_refused(told: Session) -> None:
    assert told.tests["test_asked_for_late"].startswith("expected port_benchmark among the arguments of the test")


def test_what_failed_is_in_no_file_and_nothing_is_said_but_its_sentences(told: Session) -> None:
    held = {"test_measured", "test_another_mode", "test_an_eager_port", "test_inference", "test_asked_for_late"}
    assert set(told.benchmarks) == held
    # Warnings are errors there: an unused fixture of pytest-benchmark would add one to each failure.
    assert "Traceback" not in told.printed and "PytestBenchmarkWarning" not in told.printed
    assert told.machine["jaxport"]["cpu"] == "made up"


def test_with_benchmarks_disabled_ports_are_proved_and_nothing_is_timed(tmp_path: Path) -> None:
    found = made_up(tmp_path, "--benchmark-disable", "-rP", "-k", "test_measured or lstm")
    assert found.tests["test_measured"] == PASSED
    assert "asked running_example None 0" in found.printed and "benchmark 'running_example'" not in found.printed
    assert found.tests["test_benchmarking[lstm]"] != PASSED


def test_skipped_benchmarks_ask_for_nothing(tmp_path: Path) -> None:
    found = made_up(tmp_path, "--benchmark-skip", "-rA", "-k", "test_measured")
    assert found.tests == {"test_measured": "skipped"} and "asked" not in found.printed


def test_a_pass_can_be_asked_for_and_is_checked_before_anything_is_proved(told: Session) -> None:
    assert told.tests["test_inference"] == PASSED, told.printed
    assert "pass forward" in told.printed and "pass backward" not in told.printed
    for doing in ("proving", "benchmarking"):
        (line,) = told.tests[f"test_{doing}_no_such_pass"].splitlines()
        assert line == "expected a pass (forward, gradients, step), found 'backward': name one of those"


def test_parity_alone_can_be_asked_for(told: Session) -> None:
    assert told.tests["test_parity_alone"] == PASSED
    assert "asked running_example smoke 0 parity only" in told.printed


# What stands in the way of nobody.


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    heavy = {"numpy", "scipy", "jax", "altair", "rich", "compare", "workloads"}
    code = f"import sys, jaxport._pytest_plugin; print(*({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


@pytest.mark.parametrize("plugin", [(), ("-p", "jaxport._pytest_plugin"), ("-p", "compare.pytest_plugin")])
def test_an_installed_jaxport_brings_its_plugin_along(tmp_path: Path, plugin: Sequence[str]) -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    installed = tmp_path / "jaxport-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: jaxport\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(
        "\n".join(["[pytest11]", *(f"{name} = {where}" for name, where in points.items())])
    )
    found = session(tmp_path, "--jaxport-pairs=none", plugin=plugin)
    assert "argument --jaxport-pairs: expected a whole number from 1, found 'none'" in found.printed


def test_by_default_a_ratio_has_an_interval() -> None:
    assert PAIRS == LEAST_PAIRS
