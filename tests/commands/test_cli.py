"""The command line: what it refuses, in one line and leaving nothing behind; what it prints; how it ends."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreters import JAX_AS_TF, interpreter
from places import ROOT

from compare import cli
from compare.commands._names import spell
from compare.errors import RequestError
from compare.record.envelope import SCHEMA
from compare.record.results_file import RecordError
from compare.run import whole_run
from workloads.core import registry

FUNCTIONS = """
import os, subprocess
print("not JSON")

def doubles(x):
    print("not JSON")
    os.write(1, b"not JSON")
    subprocess.run(["echo", "not JSON"])
    return x * 2

def misfit(dimensions, dtype):
    from jaxport import Model

    return Model(lambda kernel, x: kernel @ x, lambda weights: weights["kernel"].T, lambda kernel: {"kernel": kernel})

def trebles(x):
    return x * 3

def masked(x):
    return {"masked": x}
"""

MISFIT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="misfit", tf="f.py:misfit", jax="f.py:misfit",
    inputs={"x": ArraySpec((2,))}, weights={"kernel": ArraySpec((2, 3))},
)
"""

INPUT = ("--input", "x=f32[3]")


def prepared(folder: Path) -> Path:
    """A folder with all that the requests below name."""
    (folder / "f.py").write_text(FUNCTIONS)
    (folder / "misfit.py").write_text(MISFIT)
    (folder / "empty.py").touch()
    (folder / "same_name.py").write_text(MISFIT.replace('name="misfit"', 'name="add"'))
    (folder / "a_file").write_text("in the way\n")
    (folder / "broken.json").write_text('{"schema": 1, ')
    (folder / "newer.json").write_text(json.dumps({"schema": SCHEMA + 1, "workloads": {}}))
    (folder / "foreign.json").write_text('{"version": 3, "results": []}')
    (folder / "list.json").write_text("[]")
    np.savez(folder / "other.npz", weights=np.ones(3))
    np.savez(folder / "shapes.npz", x_train=np.ones((2, 3)), y_train=np.ones(2, np.int64))
    interpreter(folder, JAX_AS_TF)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(prepared(tmp_path))
    return tmp_path


def functions(jax: str, *more: str, tf: str = "f.py:doubles") -> list[str]:
    return ["run", "--tf", tf, "--jax", jax, *(more or INPUT), "--tf-python", "./python0"]


