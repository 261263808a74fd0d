"""Integers and truth values of a written port: those that were carried, and no others."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from workloads import ArraySpec, drawn_weights
from workloads.core.target import WeightsError

CARRIED = {
    "index": np.array([[4, 2, 0]], np.int32),
    "open": np.array(True),
    "bytes": np.array([250, 255], np.uint8),
    "kernel": np.ones((2, 3), np.float32),
}
DTYPES = {"index": "int64", "open": "bool", "bytes": "uint8", "kernel": "float32"}


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    save_file({f"own.{name}": array for name, array in CARRIED.items()}, tmp_path / "weights.safetensors")
    leaves = [
        {
            "key": f"own/{name}", "class_name": "Own", "leaf": name, "shape": list(array.shape), "dtype": DTYPES[name],
            "variables": [{"path": f"own.{name}", "sha256": hashlib.sha256(array.tobytes()).hexdigest()}],
        }
        for name, array in CARRIED.items()
    ]  # fmt: skip
    path = tmp_path / "weights.receipt.json"
    path.write_text(json.dumps({"leaves": leaves}))
    return path


def test_they_are_the_sources_in_its_dtypes_and_floats_are_drawn(receipt: Path) -> None:
    weights = drawn_weights(receipt)
    assert isinstance(weights["own/kernel"], ArraySpec)
    for name in ("index", "open", "bytes"):
        array = weights[f"own/{name}"]
        assert isinstance(array, np.ndarray) and array.dtype.name == DTYPES[name]
        assert array.shape == CARRIED[name].shape and array.tolist() == CARRIED[name].tolist()


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {"own.index": np.array([[4, 2, 1]], np.int32)},
            r"own\.index in weights\.safetensors as weights\.receipt\.json",
        ),
        (dict[str, np.ndarray](), r"expected own\.index in weights\.safetensors, found none"),
    ],
)
def test_a_file_that_is_not_the_receipts_is_refused(receipt: Path, changed: dict[str, np.ndarray], line: str) -> None:
    save_file(changed, receipt.with_name("weights.safetensors"))
    with pytest.raises(WeightsError, match=line):
        drawn_weights(receipt)


def test_a_file_that_is_missing_is_told(receipt: Path) -> None:
    receipt.with_name("weights.safetensors").unlink()
    with pytest.raises(WeightsError, match=r"expected own\.index in weights\.safetensors, found none"):
        drawn_weights(receipt)
