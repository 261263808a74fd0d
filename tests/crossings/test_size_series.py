"""Sizes as they are asked for, and what is refused in one line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from compare.crossings import size_series
from compare.errors import RequestError
from compare.inputs.at_size import Prepared
from compare.inputs.functions import from_functions
from workloads._small_operations import OPERATIONS, SIZES
from workloads.core import registry
from workloads.core.spec import Workload


def drawn(workload: Workload, sizes: str, folder: Path) -> list[tuple[int, Prepared | str]]:
    return size_series.draw(size_series.of(workload, size_series.parse(sizes)), folder)


def test_sizes_are_taken_in_any_order_and_once() -> None:
    asked = size_series.parse("n=64, 16,64")
    assert (asked.dimension, asked.sizes) == ("n", (16, 64))


@pytest.mark.parametrize("text", ["64", "n", "n=", "n=1,x", "n=-1,2", "n=0,4", "1n=1,2", "n=1,,2", "n=1.5,2", "n=²,3"])
def test_what_names_no_sizes_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match=r"expected --size NAME=N,N,\.\.\. such as n=16,64,256, found"):
        size_series.parse(text)


def test_one_size_has_no_crossing() -> None:
    with pytest.raises(RequestError, match="at least 2 sizes"):
        size_series.parse("n=16,16")


def test_an_operation_has_sizes_of_its_own_and_a_port_has_none() -> None:
    assert size_series.of(OPERATIONS["softmax"], None).sizes.sizes == SIZES
    assert [each.workload.name for each in size_series.of_operations(None)] == list(OPERATIONS)
    port = dataclasses.replace(registry.get("add"), name="softmax")
    with pytest.raises(RequestError, match=r"expected --size NAME=N,N,\.\.\. for softmax, found none"):
        size_series.of(port, None)


def test_what_trains_is_sent_elsewhere() -> None:
    with pytest.raises(RequestError, match="which trains: `jaxport bench mnist_mlp --batches"):
        size_series.of(registry.get("mnist_mlp"), size_series.parse("batch=8,32"))


def test_a_dimension_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"expected a dimension of add \(\w+\), found 'n'"):
        drawn(registry.get("add"), "n=8,32", tmp_path)


def test_a_named_dimension_of_a_shape_varies(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def f(x): return x\n")
    where = f"{tmp_path / 'f.py'}:f"
    workload = from_functions(where, where, ["x=f32[n,4]"])
    found = dict(drawn(workload, "n=3,5", tmp_path))
    shapes = {size: each.inputs["x"].shape for size, each in found.items() if not isinstance(each, str)}
    assert shapes == {3: (3, 4), 5: (5, 4)}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_refuses_a_size_that_has_no_whole_rows(name: str, tmp_path: Path) -> None:
    found = dict(drawn(OPERATIONS[name], "elements=64,72", tmp_path))
    assert not isinstance(found[64], str)
    if name in ("elementwise", "reduction"):
        assert not isinstance(found[72], str)
    else:
        assert str(found[72]).partition("expected elements to be ")[2]


def test_sizes_that_are_all_refused_say_why(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="expected elements to be a square, found 5"):
        drawn(OPERATIONS["softmax"], "elements=5,7", tmp_path)
