"""Workloads are found by name, by file and by entry point, and every miss says what to do."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from compare.inputs import functions
from workloads import Workload
from workloads.core import registry, target
from workloads.core.errors import Foreseen

PORT = """
from workloads import ArraySpec, Workload
port = Workload(name="mine", tf="a.py:f", jax="b.py:g", inputs={"x": ArraySpec((2,))}, builds=False)
"""


def test_built_in_workloads_are_found_by_name() -> None:
    assert {"add", "mnist_mlp", "running_example", "scale_and_add", "sum_of_products"} <= set(registry.names())
    assert registry.get("add").name == "add"


def test_a_near_miss_is_offered() -> None:
    with pytest.raises(registry.RegistryError, match=r"found 'runing_exmple': did you mean running_example"):
        registry.get("runing_exmple")


def test_a_far_miss_lists_all() -> None:
    with pytest.raises(registry.RegistryError, match=r"known are add, .*mnist_mlp"):
        registry.get("zzzzzz")


def test_a_port_file_is_placed_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "port.py").write_text(PORT)
    assert registry.get(str(tmp_path / "port.py")).folder == tmp_path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"found 0: declare it as `port = Workload"),
        (PORT + "\nsecond = Workload(name='b', tf='a', jax='b', inputs={})", r"found 2"),
        ("import nonexistent_module", r"found an error while reading it: ModuleNotFoundError"),
        ("def broken(:", r"found an error while reading it: SyntaxError"),
    ],
)
def test_a_port_file_that_declares_no_workload_says_so(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "port.py").write_text(text)
    with pytest.raises(registry.RegistryError, match=message):
        registry.get(str(tmp_path / "port.py"))


GOOD = """from workloads import ArraySpec, Workload
port = Workload('port', 'a.py:f', 'b.py:g', {'x': ArraySpec((2, 3))}, builds=False)
"""
WRONG: dict[str, tuple[str | bytes, str]] = {
    "inputs of another kind": (
        GOOD.replace("{'x': ArraySpec((2, 3))}", "7"),
        "for Workload.inputs, found a value of type int",
    ),
    "a shape for an array": (
        GOOD.replace("ArraySpec((2, 3))", "(2, 3)"),
        "an ArraySpec for 'x' in Workload.inputs, found a val",
    ),
    "no original": (GOOD.replace("'a.py:f'", "None"), 'a text like "my_tf.py:f" for Workload.tf, found none'),
    "a name that is none": (GOOD.replace("'port'", "b'port'"), "a text for Workload.name, found a value of type bytes"),
    "weights in a list": (
        GOOD.replace("builds", "weights=[1], builds"),
        "for Workload.weights, found a value of type list",
    ),
    "weights of text": (
        GOOD.replace("builds", "weights={'w': 'x'}, builds"),
        "for 'w' in Workload.weights, found a value of ty",
    ),
    "sizes of numbers": (
        GOOD.replace("builds", "sizes={'default': 3}, builds"),
        "for 'default' in Workload.sizes, found a",
    ),
    "no size": (GOOD.replace("builds", "sizes=None, builds"), "for Workload.sizes, found none"),
    "ranges of another kind": (
        GOOD.replace("builds", "ranges=(1, 2), builds"),
        "for Workload.ranges, found a value of type tuple",
    ),
    "a size below 1": (GOOD.replace("(2, 3)", "(-2, 3)"), r"expected sizes above 0, found [-2, 3]"),
    "more than memory holds": (GOOD.replace("(2, 3)", "(10**12, 3)"), "expected at most 2**40 elements, found 2**41"),
    "more than a number prints": (
        GOOD.replace("(2, 3)", "(10**5000, 3)"),
        "expected at most 2**40 elements, found 2**16611",
    ),
    "cut": (GOOD.partition(", builds")[0], "SyntaxError: '(' was never closed (port.py, line 2)"),
    "null characters": (b"\0\0", "SyntaxError: source code string cannot contain null bytes"),
    "no UTF-8": (b"x = '\xff'", "SyntaxError: (unicode error) 'utf-8' codec can't decode byte 0xff"),
    "nested": ("(" * 1000, "SyntaxError: too many nested parentheses (port.py, line 1)"),
    "endless recursion": ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded (line 1)"),
    "a message of a million characters": ("raise ValueError('x' * 10**6)", f"ValueError: {'x' * 280}"),
    "a message of several lines": ("raise ValueError('one\\ntwo')", "ValueError: one (line 1)"),
    "a message that fails": (
        "class E(Exception):\n    def __str__(self): raise E\nraise E",
        "E: <exception str() failed>",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_port_file_that_is_wrong_says_where_in_one_line(tmp_path: Path, name: str) -> None:
    text, found = WRONG[name]
    path = tmp_path / "port.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(registry.RegistryError, match=re.escape(found)) as refused:
        registry.get(str(path))
    line = str(refused.value)
    assert "\n" not in line and len(line) < 600 and line.endswith(": correct it")


PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (Path.mkdir, "a folder"),
    "a pipe": (os.mkfifo, "a named pipe"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "a circle": (lambda path: path.symlink_to(path), "too many levels of symbolic links"),
    "nothing": (lambda path: path, "nothing"),
}


@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_file_is_never_opened_and_named(tmp_path: Path, name: str) -> None:
    place, found = PLACES[name]
    place(path := tmp_path / "port.py")
    with pytest.raises(Foreseen, match=f"at {re.escape(str(path))}, found {found}: check the path"):
        registry.get(str(path))
    with pytest.raises(Foreseen, match=f"for --tf, found {found}: check the path"):
        functions.check_reference("--tf", f"{path}:f")
    with pytest.raises(target.TargetError, match=f"at {re.escape(str(path))}, found {found}: check the path"):
        target.resolve(f"{path}:f")


class _Point:
    def __init__(self, value: object) -> None:
        self.value = value

    def load(self) -> object:
        return self.value


def test_an_entry_point_of_another_package_is_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = Workload(name="theirs", tf="t:f", jax="j:f", inputs={})
    monkeypatch.setattr(registry, "_entry_points", lambda: {"theirs": _Point(theirs), "junk": _Point(3)})
    assert registry.get("theirs") is theirs
    with pytest.raises(registry.RegistryError, match="expected a Workload behind entry point 'junk', found int"):
        registry.get("junk")
