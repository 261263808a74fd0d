"""What a report of a problem says of the machine, and what it keeps to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

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
