"""A program that observes itself: what it wrote is read, what is missing has its reason, and it runs as it would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compare.prove import observing
from compare.prove.observing import FOLDER, is_of_profiler, prepare, read

SHARED = """
import atexit, os, sys
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)  # refused once TensorFlow's runtime has started

@tf.function(jit_compile=True)
def whole(x):
    return tf.reduce_sum(tf.tanh(x) * 2.0)

def make():
    @tf.function
    def local(x):
        for _ in tf.range(3):
            x = tf.nn.softmax(x @ x)
        return whole(x) + inner(x)
    return local

@tf.function
def inner(x):
    return tf.reduce_max(x)

make()(tf.ones([8, 8]))
print("ran", sys.path[0] == os.path.dirname(os.path.realpath(__file__)), [p for p in sys.path if "observed" in p])
"""
ENDS = {
    "raise ValueError('x')": (1, 1),
    "os._exit(7)": (7, 0),
}


def noted(folder: Path, process: str, **files: Any) -> Path:
    """What a process wrote, a file of JSON lines each."""
    place = folder / FOLDER / process
    place.mkdir(parents=True)
    for name, lines in files.items():
        (place / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


@pytest.mark.heavy
def test_a_program_is_given_what_observes_it_before_its_own_paths(tmp_path: Path) -> None:
    given = prepare(tmp_path, 5.0, {"PYTHONPATH": "/mine"})
    place = tmp_path / FOLDER
    assert given == {"PYTHONPATH": f"{place}{os.pathsep}/mine", "JAXPORT_PROFILE_SECONDS": "5.0"}
    assert {path.name for path in place.iterdir()} == {"sitecustomize.py", "_jaxport_frames.py"}


def test_lines_of_a_function_are_found_by_the_name_that_the_log_has(tmp_path: Path) -> None:
    noted(tmp_path, "1", lines=[{"function": "step", "lines": {"a": "f.py:1"}}], profiled=[{"seconds": 1.0}])
    observed = read(tmp_path)
    assert observed.of("__inference_step_48") == {"a": "f.py:1"}
    assert observed.of("__inference_steps_48") == observed.of("step") == {}


def test_two_traces_that_differ_leave_no_line(tmp_path: Path) -> None:
    traces = [{"function": "f", "lines": {"a": "f.py:1", "b": "f.py:2"}}, {"function": "f", "lines": {"a": "f.py:9"}}]
    noted(tmp_path, "1", lines=traces)
    assert read(tmp_path).of("__inference_f_1") == {"b": "f.py:2"}


def test_a_node_of_two_functions_on_two_lines_has_none(tmp_path: Path) -> None:
    lines = {"f": {"a": "f.py:1", "b": "f.py:2"}, "g": {"a": "f.py:5", "b": "f.py:2"}}
    assert observing._source("b:Add", lines) == "f.py:2"
    assert observing._source("a:Add", lines) == observing._source("Add, eager", lines) == ""


def test_what_is_missing_has_its_reason(tmp_path: Path) -> None:
    noted(tmp_path, "1", reasons=[{"what": "lines", "reason": "AttributeError: moved"}], profiled=[{"seconds": 2.0}])
    place = noted(tmp_path, "2", lines=[])
    (place / "lines.jsonl").write_text('{"function": "f", "li')
    observed = read(tmp_path)
    assert "no lines of process 1: AttributeError: moved" in observed.notes
    assert any(note.startswith("no profile of process 2: it was ended by a signal") for note in observed.notes)
    assert any("not read: a line of" in note for note in observed.notes)
    assert observed.profiled and (observed.profiled.processes, observed.profiled.seconds) == (1, 2.0)
    assert observed.profiled.time and observed.profiled.time.reason == "no profile was read"


def test_a_profile_without_an_operation_was_read_all_the_same(tmp_path: Path) -> None:
    (noted(tmp_path, "1", profiled=[{"seconds": 2.0}]) / "it.xplane.pb").write_bytes(b"")
    profiled = read(tmp_path).profiled
    assert profiled and profiled.time and profiled.time.reason == "the profiler saw no operation"


@pytest.mark.heavy
def test_a_program_without_tensorflow_is_said_to_have_none(tmp_path: Path) -> None:
    prepare(tmp_path, 5.0, {})
    assert "no process was profiled" in read(tmp_path).notes[0]


def test_only_the_profilers_own_lines_are_its() -> None:
    logged = "0000 00:00:1795571767.140026   23418 profiler_session.cc:117] Profiler session initializing."
    assert is_of_profiler("I" + logged) and not is_of_profiler("E" + logged)
    assert not is_of_profiler("I" + logged.replace("profiler_session", "my_session"))


@pytest.mark.process
@pytest.mark.parametrize("end", ENDS)
def test_the_program_is_as_it_was(tmp_path: Path, end: str) -> None:
    code, processes = ENDS[end]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("print('mine')")
    (tmp_path / "train.py").write_text(f"{SHARED}\nsys.stdout.flush()\n{end}")
    given = prepare(tmp_path, 60.0, {"PYTHONPATH": str(tmp_path / "own")})
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "train.py")], env={**os.environ, **given}, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (code, "mine\nran True []\n"), ran.stderr
    assert FOLDER not in ran.stderr
    observed = read(tmp_path)
    assert observed.profiled and observed.profiled.processes == processes
    lines = {name: Path(place).name for name, place in observed.of("__inference_local_1").items()}
    assert lines["while/Softmax"] == "train.py:15" and lines["PartitionedCall_1/Max"] == "train.py:21"
    if processes:
        assert (
            observed.profiled.time
            and min(observed.profiled.time.compiled_s or 0, observed.profiled.time.outside_s or 0) > 0
        )
        assert not observed.notes


@pytest.mark.process
def test_a_program_may_profile_itself(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"""
import tensorflow as tf
start = tf.profiler.experimental.start
with tf.profiler.experimental.Profile({str(tmp_path / "own")!r}):
    tf.ones([3])
