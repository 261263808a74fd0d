"""The fixtures in a repository outside this one, on real workers; and the barrier that its times rest on."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import jax
import pytest
from interpreters import JAX_AS_TF, interpreter
from pages import decoded
from plugin_sessions import PASSED, WRITTEN, Session, session

from compare.errors import RequestError
from compare.inputs.at_size import prepare
from compare.run import whole_run
from compare.run.prover import Port, Prover
from compare.run.whole_run import Request, RunResult
from compare.sides import mapped, requests, wire
from compare.sides._side import Reply, Side
from compare.sides.pool import Source
from workloads import ArraySpec, Workload

# A repository with two functions and their ports, on real workers.

PORT_FILE = """
from workloads import ArraySpec, Workload
port = Workload(
    name="doubling", tf="functions.py:doubles", jax="functions.py:doubles", inputs={"x": ArraySpec((3,))}, builds=False
)
"""

PORT_TESTS = """
def test_a_port_file(port_benchmark):
    part = port_benchmark("port.py")
    assert part["timing"]["ratios"]["jax/jit vs tf/jit"]["pairs"] == 1

def test_the_same_again(port):
    assert port("port.py")["profile"]["jax/jit"]["kernels"] == 1

def test_a_planted_bug(port):
    port(tf="functions.py:doubles", jax="functions.py:nearly", inputs={"x": "f32[3]:1..2"})

def test_parity_alone(port):
    part = port("port.py", size="smoke", parity_only=True)
    assert part["parity"]["verdict"] == "pass" and part["profile"] == {}

def test_a_planted_bug_by_parity_alone(port):
    port(tf="functions.py:doubles", jax="functions.py:nearly", inputs={"x": "f32[4]:1..2"}, parity_only=True)

def test_another_pass(port_benchmark):
    part = port_benchmark("port.py", main_pass="gradients")
    assert part["main_pass"] == "gradients" and part["timing"]["modes"]["jax/jit"]["median_s"] > 0

def test_no_such_file(port):
    port("absent.py")
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Tests stand in a folder below the one that pytest is started in."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "deep").mkdir()
    (folder / "deep" / "functions.py").write_text("def doubles(x): return x * 2\n\ndef nearly(x): return x * 2.0001\n")
    (folder / "deep" / "port.py").write_text(PORT_FILE)
    (folder / "deep" / "test_functions.py").write_text(PORT_TESTS)
    return session(folder, WRITTEN, "--jaxport-pairs=1", f"--jaxport-tf-python={interpreter(folder, JAX_AS_TF)}")


def test_a_port_that_holds_passes_and_hands_over_its_part_of_the_record(repository: Session) -> None:
    assert repository.tests["test_a_port_file"] == PASSED, repository.printed
    assert repository.tests["test_the_same_again"] == PASSED, repository.printed


def test_a_planted_bug_fails_with_the_report_s_sentences_and_no_traceback(repository: Session) -> None:
    sentences = repository.tests["test_a_planted_bug"].splitlines()
    gates = [sentence.partition(" gate, ")[0] for sentence in sentences]
    assert gates == ["nearly: semantics", "nearly: rounding", "nearly: gradients"]
    for part in ("leaf output[", "(float64), tf ", "error 5e-05 of the largest value", "bound 1e-12"):
        assert part in sentences[0]
    assert repository.code == 1
    assert "Traceback" not in repository.printed and "pytest_plugin.py" not in repository.printed


def test_parity_alone_judges_and_fails_as_ever(repository: Session) -> None:
    assert repository.tests["test_parity_alone"] == PASSED, repository.printed
    (line, *_) = repository.tests["test_a_planted_bug_by_parity_alone"].splitlines()
    assert line.startswith("nearly: semantics gate") and "bound 1e-12" in line


def test_another_pass_is_proved_and_timed_beside_the_first(repository: Session) -> None:
    assert repository.tests["test_another_pass"] == PASSED, repository.printed
    found = repository.benchmarks["test_another_pass"]
    assert found["extra_info"]["main_pass"] == "gradients" and min(found["stats"]["data"]) > 0


def test_a_missing_file_is_one_line_with_its_path_from_the_test_s_folder(repository: Session) -> None:
    (line,) = repository.tests["test_no_such_file"].splitlines()
    assert line.startswith("expected a port file at ") and line.endswith(
        "deep/absent.py, found nothing: check the path"
    )


def test_a_benchmark_brings_ratio_interval_kernels_and_compile_time(repository: Session) -> None:
    benchmark = repository.benchmarks["test_a_port_file"]
    found = benchmark["extra_info"]
    assert benchmark["group"] == found["workload"] == "doubling"
    assert (found["mode"], found["parity"], found["kernels"], found["size"]) == ("jax/jit", "pass", 1, "default")
    assert 0 < found["compile_s"] < found["first_call_s"]
    assert found["ratio_of"].startswith("jax/jit vs tf/")
    # One pair of processes, as was asked for: a ratio without an end to its interval.
    assert found["ratio"] > 0 and found["ci95"] == [0, "inf"] and found["verdict"] == "inconclusive"
    assert benchmark["stats"]["rounds"] > 1 and min(benchmark["stats"]["data"]) > 0
    assert repository.machine["jaxport"]["sides"]["jax"]["jaxlib"]


