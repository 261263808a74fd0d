"""Variables that keep both frameworks on one device, with shared memory and equal rounding of products."""

from __future__ import annotations

from collections.abc import Mapping

from compare.errors import RequestError
from workloads.core.device import CPU, HIGHEST, TF32, Device

VISIBLE = "CUDA_VISIBLE_DEVICES"
NO_GPU = "-1"
DETERMINISTIC_FLAG = "--xla_gpu_deterministic_ops=true"
TF32_OVERRIDE = "NVIDIA_TF32_OVERRIDE"

# TensorFlow's bridge writes DEFAULT beside products where TF32 is allowed; JAX's "tensorfloat32" would write HIGH.
JAX_PRECISIONS = {HIGHEST: "highest", TF32: "default"}

_LEAVING_MEMORY = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}


def variables(device: Device, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a worker on a device; flags that were set before are kept.

    Raises:
      RequestError: what is inherited contradicts the device.
    """
    if device.kind == CPU:
        # Without the first JAX takes the GPU that it finds, without the second TensorFlow does.
        return device.to_environment() | {"JAX_PLATFORMS": "cpu", VISIBLE: NO_GPU}
    # The CPU comes second: callbacks run there.
    placement = {"JAX_PLATFORMS": "cuda,cpu", VISIBLE: _visible(device, environment), **_LEAVING_MEMORY}
    return device.to_environment() | placement | _precision(device, environment) | _determinism(device, environment)


def _visible(device: Device, environment: Mapping[str, str]) -> str:
    """The one GPU: a scheduler that hands out some of a machine's names them in the same variable."""
    if not environment.get(VISIBLE):
        return str(device.index)
    devices = environment[VISIBLE].split(",")
    if device.index >= len(devices):
        raise RequestError(
            f"expected --device gpu:N with N below {len(devices)}, found {device}: {VISIBLE}={environment[VISIBLE]} "
            "names no more"
        )
    return devices[device.index].strip()


def _precision(device: Device, environment: Mapping[str, str]) -> dict[str, str]:
    """TensorFlow has no variable for it: its side sets it (`tf_reference/_device.py`)."""
    if device.precision is None:
        return {}
    setting = {"JAX_DEFAULT_MATMUL_PRECISION": JAX_PRECISIONS[device.precision]}
    if device.precision == HIGHEST:
        return setting | {TF32_OVERRIDE: "0"}
    if environment.get(TF32_OVERRIDE) == "0":
        raise RequestError(f"expected no {TF32_OVERRIDE} with --matmul-precision {TF32}, found 0: unset it")
    return setting


def _determinism(device: Device, environment: Mapping[str, str]) -> dict[str, str]:
    if not device.deterministic:
        return {}
    flags = f"{environment.get('XLA_FLAGS', '')} {DETERMINISTIC_FLAG}".strip()
    return {"XLA_FLAGS": flags, "TF_DETERMINISTIC_OPS": "1"}
