"""What crosses between processes arrives as it was sent, or is refused before it is written."""

from __future__ import annotations

import json
import mmap
import shutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors import SafetensorError

from compare.arrays import map_arrays
from compare.sides import wire
from compare.sides._side import Reply
from compare.sides.methods import method_of
from workloads.protocol.framework import Parameter, Program, Result
from workloads.protocol.methods import RemoteMethods


@pytest.mark.parametrize("dtype", wire.DTYPES)
def test_arrays_of_every_dtype_and_layout_survive_the_wire(tmp_path: Path, dtype: str) -> None:
    values = np.arange(24).reshape(2, 3, 4) % {"bool": 2, "int4": 8, "uint4": 16}.get(dtype, 24)
    array = values.astype(dtype)
    sent = {
        "whole": array,
        "scalar": array[1, 1, 1],
        "zero-d": np.asarray(array[0, 1, 2]),
        "empty": array[:, :0],
        "transposed": array.transpose(2, 0, 1),
        "strided": array[:, ::2, ::-1],
        "broadcast": np.broadcast_to(array[0, 0], (5, 4)),
        "fortran": np.asfortranarray(array),
        "a/path with spaces": array[0],
    }
    wire.save_arrays(sent, tmp_path / "arrays")
    loaded, mapped = wire.load_arrays(tmp_path / "arrays")[0], map_arrays(tmp_path / "arrays")
    (tmp_path / "arrays").unlink()
    for found in (loaded, mapped):
        assert found.keys() == sent.keys()
        for name, expected in sent.items():
            assert found[name].dtype == expected.dtype
            assert found[name].shape == expected.shape
            np.testing.assert_array_equal(found[name], expected)


def _is_mapped(array: np.ndarray) -> bool:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def test_only_large_replies_stay_on_disk_and_only_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    wire.save_arrays({"x": np.ones(4)}, small)
    wire.save_arrays({"x": np.ones(wire.MAPPED_BYTES // 8)}, large)
    assert not _is_mapped(wire.received_arrays(small)["x"])
    assert _is_mapped(wire.received_arrays(large)["x"])
    full = shutil.disk_usage(tmp_path)._replace(free=wire.ROOM * wire.MAPPED_BYTES)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    assert not _is_mapped(wire.received_arrays(large)["x"])


@pytest.mark.parametrize("kept", [4, 2000])
def test_a_large_reply_that_is_cut_off_is_refused(tmp_path: Path, kept: int) -> None:
    wire.save_arrays({"x": np.ones(1000)}, tmp_path / "arrays")
    (tmp_path / "arrays").write_bytes((tmp_path / "arrays").read_bytes()[:kept])
    with pytest.raises(SafetensorError):
        map_arrays(tmp_path / "arrays")


def test_not_a_number_and_the_sign_of_zero_survive_the_wire(tmp_path: Path) -> None:
    sent = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324])
    wire.save_arrays({"x": sent, "parts": sent.view(np.complex128)}, tmp_path / "arrays")
    found = wire.load_arrays(tmp_path / "arrays")[0]
    assert found["x"].tobytes() == found["parts"].tobytes() == sent.tobytes()


@pytest.mark.parametrize("dtype", ["complex256", "object", "U3", ml_dtypes.float8_e4m3b11fnuz])
def test_a_dtype_that_would_not_come_back_is_refused_before_it_is_written(tmp_path: Path, dtype: Any) -> None:
    with pytest.raises(TypeError, match=r"expected 'x' of a dtype of bool, .*, found .*: cast it"):
        wire.save_arrays({"x": np.zeros(2).astype(dtype)}, tmp_path / "arrays")
    assert not (tmp_path / "arrays").exists()


def test_a_program_packed_and_unpacked_is_equal() -> None:
    program = Program(
        artifact=bytes(range(256)),
        parameters=(Parameter("weight", "dense/kernel", (2, 3), "float32"), Parameter("state", "step", (), "int32")),
        results=(Result("output", (), "bfloat16"),),
        states={"step": np.asarray(3, np.int32)},
    )
    declared = method_of(RemoteMethods.program)
    packed = declared.pack_result(program)
    assert declared.unpack_result(Reply(json.loads(json.dumps(packed.value)), packed.arrays)) == program


def test_a_twin_packed_and_unpacked_keeps_the_order_of_its_inputs() -> None:
    cases = {"seed0": {"b": np.ones(2), "a": np.zeros(3), "weights/w/x": np.full(1, 2.0)}}
    packed = wire.pack_twin(cases, {"w/x": np.full(1, 5.0)}, {"b": np.ones((4, 2))})
    described = {"cases": ["seed0"], "inputs": ["b", "a"], "target": "t:f", "builds": True, "dimensions": {"n": 2}}
    twin = wire.unpack_twin(described, dict(sorted(packed.items())))
    assert twin.inputs == ("b", "a")
    assert twin.weights_of("seed0")["w/x"] == 2.0
    assert twin.weights["w/x"] == 5.0
    assert list(twin.batches) == ["b"]