def seen(folder: Path) -> dict[Path, bytes]:
    """Every file and folder, with its content."""
    return {
        path: path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def lines(text: str) -> list[str]:
    """Without those that tell the progress."""
    return [line for line in text.splitlines() if not line.startswith("[")]


def recording(*more: str) -> list[str]:
    return ["record", "add", "-o", *more]


def mnist(data: str) -> list[str]:
    return ["run", "mnist_mlp", "--data", data, "--tf-python", "./python0"]


def replaying(file: str) -> list[str]:
    return ["run", "add", "--tf-recorded", file]


REFUSED = {
    "no command": ([], "the following arguments are required: COMMAND: see `jaxport --help`"),
    "unknown command": (["prove"], "invalid choice: 'prove' (choose from"),
    "a subcommand without its group": (["gotcha"], "see `jaxport --help`; did you mean `jaxport lookup gotchas`?"),
    "no subcommand": (
        ["lookup"],
        "expected a subcommand of `jaxport lookup` (gotchas, ops, limits, figures, datatypes, docs), found none: see `",
    ),
    "unknown subcommand": (
        ["compilation", "cluster"],
        "expected a subcommand of `jaxport compilation` (clusters, grappler, recompiles, launch), found 'cluster': see "
        "`jaxport compilation --help`; did you mean `jaxport compilation clusters`?",
    ),
    "an option before the subcommand": (["lookup", "--json", "ops"], "see `jaxport lookup --help`"),
    "no operand and near a subcommand": (["list", "target"], "did you mean `jaxport list targets`?"),
    "unknown option of a subcommand": (
        ["tune", "ablate", "add", "--fast"],
        "expected options of `jaxport tune ablate`, found --fast: see `jaxport tune ablate --help`",
    ),
    "unknown option of a default": (["tune", "add", "--fast"], "expected options of `jaxport tune`, found --fast: see"),
    "unknown option": (["run", "add", "--fast"], "expected options of `jaxport run`, found --fast"),
    "unknown workload": (["run", "runing_exampel"], "found 'runing_exampel': did you mean running_example"),
    "unknown size": (["run", "add", "--size", "huge", "--tf-python", "./python0"], "expected a size of add (smoke, "),
    "option without a value": (["run", "add", "--pairs"], "argument --pairs: expected one argument: see `jaxport run"),
    "no number": (["run", "add", "--pairs", "few"], "expected a positive integer, found 'few'"),
    "no pairs": (["run", "add", "--pairs", "0"], "expected a positive integer, found '0'"),
    "no time": (["run", "add", "--timeout", "-1"], "expected a positive number of seconds, at most a year, found '-1'"),
    "no side": (recording("x.side"), "the following arguments are required: --side"),
    "another side": (recording("x.side", "--side", "torch"), "invalid choice: 'torch'"),
    "no mode": (["run", "add", "--modes", "jax/fast"], "expected a mode of tf/eager, tf/graph, "),
    "a mode of another spelling": (["run", "add", "--modes", "jax/jit#1"], "jax/tuned, found 'jax/jit#1'"),
    "a size twice": (
        functions("f.py:doubles", "--input", "x=f32[B]", "--dimension", "B=3", "--dimension", "B=4"),
        "expected one size of dimension B, found 'B=4' besides another: keep one",
    ),
    "a range twice": (
        functions("f.py:doubles", "--input", "x=f32[B]", "--dimension", "B=1..4", "--dimension", "B=1..8"),
        "expected one range of dimension B, found 'B=1..8' besides another: keep one",
    ),
    "tf alone": (["run", "--tf", "f.py:doubles"], "expected --tf and --jax together"),
    "jax alone": (["run", "--jax", "f.py:doubles"], "expected --tf and --jax together"),
    "functions and a name": (["run", "add", "--tf", "f.py:a", "--jax", "f.py:a"], "no WORKLOAD, found"),
    "an input alone": (["run", "--input", "x=f32[3]"], "expected --tf and --jax with --input, found neither"),
    "an input that does not parse": (functions("f.py:doubles", "--input", "x:f32"), "found 'x:f32': write NAME=DTYPE"),
    "an input of no dtype": (functions("f.py:doubles", "--input", "x=f31[3]"), "expected a dtype of f32"),
    "no function": (functions("f.py:absent"), "expected a function 'absent' in "),
    "no file": (functions("absent.py:f"), "expected a Python file at absent.py for --jax, found nothing"),
    "no function named": (functions("f.py"), "expected --jax FILE.py:FUNCTION, found 'f.py'"),
    "no port file": (["run", "absent.py"], "expected a port file at absent.py, found nothing"),
    "a port file without a workload": (["run", "empty.py"], "expected one Workload in empty.py, found 0"),
    "weights that the twin does not map": (
        ["run", "misfit.py", "--tf-python", "./python0"],
        "expected weight 'kernel' as (2, 3), found (3, 2) after a round trip through the JAX twin",
    ),
    "another structure": (functions("f.py:masked"), "found one array from TensorFlow and {masked} from JAX"),
    "a file in the way": (["run", "add", "-o", "a_file"], "expected a writable folder at a_file"),
    "a file in the path": (["run", "add", "-o", "a_file/out"], "expected a writable folder at a_file/out"),
    "a folder in the way": (recording(".", "--side", "jax"), "expected an output file at ., found a folder"),
    "no interpreter": (["run", "add", "--tf-python", "./absent"], "expected a Python interpreter at ./absent"),
    "a folder as interpreter": (["run", "add", "--jax-python", "."], "expected a Python interpreter at ., found"),
    "no interpreter to record": (recording("x.side", "--side", "tf", "--python", "./absent"), "check --python"),
    "two sources": (["run", "add", "--tf-python", "./python0", "--tf-recorded", "a_file"], "found both: choose one"),
    "a broken record beside a live side": (
        ["run", "add", "--tf-python", "./python0", "--jax-recorded", "other.npz"],
        "expected a recorded jax side at other.npz",
    ),
    "no module": (functions("absent_module:f"), "expected a module 'absent_module', found none"),
    "one name twice": (["run", "add", "same_name.py"], "expected workloads of different names, found 'add' twice"),
    "no recorded file": (replaying("absent.side"), "expected a recorded tf side at absent.side"),
    "something else recorded": (replaying("other.npz"), "expected a recorded tf side at other.npz"),
    "no data": (mnist("absent.npz"), "expected an mnist.npz with x_train"),
    "other data": (mnist("other.npz"), "found the arrays ['weights']"),
    "data of other shapes": (mnist("shapes.npz"), "found x_train (2, 3)"),
    "data that is no archive": (mnist("a_file"), "found a broken zip"),
    "no record": (["report"], "expected a results.json at jaxport-report/results.json, found no such file"),
    "a broken record": (["report", "broken.json"], "expected a results.json at broken.json, found invalid JSON"),
    "a newer record": (["report", "newer.json"], f"expected schema {SCHEMA} or older in newer.json"),
    "a foreign record": (["report", "foreign.json"], "expected a results.json at foreign.json, found object missing"),
    "a list as record": (["report", "list.json", "-o", "out"], "expected a results.json at list.json, found `array`"),
    "no threads": (["bench", "add", "--threads", "0"], "expected a positive integer, found '0' in --threads"),
    "threads in words": (["bench", "add", "--threads", "all,two"], "found 'two' in --threads: give integers or `all`"),
    "too many threads": (["bench", "add", "--threads", "4096"], "found 4096: lower it"),
    "fewer pairs at most": (["bench", "--pairs", "9", "--max-pairs", "5"], "--max-pairs of at least --pairs 9"),
    "no precision": (["bench", "--precision", "0"], "expected a fraction such as 3% or 0.03, found '0'"),
    "memory in words": (["bench", "--memory-limit", "much"], "expected bytes such as 512M or 2G, found 'much'"),
    "no batch to enlarge": (["bench", "add", "--batches", "8"], "expected a workload that trains with --batches"),
    "a folder to calibrate to": (["bench", "calibrate", "add", "-o", "."], "an output file at ., found a folder"),
    "batches of nothing": (["bench", "--batches", "8,0"], "expected a positive integer, found '0'"),
    "nothing to tune": (["tune"], "expected a workload or a port file, found none: name what to tune"),
    "nothing known to tune": (["tune", "runing_exampel"], "did you mean running_example"),
    "no value to tune": (["tune", "add", "--option", "xla_a"], "expected --option NAME=VALUE,VALUE, found 'xla_a'"),
    "nowhere to tune to": (["tune", "add", "-o", "."], "expected an output file at ., found a folder"),
    "no size to tune": (["tune", "mnist_mlp", "--size", "huge"], "expected a size of mnist_mlp (smoke, "),
    "nothing to calibrate": (["bench", "calibrate", "runing_exampel"], "did you mean running_example"),
    "nowhere to calibrate to": (["bench", "calibrate", "add", "-o", "a_file/c.json"], "a writable folder at a_file"),
    "one run to compare": (["history", "compare", "1"], "expected two runs or more, found one"),
    "runs of no history": (["history", "compare", "1", "2"], "expected saved runs in .jaxport/history, found none"),
    "no history": (["history"], "expected saved runs in .jaxport/history, found none"),
    "no results": (["report", "markdown", "-o", "r.md"], "expected a results.json at jaxport-report/results.json"),
    "results to nowhere": (["report", "markdown", "-o", "a_file/r.md"], "results.json at jaxport-report/results.json"),
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize(("asked", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_carried_out_is_one_line_and_leaves_nothing_behind(
    here: Path, capsys: pytest.CaptureFixture[str], asked: Sequence[str], says: str
) -> None:
    before = seen(here)
    assert cli.main(asked) == 2
    out, err = capsys.readouterr()
    (line,) = lines(err)
    assert line.startswith("jaxport: ")
    assert says in line
    assert out == ""
    assert seen(here) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_may_not_be_written_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "closed").mkdir(mode=0o500)
    assert cli.main(["run", "add", "-o", "closed/out"]) == 2
    assert "expected a writable folder at closed/out" in capsys.readouterr().err


@pytest.mark.process
def test_the_module_run_as_a_program_ends_with_the_same_code(here: Path) -> None:
    asked = [sys.executable, "-m", "compare", "prove"]
    found = subprocess.run(
        asked, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("jaxport: ")


# What goes wrong inside.


def raising(error: BaseException) -> Any:
    def run(*_: object, **__: object) -> None:
        raise error

    return run


def test_what_nobody_foresaw_is_one_line_that_asks_for_debug(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_run, "run", raising(ZeroDivisionError("one\ntwo")))
    assert cli.main(["run", "add"]) == 2
    expected = "jaxport: expected no internal error, found ZeroDivisionError: one two: run with --debug and report it\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("error", [ZeroDivisionError("unforeseen"), RecordError("foreseen")])
def test_debug_shows_the_traceback_and_ends_the_same_way(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(whole_run, "run", raising(error))
    assert cli.main(["run", "add", "--debug"]) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last):" in err
    assert "in raising" not in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("jaxport: ")


@pytest.mark.parametrize("debug", [False, True])
def test_debug_shows_the_traceback_of_a_module_that_is_missing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    monkeypatch.setattr(whole_run, "run", raising(ModuleNotFoundError("No module named 'msgspec'", name="msgspec")))
    assert cli.main(["run", "add", *["--debug"] * debug]) == 2
    *before, line = capsys.readouterr().err.splitlines()
    assert line.startswith("jaxport: expected the module msgspec, which jaxport needs")
    assert ("Traceback (most recent call last):" in before) == debug == bool(before)


@pytest.mark.process
def test_debug_shows_the_traceback_of_the_worker(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*functions("f.py:absent"), "--debug"]) == 2
    assert "workloads/core/target.py" in capsys.readouterr().err


@pytest.mark.parametrize("ended", [raising(KeyboardInterrupt()), lambda *_, **__: signal.raise_signal(signal.SIGTERM)])
def test_a_run_that_is_interrupted_or_terminated_writes_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ended: Callable[..., None]
) -> None:
    before = seen(here)
    monkeypatch.setattr(whole_run, "run", ended)
    assert cli.main(["run", "add", "-o", "new/out"]) == 130
    assert capsys.readouterr().err == "jaxport: interrupted; nothing was written\n"
    assert seen(here) == before


# What goes right.


def test_the_help_lists_each_name_below_its_question() -> None:
    lines = cli.parser([]).format_help().splitlines()
    for question, entries in cli.QUESTIONS.items():
        start = lines.index(f"  {question}:") + 1
        below = lines[start : lines.index("", start)]
        assert [line.split()[0] for line in below if line.startswith("    ") and line[4] != " "] == list(entries)


@pytest.mark.parametrize("command", [[], *(spell(name).split()[1:] for name in cli.COMMANDS)], ids=str)
def test_help_shows_examples(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*command, "--help"])
    assert caught.value.code == 0
    assert f"examples:\n  jaxport {' '.join(command)}" in capsys.readouterr().out


def test_a_package_of_the_users_that_hides_one_of_jaxports_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.check_packages()
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "workloads")
    with pytest.raises(RequestError, match=r"own package workloads, found .*: take that folder off PYTHONPATH"):
        cli.check_packages()


