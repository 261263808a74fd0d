"""Carried weights whose bytes are flipped, cut and replaced: read, or refused in one line, and never half of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from fuzzed_bytes import said_of_damaged
from safetensors.numpy import save

from compare.errors import Foreseen
from jaxport import _orbax_weights, weights
from workloads.protocol.framework import Unsupported


def in_file(folder: Path) -> tuple[Path, Callable[[], object]]:
    module = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    path = folder / "w.safetensors"
    path.write_bytes(save({"kernel": np.ones((2, 3), np.float32), "bias": np.ones(3, np.float32)}, {"kept": "{}"}))

    def read() -> None:
        before = [jnp.asarray(each.get_value()) for each in (module.kernel, module.bias)]
        try:
            weights.load(module, path)
        except Foreseen:
            after = [jnp.asarray(each.get_value()) for each in (module.kernel, module.bias)]
            assert all(bool((one == other).all()) for one, other in zip(before, after, strict=True))
            raise

    return path, read


def in_orbax(folder: Path, name: str) -> tuple[Path, Callable[[], object]]:
    module = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    arrays = {"kernel": np.ones((2, 3), np.float32), "bias": np.ones(3, np.float32)}
    _orbax_weights.write(module, (), None, arrays, folder / "o")
    (path,) = (folder / "o").rglob(name)
    return path, lambda: _orbax_weights.read(folder / "o")


def in_orbax_tree(folder: Path) -> tuple[Path, Callable[[], object]]:
    return in_orbax(folder, "_METADATA")


@pytest.mark.parametrize("make", [in_file, in_orbax_tree], ids=["safetensors", "Orbax"])
def test_damaged_weights_are_read_or_refused_in_one_line(
    make: Callable[[Path], tuple[Path, Callable[[], object]]], tmp_path: Path
) -> None:
    path, read = make(tmp_path)
    read()

    def tried(data: bytes) -> None:
        path.write_bytes(data)
        read()

    lines = [line for line in said_of_damaged(path.read_bytes(), tried, (Foreseen, Unsupported)) if line]
    assert len(lines) > 10
    assert [line for line in lines if not (line.isprintable() and "expected" in line)] == []
