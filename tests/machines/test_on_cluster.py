"""A command line as tasks: every option either travels, stays, or is refused; versions of nodes; names of nodes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare import cli
from compare.commands import _asked, _on_cluster
from compare.errors import RequestError
from compare.machines import suite_on_cluster
from compare.machines.scheduling import Node, Schedule
from compare.machines.suite_on_cluster import Suite, Where, check_alike, usable_nodes
from compare.plain_json import to_json
from compare.progress import Reporter, Silent
from compare.record.envelope import Environment, Record
from compare.record.parity_part import Parity
from compare.record.workload_part import Workload
from compare.run.whole_run import RunResult
from compare.sides import ray_host
from compare.sides._side import Reply, SideError
from compare.sides.replies import ClusterNode, NodeFacts, TaskResult
from workloads.core import registry
from workloads.core.spec import Arrays
from workloads.protocol.framework import Unsupported

OWN = suite_on_cluster.own()


@pytest.mark.parametrize("command", ["run", "bench"])
def test_every_option_travels_stays_or_is_refused(command: str) -> None:
    options = cli.parse_options([command])
    known = (*_on_cluster.TRAVELS, *_on_cluster.HERE, *_on_cluster.REFUSED)
    assert set(vars(options)) - {"version", "print_completion"} <= set(known)
    assert len(known) == len(set(known))


def given(monkeypatch: pytest.MonkeyPatch, *line: str) -> Suite:
    """What a command line gives to a cluster."""
    suites: list[Suite] = []

    def run(suite: Suite, where: Where, scratch: Path, reporter: Reporter) -> RunResult:
        suites.append(suite)
        return RunResult(Record(schema=1, workloads={}))

    monkeypatch.setattr(_on_cluster, "run", run)
    _on_cluster.on_cluster(cli.parse_options([*line, "--ray", "auto"]), with_timing=True)
    return suites[0]


def again(arguments: tuple[str, ...]) -> argparse.Namespace:
    """What a node makes of a task's arguments."""
    return cli.parse_options(arguments)


def test_a_node_is_told_what_was_told_here(monkeypatch: pytest.MonkeyPatch) -> None:
    line = (
        "bench", "add", "mnist_mlp", "--pairs", "3", "--max-pairs", "4", "--threads", "1", "--precision", "3%",
        "--modes", "tf/eager", "jax/jit", "--batches", "32,64", "--memory-limit", "2G", "--no-peers", "--phases", "0",
        "--pass", "forward", "--seed", "7", "--timeout", "9",
    )  # fmt: skip
    suite = given(monkeypatch, *line, "--size", "smoke")
    asked = vars(cli.parse_options(line))
    for task, name in zip(suite.tasks, ("add", "mnist_mlp"), strict=True):
        told = again(task.arguments)
        assert (task.name, told.workloads, told.size) == (name, [name], "smoke")
        assert {key: getattr(told, key) for key in asked if key in _on_cluster.TRAVELS} == {
            key: value for key, value in asked.items() if key in _on_cluster.TRAVELS
        }


def test_a_workload_at_several_sizes_is_several_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = given(monkeypatch, "run", "add", "--size", "smoke,default")
    assert [(task.name, again(task.arguments).size) for task in suite.tasks] == [
        ("add@smoke", "smoke"),
        ("add@default", "default"),
    ]


def test_functions_of_a_file_travel_with_their_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def f(x): return x")
    (tmp_path / "g.py").write_text("def g(x): return x")
    inputs = ("--input", "x=f32[B,2]", "--dimension", "B=1..4")
    suite = given(monkeypatch, "run", "--tf", f"{tmp_path}/f.py:f", "--jax", f"{tmp_path}/g.py:g", *inputs)
    told = again(suite.tasks[0].arguments)
    assert (told.tf, told.jax, told.input, told.dimension) == ("0/f.py:f", "0/g.py:g", ["x=f32[B,2]"], ["B=1..4"])


def test_a_module_of_the_current_folder_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def f(x): return x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match=r"found f:f, which lies in the current folder: name its file"):
        given(monkeypatch, "run", "--tf", "f:f", "--jax", "f:f", "--input", "x=f32[2]")


@pytest.mark.parametrize("option", ["--tf-python /usr/bin/python3", "--jax-recorded jax.side", "--resume"])
def test_what_names_something_of_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    name = option.split()[0]
    with pytest.raises(RequestError, match=rf"expected --ray without {name}, found both"):
        given(monkeypatch, "run", "add", *option.split())


def test_a_size_that_a_workload_has_not_is_refused_before_a_cluster_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RequestError, match="enormous"):
        given(monkeypatch, "run", "add", "--size", "smoke,enormous")