def test_the_version_names_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert re.fullmatch(
        r"jaxport \d\S+ on Python \S+\ntensorflow \d\S+, keras \d\S+\njax \d\S+, jaxlib .*, flax .*, optax .*\n",
        capsys.readouterr().out,
    )


@pytest.mark.process
def test_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "port.py").touch()
    ask = """
        source /dev/stdin <<< "$1"
        words=($2); COMP_WORDS=("${words[@]}"); COMP_CWORD=$((${#words[@]} - 1)); COMP_LINE="$2"
        _shtab_jaxport jaxport "${words[-1]}" ""; echo "${COMPREPLY[@]}"
    """
    script = cli._completion("bash")
    expected = {
        "jaxport expl": "explain",
        "jaxport run --parity-o": "--parity-only",
        "jaxport lookup go": "gotchas",
        "jaxport lookup gotchas --ru": "--run",
        "jaxport tune abl": "ablate",
        "jaxport tune po": "port.py",
        "jaxport tune port.py --keep": "--keep-numbers",
        "jaxport tune ablate --with": "--without",
        "jaxport tune ablate po": "port.py",
        "jaxport crossing po": "port.py",
        "jaxport doctor po": "port.py",
        "jaxport run --tf-python po": "port.py",
        "jaxport nothing": "",
    }
    for typed, completed in expected.items():
        asked = ["bash", "-c", ask, "bash", script, typed]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == completed, (typed, done.stderr)


