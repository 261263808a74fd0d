"""The device that this side computes on: whether it exists, and its settings."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import jax

from workloads.core.device import CPU, GPU, HIGHEST, SYNCHRONOUS, TF32, Device, DeviceAbsent

PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin")
"""The modules that the CUDA wheels of JAX install."""


def require(device: Device) -> None:
    """Check that JAX has a device.

    Raises:
      DeviceAbsent: JAX finds no such device.
    """
    if device.kind == CPU:
        return
    if not any(map(importlib.util.find_spec, PLUGINS)):
        raise DeviceAbsent(
            f"expected a GPU for --device {device}, found JAX {jax.__version__} without CUDA: "
            f'install "jax[cuda12]=={jax.__version__}"'
        )
    # If a plugin finds no driver, JAX skips or refuses it, depending on the error.
    try:
        first = jax.devices()[0]
    except RuntimeError as error:
        raise _unusable(device, str(error).splitlines()[0]) from error
    if first.platform != GPU:
        raise _unusable(device, f"its first device is a {first.platform.upper()}")


def set_dispatch(environment: Mapping[str, str]) -> None:
    """Make calls on a CPU synchronous if the environment says so. Call it before JAX makes its first array.

    JAX reads no environment variable for it (0.10.2).
    """
    if environment.get(SYNCHRONOUS):
        jax.config.update("jax_cpu_enable_async_dispatch", False)


def _unusable(device: Device, reason: str) -> DeviceAbsent:
    return DeviceAbsent(
        f"expected a GPU for --device {device}, found none that JAX {jax.__version__} can use ({reason}): "
        f'look at nvidia-smi, and install "jax[cuda12]=={jax.__version__}", which brings CUDA'
    )


def describe_device(device: Any) -> str:
    """The kind of a device and its name: "gpu nvidia h100 80gb hbm3"; of a CPU only "cpu"."""
    return CPU if device.platform == CPU else f"{device.platform} {device.device_kind}".lower()


def pinned_settings(device: Device) -> dict[str, str | bool]:
    """The settings that were asked for, as JAX reports them."""
    precisions = {"highest": HIGHEST, "default": TF32}
    precision = jax.config.values["jax_default_matmul_precision"]
    settings = {"matmul_precision": precisions.get(precision, str(precision))} if device.precision else {}
    return settings | ({"deterministic": True} if device.deterministic else {})
