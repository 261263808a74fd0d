"""`jaxport watch`: a wrong port fails, its repair passes without TensorFlow being asked again, and Ctrl-C ends it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ORIGINAL = """
from pathlib import Path

import tensorflow as tf

def f(x):
    with Path(__file__).with_name("calls.log").open("a") as log:
        log.write("called\\n")
    return tf.nn.softmax(x)
"""
WRONG = """
import jax

def g(x):
    return jax.nn.softmax(x, axis=0)
"""
RIGHT = WRONG.replace("axis=0", "axis=-1")
BROKEN = WRONG + "def"

COMMAND = """
import runpy
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("jaxport", run_name="__main__", alter_sys=True)
"""
"""Whoever starts the tests in the background may have SIGINT ignored, and children inherit that."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_tf.py").write_text(ORIGINAL)
    (tmp_path / "my_jax.py").write_text(WRONG)
    return tmp_path


@pytest.fixture
def watch(folder: Path) -> Iterator[subprocess.Popen[str]]:
    functions = ["--tf", "my_tf.py:f", "--jax", "my_jax.py:g", "--input", "x=f32[8,8]"]
    with subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND, "watch", *functions, "--modes", "tf/jit", "jax/jit"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process
        process.kill()


def read_judgement(process: subprocess.Popen[str]) -> list[str]:
    """The lines until it waits for a save."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if "Ctrl-C ends" in line:
            return lines
    pytest.fail("\n".join(lines))


@pytest.mark.process
def test_a_port_is_judged_at_every_save_and_tensorflow_once(folder: Path, watch: subprocess.Popen[str]) -> None:
    first = read_judgement(watch)
    assert any(line.startswith("fail Parity fails") for line in first), first
    (folder / "my_jax.py").write_text(BROKEN)
    second = read_judgement(watch)
    assert "jaxport: changed: my_jax.py" in second and any("SyntaxError" in line for line in second), second
    calls = (folder / "calls.log").read_text()
    (folder / "my_jax.py").write_text(WRONG)
    assert any(line.startswith("fail Parity fails") for line in read_judgement(watch))
    assert (folder / "calls.log").read_text() == calls
    (folder / "my_jax.py").write_text(RIGHT)
    third = read_judgement(watch)
    assert any(line.startswith("pass Parity holds") for line in third), third
    watch.send_signal(signal.SIGINT)
    last, _ = watch.communicate(timeout=60)
    assert watch.returncode == 0 and last.splitlines()[-1].startswith("pass Parity holds"), last


@pytest.mark.parametrize("arguments", [[], ["add"]])
def test_there_must_be_a_file_to_watch(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from compare import cli

    assert cli.main(["watch", *arguments]) == 2
    assert "expected a port file or functions of files to watch, found none" in capsys.readouterr().err
