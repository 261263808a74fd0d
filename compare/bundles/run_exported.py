"""Runs what `jaxport export` wrote by jaxlib and NumPy alone: neither JAX, TensorFlow nor jaxport is imported.

It stands as run.py in the folder that was exported, of which it reads export.json, program.mlirbc and weights.npz.

usage: python run.py                          the example, compared with the exported results
       python run.py INPUTS.npz RESULTS.npz   other inputs, by name; the results by name
       from run import Program; Program()(x=x)
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

# Before jaxlib is imported, which logs its client otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from jaxlib import version

if version.__version_info__ < (0, 8):  # what is private in it had other names
    raise SystemExit(f"expected jaxlib 0.8 or newer, found {version.__version__}: install one")

import ml_dtypes  # noqa: F401  comes with jaxlib; NumPy knows bfloat16 by it
import numpy as np
from jaxlib import (
    _jax,  # pyright: ignore[reportAttributeAccessIssue]  an extension module without a stub of this name
    xla_client,
)
from jaxlib.cpu import _lapack

FOLDER = Path(__file__).resolve().parent
CLOSE = 1e-5
"""The tolerance of floats, relative to the largest of a result: another processor adds in another order."""


class OneDevice(xla_client.SingleDeviceSharding):
    """Where an array lies; what JAX's own class tells of it beside."""

    memory_kind = None

    def _to_xla_hlo_sharding(self, dimensions: int) -> Any:
        return xla_client.HloSharding.replicate()


class Described:
    """The attributes that jaxlib requires of an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size
        self.weak_type = False


class Program:
    """The exported program, compiled for this CPU, with its weights; called with its inputs by name."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.told = json.loads((folder / "export.json").read_text())
        # As JAX does when it is imported: without it 64 bits are refused, and a call of LAPACK jumps to nowhere.
        wide = _jax.config.Config("enable_x64", True, include_in_jit_key=True, include_in_trace_context=True)
        _jax.jax_jit.set_enable_x64_state(wide)
        _lapack.initialize()
        for name, target in _lapack.registrations().items():
            xla_client.register_custom_call_target(name, target, platform="cpu", api_version=int("_ffi" in name))
        client = xla_client.make_cpu_client()
        self._device = client.local_devices()[0]
        devices = xla_client.DeviceList((self._device,))
        artifact = (folder / "program.mlirbc").read_bytes()
        self._compiled = client.compile_and_load(artifact, devices, xla_client.CompileOptions())
        self._weights = {name: self._place(array) for name, array in arrays(folder / "weights.npz").items()}

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Name, shape and dtype of each."""
        return [parameter for parameter in self.told["parameters"] if parameter["kind"] == "input"]

    def __call__(self, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """The results by name."""
        expected = [parameter["name"] for parameter in self.inputs]
        if sorted(inputs) != sorted(set(expected)):
            raise SystemExit(f"expected the inputs {', '.join(expected)}, found {', '.join(inputs) or 'none'}")
        arguments = [self._argument(parameter, inputs) for parameter in self.told["parameters"]]
        shards = self._compiled.execute_sharded(arguments).disassemble_into_single_device_arrays()
        values = [shard[0]._single_device_array_to_np_array_did_copy()[0] for shard in shards]
        return {result["name"]: value for result, value in zip(self.told["results"], values, strict=True)}

    def _argument(self, parameter: dict[str, Any], inputs: dict[str, np.ndarray]) -> Any:
        if parameter["kind"] != "input":
            return self._weights[f"{parameter['kind']}/{parameter['name']}"]
        array = np.asarray(inputs[parameter["name"]])
        if (list(array.shape), str(array.dtype)) != (parameter["shape"], parameter["dtype"]):
            raise SystemExit(
                f"expected {parameter['name']} of {parameter['dtype']}{parameter['shape']}, "
                f"found {array.dtype}{list(array.shape)}"
            )
        return self._place(array)

    def _place(self, array: np.ndarray) -> Any:
        array = np.ascontiguousarray(array).reshape(array.shape)
        return xla_client.batched_device_put(Described(array), OneDevice(self._device), [array], [self._device])


def arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file; NumPy keeps those of a type that it lacks as plain bytes, whose type follows the name."""
    with np.load(path, allow_pickle=False) as file:
        parts = [(name.partition("::"), file[name]) for name in file.files]
    return {name: array.view(np.dtype(dtype)) if dtype else array for (name, _, dtype), array in parts}


def largest_difference(actual: np.ndarray, expected: np.ndarray) -> float:
    """Relative to the largest finite value of a result; 0 or infinite of what is no float.

    An infinity that was exported, or a NaN for a NaN, differs by 0. A NaN for a number is never close.
    """
    if expected.dtype.kind in "iub":
        return 0.0 if np.array_equal(actual, expected) else float("inf")
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    actual, expected = actual.astype(wide), expected.astype(wide)
    parts = [_differences(part(actual), part(expected)) for part in (np.real, np.imag)]
    difference = float(np.where(np.isnan(parts).any(0), np.nan, np.hypot(*parts)).max(initial=0.0))
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    if difference == 0:
        return 0.0
    return difference / largest if largest else float("inf")


def _differences(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    is_same = (actual == expected) | np.isnan(actual) & np.isnan(expected)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(is_same, 0.0, actual - expected)


def _kinds(results: dict[str, np.ndarray]) -> str:
    """Name, dtype and shape of each."""
    return ", ".join(f"{name} of {array.dtype}{list(array.shape)}" for name, array in sorted(results.items())) or "none"


def check() -> int:
    """Run the example; 1 where a result is not what was exported."""
    example = arrays(FOLDER / "example.npz")
    inputs = {name.removeprefix("input/"): array for name, array in example.items() if name.startswith("input/")}
    actual = {f"result/{name}": value for name, value in Program()(**inputs).items()}
    expected = {name: example[name] for name in example if name.startswith("result/")}
    if _kinds(expected) != _kinds(actual):
        raise SystemExit(f"expected in the example {_kinds(actual)}, found {_kinds(expected)}")
    differences = {name: largest_difference(value, expected[name]) for name, value in actual.items()}
    for name, difference in differences.items():
        print(f"{name.removeprefix('result/')}: differs by {difference:.2g} of its largest value")
    return int(not all(difference <= CLOSE for difference in differences.values()))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(check())
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    np.savez(sys.argv[2], allow_pickle=False, **Program()(**arrays(Path(sys.argv[1]))))
