"""Workloads are found by name, by file and by entry point, and every miss says what to do."""

from pathlib import Path

import pytest

from workloads import Workload, _registry

PORT = """
from workloads import ArraySpec, Workload
port = Workload(name="mine", tf="a.py:f", jax="b.py:g", inputs={"x": ArraySpec((2,))}, builds=False)
"""


def test_built_in_workloads_are_found_by_name() -> None:
    assert {"add", "mnist_mlp", "running_example", "scale_and_add", "sum_of_products"} <= set(_registry.names())
    assert _registry.get("add").name == "add"


def test_a_near_miss_is_offered() -> None:
    with pytest.raises(_registry.RegistryError, match=r"found 'runing_exmple': did you mean running_example"):
        _registry.get("runing_exmple")


def test_a_far_miss_lists_all() -> None:
    with pytest.raises(_registry.RegistryError, match=r"known are add, .*mnist_mlp"):
        _registry.get("zzzzzz")


def test_a_port_file_is_placed_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "port.py").write_text(PORT)
    assert _registry.get(str(tmp_path / "port.py")).folder == tmp_path


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
    with pytest.raises(_registry.RegistryError, match=message):
        _registry.get(str(tmp_path / "port.py"))


def test_a_port_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(_registry.RegistryError, match="found nothing: check the path"):
        _registry.get(str(tmp_path / "absent.py"))


class _Point:
    def __init__(self, value: object) -> None:
        self.value = value

    def load(self) -> object:
        return self.value


def test_an_entry_point_of_another_package_is_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = Workload(name="theirs", tf="t:f", jax="j:f", inputs={})
    monkeypatch.setattr(_registry, "_entry_points", lambda: {"theirs": _Point(theirs), "junk": _Point(3)})
    assert _registry.get("theirs") is theirs
    with pytest.raises(_registry.RegistryError, match="expected a Workload behind entry point 'junk', found int"):
        _registry.get("junk")
