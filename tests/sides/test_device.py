"""Both sides compute on the device that was asked for, alike; one that is not there is one line, before any work."""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest
from interpreters import STARTED, interpreter

from compare.cli import main
from compare.commands import _arguments, _asked, record
from compare.errors import RequestError
from compare.measure.phase_processes import Workers
from compare.sides import device_variables, requests
from compare.sides._side import NoDevice
from compare.sides.client import LiveSide
from compare.sides.pool import Pool, Source
from compare.sides.settings import Settings
from compare.sides.sources import require_device
from compare.sides.workers import WorkerSet
from jaxport import _device as jax_device
from workloads.core.device import CPU, GPU, HIGHEST, ON_CPU, TF32, Device, DeviceAbsent, device_asked_for

GPU_0 = Device(GPU, precision=HIGHEST)

REASON = "expected a GPU for --device gpu:0, found none: install one"
ABSENT = f"""echo '{json.dumps({"ok": False, "kind": "device", "reason": REASON, "details": ""})}'"""


def options(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    _arguments.add_workers(parser)
    return parser.parse_args(given)


# What a worker is told.


@pytest.mark.parametrize("device", [ON_CPU, GPU_0, Device(GPU, 3, TF32, True), Device(CPU, 0, TF32, False, GPU)])
def test_a_worker_reads_the_device_that_it_was_told_of(device: Device) -> None:
    assert device_asked_for(device.to_environment()) == device


def test_without_a_word_a_process_computes_on_the_cpu_with_nothing_pinned() -> None:
    assert device_asked_for({}) == ON_CPU


@pytest.mark.parametrize(
    "inherited", [{}, {"JAX_PLATFORMS": "cuda", "CUDA_VISIBLE_DEVICES": "0,1"}, {"JAX_PLATFORMS": ""}]
)
def test_on_the_cpu_no_framework_sees_a_gpu_whatever_the_environment_says(inherited: dict[str, str]) -> None:
    found = inherited | device_variables.variables(ON_CPU, inherited)
    assert (found["JAX_PLATFORMS"], found["CUDA_VISIBLE_DEVICES"]) == ("cpu", "-1")


def test_on_the_cpu_the_precision_of_products_is_what_it_was() -> None:
    assert not {"JAX_DEFAULT_MATMUL_PRECISION", "NVIDIA_TF32_OVERRIDE", "XLA_FLAGS"} & set(
        device_variables.variables(ON_CPU, {})
    )


def test_on_a_gpu_each_side_leaves_memory_to_the_other_and_products_are_those_of_float32() -> None:
    found = device_variables.variables(GPU_0, {})
    assert (
        found
        | {
            "JAX_PLATFORMS": "cuda,cpu",
            "CUDA_VISIBLE_DEVICES": "0",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
            "JAX_DEFAULT_MATMUL_PRECISION": "highest",
            "NVIDIA_TF32_OVERRIDE": "0",
        }
        == found
    )
    assert not {"XLA_FLAGS", "TF_DETERMINISTIC_OPS"} & set(found)


def test_tf32_is_what_both_bridges_write_as_the_default() -> None:
    found = device_variables.variables(Device(GPU, precision=TF32), {})
    assert found["JAX_DEFAULT_MATMUL_PRECISION"] == "default"
    assert "NVIDIA_TF32_OVERRIDE" not in found


def test_tf32_that_the_libraries_are_told_to_leave_is_refused() -> None:
    with pytest.raises(RequestError, match="expected no NVIDIA_TF32_OVERRIDE with --matmul-precision tf32, found 0"):
        device_variables.variables(Device(GPU, precision=TF32), {"NVIDIA_TF32_OVERRIDE": "0"})


def test_determinism_is_asked_of_both_and_other_flags_stay() -> None:
    found = device_variables.variables(Device(GPU, deterministic=True), {"XLA_FLAGS": "--mine"})
    assert found["XLA_FLAGS"] == "--mine --xla_gpu_deterministic_ops=true"
    assert found["TF_DETERMINISTIC_OPS"] == "1"


@pytest.mark.parametrize(("granted", "index", "taken"), [("3,5", 0, "3"), ("3, 5", 1, "5"), ("", 1, "1")])
def test_a_gpu_is_counted_among_those_that_a_scheduler_granted(granted: str, index: int, taken: str) -> None:
    found = device_variables.variables(Device(GPU, index), {"CUDA_VISIBLE_DEVICES": granted})
    assert found["CUDA_VISIBLE_DEVICES"] == taken


def test_a_gpu_beyond_those_that_were_granted_is_refused() -> None:
    with pytest.raises(RequestError, match="expected --device gpu:N with N below 2, found gpu:2"):
        device_variables.variables(Device(GPU, 2), {"CUDA_VISIBLE_DEVICES": "3,5"})


@pytest.mark.process
def test_every_process_that_stands_for_a_side_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setenv("XLA_FLAGS", "--xla_mine=1")
    source = Source(interpreter(tmp_path, f"env > {tmp_path}/env; {STARTED}exec sleep 60"), device=GPU_0)

    def told() -> dict[str, str]:
        lines = (tmp_path / "env").read_text().splitlines()
        (tmp_path / "env").unlink()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    with closing(Pool({"jax": source}, tmp_path, 60)) as pool:
        pool.get("jax")
        judging = told()
    with Workers({"jax": source}, tmp_path, 60).once("jax", dump=tmp_path / "dump"):
        measuring = told()
    for found in (judging, measuring):
        assert device_asked_for(found) == GPU_0
        assert found["CUDA_VISIBLE_DEVICES"] == "7"
        assert found["XLA_FLAGS"].startswith("--xla_mine=1")


@pytest.mark.process
@pytest.mark.parametrize("name", ["jax", "tf"])
def test_without_a_word_a_worker_computes_on_the_cpu(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with WorkerSet(lambda name: LiveSide(name, tmp_path)) as workers:
        told = requests.environment(workers.get(name))
    assert told["device"] == "cpu"
    assert not {"matmul_precision", "deterministic"} & set(told)


@pytest.mark.process
@pytest.mark.parametrize("name", ["jax", "tf"])
def test_what_is_pinned_is_in_the_environment_as_the_framework_has_it(name: str, tmp_path: Path) -> None:
    settings = Settings(device=Device(precision=HIGHEST, deterministic=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_variables, "variables", _as_on_a_gpu)
        worker = LiveSide(name, tmp_path, settings=settings)
    with WorkerSet(lambda _: worker) as workers:
        told = requests.environment(workers.get(name))
    assert (told["device"], told["matmul_precision"], told["deterministic"]) == ("cpu", HIGHEST, True)


_original = device_variables.variables


def _as_on_a_gpu(device: Device, inherited: Mapping[str, str]) -> dict[str, str]:
    """What is pinned on a GPU, for the CPU."""
    on_a_gpu = Device(GPU, precision=device.precision, deterministic=device.deterministic)
    return _original(on_a_gpu, inherited) | _original(device, inherited)


# A device that is not there.


def test_jax_without_a_cuda_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DeviceAbsent, match=r'for --device gpu:0, found JAX .* without CUDA: install "jax\[cuda12\]=='):
        jax_device.require(GPU_0)


def test_jax_whose_plugin_finds_no_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    with pytest.raises(DeviceAbsent, match=r"found none that JAX .* can use \(its first device is a CPU\): look at"):
        jax_device.require(GPU_0)


def test_jax_on_a_gpu_is_let_pass_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(platform="gpu", device_kind="NVIDIA H100 80GB HBM3")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(jax, "devices", lambda: [found])
    jax_device.require(GPU_0)
    assert jax_device.describe_device(found) == "gpu nvidia h100 80gb hbm3"


@pytest.mark.process
def test_a_side_without_the_device_is_refused_and_the_other_is_not_started(tmp_path: Path) -> None:
    sources = {
        "tf": Source(interpreter(tmp_path, f"touch {tmp_path}/tf-started; {STARTED}"), device=GPU_0),
        "jax": Source(interpreter(tmp_path, f"echo >> {tmp_path}/jax-starts; {ABSENT}"), device=GPU_0),
    }
    with pytest.raises(RequestError) as refused:
        require_device(sources, 60)
    assert str(refused.value) == REASON
    assert not (tmp_path / "tf-started").exists()
    assert (tmp_path / "jax-starts").read_text() == "\n"


@pytest.mark.process
def test_neither_a_recorded_side_nor_one_on_the_cpu_is_asked(tmp_path: Path) -> None:
    refusing = interpreter(tmp_path, ABSENT)
    require_device({"tf": Source(recorded=tmp_path / "tf.side", device=GPU_0), "jax": Source(refusing)}, 60)


@pytest.mark.process
def test_a_device_that_is_not_there_is_asked_for_once(tmp_path: Path) -> None:
    python = interpreter(tmp_path, f"echo >> {tmp_path}/starts; {ABSENT}")
    with WorkerSet(lambda name: LiveSide(name, tmp_path, python)) as workers:
        for _ in range(2):
            with pytest.raises(NoDevice, match="expected a GPU"):
                workers.get("jax")
    assert (tmp_path / "starts").read_text() == "\n"


@pytest.mark.process
@pytest.mark.skipif(any(map(importlib.util.find_spec, jax_device.PLUGINS)), reason="JAX has CUDA here")
def test_the_command_is_refused_in_one_line_before_it_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    assert main(["run", "add", "--size", "smoke", "--device", "gpu", "-o", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("jaxport: expected a GPU for --device gpu:0, found JAX")
    assert not list(out.glob("*"))


# The options.


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ON_CPU),
        (["--device", "cpu"], ON_CPU),
        (["--device", "gpu"], GPU_0),
        (["--device", "gpu:2", "--matmul-precision", "tf32", "--deterministic"], Device(GPU, 2, TF32, True)),
    ],
)
def test_options_name_a_device(given: list[str], expected: Device) -> None:
    assert _asked.device(options(*given)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["tf"], ON_CPU),
        (["tf", "--platform", "cpu"], ON_CPU),
        (["tf", "--platform", "gpu"], Device(precision=HIGHEST, lowers_for=GPU)),
        (["tf", "--platform", "gpu", "--matmul-precision", "tf32"], Device(precision=TF32, lowers_for=GPU)),
        (["jax", "--device", "gpu", "--platform", "gpu"], GPU_0),
    ],
)
def test_what_is_recorded_may_be_lowered_for_a_gpu(given: list[str], expected: Device) -> None:
    assert record.device(recording(*given)) == expected


@pytest.mark.parametrize("given", [["jax", "--platform", "gpu"], ["tf", "--device", "gpu", "--platform", "cpu"]])
def test_only_tensorflow_on_the_cpu_lowers_for_another_device(given: list[str]) -> None:
    with pytest.raises(RequestError, match=r"expected --side tf on the CPU with --platform .*: drop --platform"):
        record.device(recording(*given))


def recording(side: str, *given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    record.add_arguments(parser)
    return parser.parse_args(["--side", side, "-o", "side", *given])


@pytest.mark.parametrize("text", ["tpu", "cpu:0", "gpu:", "gpu:x", "gpu:-1", "gpu:²", "gpu:99999", ""])
def test_what_names_no_device_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--device", text)
    assert "expected a device such as cpu, gpu or gpu:1, found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "name"), [(["--matmul-precision", "tf32"], "matmul-precision"), (["--deterministic"], "deterministic")]
)
def test_what_says_something_of_gpus_is_refused_for_the_cpu(given: list[str], name: str) -> None:
    with pytest.raises(RequestError, match=f"expected --device gpu with --{name}, found cpu: drop --{name}"):
        _asked.device(options(*given))
