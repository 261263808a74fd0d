"""TensorFlow on a device that is pretended: what it is told, what it compiles for, and that a call waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

from tf_reference import _device, _framework, _mode_calls, _private
from workloads.core.device import CPU, GPU, HIGHEST, TF32, Device, DeviceAbsent


@pytest.fixture
def with_gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A GPU that TensorFlow pretends to have; what was done, in order."""
    done: list[str] = []
    monkeypatch.setattr(_device, "has_gpu", lambda: True)
    monkeypatch.setattr(tf.test.experimental, "sync_devices", lambda: done.append("waited"))
    return done


@pytest.fixture
def settings() -> Iterator[None]:
    """Whatever a test sets is set back."""
    allowed = tf.config.experimental.tensor_float_32_execution_enabled()
    yield
    tf.config.experimental.enable_tensor_float_32_execution(allowed)


def test_a_timed_call_on_a_gpu_ends_when_the_device_has_done_its_work(with_gpu: list[str]) -> None:
    one = tf.constant(1.0)

    def call(x: tf.Tensor) -> tf.Tensor:
        with_gpu.append("called")
        return x

    assert _mode_calls.finish(call, one) is one
    assert with_gpu == ["called", "waited"]


def test_every_entry_of_the_dispatch_waits_for_the_device(with_gpu: list[str]) -> None:
    entries = _framework.TensorFlow().dispatch()
    calls = [call for entry in entries.values() for call in (entry.public, entry.concrete) if call is not None]
    for call in calls:
        call()
    assert with_gpu == ["waited"] * len(calls)


def test_on_the_cpu_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_device, "has_gpu", lambda: False)
    monkeypatch.setattr(tf.test.experimental, "sync_devices", lambda: pytest.fail("waited for the CPU"))
    _mode_calls.finish(tf.identity, tf.constant(1.0))


@pytest.mark.parametrize(("gpu", "platform"), [(True, "CUDA"), (False, "CPU")])
def test_the_other_sides_program_is_compiled_for_the_device_that_runs_it(
    gpu: bool, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def call_module(arguments: list[tf.Tensor], **given: Any) -> list[tf.Tensor]:
        asked.update(given)
        return arguments

    named = {"call_module": call_module, "call_module_maximum_supported_version": lambda: 9}
    monkeypatch.setattr(_private, "_require", lambda module, attribute: named[attribute])
    monkeypatch.setattr(_device, "has_gpu", lambda: gpu)
    _private.call_stablehlo(b"", [("float32", (1,))], _device.platform())(tf.zeros(1))
    assert asked["platforms"] == [platform]


def test_a_gpu_that_is_not_there_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_device, "has_gpu", lambda: False)
    with pytest.raises(
        DeviceAbsent, match=r"for --device gpu:1, found none that TensorFlow .* can use: look at nvidia"
    ):
        _device.pin(Device(GPU, 1))
    monkeypatch.setattr(tf.test, "is_built_with_cuda", lambda: False)
    with pytest.raises(DeviceAbsent, match=r'found TensorFlow .* without CUDA: install "tensorflow\[and-cuda\]=='):
        _device.pin(Device(GPU))


@pytest.mark.parametrize(("precision", "written"), [(HIGHEST, "HIGHEST"), (TF32, "DEFAULT")])
def test_the_precision_of_products_is_in_the_program(precision: str, written: str, settings: None) -> None:
    device = Device(CPU, precision=precision)
    _device.pin(device)
    squared = tf.function(lambda x: x @ x, jit_compile=True)
    lowered = squared.experimental_get_compiler_ir(tf.zeros((2, 2)))(stage="stablehlo")
    assert f"precision = [{written}, {written}]" in lowered
    assert _device.pinned_settings(device) == {"matmul_precision": precision}


def test_a_gpu_is_named_as_jax_names_it(with_gpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["a GPU"])
    monkeypatch.setattr(
        tf.config.experimental, "get_device_details", lambda gpu: {"device_name": "NVIDIA H100 80GB HBM3"}
    )
    assert _device.describe_device() == "gpu nvidia h100 80gb hbm3"