@pytest.mark.process
def test_the_environment_is_told_with_a_side_that_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    absent = tmp_path / "python"
    absent.write_text("#!/bin/sh\nexit 3\n")
    absent.chmod(0o755)
    assert cli.main(["list", "environment", "--tf-python", str(absent), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "missing" in told["environment"]["sides"]["tf"]
    assert told["environment"]["sides"]["jax"]["jax"] == importlib.metadata.version("jax")
    assert told["surroundings"]["temporary_free_bytes"] > 0


def test_the_list_names_every_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [name for name in (line.split(" ", 1)[0] for line in lines[1:]) if name] == registry.names()
    # A pipe has no width to fold to: what makes a row long is told of one workload at a time.
    assert max(map(len, lines)) < 220


def test_the_list_tells_all_of_a_workload_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "lstm_cell", "add"]) == 0
    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert told[0] == "lstm_cell" and "size smoke batch=2, features=3, units=4" in told
    assert told.index("add") > told.index("size paper batch=8, features=16, units=16")
    assert cli.main(["list", "ad"]) == 2
    assert "did you mean add" in capsys.readouterr().err


@pytest.mark.process
def test_the_list_imports_nothing_that_takes_a_second() -> None:
    looked = "import sys; from compare import cli; cli.main(['list']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-P", "-c", looked], capture_output=True, text=True, check=True)
    assert not {"altair", "scipy", "jaxlib", "jax", "tensorflow", "jinja2", "sklearn"} & set(done.stderr.split())


