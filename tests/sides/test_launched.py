"""A program of the user's own: what it prints is passed on as it is, how it ends is told, and the log is kept apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.clusters.log_lines import is_of_clustering
from compare.errors import RequestError
from compare.sides.launched import Ended, Sieve, run_program, severity

LOGGED = b"I0000 00:00:1795559806.452646    2562 mark_for_compilation_pass.cc:1340] sorted_nodes.size() = 18\n"
WARNED = b"W0000 00:00:1795559806.452646    2562 somewhere_else.cc:13] careful\n"


def of_clustering(line: bytes) -> bool:
    return is_of_clustering(line.decode(errors="replace"))


def sieved(chunks: list[bytes]) -> tuple[bytes, bytes]:
    kept, passed = bytearray(), bytearray()
    sieve = Sieve(kept.extend, passed.extend, of_clustering)
    for chunk in chunks:
        sieve.feed(chunk)
    sieve.finish()
    return bytes(kept), bytes(passed)


def test_the_log_is_kept_and_everything_else_is_passed_on() -> None:
    assert sieved([b"epoch 1\n" + LOGGED + WARNED + b"end"]) == (LOGGED + WARNED, b"epoch 1\n" + WARNED + b"end")


@given(st.lists(st.integers(0, 200), max_size=8))
def test_it_does_not_matter_where_chunks_end(cuts: list[int]) -> None:
    whole = b"Index 7\nI0000 x\n" + LOGGED + b"\r 10%\r 20%" + b"I0000 within a line\n" + WARNED + b"\x00\xff\nIn"
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    chunks = [whole[start:end] for start, end in pairwise(places)]
    assert sieved(chunks) == sieved([whole])


def test_a_bar_of_progress_is_not_held_back() -> None:
    passed = bytearray()
    sieve = Sieve(lambda line: None, passed.extend, of_clustering)
    sieve.feed(b"\r 10%")
    assert bytes(passed) == b"\r 10%"


def test_severities() -> None:
    assert [severity(letter + b"0000 x") for letter in (b"I", b"W", b"E", b"F", b"")] == [0, 1, 2, 3, 0]


def run(script: str, folder: Path) -> Ended:
    return run_program(["sh", "-c", script], os.environ, folder / "log", of_clustering)


def test_output_and_exit_code_are_the_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("echo out; echo err >&2; exit 3", tmp_path) == Ended(3)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("out\n", "err\n")


def test_a_signal_is_named(tmp_path: Path) -> None:
    assert run("kill -KILL $$", tmp_path) == Ended(None, "SIGKILL")


def test_a_program_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="expected a program at 'no-such-program'"):
        run_program(["no-such-program"], os.environ, tmp_path / "log", of_clustering)


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_the_program_and_what_it_left_is_read(tmp_path: Path, number: int) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("ignored here, as under nohup: a shell cannot trap it")
    script = f"trap 'echo caught >&2; exit 5' TERM HUP; : > {tmp_path}/up; while :; do sleep 0.05; done"
    command = [
        sys.executable,
        "-m",
        "compare",
        "compilation",
        "launch",
        "-o",
        str(tmp_path / "out"),
        "--",
        "sh",
        "-c",
        script,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "up").exists():
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "caught" in err and "the program failed with exit code 5" in out
    assert (tmp_path / "out" / "launch.json").exists()
