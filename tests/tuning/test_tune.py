"""jaxport tune: what it says, what happens when its processes die, and a search on a real machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from interpreters import JAX_AS_TF, interpreter
from owned_search import FUSION, KNOWN, Owned, searched

from compare import cli
from compare.errors import RequestError
from compare.inputs import functions
from compare.inputs.at_size import prepare_both
from compare.measure.phase_processes import Workers
from compare.progress import Silent
from compare.sides._side import Reply, Side, SideError, Unavailable
from compare.sides.pool import Pool, Source
from compare.tuning import candidate_options, option_search, tuner
from compare.tuning.candidate_gates import Gates
from compare.tuning.option_search import PortFails, Refused
from compare.tuning.screening import AGAIN, DEFAULT
from workloads.core import registry

# The command


def tuned(bench: Owned) -> tuner.Tuned:
    found, winner = searched(bench)
    options = found.candidates[winner.name] if winner and winner.faster else {}
    text = candidate_options.snippet(options, "cpu", "measured") if options else ""
    return tuner.Tuned("default", "step", "cpu", {"batch": 8}, {}, 2, list(found.rows.values()), winner, options, text)


def asked(monkeypatch: pytest.MonkeyPatch, found: tuner.Tuned, *more: str) -> int:
    monkeypatch.setattr(tuner, "tune_workload", lambda *_: found)
    return cli.main(["tune", "add", *more])


def test_the_command_ends_with_what_to_paste(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, tuned(Owned({"xla_fusion=": 0.8}, same={"xla_width=128": ""}))) == 0
    out = capsys.readouterr().out
    assert "add: step at size default (batch 8), 2 threads" in out
    assert "same code: as the default" in out
    assert "xla_fusion= takes 0." in out and "(6 fresh processes)" in out
    paste, _, verdict = out.rstrip().rpartition("\n\n")
    assert paste.endswith('compiler_options={\n    "cpu": {\n        "xla_fusion": "",\n    }\n},')
    assert verdict.startswith("pass ") and "faster options for add" in verdict


def test_the_command_says_in_plain_words_that_nothing_helps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, tuned(Owned({name: 1.04 for name in candidate_options.singles(KNOWN)}))) == 0
    out = capsys.readouterr().out
    assert "Nothing beats the default: no candidate is faster and passes every gate." in out
    assert "compiler_options" not in out


def test_the_command_says_why_nothing_is_stated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, tuned(Owned({"xla_fusion=": 0.8, AGAIN: 1.3}))) == 0
    assert "No conclusion: A/A check failed: default against a second copy of itself" in capsys.readouterr().out


def test_a_port_that_fails_parity_ends_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tuner.Tuned("default", "step", "cpu", {}, {}, 2, reason="semantics gate: jax 2, tf 1")
    assert asked(monkeypatch, found) == 1
    assert "The port fails parity, so there is nothing to tune: semantics gate" in capsys.readouterr().out


def test_the_record_is_printed_and_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = tuned(Owned({"xla_fusion=": 0.8}))
    assert asked(monkeypatch, found, "--json", "-o", str(tmp_path / "tuned.json")) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "tuned.json").read_text())
    part = printed["workloads"]["add"]
    assert part["options"] == {FUSION: ""}
    assert part["confirmed"]["ratio"]["verdict"] == "faster"
    assert {row["name"] for row in part["rows"]} == set(candidate_options.singles(KNOWN))


def test_a_platform_without_known_options_is_one_line() -> None:
    with pytest.raises(
        RequestError, match=r"expected a platform whose options are known \(cpu, gpu\), found tpu: name some"
    ):
        tuner._options_of(tuner.Plan(), "tpu")


# A process that dies


class Crashing(Side):
    """A JAX process of which compiling some options takes it down, each another way."""

    name = "jax"

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Any = None) -> Reply:
        options = parameters.get("options", {})
        if method == "load":
            self.log.append("started")
            return Reply({"modes": {"forward": ["jit"]}})
        if options.get("xla_crash"):
            self.lost = True
            raise SideError("jax", method, "the worker ended by signal SIGSEGV", is_lost=True)
        if options.get("xla_unknown"):
            raise Unavailable("jax", method, "No such compile option: 'xla_unknown'")
        rounds = [1e-3] * parameters.get("calls", 0)
        return Reply({"round": rounds, "digest": "a digest", "prepare": {}}.get(method))

    def close(self) -> None:
        self.log.append("ended")


@pytest.fixture
def crashing(tmp_path: Path) -> tuple[tuner.Live, list[str]]:
    log: list[str] = []
    sources = {"tf": Source(), "jax": Source()}
    small, large = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    workers = Workers(sources, tmp_path, 10, 1, launch=lambda *_: Crashing(log))
    pool = Pool(sources, tmp_path, 10)
    return tuner.Live(small, large, workers, pool, tuner.Plan(budget_s=0.001), Silent()), log


def test_options_that_crash_the_compiler_are_not_taken_and_the_next_are_compiled_elsewhere(
    crashing: tuple[tuner.Live, list[str]],
) -> None:
    live, log = crashing
    with pytest.raises(Refused, match="SIGSEGV"):
        live.digest({"xla_crash": True})
    assert live.digest({"xla_width": 128}) == "a digest"
    assert log == ["started", "ended", "started"]
    with pytest.raises(Refused, match="No such compile option"):
        live.digest({"xla_unknown": True})


def test_a_candidate_that_takes_its_process_down_takes_nobody_with_it(crashing: tuple[tuner.Live, list[str]]) -> None:
    live, log = crashing
    found = live.race({DEFAULT: {}, "bad": {"xla_crash": True}, "good": {"xla_width": 128}}, 0)
    assert set(found.medians) == {DEFAULT, "good"}
    assert found.failures == {"bad": "the worker ended by signal SIGSEGV"}
    assert log == ["started", "ended"] * 2


# A real machine, with JAX in TensorFlow's place


FUNCTIONS = """
import jax.numpy as jnp

