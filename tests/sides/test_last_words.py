"""Why a worker ended, and what a framework's error says: one line, the one that explains it."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from places import ROOT

import compare
from compare.sides import explained, last_words, worker
from compare.sides.worker import describe_failure

WARNING = "/a/site-packages/b.py:3: UserWarning: something else is deprecated"
NATIVE = "W0000 00:00:1700000000.000000 12 cpu_utils.cc:60] Could not identify the machine"
IMPORTING = """\
Fatal Python error: Aborted

Current thread 0x00007f (most recent call first):
  File "<frozen importlib._bootstrap>", line 241 in _call_with_frames_removed
  File "/a/site-packages/tensorflow/python/pywrap.py", line 62 in <module>
  File "/home/me/model.py", line 5 in mine
Thread 0x00008a (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 9 in wait

Extension modules: numpy._core, scipy (total: 2)
"""
NO_CURRENT = IMPORTING.replace("Current thread 0x00007f", "Thread 0x00007f").split("Thread 0x00008a")[0]
MINE = 'File "/home/me/model.py", line 5 in mine'


@pytest.mark.parametrize(
    ("log", "code", "says"),
    [
        (f"{NATIVE}\nTo enable the following instructions: AVX2, rebuild TensorFlow with other flags.", 0, ""),
        (
            f"{NATIVE}\nLLVM ERROR: inconsistency in registered CommandLine options\n{IMPORTING}",
            -6,
            f" at {MINE}: LLVM ERROR: inconsistency in registered CommandLine options",
        ),
        (
            f"F0000 00:00:17.0 12 a.cc:3] Check failed: 1 == 2 no\n*** Check failure stack trace: ***\n{IMPORTING}",
            -6,
            f" at {MINE}: F0000 00:00:17.0 12 a.cc:3] Check failed: 1 == 2 no; *** Check failure stack trace: ***",
        ),
        (
            "2026-01-01 10:00:00.1: F tensorflow/core/a.cc:9] Non-OK-status: no device",
            -6,
            ": 2026-01-01 10:00:00.1: F tensorflow/core/a.cc:9] Non-OK-status: no device",
        ),
        (
            f"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n{WARNING}",
            -6,
            ": terminate called after throwing an instance of 'std::bad_alloc'; what():  std::bad_alloc",
        ),
        (f"free(): invalid pointer\n{WARNING}\n{IMPORTING}", -6, f" at {MINE}: free(): invalid pointer"),
        (f"{WARNING}\n{IMPORTING}", -11, f" at {MINE}"),
        (f"{WARNING}\n{NO_CURRENT}", -11, f" at {MINE}"),
        (f"{WARNING}\n{NATIVE}", -11, ""),
        (WARNING, -9, ": killed from outside, as the system does when memory runs out"),
        (f"{WARNING}\nMemoryError", -9, ": MemoryError"),
        ("almost done", -15, ": ended from outside"),
        (f"{NATIVE}\nTraceback (most recent call last):\nTypeError: no", 1, ": TypeError: no"),
        (f"{NATIVE}\nDeprecationWarning: old", 1, ": DeprecationWarning: old"),
        ("\x1b[1mMemoryError\x1b[0m", 1, ": MemoryError"),
        ("", 3, ""),
        ("Fatal Python error: init_fs_encoding: no module", 1, ": Fatal Python error: init_fs_encoding: no module"),
    ],
)
def test_fatal_lines_and_the_users_line_explain_an_end_and_no_warning_does(log: str, code: int, says: str) -> None:
    assert last_words.last_words(log, code) == says


def test_what_is_quoted_is_of_bounded_length() -> None:
    said = last_words.last_words(f"LLVM ERROR: {'x' * 10_000}\nCheck failed: {'y' * 10_000}", -6)
    assert len(said) <= 2 * last_words.MOST_CHARACTERS + len(": ; ")


@pytest.mark.parametrize(("code", "says"), [(3, "with exit code 3"), (-9, "by signal SIGKILL"), (-40, "by signal 40")])
def test_an_end_has_a_name(code: int, says: str) -> None:
    assert last_words.describe_end(code) == says


SCAN = """\
scan body function carry input and carry output must have equal types, but they differ:

The input carry c has type float32[4] but the corresponding output carry component has type bfloat16[4].

Revise the function so that all output types match the corresponding input types."""
TRACER = """\
Attempted boolean conversion of traced array with shape bool[].
The error occurred while tracing the function f at /home/me/port.py:7 for jit.
See https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError"""
CALLBACK = """\
INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):
  File "/home/me/port.py", line 20, in <module>
  File "/a/site-packages/jax/_src/callback.py", line 816, in _wrapped_callback
  File "/home/me/port.py", line 18, in cb
