"""A module is read without running its initializers, unless its own code asks for the value of an array."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxport import _module_reading

MODULE = """
import jax
import jax.numpy as jnp
from flax import nnx


def initialize(key, shape, dtype=jnp.float32):
    {statement}
    return jnp.ones(shape, dtype)


class Port(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(3, 4, kernel_init=initialize, rngs=rngs)
        self.dropout = nnx.Dropout(0.25, rngs=rngs)
        self.rate = {rate}


def make():
    return {made}
"""


def write(folder: Path, statement: str = "pass", rate: str = "0.5", made: str = "Port(nnx.Rngs(0))") -> str:
    path = folder / "module.py"
    path.write_text(MODULE.format(statement=statement, rate=rate, made=made))
    return f"{path}:make"


def test_initializers_are_traced_and_not_run(tmp_path: Path) -> None:
    target = _module_reading.read(write(tmp_path, "assert isinstance(key, jax.core.Tracer)"))
    assert target == _module_reading.of_module(_module_reading.module(write(tmp_path)))
    assert {"dense.kernel", "dense.bias"} <= {variable.path for variable in target.variables}


@pytest.mark.parametrize("rate", ["float(jnp.sqrt(jnp.float32(0.25)))", "0.5 if jnp.ones(()) > 0 else 0.1"])
def test_code_that_asks_for_a_value_gets_it(tmp_path: Path, rate: str) -> None:
    (whole, *_) = _module_reading.read(write(tmp_path, rate=rate)).modules
    assert whole.attributes["rate"] == 0.5


def test_an_error_of_the_code_is_its_own(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        _module_reading.read(write(tmp_path, "1 / 0"))


def test_a_module_of_linen_is_made_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("from flax import linen\n\n\ndef make():\n    return linen.Dense(3)\n")
    assert type(_module_reading.module_of_shapes(f"{path}:make")).__name__ == "Dense"
