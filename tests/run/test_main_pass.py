"""What is compiled, profiled and timed where another pass is asked for than the training step, or the forward pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from interpreters import JAX_AS_TF, interpreter
from runs import record_of

from compare import cli
from compare.errors import RequestError
from compare.prove.collect import choose_pass
from workloads.core.modes import TF_JIT
from workloads.protocol.framework import FORWARD, GRADIENTS, PASSES, STEP, default_pass

FUNCTIONS = """
def total(x):
    return (x * x * x).sum()
"""

PORT = """
from workloads import ArraySpec, Cost, Workload
port = Workload(
    name="cubes", tf="functions.py:total", jax="functions.py:total", inputs={"x": ArraySpec((8, 3))}, builds=False,
    cost=lambda dimensions: Cost(3 * 24, 4 * 25, "three operations an element"),
)
"""


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A port file in an empty folder, with a quick interpreter in the place of TensorFlow's: what commands take."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "port.py").write_text(PORT)
    monkeypatch.chdir(tmp_path)
    return ["port.py", "--tf-python", interpreter(tmp_path, JAX_AS_TF)]


def results(workload: str = "cubes") -> dict[str, Any]:
    record = json.loads(Path("jaxport-report/results.json").read_text())
    return record["workloads"][workload]


@pytest.mark.parametrize(
    ("passes", "asked", "chosen"),
    [
        (PASSES, None, STEP),
        (PASSES, "", STEP),
        ((FORWARD, GRADIENTS), None, FORWARD),
        (PASSES, FORWARD, FORWARD),
        (PASSES, GRADIENTS, GRADIENTS),
    ],
)
def test_the_pass_that_was_asked_for_is_chosen_and_else_the_step(
    passes: tuple[str, ...], asked: str | None, chosen: str
) -> None:
    assert choose_pass(passes, asked, "add") == chosen
    assert default_pass(passes) == chosen or asked


def test_a_pass_that_a_workload_has_not_is_one_line_with_those_that_it_has() -> None:
    with pytest.raises(RequestError) as caught:
        choose_pass((FORWARD, GRADIENTS), STEP, "add")
    assert str(caught.value) == "expected a pass of add (forward, gradients), found 'step': choose another --pass"


def test_parity_alone_takes_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "add", "--pass", "forward", "--parity-only"]) == 2
    assert "expected --pass without --parity-only" in capsys.readouterr().err


@pytest.mark.process
def test_bench_times_the_pass_and_says_so_on_every_page(port: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["--pairs", "1", "--max-pairs", "1", "--budget", "0.1", "--threads", "1", "--phases", "0", "--no-peers"]
    assert cli.main(["bench", *port, "--pass", "gradients", *quick]) == 0
    found = results()
    assert (found["main_pass"], found["passes"]) == ("gradients", ["forward", "gradients"])
    assert found["roofline"]["reason"] == "the declared cost is that of the forward pass, and not of the gradients"
    assert not found["roofline"]["modes"]
    assert found["timing"]["modes"]["jax/jit"]["median_s"] > 0
    assert (
        found["parity"]["gates"]["semantics"]["verdict"] == found["parity"]["gates"]["gradients"]["verdict"] == "pass"
    )
    # The gradient of a sum of cubes is an array; the sum itself has none.
    assert "f32[8,3]" in found["stages"]["jax"]["hlo"].partition("->")[2].partition("\n")[0]
    assert (
        "note cubes: programs and times are those of the gradients; parity judges every pass" in capsys.readouterr().out
    )
    page = Path("jaxport-report/report.html").read_text()
    assert "<dt>compiled and timed</dt><dd>gradients</dd>" in page
    assert "No lower bound: the declared cost is that of the forward pass" in page
    assert cli.main(["report", "markdown", "jaxport-report", "-o", "results.md"]) == 0
    text = Path("results.md").read_text()
    assert "\n## cubes, gradients\n" in text and "timed on the gradients" in text


@pytest.mark.process
def test_a_pass_that_a_port_file_has_not_is_one_line(port: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", *port, "--no-timing", "--pass", "step"]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("jaxport: ")]
    assert line == "jaxport: expected a pass of cubes (forward, gradients), found 'step': choose another --pass"


@pytest.mark.process
def test_tune_tunes_the_pass(port: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["--option", "xla_cpu_enable_fast_math=true", "--sets", "1", "--pairs", "1", "--budget", "0.05"]
    assert cli.main(["tune", *port, "--pass", "gradients", *quick, "-o", "tuned.json"]) == 0
    assert json.loads(Path("tuned.json").read_text())["workloads"]["cubes"]["pass"] == "gradients"
    assert "cubes: gradients at size default" in capsys.readouterr().out


@pytest.mark.process
def test_a_recorded_side_is_of_one_pass(port: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    quick = port[-1]
    assert (
        cli.main(["record", "port.py", "--side", "tf", "--python", quick, "--pass", "gradients", "-o", "tf.side"]) == 0
    )
    replayed = ["run", "port.py", "--no-timing", "--no-alignment", "--tf-recorded", "tf.side"]
    assert cli.main([*replayed, "--pass", "gradients"]) == 0
    assert results()["main_pass"] == "gradients"
    assert cli.main(replayed) == 1
    reason = results()["failures"][0]["reason"]
    assert reason.startswith("the recorded side tf.side does not hold programs of the training step, or the forward")
    assert reason.endswith("choose --pass gradients, or record it again")
    assert cli.main(["record", "port.py", "--side", "tf", "--python", quick, "-o", "tf.side"]) == 0
    assert cli.main([*replayed, "--pass", "forward"]) == 0, "the pass that is taken unless another is asked for"


@pytest.mark.process
def test_a_recorded_side_may_be_judged_at_another_size_than_it_is_compiled_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = ["--size", "default", "--parity-size", "smoke"]
    assert cli.main(["record", "add", "--side", "jax", *sizes, "-o", "jax.side"]) == 0
    replayed = ["run", "add", "--no-timing", "--no-alignment", "--jax-recorded", "jax.side"]
    assert cli.main([*replayed, *sizes]) == 0
    assert (results("add")["size"], results("add")["parity_size"]) == ("default", "smoke")
    assert cli.main([*replayed, "--size", "default"]) == 1


@pytest.mark.process
def test_of_a_model_that_trains_inference_is_compiled_and_every_pass_judged() -> None:
    record = record_of("mnist_mlp", size="smoke", plans=(), modes=(TF_JIT,), main_pass=FORWARD, alignment=False)
    found = record["workloads"]["mnist_mlp"]
    assert (found["main_pass"], found["passes"]) == (FORWARD, list(PASSES))
    assert found["parity"]["gates"]["training"]["verdict"] == "pass" and found["parity"]["verdict"] == "pass"
    assert list(found["profile"]) == ["tf/eager", "tf/jit", "jax/jit"], "modes of the step alone are not of this pass"
    assert not found["failures"]
    assert all(found["compiled"][cell]["error"] is not None for cell in ("tf@jax", "jax@tf"))