ValueError: boom
second"""
USER_CODE = """\
in user code:

    File "/home/me/tf.py", line 7, in f  *
        return tf.matmul(x, x)

    ValueError: Dimensions must be equal
"""
GRAPH = """\
Graph execution error:

Detected at node Reshape defined at (most recent call last):
  File "/home/me/tf.py", line 12, in f

Input to reshape is a tensor with 12 values, but the requested shape has 7
\t [[{{node Reshape}}]] [Op:__inference_f2_19]"""
LAYER = """\
Exception encountered when calling L.call().

\x1b[1m{{function_node __wrapped__MatMul_device_CPU:0}} Matrix size-incompatible: In[0]: [3,4] [Op:MatMul] name: \x1b[0m

Arguments received by L.call():
  • x=tf.Tensor(shape=(3, 4), dtype=float32)"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SCAN, f"RuntimeError: {' '.join(SCAN.split())}"),
        (TRACER, f"RuntimeError: {' '.join(TRACER.split('See')[0].split())}"),
        (
            CALLBACK,
            "RuntimeError: INTERNAL: CpuCallback error calling callback: ValueError: boom; second "
            '(File "/home/me/port.py", line 18, in cb)',
        ),
        (USER_CODE, 'ValueError: Dimensions must be equal (File "/home/me/tf.py", line 7, in f)'),
        (
            GRAPH,
            "RuntimeError: Input to reshape is a tensor with 12 values, but the requested shape has 7 "
            '(File "/home/me/tf.py", line 12, in f)',
        ),
        (
            LAYER,
            "RuntimeError: Exception encountered when calling L.call(). Matrix size-incompatible: In[0]: [3,4]",
        ),
        ("", "RuntimeError: no message"),
        ("one\n\ntwo.\nthree", "RuntimeError: one; two. three"),
    ],
)
def test_an_error_of_a_framework_keeps_what_explains_it_on_one_line(text: str, says: str) -> None:
    assert reason_of(lambda: raising(RuntimeError(text))) == says


def raising(error: Exception) -> None:
    raise error


def reason_of(call: Callable[[], Any]) -> str:
    with pytest.raises((RuntimeError, ValueError)) as caught:
        call()
    return describe_failure(caught.value)["reason"]


def test_an_error_out_of_a_library_names_the_users_line() -> None:
    reason = reason_of(lambda: np.linalg.inv(np.zeros((2, 2))))
    assert reason == f'LinAlgError: Singular matrix (File "{__file__}", line {line_of("np.linalg.inv(")}, in <lambda>)'


def line_of(text: str) -> int:
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_an_error_is_of_bounded_length() -> None:
    assert len(reason_of(lambda: raising(RuntimeError("x" * 100_000)))) == explained.MOST_CHARACTERS


def test_every_signal_is_named_or_numbered() -> None:
    assert all(last_words.describe_end(-number).startswith("by signal ") for number in range(1, signal.NSIG))


@pytest.mark.parametrize("room", sorted(path.parent.name for path in (ROOT / "compare").glob("*/__init__.py")))
def test_a_frame_of_any_room_is_no_line_of_the_users_code(room: str) -> None:
    assert explained.in_library(f"/home/me/.venv/compare/{room}/file.py")
    assert not explained.in_library(f"/home/me/compare/{room}_of_mine/file.py")


def test_our_modules_are_told_from_a_users() -> None:
    assert explained.in_library("/opt/compare/files.py")
    assert not explained.in_library("/home/me/compare/filesystem.py")
    assert not explained.in_library("/home/me/compare/model.py")
    assert explained.in_library(compare.__path__[0] + "/sides/worker.py")


class _Own(BaseException):
    """What no `except Exception` catches."""


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), _Own("mine")], ids=repr)
def test_whatever_the_users_code_raises_costs_its_request_alone(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def raising(*_: object) -> None:
        raise error

    monkeypatch.setattr(worker, "_create_host", lambda _: None)
    monkeypatch.setattr(worker, "answer", raising)
    replies = io.BytesIO()
    assert worker.serve("jax", io.BytesIO(b'{"number": 1}\n{"number": 2}\n'), replies)
    started, *said = map(json.loads, replies.getvalue().splitlines())
    assert started["ok"] and [(each["ok"], each["number"]) for each in said] == [(False, 1), (False, 2)]
    assert all(each["reason"].startswith(type(error).__name__) for each in said)
