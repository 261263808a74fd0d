"""What a report of a problem says of the machine, and what it keeps to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.commands import environment
from compare.run import surroundings
from compare.sides import processes

GIVEN = {
    "XLA_FLAGS": "--xla_dump_to=d",
    "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
    "JAX_PLATFORMS": "cpu",
    "LD_PRELOAD": "libtcmalloc.so",
    "TF_VAR_password": "secret",  # Terraform's
    "TF_CLI_CONFIG_FILE": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "GITHUB_TOKEN": "secret",
    "MY_XLA_FLAGS": "secret",
    "JAX_LEGACY_PRNG_KEY": "allow",
    "NVIDIA_API_KEY": "secret",
    "KERAS_HUB_TOKEN": "secret",
    "XLA_PASSWORD": "secret",
}

TOLD = ("JAX_LEGACY_PRNG_KEY", "JAX_PLATFORMS", "LD_PRELOAD", "TF_XLA_FLAGS", "XLA_FLAGS")


def test_variables_that_steer_the_frameworks_are_told_and_no_others() -> None:
    told = surroundings.look(GIVEN).variables
    assert told == {name: GIVEN[name] for name in TOLD}


def test_temporary_files_are_those_of_the_user_not_of_this_program() -> None:
    with processes.temporary_folder():
        assert "jaxport-" not in surroundings.look({}).temporary_folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [("MemTotal:       24650412 kB\nMemFree: 1 kB\n", 24650412 * 1024), ("MemFree: 1 kB\n", None), (None, None)],
)
def test_memory_is_what_linux_tells_or_unknown(tmp_path: Path, text: str | None, expected: int | None) -> None:
    if text is not None:
        (tmp_path / "meminfo").write_text(text)
    assert surroundings.memory_bytes(tmp_path / "meminfo") == expected


def program(folder: Path, text: str) -> str:
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('echo "NVIDIA H200, 580.159.04, 143771 MiB"', ("NVIDIA H200, 580.159.04, 143771 MiB",)),
        ("echo No devices were found; exit 6", ("No devices were found",)),
    ],
)
def test_gpus_are_what_the_driver_says(tmp_path: Path, text: str, told: tuple[str, ...]) -> None:
    assert surroundings.gpus(program(tmp_path, text)) == told


def test_without_its_program_no_gpu_is_told(tmp_path: Path) -> None:
    assert surroundings.gpus(None) == ()
    (said,) = surroundings.gpus(str(tmp_path / "absent"))
    assert said.startswith("nvidia-smi failed: ")


def test_a_long_variable_is_cut_in_the_table() -> None:
    rows = dict(environment._of_surroundings(surroundings.look({"NVIDIA_REQUIRE_CUDA": "brand=tesla " * 1000})))
    assert len(rows["NVIDIA_REQUIRE_CUDA"]) < 300 and rows["NVIDIA_REQUIRE_CUDA"].endswith("...")