def test_a_place_for_a_side_that_is_none_is_one_line_a_test(tmp_path: Path) -> None:
    (tmp_path / "test_functions.py").write_text(PORT_TESTS)
    found = session(tmp_path, "--jaxport-tf-python=/no/such", "-k", "again or bug")
    lines = set(found.tests.values())
    assert lines == {"expected a Python interpreter at /no/such, found no executable: check --jaxport-tf-python"}


# What was asked before.


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, bool]]:
    """Of each run that the prover asks for: parity alone? by workers that are kept?"""
    found: list[tuple[bool, bool]] = []

    def instead(request: Request, _: object, pool: object = None) -> RunResult:
        found.append((request.parity_only, pool is not None))
        verdict = "fail" if request.workloads[0].name == "add" else "pass"
        part = {
            "failures": [],
            "parity": {"verdict": verdict},
            "profile": {} if request.parity_only else {"jax/jit": {}},
        }
        return RunResult(decoded({"workloads": {each.name: part for each in request.workloads}}))

    monkeypatch.setattr(whole_run, "run", instead)
    return found


@pytest.mark.parametrize("name", ["running_example", "add"])
def test_parity_alone_is_judged_by_kept_workers_and_not_reused_where_more_is_asked_for(
    requested: list[tuple[bool, bool]], tmp_path: Path, name: str
) -> None:
    port = Port(tmp_path, name)
    with Prover(dict.fromkeys(("tf", "jax"), Source())) as prover:
        alone, again = (prover.judge([port], None, 0, parity_only=True)[0] for _ in range(2))
        (whole,) = prover.judge([port], None, 0)
        assert prover.judge([port], None, 0, parity_only=True) == [whole]
    assert alone is again
    assert (list(alone.part.profile), list(whole.part.profile)) == ([], ["jax/jit"])
    assert requested == [(True, True), (False, False)]


# Ways to name a port.


@pytest.mark.parametrize(
    ("named", "given"),
    [
        ({}, "nothing"),
        ({"tf": "f.py:f"}, "tf"),
        ({"tf": "f.py:f", "inputs": (("x", "f32[3]"),)}, "tf, inputs"),
        ({"reference": "add", "inputs": (("x", "f32[3]"),)}, "reference, inputs"),
        ({"reference": "add", "tf": "f.py:f", "jax": "g.py:g"}, "reference, tf, jax"),
    ],
)
def test_a_port_is_named_in_one_of_two_ways(tmp_path: Path, named: dict[str, Any], given: str) -> None:
    with pytest.raises(RequestError, match=f"expected a workload or port file, or else .*, found {given}: name the"):
        Port(tmp_path, **named).workload()


def test_two_functions_are_found_from_the_test_s_folder(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def f(n): return n\n")
    inputs = (("n", "i32[8]:0..3"),)
    found = Port(tmp_path, tf="f.py:f", jax="f.py:f", inputs=inputs).workload()
    assert found.tf == found.jax == f"{tmp_path}/f.py:f"
    assert found.input_specs({}) == {"n": ArraySpec((8,), "int32", 0, 3)}
    with pytest.raises(RequestError, match=r"expected a Python file at .*/elsewhere/f\.py for --tf, found nothing"):
        Port(tmp_path / "elsewhere", tf="f.py:f", jax="f.py:f", inputs=inputs).workload()


# The barrier: a benchmark of a call that only enqueues work would rank first.


class Near(Side):
    """JAX in this process, which can be loaded and no more."""

    name = "jax"

    def __init__(self) -> None:
        self.framework = importlib.import_module("jaxport._framework").create()

    def call(self, method: str, parameters: Any, arrays: Any = None) -> Reply:
        assert method == "load"
        return Reply(self.framework.load(wire.unpack_twin(parameters, mapped.load(Path(parameters["arrays"])))))

    def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def near(tmp_path: Path) -> Near:
    """A function that takes tenths of a second is loaded."""
    (tmp_path / "slow.py").write_text("def slow(x): return x @ x @ x @ x @ x @ x\n")
    slow = Workload(
        "slow", *("slow.py:slow",) * 2, inputs={"x": ArraySpec((2000, 2000))}, builds=False, folder=tmp_path
    )
    side = Near()
    requests.load(side, prepare(slow, "default", None, tmp_path, one_case=True).loading)
    return side


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_a_call_returns_when_its_result_is_there(near: Near, mode: str) -> None:
    result = near.framework.prepare(mode).call()
    assert all(leaf.is_ready() for leaf in jax.tree.leaves(result))


def test_a_call_without_its_barrier_is_seen(near: Near, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "block_until_ready", lambda result: result)
    result = near.framework.prepare("jit").call()
    assert not all(leaf.is_ready() for leaf in jax.tree.leaves(result))