@pytest.mark.process
@pytest.mark.parametrize("command", ["run", "bench"])
def test_a_run_on_this_machine_alone_imports_nothing_of_clusters(command: str) -> None:
    looked = f"import sys; from compare import cli; cli.parse_options([{command!r}]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", looked], capture_output=True, text=True, check=True)
    imported = done.stdout.split()
    assert f"compare.commands.{command}" in imported
    assert [name for name in imported if name.startswith(("compare.machines", "compare.commands._on_cluster"))] == []


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two equal functions, with what it printed in `printed`."""
    folder = prepared(tmp_path_factory.mktemp("honest"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        asked = [*functions("f.py:doubles"), "--no-timing", "--json", "-o", "new/out"]
        with (folder / "printed").open("w") as printed, patch.context() as inner:
            inner.setattr(sys, "stdout", printed)
            assert cli.main(asked) == 0
    return folder


@pytest.mark.process
def test_json_prints_the_record_and_nothing_else(honest: Path) -> None:
    printed = json.loads((honest / "printed").read_text())
    assert printed == json.loads((honest / "new/out/results.json").read_text())
    assert list(printed["workloads"]) == ["doubles"]


@pytest.mark.process
def test_a_run_leaves_the_record_and_the_report(honest: Path) -> None:
    assert {path.name for path in (honest / "new/out").iterdir()} == {"results.json", "report.html", "programs"}


@pytest.mark.process
@pytest.mark.parametrize("named", ["new/out", "new/out/results.json"])
def test_a_report_is_rendered_again_to_the_byte(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    assert cli.main(["report", str(honest / named), "-o", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again/report.html").read_bytes() == (honest / "new/out/report.html").read_bytes()
    assert "Parity holds in 1 of 1 workload" in capsys.readouterr().out


@pytest.mark.process
def test_a_report_lands_beside_its_record(honest: Path) -> None:
    page = honest / "new/out/report.html"
    first = page.read_bytes()
    page.unlink()
    assert cli.main(["report", str(honest / "new/out/results.json")]) == 0
    assert page.read_bytes() == first


@pytest.mark.process
def test_a_report_as_json_is_the_record(honest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(honest / "new/out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((honest / "new/out/results.json").read_text())


@pytest.mark.process
def test_a_port_that_is_not_the_same_ends_with_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*functions("f.py:trebles"), "-o", "out"]) == 1
    assert "Parity fails in 1 of 1 workload" in capsys.readouterr().out
    assert json.loads((here / "out/results.json").read_text())["workloads"]["trebles"]["timing"] is None
