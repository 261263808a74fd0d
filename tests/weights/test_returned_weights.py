"""Weights and receipts on their way back, which anyone may have made: taken as carried, or refused in one line."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weight_pairs as pairs
from fuzzed_bytes import said_of_damaged
from safetensors.numpy import save, save_file

from compare import files
from compare.errors import Foreseen
from compare.weights import receipt, returning
from compare.weights.planning import plan

BOMB = b"\xff" * 7 + b"\x7f{}"
"""The head of a safetensors file that says to be of eight exbibytes."""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file of weights with its receipt beside it."""
    source, arrays = pairs.two_dense()
    target = pairs.two_linear()
    found = plan(source, arrays, target, {}, {})
    path = tmp_path / "w.safetensors"
    save_file(dict(found.arrays), path)
    made = receipt.make_receipt(("m.keras", "", "port.py:Port"), found, source, arrays, target, {}, "")
    receipt.beside(path).write_text(json.dumps(receipt.plain(made)))
    return path


def back(path: Path) -> dict[str, np.ndarray]:
    kept = receipt.read(receipt.beside(path))
    return returning.taken_back(kept, files.read_arrays(path, returning._EXPECTED, 1 << 20)[0], path)


def test_what_was_carried_comes_back(weights: Path) -> None:
    _, arrays = pairs.two_dense()
    found = back(weights)
    assert {key: array.tolist() for key, array in found.items()} == {k: array.tolist() for k, array in arrays.items()}


def leaf(**changed: Any) -> Callable[[Any], None]:
    return lambda plain: plain["leaves"][0].update(changed)


def variable(**changed: Any) -> Callable[[Any], None]:
    return lambda plain: plain["leaves"][0]["variables"][0].update(changed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (leaf(shape=[10**18, 10**18]), r"float32[4, 4] for first/kernel, of which the receipt says float32[1000"),
        (leaf(shape=[-1, -4]), "float32[4, 4] for first/kernel, of which the receipt says float32[-1, -4]"),
        (leaf(dtype="int8"), "float32[4, 4] for first/kernel, of which the receipt says int8[4, 4]"),
        (leaf(key="../../etc/passwd", shape=[16]), "float32[4, 4] for ../../etc/passwd, of which"),
        (leaf(key="second/kernel"), "found 'second/kernel' twice"),
        (leaf(transform={"name": "transpose", "axes": [0, 0]}), "first/kernel: expected an array of 2 axes"),
        (leaf(transform={"name": "split", "axis": 0, "parts": 10**12}), "first/kernel: expected"),
        (leaf(transform={"name": "reshape", "before": [16], "after": [4, 4]}), "float32[16] for first/kernel, of"),
        (leaf(transform={"name": "__import__('os')"}), "found invalid value"),
        (leaf(variables=[]), "found a variable first.kernel of no receipt"),
        (variable(path="second.kernel"), "found 'second.kernel' twice"),
        (variable(path="\x1b[31mred"), "found no variable \ufffd[31mred"),
        (variable(shape=[10**18]), "found float32[4, 4] for first.kernel, which was float32[1000"),
        (variable(dtype=None), "found `null` where `str` is expected, at $.leaves[0].variables[0].dtype"),
        (lambda plain: plain.update(leaves=[]), "of no receipt"),
        (lambda plain: plain.update(format=2), "found one of format 2, where 1 is known"),
        (lambda plain: plain.update(versions=["tensorflow"]), "`array` where `object` is expected, at $.versions"),
    ],
)
def test_a_receipt_that_contradicts_itself_or_its_weights_is_refused(
    weights: Path, change: Callable[[Any], None], said: str
) -> None:
    plain = json.loads(receipt.beside(weights).read_text())
    change(plain)
    receipt.beside(weights).write_text(json.dumps(plain))
    with pytest.raises(Foreseen, match=re.escape(said)) as refused:
        back(weights)
    assert str(refused.value).isprintable()


NO_HEAD, NO_TEXT, NO_JSON = "Error while deserializing header", "invalid UTF-8 at byte", "invalid JSON"
CIRCLE = "too many levels of symbolic links"
WRITE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "empty": (lambda path: path.write_bytes(b""), NO_HEAD, NO_JSON),
    "bomb": (lambda path: path.write_bytes(BOMB), NO_HEAD, NO_TEXT),
    "pickle": (lambda path: path.write_bytes(pickle.dumps(print)), NO_HEAD, NO_TEXT),
    "of others": (lambda path: path.write_bytes(save({"x": np.ones(2)})), "no variable first.bias", NO_TEXT),
    "pipe": (os.mkfifo, "a named pipe", "a named pipe"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "a device", "a device"),
    "circle": (lambda path: path.symlink_to(path), CIRCLE, CIRCLE),
    "folder": (Path.mkdir, "a folder", "a folder"),
}
"""By name, what lies in the place of a file, and what is found there: of weights, and of a receipt."""


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("of", ["weights", "receipt"])
def test_what_is_no_file_of_weights_is_refused(weights: Path, name: str, of: str) -> None:
    write, *found = WRITE[name]
    path, said = (weights, found[0]) if of == "weights" else (receipt.beside(weights), found[1])
    path.unlink()
    write(path)
    with pytest.raises(Foreseen, match=re.escape(f"at {path}, found {said}")):
        back(weights)


@pytest.mark.parametrize("of", ["weights", "receipt"])
def test_damaged_bytes_come_back_as_they_were_declared_or_are_refused(weights: Path, of: str) -> None:
    path = weights if of == "weights" else receipt.beside(weights)
    declared = {key: (array.shape, array.dtype) for key, array in back(weights).items()}

    def tried(data: bytes) -> None:
        path.write_bytes(data)
        found = {key: (array.shape, array.dtype) for key, array in back(weights).items()}
        assert of == "receipt" or found == declared

    lines = [line for line in said_of_damaged(path.read_bytes(), tried, Foreseen) if line]
    assert len(lines) > 25
    assert [line for line in lines if not (line.isprintable() and line.startswith("expected"))] == []