def f(x):
    return jnp.mean(x**2 * 3 + 1)

def wrong(x):
    return jnp.mean(x**2 * 3 + 2)

def guarded(x):
    ratio = x**4 / (1 + x**4)
    return jnp.where(jnp.isnan(ratio), 1.0, ratio)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "f.py").write_text(FUNCTIONS)
    interpreter(tmp_path, JAX_AS_TF)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def live(jax: str, *more: str) -> list[str]:
    named = ["--tf", "f.py:f", "--jax", f"f.py:{jax}", "--input", "x=f32[256,256]", "--tf-python", "./python0"]
    return ["tune", *named, "--sets", "1", "--pairs", "1", "--budget", "0.1", *more]


def test_a_real_search_compiles_races_and_judges(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    option = "xla_cpu_experimental_ynn_fusion_type=,LIBRARY_FUSION_TYPE_REDUCE"
    assert cli.main(live("f", "--option", option, "--option", "xla_cpu_prefer_vector_width=256", "--json")) == 0
    (found,) = json.loads(capsys.readouterr().out)["workloads"].values()
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["xla_cpu_experimental_ynn_fusion_type=LIBRARY_FUSION_TYPE_REDUCE"]["reason"] == "as the default"
    assert rows["xla_cpu_prefer_vector_width=256"]["outcome"] == option_search.SAME
    # How fast it is, this machine decides.
    raced = rows["xla_cpu_experimental_ynn_fusion_type="]
    assert raced["sets"] == 1 and raced["ratio"] > 0


def test_a_real_candidate_is_judged_and_a_real_port_that_is_wrong_is_refused(here: Path) -> None:
    sources = {"tf": Source(python="./python0"), "jax": Source()}
    for jax, says in (("f", ""), ("wrong", "semantics gate")):
        workload = functions.from_functions("f.py:f", f"f.py:{jax}", ["x=f32[64,64]"])
        small, _ = prepare_both(workload, None, None, here)
        pool = Pool(sources, here, 300)
        judge = Gates(small, pool, Silent())
        try:
            if says:
                with pytest.raises(PortFails, match=says):
                    judge.first_failure({})
            else:
                assert judge.first_failure({"xla_cpu_experimental_ynn_fusion_type": ""}) == ""
                # As a race does: the machine is its own.
                pool.close()
                assert judge.first_failure({"xla_cpu_prefer_vector_width": 128}) == ""
        finally:
            pool.close()


def test_options_that_break_far_from_ordinary_inputs_alone_are_refused(here: Path) -> None:
    workload = functions.from_functions("f.py:guarded", "f.py:guarded", ["x=f32[8]"])
    small, _ = prepare_both(workload, None, None, here)
    without_nans = {"xla_cpu_enable_fast_math": True, "xla_cpu_fast_math_honor_nans": False}
    without_nans["xla_cpu_fast_math_honor_infs"] = False
    with closing(Pool({"tf": Source(python="./python0"), "jax": Source()}, here, 300)) as pool:
        judge = Gates(small, pool, Silent())
        assert judge.first_failure({"xla_cpu_prefer_vector_width": 128}) == ""
        failure = judge.first_failure(without_nans)
    assert "stability gate" in failure and "jax/tuned nan" in failure


def test_an_option_that_nobody_knows_is_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(live("f", "--option", "xla_cpu_fsion=1")) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if not each.startswith("[")]
    assert line.startswith("jaxport: expected --option with what this XLA takes, found No such compile option: 'xla_cp")
