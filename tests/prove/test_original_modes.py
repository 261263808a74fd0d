"""TensorFlow's own modes get inputs with the request: no twin is loaded for them, and a side that was lost is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from compare.inputs.at_size import Prepared, prepare
from compare.prove.collect import Collected
from compare.prove.oracle import Doubles
from compare.prove.original_modes import OriginalModes, make_original
from compare.prove.special_cases import Runs
from compare.prove.subjects import twin_of
from compare.sides._side import Reply, Side, SideError
from compare.sides.pool import Pool
from jaxport._framework import Jax
from workloads.core import registry
from workloads.core.spec import Arrays

CALLS = [{"x": np.full(3, 1.0)}, {"x": np.full(3, 2.0), "weights/w": np.ones(2)}]


class Doubling(Side):
    """TensorFlow that doubles what is sent, and notes what it is asked."""

    name = "tf"

    def __init__(self, refuses: str = "", lost: bool = False) -> None:
        self.asked: list[str] = []
        self._refuses, self._lost = refuses, lost

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        self.asked.append(method)
        if method == "load":
            return Reply({"modes": {}})
        if parameters["dtype"] == self._refuses:
            raise SideError("tf", "outputs", "no kernel", is_lost=self._lost)
        assert arrays is not None
        return Reply(arrays={"y": (2 * arrays["x"]).astype(parameters["dtype"])})

    def close(self) -> None:
        """Nothing is held."""


class One(Pool):
    """A pool of one side."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def get(self, name: str) -> Side:
        return self._side


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(registry.get("add"), "smoke", None, tmp_path_factory.mktemp("arrays"))


def modes(prepared: Prepared, side: Doubling, lost: bool = False) -> OriginalModes:
    return OriginalModes(One(side), prepared, Collected("tf", {"forward": ["eager", "jit"]}, lost=lost))


def test_each_call_is_sent_and_the_workload_is_loaded_once(prepared: Prepared) -> None:
    side = Doubling()
    asked = modes(prepared, side)
    first, second = asked.eager("forward", CALLS)
    assert (first.written["y"].dtype, first.exact["y"].dtype) == (np.float32, np.float64)
    assert (first.exact["y"][0], second.exact["y"][0]) == (2.0, 4.0)
    assert len(asked.eager("forward", CALLS)) == 2
    assert side.asked == ["load", *["outputs"] * 8]


@pytest.mark.parametrize("refuses", ["float32", "float64"])
def test_a_mode_that_refuses_gives_nothing_and_stays(prepared: Prepared, refuses: str) -> None:
    asked = modes(prepared, Doubling(refuses))
    assert asked.eager("forward", CALLS) == []
    assert asked.delivery is not None and not asked.delivery.lost


def test_a_side_that_is_lost_is_asked_no_more(prepared: Prepared) -> None:
    side = Doubling("float64", lost=True)
    asked = modes(prepared, side)
    assert asked.eager("forward", CALLS) == asked.eager("forward", CALLS) == []
    assert side.asked.count("outputs") == 2
    assert make_original(asked, Doubles())("forward", CALLS[0]) == Runs()


def test_special_cases_are_asked_of_eager_mode_and_of_xla_without_a_load(prepared: Prepared) -> None:
    side = Doubling()
    runs = make_original(modes(prepared, side), Doubles())("forward", CALLS[0])
    assert list(runs.own) == ["tf/eager", "tf/jit"] and list(runs.reference) == ["tf/eager"]
    assert side.asked == ["outputs"] * 2
    why = make_original(modes(prepared, Doubling("float32")), Doubles())("forward", CALLS[0])
    assert cast(Any, why.own["tf/jit"]).endswith("no kernel")


def test_weights_that_are_sent_stand_in_place_of_those_of_the_case(tmp_path: Any) -> None:
    model = prepare(registry.get("mnist_mlp"), "smoke", None, tmp_path)
    told, framework = model.loading, Jax()
    twin = replace(twin_of(model), target=told.targets["jax"], builds=told.builds, dimensions=told.dimensions)
    case, path = next(iter(twin.cases)), next(iter(twin.weights))
    moved = {f"weights/{path}": twin.weights[path] + 1}
    framework.load(twin)
    own, sent = (framework.outputs("jit", "forward", case, "float32", given) for given in (None, moved))
    framework.load(replace(twin, cases={case: {**twin.cases[case], **moved}}))
    again = framework.outputs("jit", "forward", case, "float32")
    assert all(np.array_equal(sent[leaf], again[leaf]) and not np.array_equal(sent[leaf], own[leaf]) for leaf in own)
