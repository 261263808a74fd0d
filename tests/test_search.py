"""The search: what is tried, what is left out and why, who wins; on a machine that the test owns, and on a real one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from interpreters import JAX_AS_TF, interpreter
from test_bench_tuning import Machine

from compare import cli
from compare.bench.pairs import Measured
from compare.bench.tuning import AGAIN, DEFAULT, Confirmed, Rules
from compare.run import candidates, ports, search, tune
from compare.run.candidates import Option, Options, named
from compare.run.inputs import RequestError, prepare_both
from compare.run.phases import Workers
from compare.run.progress import Silent
from compare.run.search import PortFails, Refused, Search
from compare.run.sides import Pool, Source
from compare.sides._side import Reply, Side, SideError, Unavailable
from workloads import _registry

RULES = Rules(screening=2, confirming=6)
FUSION, WIDTH, MATH = "xla_fusion", "xla_width", "xla_fast_math"
KNOWN = (Option(FUSION, ("", "REDUCE")), Option(WIDTH, (128, 512)), Option(MATH, (True,), changes_numbers=True))


class Owned:
    """A machine that the test owns: seconds by candidate, which are the same code, which are refused or wrong."""

    def __init__(
        self,
        seconds: Mapping[str, float],
        same: Mapping[str, str] | None = None,
        refused: Iterable[str] = (),
        wrong: Iterable[str] = (),
    ) -> None:
        self.machine = Machine(seconds)
        self.same, self.refused, self.wrong = same or {}, set(refused), set(wrong)
        self.raced: list[tuple[str, ...]] = []
        self.judged: list[str] = []

    def digest(self, options: Options) -> str:
        name = named(options)
        if name in self.refused:
            raise Refused(f"No such compile option: '{next(iter(options))}'")
        return self.same.get(name, name) or DEFAULT

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured:
        assert all(named(options) == name for name, options in candidates.items() if name not in (DEFAULT, AGAIN))
        self.raced.append(tuple(candidates))
        return self.machine(list(candidates), number)

    def judge(self, options: Options) -> str:
        self.judged.append(named(options))
        return "rounding gate: too far" if named(options) in self.wrong else ""


def searched(
    bench: Owned, known: Sequence[Option] = KNOWN, declared: Options | None = None, asked: bool = False
) -> tuple[Search, Confirmed | None]:
    found = Search(bench, RULES, Silent(), "my_port", known, asked)
    return found, found.run(declared or {})


def outcomes(found: Search) -> dict[str, str]:
    return {name: row.outcome for name, row in found.rows.items()}


# Who wins


def test_the_fastest_that_holds_wins_and_is_confirmed_in_processes_of_its_own() -> None:
    bench = Owned({"xla_fusion=": 0.8, "xla_width=128": 1.5})
    found, winner = searched(bench)
    assert winner is not None and winner.faster and winner.name == "xla_fusion="
    assert bench.judged == ["xla_fusion="]
    assert bench.raced[-RULES.confirming :] == [(DEFAULT, AGAIN, "xla_fusion=")] * RULES.confirming
    assert not any(AGAIN in each for each in bench.raced[: -RULES.confirming])
    assert outcomes(found)["xla_fusion="] == search.WINNER
    assert outcomes(found)["xla_width=128"] == search.DROPPED


def test_what_is_good_alone_is_tried_together() -> None:
    both = "xla_fusion= xla_width=512"
    found, winner = searched(Owned({"xla_fusion=": 0.8, "xla_width=512": 0.9, both: 0.7}))
    assert winner is not None and winner.name == both
    assert found.candidates[both] == {FUSION: "", WIDTH: 512}


def test_of_two_that_are_equally_fast_the_one_that_asks_for_less_wins() -> None:
    _, winner = searched(Owned({"xla_fusion=": 0.8, "xla_width=512": 0.95, "xla_fusion= xla_width=512": 0.799}))
    assert winner is not None and winner.name == "xla_fusion="
    _, winner = searched(Owned({"xla_fusion=": 0.8, "xla_fast_math=true": 0.799}))
    assert winner is not None and winner.name == "xla_fusion="


def test_what_fails_a_gate_is_passed_over_and_says_where() -> None:
    bench = Owned({"xla_fast_math=true": 0.5, "xla_fusion=": 0.6}, wrong=["xla_fast_math=true"])
    bench.machine.seconds = {**bench.machine.seconds, "xla_fast_math=true xla_fusion=": 0.95}
    found, winner = searched(bench)
    assert winner is not None and winner.name == "xla_fusion="
    row = found.rows["xla_fast_math=true"]
    assert (row.outcome, row.reason, row.changes_numbers) == (search.FAILS, "rounding gate: too far", True)


def test_where_nothing_is_faster_nothing_is_judged() -> None:
    bench = Owned({name: 1.04 for name in candidates.singles(KNOWN)})
    found, winner = searched(bench)
    assert winner is None
    assert bench.judged == []
    assert set(outcomes(found).values()) == {search.SLOWER}


def test_luck_is_not_called_faster() -> None:
    bench = Owned({})
    bench.machine.noise = 0.05
    found, winner = searched(bench)
    assert winner is None or not winner.faster
    assert search.WINNER not in outcomes(found).values()


def test_a_port_that_is_not_the_original_is_not_tuned() -> None:
    bench = Owned({"xla_fusion=": 0.8})

    def fails(options: Options) -> str:
        raise PortFails("semantics gate: jax 2, tf 1")

    bench.judge = fails
    with pytest.raises(PortFails):
        searched(bench)


# What is left out


def test_what_compiles_to_the_same_code_is_not_raced() -> None:
    bench = Owned({"xla_fusion=": 0.8}, same={"xla_width=128": "", "xla_fusion=REDUCE": "xla_fusion="})
    found, _ = searched(bench)
    assert outcomes(found)["xla_width=128"] == outcomes(found)["xla_fusion=REDUCE"] == search.SAME
    assert found.rows["xla_width=128"].reason == "as the default"
    assert found.rows["xla_fusion=REDUCE"].reason == "as xla_fusion="
    assert not any({"xla_width=128", "xla_fusion=REDUCE"} & set(each) for each in bench.raced)


def test_where_code_cannot_be_told_apart_everything_is_raced() -> None:
    bench = Owned({})
    bench.digest = lambda options: ""
    found, _ = searched(bench)
    assert search.SAME not in outcomes(found).values()
    assert set(bench.raced[0]) == {DEFAULT, *candidates.singles(KNOWN)}


def test_what_xla_does_not_take_is_left_out_unless_it_was_asked_for() -> None:
    bench = Owned({}, refused=["xla_width=128", "xla_width=512"])
    found, _ = searched(bench)
    row = found.rows["xla_width=128"]
    assert (row.outcome, row.reason) == (search.REFUSED, "No such compile option: 'xla_width'")
    with pytest.raises(RequestError, match="expected --option with what this XLA takes, found No such compile option"):
        searched(bench, asked=True)


def test_what_the_port_declares_is_a_candidate() -> None:
    bench = Owned({"xla_fusion=REDUCE xla_width=64": 0.6})
    _, winner = searched(bench, declared={FUSION: "REDUCE", WIDTH: 64})
    assert winner is not None and winner.name == "xla_fusion=REDUCE xla_width=64"


# Options


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("xla_a=true,false", Option("xla_a", (True, False))),
        ("xla_a=128,256,128", Option("xla_a", (128, 256))),
        ("xla_a=-1,0.5,AVX2", Option("xla_a", (-1, "0.5", "AVX2"))),
        ("xla_a=,A+B", Option("xla_a", ("", "A,B"))),
    ],
)
def test_options_are_read_as_they_are_written(text: str, option: Option) -> None:
    assert candidates.parse([text]) == (option,)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["xla_a"], "expected --option NAME=VALUE,VALUE, found 'xla_a'"),
        (["=1"], "found '=1'"),
        (["xla_a=1", "xla_a=2"], "expected each --option once, found xla_a twice"),
    ],
)
def test_options_that_cannot_be_read_are_one_line(texts: list[str], says: str) -> None:
    with pytest.raises(RequestError) as caught:
        candidates.parse(texts)
    assert says in str(caught.value)


def test_the_fastest_is_joined_with_what_sets_something_else() -> None:
    best: list[Options] = [{"a": 1}, {"a": 2}, {"b": 1}, {"c": 1}]
    assert list(candidates.together(best)) == ["a=1 b=1", "a=1 c=1", "a=1 b=1 c=1"]
    assert candidates.together(best[:1]) == candidates.together([]) == {}


def test_the_built_in_options_are_told_apart_by_name() -> None:
    for options in candidates.SPACE.values():
        names = candidates.singles(options)
        assert len(names) == sum(len(option.values) for option in options)


def test_the_snippet_can_be_pasted() -> None:
    text = candidates.snippet({FUSION: "", WIDTH: 512, MATH: True}, "cpu", "0.5x")
    assert text.splitlines()[0] == "# 0.5x"
    pasted: dict[str, Any] = eval(f"dict({text.partition(chr(10))[2]})")
    assert pasted == {"compiler_options": {"cpu": {FUSION: "", WIDTH: 512, MATH: True}}}


# The command


def tuned(bench: Owned) -> tune.Tuned:
    found, winner = searched(bench)
    options = found.candidates[winner.name] if winner and winner.faster else {}
    text = candidates.snippet(options, "cpu", "measured") if options else ""
    return tune.Tuned("default", "step", "cpu", {"batch": 8}, {}, 2, list(found.rows.values()), winner, options, text)


def asked(monkeypatch: pytest.MonkeyPatch, found: tune.Tuned, *more: str) -> int:
    monkeypatch.setattr(tune, "tune_workload", lambda *_: found)
    return cli.main(["tune", "add", *more])


def test_the_command_ends_with_what_to_paste(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, tuned(Owned({"xla_fusion=": 0.8}, same={"xla_width=128": ""}))) == 0
    out = capsys.readouterr().out
    assert "add: step at size default (batch 8), 2 threads" in out
    assert "same code: as the default" in out
    assert "xla_fusion= takes 0." in out and "(6 fresh processes)" in out
    assert out.rstrip().endswith('compiler_options={\n    "cpu": {\n        "xla_fusion": "",\n    }\n},')


def test_the_command_says_in_plain_words_that_nothing_helps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, tuned(Owned({name: 1.04 for name in candidates.singles(KNOWN)}))) == 0
    out = capsys.readouterr().out
    assert "Nothing beats the default: no candidate came out faster and still the same." in out
    assert "compiler_options" not in out


def test_the_command_says_why_nothing_is_stated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, tuned(Owned({"xla_fusion=": 0.8, AGAIN: 1.3}))) == 0
    assert "Nothing is stated: default against a second compilation of itself" in capsys.readouterr().out


def test_a_port_that_fails_parity_ends_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tune.Tuned("default", "step", "cpu", {}, {}, 2, reason="semantics gate: jax 2, tf 1")
    assert asked(monkeypatch, found) == 1
    assert "The port itself fails parity, so that there is nothing to tune: semantics gate" in capsys.readouterr().out


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
    assert {row["name"] for row in part["rows"]} == set(candidates.singles(KNOWN))


def test_a_platform_without_known_options_is_one_line() -> None:
    with pytest.raises(
        RequestError, match=r"expected a platform whose options are known \(cpu\), found tpu: name some"
    ):
        tune._known(tune.Plan(), "tpu")


# What befalls a process


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
            raise SideError("jax", method, "the worker ended by signal SIGSEGV", lost=True)
        if options.get("xla_unknown"):
            raise Unavailable("jax", method, "No such compile option: 'xla_unknown'")
        return Reply([1e-3] * parameters["calls"] if method == "round" else "a digest")

    def close(self) -> None:
        self.log.append("ended")


@pytest.fixture
def crashing(tmp_path: Path) -> tuple[tune.Live, list[str]]:
    log: list[str] = []
    sources = {"tf": Source(), "jax": Source()}
    small, large = prepare_both(_registry.get("add"), "smoke", None, tmp_path)
    workers = Workers(sources, tmp_path, 10, 1, launch=lambda *_: Crashing(log))
    pool = Pool(sources, tmp_path, 10)
    return tune.Live(small, large, workers, pool, tune.Plan(budget_s=0.001), Silent()), log


def test_options_that_crash_the_compiler_are_not_taken_and_the_next_are_compiled_elsewhere(
    crashing: tuple[tune.Live, list[str]],
) -> None:
    live, log = crashing
    with pytest.raises(Refused, match="SIGSEGV"):
        live.digest({"xla_crash": True})
    assert live.digest({"xla_width": 128}) == "a digest"
    assert log == ["started", "ended", "started"]
    with pytest.raises(Refused, match="No such compile option"):
        live.digest({"xla_unknown": True})


def test_a_candidate_that_takes_its_process_down_takes_nobody_with_it(crashing: tuple[tune.Live, list[str]]) -> None:
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
    assert rows["xla_cpu_prefer_vector_width=256"]["outcome"] == search.SAME
    # How fast it is, this machine decides.
    raced = rows["xla_cpu_experimental_ynn_fusion_type="]
    assert raced["sets"] == 1 and raced["ratio"] > 0


def test_a_real_candidate_is_judged_and_a_real_port_that_is_wrong_is_refused(here: Path) -> None:
    sources = {"tf": Source(python="./python0"), "jax": Source()}
    for jax, says in (("f", ""), ("wrong", "semantics gate")):
        workload = ports.from_functions("f.py:f", f"f.py:{jax}", ["x=f32[64,64]"])
        small, _ = prepare_both(workload, None, None, here)
        pool = Pool(sources, here, 300)
        judge = tune._Judge(small, pool, Silent())
        try:
            if says:
                with pytest.raises(PortFails, match=says):
                    judge.first_failure({})
            else:
                assert judge.first_failure({"xla_cpu_experimental_ynn_fusion_type": ""}) == ""
        finally:
            pool.close()


def test_an_option_that_nobody_knows_is_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(live("f", "--option", "xla_cpu_fsion=1")) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if not each.startswith("[")]
    assert line.startswith("jaxport: expected --option with what this XLA takes, found No such compile option: 'xla_cp")
