"""What a twin is given: arrays of their own in each request, and 64 bits where a port asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxport._framework import Jax
from tf_reference._framework import TensorFlow
from workloads.protocol.framework import FORWARD, GRADIENTS, Twin

KEEPS = """
import {library} as library
KEPT = {{}}
def f(x):
    # What was computed of an array is looked up by the array's identity, as bijectors do.
    if id(x) in KEPT and KEPT[id(x)][0] is x:
        return KEPT[id(x)][1]
    KEPT[id(x)] = x, library.tanh(x)
    return KEPT[id(x)][1]
"""
ASKS = {
    "before a constant": 'import jax\njax.config.update("jax_enable_x64", True)\nfrom jax import numpy as jnp\n'
    "jnp.int64(2**40)\n",
    "at the top": 'import jax\njax.config.update("jax_enable_x64", True)\nimport jax.numpy as jnp\n',
    "in the environment": 'import os\nos.environ["JAX_ENABLE_X64"] = "1"\nimport jax\nimport jax.numpy as jnp\n',
}
HASH = "def f(n): return (n * jnp.asarray(2654435761, jnp.int64) + 40503) % 31\n"
IDS = np.array([1, 31, 2**33 + 5, 9_999_999_999])


@pytest.fixture
def narrow_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("JAX_ENABLE_X64", raising=False)
    yield
    jax.config.update("jax_enable_x64", False)


def twin(path: Path, source: str, **inputs: np.ndarray) -> Twin:
    path.write_text(source)
    return Twin(target=f"{path}:f", builds=False, dimensions={}, cases={"seed0": inputs}, weights={})


def test_a_cache_by_identity_loses_no_gradient_in_tensorflow(tmp_path: Path) -> None:
    side, x = TensorFlow(), np.array([0.5, -1.0], np.float32)
    side.load(twin(tmp_path / "keeps.py", KEEPS.format(library="tensorflow"), x=x))
    side.outputs("eager", FORWARD, "seed0", "float32")
    gradient = side.outputs("eager", GRADIENTS, "seed0", "float32")["x"]
    assert gradient[1] / gradient[0] != 0 and np.all(gradient != 0)


def test_arrays_of_two_requests_are_two(tmp_path: Path) -> None:
    source = "SEEN = []\ndef f(x):\n    SEEN.append(x)\n    return x * len({id(one) for one in SEEN})\n"
    side, x = Jax(), np.array([0.5, -1.0], np.float32)
    side.load(twin(tmp_path / "counts.py", source, x=x))
    outputs = [side.outputs("eager", FORWARD, "seed0", "float32")["output"] for _ in range(2)]
    np.testing.assert_array_equal(outputs, [x, 2 * x])


@pytest.mark.parametrize("how", ASKS)
@pytest.mark.usefixtures("narrow_afterwards")
def test_a_port_that_asks_for_64_bits_gets_them(how: str, tmp_path: Path) -> None:
    side = Jax()
    side.load(twin(tmp_path / "hash.py", ASKS[how] + HASH, n=IDS))
    expected = (IDS * 2654435761 + 40503) % 31
    for mode in ("eager", "jit"):
        np.testing.assert_array_equal(side.outputs(mode, FORWARD, "seed0", "float32")["output"], expected)
    (parameter,) = side.program(FORWARD, "float32").parameters
    assert parameter.dtype == "int64"


@pytest.mark.usefixtures("narrow_afterwards")
def test_a_port_that_does_not_ask_is_run_with_32_bits(tmp_path: Path) -> None:
    side = Jax()
    side.load(twin(tmp_path / "plain.py", "def f(n): return n + 1\n", n=np.array([1, 2])))
    assert side.outputs("jit", FORWARD, "seed0", "float32")["output"].dtype == np.int32
    assert side.outputs("jit", FORWARD, "seed0", "float64")["output"].dtype == np.int64
