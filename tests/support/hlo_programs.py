"""Programs for the tests of compare.hlo: exported by JAX, written by hand, run by JAX's client."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import export
from jax.extend import backend
from jaxlib import _jax, xla_client  # pyright: ignore[reportAttributeAccessIssue]

from compare.hlo import bindings
from compare.hlo.bindings import ir

Function = Callable[..., Any]


def exported(function: Function, *arguments: np.ndarray) -> bytes:
    return export.export(jax.jit(function))(*arguments).mlir_module_serialized


def executed(artifact: bytes, *arguments: np.ndarray) -> np.ndarray:
    """The first result of the artifact by JAX's client, floats handed over as float64."""
    client = backend.get_backend()
    devices = _jax.DeviceList(tuple(client.local_devices()[:1]))
    loaded = client.compile_and_load(bindings.parse(artifact), devices, xla_client.CompileOptions())
    with jax.enable_x64(True):
        wide = [jax.device_put(a.astype(np.float64) if a.dtype == np.float32 else a) for a in arguments]
        return np.asarray(loaded.execute(wide)[0])


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def written(text: str) -> bytes:
    """Bytecode of a program written by hand, for what JAX does not emit."""
    with bindings._context():
        bytecode = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(bytecode)
        return bytecode.getvalue()


ADDITION = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}"""
DEADLY = (84, 2)
"""A byte of that program's bytecode, and a bit: flipped, jaxlib 0.10.2's reader ends its process."""


def flipped(byte: int, bit: int) -> bytes:
    """The bytecode of ADDITION with one flipped bit."""
    damaged = bytearray(bindings.artifact(ADDITION))
    damaged[byte] ^= 1 << bit
    return bytes(damaged)