def test_without_ray_its_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(suite_on_cluster, "RAY", "ray_that_is_not_installed")
    assert cli.main(["run", "add", "--ray", "auto", "--size", "smoke"]) == 2
    said = "expected the package ray with --ray, found none: pip install 'jaxport[ray]'"
    assert said in capsys.readouterr().err


def node(id: str, host: str = "h", **versions: str) -> ClusterNode:
    facts = NodeFacts(host, "m", {**OWN, "jax": "0.10.2", "tensorflow": "2.21.0", **versions}, {}, 0.0)
    return ClusterNode(id, host, facts)


def test_nodes_of_one_host_are_told_apart() -> None:
    found = usable_nodes([node("1", "a"), node("2", "b"), node("3", "a")], Silent())
    assert {name: each.id for name, each in found.items()} == {"a#1": "1", "b": "2", "a#2": "3"}


def test_nodes_of_unlike_versions_are_refused_with_both() -> None:
    line = (
        r"expected the same versions on all nodes, found jax 0\.10\.2 on a and 0\.9\.0 on b; "
        r"tensorflow 2\.21\.0 on a and missing on b"
    )
    with pytest.raises(RequestError, match=line):
        check_alike({"a": {"jax": "0.10.2", "tensorflow": "2.21.0"}, "b": {"jax": "0.9.0", "tensorflow": None}})
    with pytest.raises(RequestError, match=r"jaxport's sources [0-9a-f]+ on this machine and other on h#1"):
        usable_nodes(
            [node("1", **{"jaxport's sources": "other"}), node("2", **{"jaxport's sources": "other"})], Silent()
        )


def test_a_node_that_says_nothing_is_left_out_and_without_any_it_is_refused() -> None:
    silent = ClusterNode("2", "b", reason="no answer within 30 s")
    assert list(usable_nodes([node("1", "a"), silent], Silent())) == ["a"]
    with pytest.raises(RequestError, match=r"found b: no answer within 30 s: install it on each"):
        usable_nodes([silent], Silent())


def test_the_workloads_are_those_of_a_run_here() -> None:
    options = cli.parse_options(["run", "--size", "smoke"])
    named = [workload.name for workload in _asked.workloads(options)]
    assert named == _asked.references(options)


def test_what_a_task_refuses_is_said_as_it_said_it() -> None:
    refused = TaskResult(2, "a warning\njaxport: expected a function 'f' in g.py, found h: name one\n", 0.0)
    assert suite_on_cluster.last_line(refused, "a") == "expected a function 'f' in g.py, found h: name one"
    died = TaskResult(-9, "", 0.0)
    assert suite_on_cluster.last_line(died, "a") == ("expected a record from a, found exit code -9: it said nothing")


class Scripted:
    """Ray, which is lost after the first task has come back."""

    def __init__(self, record: bytes) -> None:
        self._record, self._asked = record, 0

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if method == "finished":
            self._asked += 1
            if self._asked > 1:
                raise SideError("ray", "finished", "the worker ended: no answer from the head", is_lost=True)
            return Reply([{"task": 0}])
        if method == "result":
            told = {"code": 0, "said": "", "load": 0.5}
            return Reply(told, {"results": np.frombuffer(self._record, np.uint8)})
        return Reply()


def test_what_came_back_before_the_cluster_was_lost_stands() -> None:
    tasks = [suite_on_cluster.Task(name, registry.get(name), "smoke", ()) for name in ("add", "scale_and_add")]
    part = Workload(parity=Parity(verdict="pass"))
    record = Record(schema=1, workloads={"add": part}, environment=Environment(cpu="small"))
    nodes = {"a": node("1", "a")}
    side: Any = Scripted(json.dumps(to_json(record)).encode())
    work = suite_on_cluster._Work(Suite(tasks, b"", "smoke", timed=False), side, nodes)
    schedule = Schedule(2, [Node("a", "1", "m")], 3, False, lambda _: None)
    where = Where("here:1", 5, 3)
    found = work.result(schedule, suite_on_cluster._work_on(work, schedule, ["add", "scale_and_add"], where))
    parts = found.record.workloads
    assert parts["add"].node == "a" and parts["add"].parity == part.parity
    (failure,) = parts["scale_and_add"].failures
    assert failure.reason == (
        "expected the cluster to be there to the end, found the worker ended: no answer from the head"
    )
    assert not found.interrupted and found.record.environment == Environment(cpu="small")


def test_a_package_that_ray_lacks_is_named_with_the_extra() -> None:
    class Lacking:
        @staticmethod
        def init(**_: object) -> None:
            raise ImportError("No module named 'grpc'")

    host: Any = object.__new__(ray_host.RayHost)
    host._ray = Lacking
    with pytest.raises(Unsupported, match=r"join auto, found No module named 'grpc': pip install 'jaxport\[ray\]'"):
        host.connect("auto", 1)
