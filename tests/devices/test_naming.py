"""Devices by name: what users type, what they get, and the one line where there is no such device."""

from __future__ import annotations

import pytest

from compare.devices import gpus, naming, tpus
from compare.devices.device import UnknownDevice


@pytest.mark.parametrize("name", naming.NAMES)
def test_every_listed_device_has_figures_and_a_source(name):
    device = naming.device(name)
    assert device.memory_bytes and device.bandwidth and device.peaks and device.source


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("h100", "H100"),
        ("H100", "H100"),
        ("v5e", "v5e:2x2"),
        ("V5E:2X2", "v5e:2x2"),
        ("v5e:", "v5e:2x2"),
        ("v4:2x2x1", "v4:2x2x1"),
    ],
)
def test_case_does_not_matter_and_a_generation_is_its_smallest_slice(given, known):
    assert naming.device(given).name == known


def test_a_slice_of_one_chip_says_that_its_host_has_one():
    assert naming.device("v5e:1x1").topology["chips_per_host_bounds"] == (1, 1, 1)
    assert "chips_per_host_bounds" not in naming.device("v5e:2x2").topology


@pytest.mark.parametrize("name", ["", "H10", "X100", "gpu", "v5", "v9e:2x2", "v5e:2x2x2", "v5e:0x2", "v5e:axb"])
def test_an_unknown_device_costs_one_line(name):
    with pytest.raises(UnknownDevice, match=r"^expected .*, found .*") as refused:
        naming.device(name)
    assert "\n" not in str(refused.value)


def test_the_nearest_names_are_offered():
    with pytest.raises(UnknownDevice, match="H100"):
        naming.device("H1000")
    with pytest.raises(UnknownDevice, match="v5e, v5p"):
        naming.device("v5x")


@pytest.mark.parametrize("name", gpus.GPUS)
def test_a_file_describes_a_gpu_as_xla_is_told_of_it(tmp_path, name):
    known = naming.device(name)
    file = tmp_path / "mine.pbtxt"
    file.write_text(str(known.topology["target_config"]))
    read = naming.device(str(file))
    assert read.topology == known.topology
    assert (read.memory_bytes, read.bandwidth, read.cores) == (known.memory_bytes, known.bandwidth, known.cores)
    assert read.multiprocessor == known.multiprocessor
    # From units and clock; the published figure is that of another clock, within a few percent.
    assert read.peaks["f32"] == pytest.approx(known.peaks["f32"], rel=0.06)


WHOLE = gpus.config(gpus.GPUS["V100"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "cuda_compute_capability"),
        ("cuda_compute_capability{major:9}", "core_count"),
        (WHOLE.replace("major:7", "major:x", 1), "invalid literal"),
        ("\0\0\0", "cuda_compute_capability"),
        (WHOLE.replace("core_count:80", "core_count:0"), "core_count 0"),
        (WHOLE.replace("core_count:80", "core_count:-1"), "core_count -1"),
        (WHOLE.replace("clock_rate_ghz:1.53", "clock_rate_ghz:nan"), "clock_rate_ghz nan"),
    ],
)
def test_a_file_that_describes_no_gpu_costs_one_line(tmp_path, text, found):
    file = tmp_path / "mine.pbtxt"
    file.write_text(text)
    with pytest.raises(UnknownDevice, match=f"expected a GpuTargetConfigProto.*found .*{found}"):
        naming.device(str(file))


def test_a_file_that_is_not_there_costs_one_line(tmp_path):
    with pytest.raises(UnknownDevice, match="no such file"):
        naming.device(str(tmp_path / "none.pbtxt"))


def test_each_device_is_taken_once():
    assert [device.name for device in naming.devices(["H100", "h100", "v5e", "v5e:2x2"])] == ["H100", "v5e:2x2"]


def test_a_devices_peak_grows_with_narrower_types():
    for gpu in gpus.GPUS.values():
        ordered = [gpu.peaks[type_] for type_ in ("f64", "f32", "tf32", "f16") if type_ in gpu.peaks]
        assert ordered == sorted(ordered)
    assert all(generation.bf16 > 1e13 for generation in tpus.GENERATIONS.values())