assert tf.profiler.experimental.start is not start
try:
    tf.profiler.experimental.stop()
except tf.errors.UnavailableError:
    print("none runs")
""")
    given = prepare(tmp_path, 60.0, {})
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "train.py")], env={**os.environ, **given}, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, "none runs\n"), ran.stderr
    assert list((tmp_path / "own").rglob("*.xplane.pb")) and read(tmp_path).profiled


FAKE = """
import sys
class profiler:
    class experimental:
        ProfilerOptions = dict
        def start(folder, options): print("started")
        def stop(): print("stopped")
profiler.experimental.start.__module__ = profiler.experimental.stop.__module__ = __name__
start, stop = profiler.experimental.start, profiler.experimental.stop
"""


def launched(folder: Path, tensorflow: str, program: str) -> subprocess.CompletedProcess[str]:
    """A program that observes itself, with a TensorFlow of our own."""
    (folder / "own").mkdir()
    (folder / "own" / "tensorflow.py").write_text(tensorflow)
    (folder / "train.py").write_text(program)
    given = prepare(folder, 60.0, {"PYTHONPATH": str(folder / "own")})
    command = [sys.executable, str(folder / "train.py")]
    return subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True)


@pytest.mark.process
@pytest.mark.parametrize(
    "imports",
    [
        "import importlib.util\nassert all(importlib.util.find_spec('tensorflow') for _ in 'ab')\nimport tensorflow",
        "import sys\nsys.modules['tensorflow'] = None\ntry:\n    import tensorflow\nexcept ImportError:\n"
        "    del sys.modules['tensorflow']\nimport tensorflow",
        "import tensorflow, importlib\nimportlib.reload(tensorflow)",
    ],
    ids=["probed", "missing at first", "reloaded"],
)
def test_a_program_that_looks_for_tensorflow_before_is_profiled_once(tmp_path: Path, imports: str) -> None:
    ran = launched(
        tmp_path, FAKE, f"{imports}\nimport sys\nprint('ran', [f for f in sys.meta_path if 'Imported' in str(f)])"
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "started\nran []\nstopped\n", "")
    observed = read(tmp_path)
    assert observed.profiled and observed.profiled.processes == 1


@pytest.mark.process
def test_a_tensorflow_that_fails_says_so_as_it_would(tmp_path: Path) -> None:
    ran = launched(tmp_path, "raise ImportError('no libcudart')", "import tensorflow")
    assert ran.returncode == 1 and "ImportError: no libcudart" in ran.stderr
    assert read(tmp_path).notes == [
        "no process was profiled: none was seen to import TensorFlow, in Python that reads PYTHONPATH"
    ]


@pytest.mark.process
def test_what_fails_in_the_observer_leaves_the_program_alone(tmp_path: Path) -> None:
    ran = launched(tmp_path, "", "import tensorflow\nprint('ran')")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "ran\n", "")
    notes = read(tmp_path).notes
    assert not any("it was ended by a signal" in note for note in notes)
    assert any("no lines of process" in note and "AttributeError" in note for note in notes)
    assert any("no profile of process" in note and "no attribute 'profiler'" in note for note in notes)


@pytest.mark.process
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_folder_that_cannot_be_written_leaves_the_program_alone(tmp_path: Path, when: str) -> None:
    place = tmp_path / FOLDER
    spoil = f"import shutil\nshutil.rmtree({str(place)!r})\nopen({str(place)!r}, 'w').close()\n"
    imports = "import tensorflow\n"
    program = {"before": spoil + imports, "after": imports + spoil}[when] + "print('ran')"
    ran = launched(tmp_path, FAKE, program)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "started\nran\nstopped\n", "")
