"""The device that TensorFlow computes on: its presence, and its pinned settings."""

from __future__ import annotations

import functools

import tensorflow as tf

from workloads.core.device import CPU, GPU, HIGHEST, TF32, Device, DeviceAbsent


def pin(device: Device) -> None:
    """Checks that TensorFlow finds the device, and pins settings that have no environment variable.

    Raises:
      DeviceAbsent: TensorFlow finds no such device.
    """
    if device.kind == GPU and not has_gpu():
        raise DeviceAbsent(f"expected a GPU for --device {device}, found {_find_device()}")
    if device.precision is not None:
        # Lowering reads it too: products are HIGHEST in the program without it, DEFAULT with it.
        tf.config.experimental.enable_tensor_float_32_execution(device.precision == TF32)
    if device.deterministic:
        tf.config.experimental.enable_op_determinism()


def _find_device() -> str:
    if not tf.test.is_built_with_cuda():
        return f'TensorFlow {tf.__version__} without CUDA: install "tensorflow[and-cuda]=={tf.__version__}"'
    return (
        f"none that TensorFlow {tf.__version__} can use: "
        f'look at nvidia-smi, and install "tensorflow[and-cuda]=={tf.__version__}", which brings CUDA'
    )


@functools.cache
def has_gpu() -> bool:
    """Whether TensorFlow finds a GPU. Cached, since the query takes a lock and follows every timed call."""
    return bool(tf.config.list_physical_devices("GPU"))


def platform() -> str:
    """The platform that TensorFlow's XLA compiles for, by its name in XlaCallModule."""
    return "CUDA" if has_gpu() else "CPU"


def describe_device() -> str:
    """The kind and name of the device, "gpu nvidia h100 80gb hbm3"; for a CPU only "cpu"."""
    if not has_gpu():
        return CPU
    details = tf.config.experimental.get_device_details(tf.config.list_physical_devices("GPU")[0])
    return f"{GPU} {details.get('device_name', '')}".lower().strip()


def finish() -> None:
    """Waits until the device has finished its work: on a GPU, calls return earlier."""
    if has_gpu():
        tf.test.experimental.sync_devices()


def pinned_settings(device: Device) -> dict[str, str | bool]:
    """The pinned settings as TensorFlow reports them; empty if none was requested."""
    allows_tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    settings = {"matmul_precision": TF32 if allows_tf32 else HIGHEST} if device.precision else {}
    elsewhere = {"lowered_for": device.lowers_for} if device.lowers_for else {}
    return settings | elsewhere | ({"deterministic": True} if device.deterministic else {})
