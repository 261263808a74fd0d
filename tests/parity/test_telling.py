"""Cases that prove nothing do not pass: an output that is the same in all of them agrees with anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from interpreters import JAX_AS_TF, interpreter

from compare import cli
from compare.parity import Evidence, judge
from compare.record.vocabulary import FAIL, PASS


def judged(*cases: dict[str, list[float]]) -> tuple[str, str]:
    """The verdict on a port that gives what the original gives, and what is said of it."""
    runs = {
        ("forward", f"seed{at}"): {name: np.array(each) for name, each in case.items()} for at, case in enumerate(cases)
    }
    written = {key: {name: _narrow(array) for name, array in run.items()} for key, run in runs.items()}
    evidence = Evidence(
        workload="tiny",
        outputs={(mode, *key): run for mode in ("tf/eager", "jax/jit") for key, run in written.items()},
        doubles={(side, *key): run for side in ("tf", "jax") for key, run in runs.items()},
    )
    gate = judge(evidence).gates["semantics"]
    return gate.verdict, gate.reason


def _narrow(array: np.ndarray) -> np.ndarray:
    return array.astype("float32") if array.dtype.kind == "f" else array


@pytest.mark.parametrize(
    ("cases", "value"),
    [
        ([{"y": [False, False]}, {"y": [False, False]}], "y is False in every case"),
        ([{"y": [np.inf, np.inf]}, {"y": [np.nan, np.inf]}], "y is NaN or infinite in every case"),
        ([{"y": [1.0, 1.0]}, {"y": [1.0, np.nan]}], "y is 1 in every case"),
        ([{"y": [1.0]}, {"y": [1.0 + 2**-52]}], "y is 1 in every case"),
        ([{"y": [0.0, -0.0], "z": [np.inf]}], "y is 0, z is NaN or infinite in every case"),
    ],
)
def test_an_output_that_never_varies_proves_nothing(cases: list[dict[str, list[float]]], value: str) -> None:
    verdict, reason = judged(*cases)
    assert verdict == FAIL
    assert f"{value}, which proves nothing" in reason and "f32[8]:-100..100" in reason


@pytest.mark.parametrize(
    "cases",
    [
        [{"y": [False, True]}],
        [{"y": [1.0]}, {"y": [2.0]}],
        [{"y": [np.nan, np.nan]}, {"y": [1.0, 2.0]}],
        [{"y": [1.0, 1.0 + 1e-9]}],
    ],
)
def test_one_case_that_varies_is_enough(cases: list[dict[str, list[float]]]) -> None:
    assert judged(*cases) == (PASS, "")


def test_an_output_that_never_varies_beside_others_is_named() -> None:
    verdict, reason = judged({"y": [1.0, 2.0], "count": [3.0]}, {"y": [0.0, 4.0], "count": [3.0]})
    assert (verdict, reason) == (PASS, "leaf count is 3 in every case: nothing is proved of it")


@pytest.mark.process
def test_a_threshold_that_no_input_reaches_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("original", "port"):
        (tmp_path / f"{name}.py").write_text("def f(x):\n    return x > 50\n")
    asked = ["--tf", f"{tmp_path}/original.py:f", "--jax", f"{tmp_path}/port.py:f", "--input", "x=f32[8]:0..1"]
    common = ["--tf-python", interpreter(tmp_path, JAX_AS_TF), "--parity-only", "-o", str(tmp_path / "out")]
    assert cli.main(["run", *asked, *common]) == 1
    assert "output is False in every case, which proves nothing" in capsys.readouterr().out
