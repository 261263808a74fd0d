"""Layers are asked of both sides, the port's on TensorFlow's inputs too; a side that has none costs the layers."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from chained_layers import Layer, captured, double, shifted, triple

from compare.ladder.asking_layers import Asked, ask
from compare.sides._side import Reply, Side, SideError
from workloads.core.spec import Arrays

CHAIN = [Layer("first", double), Layer("second", shifted), Layer("third", triple)]
PREPARED: Any = SimpleNamespace(loading=SimpleNamespace(cases=("seed0", "kinks")))


class Chained(Side):
    """A side that tells of a chain; the port's calls its layers again on what it is sent."""

    def __init__(self, name: str, chain: list[Layer], refused: tuple[str, ...] = ()) -> None:
        self.name, self._chain, self._refused = name, chain, refused
        self.asked: list[Mapping[str, Any]] = []

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        self.asked.append(parameters)
        if parameters["dtype"] in self._refused:
            raise SideError(self.name, method, f"no {parameters['dtype']} here")
        told = captured(self._chain)
        found = dict(told.arrays)
        calls = list(told.calls.calls)
        for given in parameters["given"]:
            at, (name,) = given["started"], given["inputs"]
            assert arrays is not None
            noted = [layer for layer in self._chain if layer.noted]
            found[f"{at}/own"] = noted[at].function(arrays[name])
            calls[at] = msgspec.convert({**msgspec.to_builtins(calls[at]), "own": [f"{at}/own"]}, type(calls[at]))
        return Reply(msgspec.to_builtins({**msgspec.to_builtins(told.calls), "calls": calls}), found)

    def close(self) -> None:
        """Nothing is held."""


def asked(port: list[Layer], refused: tuple[str, ...] = (), case: str = "seed0") -> tuple[Asked, Chained]:
    sides = {"tf": Chained("tf", CHAIN), "jax": Chained("jax", port, refused)}
    pool: Any = SimpleNamespace(get=sides.get)
    return ask(pool, PREPARED, "forward", case, {}), sides["jax"]


def test_a_departure_is_told_from_what_inherits_it() -> None:
    found, jax = asked([CHAIN[0], Layer("second", lambda x: x + 2), CHAIN[2]])
    layers = found.layers
    assert [each.state for each in layers.calls] == ["agrees", "departs", "inherits"]
    assert layers.first == "second" and layers.told.startswith("second (Dense, in the port second) departs")
    assert [len(each["given"]) for each in jax.asked] == [0, 3]


def test_float32_where_a_side_has_no_float64() -> None:
    found, _ = asked(CHAIN, refused=("float64",))
    assert found.layers.dtype == "float32" and {each.state for each in found.layers.calls} == {"agrees"}


def test_a_side_that_tells_nothing_costs_the_layers() -> None:
    found, _ = asked(CHAIN, refused=("float64", "float32"))
    assert not found.layers.calls and "no float32 here" in found.layers.reason


@pytest.mark.parametrize(("case", "taken"), [("kinks", "kinks"), ("integers", "seed0")])
def test_the_case_that_fails_where_the_sides_have_it(case: str, taken: str) -> None:
    found, jax = asked(CHAIN, case=case)
    assert found.layers.case == taken and jax.asked[0]["case"] == taken


def test_a_port_without_modules_says_so() -> None:
    found, _ = asked([Layer("", each.function, noted=False) for each in CHAIN])
    assert found.layers.reason == "the port calls no modules of Flax"
    assert not found.layers.told


def test_modules_of_other_names_are_no_layers() -> None:
    found, _ = asked([Layer(f"other{at}", each.function) for at, each in enumerate(CHAIN)])
    assert found.layers.reason == "no module of the port has the name of a layer"
    assert {each.state for each in found.layers.calls} == {"not_compared"}
