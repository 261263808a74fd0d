"""`examples/input_pipeline`: one training with a pipeline, two devices, mixed precision and XLA, in both frameworks."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "input_pipeline"
BFLOAT16_ROUNDOFF = 2**-9
GRAIN = importlib.util.find_spec("grain") is not None


def ran(*line: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *line], cwd=EXAMPLE, capture_output=True, text=True, timeout=600, check=check
    )  # fmt: skip


def reported(*line: str) -> dict[str, Any]:
    return json.loads(ran(*line).stdout.splitlines()[-1])


@pytest.mark.process
def test_all_train_alike_on_the_same_batches_and_say_what_bounds_them() -> None:
    tf, *others = [
        reported(*line.split()) for line in ("train_tf.py", "train_jax.py", "train_jax.py grain")[: 2 + GRAIN]
    ]
    assert len(tf["losses"]) == 20
    for other in others:
        # Times of other batches would be those of another training.
        assert other["batches"] == tf["batches"]
        # Updated by the gradients of one device alone, the losses part by 4.5e-3 of themselves within these steps.
        assert other["losses"] == pytest.approx(tf["losses"], rel=BFLOAT16_ROUNDOFF / 4)
    for side in (tf, *others):
        assert side["bound_by"] == ("input" if side["batch_s"] > side["step_s"] else "compute")
        assert min(side["batch_s"], side["step_s"], side["loop_s"]) > 0


@pytest.mark.process
@pytest.mark.skipif(not GRAIN, reason="pip install 'jaxport[grain]'")
def test_tf_data_and_grain_give_the_same_bits() -> None:
    assert ran("same_batches.py").stdout.strip().endswith("the same batches in the same order, bit for bit")


@pytest.mark.process
def test_without_grain_one_line_names_its_extra() -> None:
    hidden = "import sys; sys.modules['grain'] = None; import grain_batches"
    said = ran("-c", hidden, check=False)
    assert (said.returncode, said.stderr) == (
        1,
        "expected the package grain, found none: pip install 'jaxport[grain]'\n",
    )


PIXELS, LABELS = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.int32)


def changed() -> np.ndarray:
    other = PIXELS.copy()
    other[1, 0] = np.nextafter(np.float32(3), np.float32(4))
    return other


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([(PIXELS, LABELS), (PIXELS, LABELS)], ""),
        ([(PIXELS, LABELS)], "batch 1 is missing"),
        ([(PIXELS, LABELS), (PIXELS,)], "batch 1 is missing, or has other arrays"),
        ([(PIXELS, LABELS), (PIXELS, LABELS.astype(np.int64))], "array 1 of batch 1 is int32(2,) in one and int64(2,)"),
        ([(PIXELS, LABELS), (changed(), LABELS)], "array 0 of batch 1 at (1, 0) is"),
        ([(PIXELS, LABELS[::-1]), (PIXELS, LABELS)], "array 1 of batch 0 at (0,) is"),
        ([(np.where(PIXELS == 0, np.float32(-0.0), PIXELS), LABELS)] * 2, "array 0 of batch 0 at (0, 0) is"),
    ],
)
def test_where_batches_part_is_named(others: list[Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    found = importlib.import_module("same_batches").first_difference([(PIXELS, LABELS)] * 2, others)
    assert found.startswith(said) and bool(found) == bool(said)
