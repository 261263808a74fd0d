"""Examples of a user's file: what fits is converted, and anything else is one line."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads import ArraySpec, DataError, describe_examples, read_examples

SPECS: dict[str, Any] = {
    "x": ArraySpec(("n", 2, "steps")),
    "tokens": ArraySpec(("n", "steps"), "int32"),
    "targets": ArraySpec(("n",), "int32", low=0, high=3),
}


def arrays(**changed: Any) -> dict[str, Any]:
    """Arrays that fit, but those that are changed; None leaves one out."""
    good = {
        "x": np.ones((4, 2, 5)),
        "tokens": np.full((4, 5), -7),
        "targets": np.array([0, 1, 2, 2]),
        "more": np.ones(1),
    }
    return {name: array for name, array in {**good, **changed}.items() if array is not None}


def test_arrays_have_the_types_of_their_specs_and_others_are_left_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", **arrays())
    read = read_examples(tmp_path / "data.npz", SPECS)
    assert {name: (str(array.dtype), array.shape) for name, array in read.items()} == {
        "x": ("float32", (4, 2, 5)),
        "tokens": ("int32", (4, 5)),
        "targets": ("int32", (4,)),
    }
    np.testing.assert_array_equal(read["targets"], [0, 1, 2, 2])
    np.testing.assert_array_equal(read["tokens"], np.full((4, 5), -7))


def test_a_description_says_shapes_types_and_ranges() -> None:
    assert describe_examples(SPECS) == "x float32[n, 2, steps], tokens int32[n, steps], targets int32[n] from 0 to 2"


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"targets": None}, "targets int32[n] from 0 to 2 in PATH, found the arrays ['more', 'tokens', 'x']: write it"),
        ({"x": np.ones((4, 2))}, "expected x float32[n, 2, steps], found float64[4, 2]: reshape it"),
        ({"x": np.ones((4, 3, 5))}, "expected x float32[n, 2, steps], found float64[4, 3, 5]: reshape it"),
        ({"x": np.ones((0, 2, 5))}, "found float64[0, 2, 5]: reshape it"),
        ({"targets": np.zeros(3, int)}, "with n=4 as in x, found int64[3]: reshape it"),
        ({"tokens": np.zeros((4, 6), int)}, "with steps=5 as in x, found int64[4, 6]: reshape it"),
        ({"targets": np.zeros(4)}, "found float64[4]: convert it, as by .astype('int32')"),
        ({"x": np.full((4, 2, 5), "a")}, "found <U1[4, 2, 5]: convert it, as by .astype('float32')"),
        ({"targets": np.array([0, 1, 3, 0])}, "from 0 to 2, found 3 at [2]: correct it"),
        ({"targets": np.array([0, -1, 3, 0])}, "from 0 to 2, found -1 at [1]: correct it"),
        ({"targets": np.array([0, 2**32, 0, 0])}, "found 4294967296 at [1]: correct it"),
        ({"tokens": np.full((4, 5), 2**31)}, "expected tokens int32[n, steps], found 2147483648 at [0, 0]"),
        ({"x": np.where(np.eye(20)[3].reshape(2, 2, 5), np.nan, 1.0).repeat(2, 0)}, ", all finite, found nan at"),
        ({"x": np.full((4, 2, 5), 1e300)}, ", all finite, found 1e+300 at [0, 0, 0]"),
        ({"x": np.array([[["a", 1] + [2] * 3] * 2] * 4, object)}, "found objects in 'x': write it with numpy.savez"),
    ],
)
def test_what_does_not_fit_is_one_line(changed: dict[str, Any], line: str, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, **arrays(**changed))
    with pytest.raises(DataError, match=re.escape(line.replace("PATH", str(path)))) as error:
        read_examples(path, SPECS)
    assert str(error.value).startswith("expected ") and "\n" not in str(error.value)


def test_a_file_above_two_gibibytes_has_a_zip64_of_whose_list_the_bound_is_that_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.npz"
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    np.savez(path, **arrays())
    np.testing.assert_array_equal(read_examples(path, SPECS)["targets"], [0, 1, 2, 2])
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x06\x06")
    data[place + 40 : place + 48] = (1 << 33).to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(DataError, match="a zip whose list of files has 8,192 MiB"):
        read_examples(path, SPECS)
    path.write_bytes(data.replace(b"PK\x06\x06", b"PK\x06\x00"))
    with pytest.raises(DataError, match="the end of its zip64 is missing"):
        read_examples(path, SPECS)


def test_what_is_no_npz_is_one_line(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.ones(3))
    (tmp_path / "empty.npz").touch()
    for name in ("one.npy", "empty.npz", "missing.npz", "."):
        with pytest.raises(DataError, match=r"^expected x float32\[n, 2, steps\], .* found .*: write it"):
            read_examples(tmp_path / name, SPECS)
