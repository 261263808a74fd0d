"""A cluster of two nodes on this machine: a suite, a node killed in the middle of a task, and clear lines."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import machine_apart
import pytest

from compare.cli import main
from compare.report.node_rows import UNLIKE

MISSING = importlib.util.find_spec("ray") is None
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(MISSING, reason="pip install 'jaxport[ray]'"),
    # Ray forks to start the programs of a node; JAX warns of it where another test has loaded JAX into this process.
    pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning"),
]

STORE_BYTES = 80 << 20
LIMIT_S = 400


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without processors, which is given nothing, and a node; no process of this session joins them."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES})
    try:
        made.add_node(num_cpus=2, object_store_memory=STORE_BYTES)
        yield made
    finally:
        made.shutdown()


FILES = {
    "port.py": """
from shapes import SHAPE
from workloads import ArraySpec, Workload
port = Workload(
    name="scaled", summary="x times a weight from a file", source="mine", tf="twin_tf.py:f", jax="twin_jax.py:f",
    inputs={"x": ArraySpec(SHAPE)}, sizes={"smoke": {}, "default": {}}, builds=False,
)
""",
    "shapes.py": "SHAPE = (3, 4)",
    "twin_tf.py": "from scale import SCALE\n\ndef f(x):\n    return x * SCALE\n",
    "twin_jax.py": "from scale import SCALE\n\ndef f(x):\n    return SCALE * x\n",
    "scale.py": "from pathlib import Path\nSCALE = float((Path(__file__).parent / 'scale.txt').read_text())",
    "scale.txt": "1.5",
}


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A user's own port, which imports and reads what lies beside it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder / "port.py"


def start(folder: Path, *line: str) -> subprocess.Popen[str]:
    # Other tests keep this machine busy: a node may take a minute to say what it has.
    command = [sys.executable, "-P", "-m", "compare", *line, "--ray-limit", "300", "--out", str(folder / "out")]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def below(pid: int) -> list[int]:
    """The processes that carry out tasks below a process."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            said = (place / "cmdline").read_bytes()
            parents = _parents(int(place.name))
        except OSError:
            continue
        if b"end_with_parent(0)" in said and pid in parents:
            found.append(int(place.name))
    return found


def _parents(pid: int) -> list[int]:
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def until(holds: Callable[[], Any], running: subprocess.Popen[str] | None = None) -> Any:
    """What holds, once it does; while a command runs, where there is one."""
    deadline = time.monotonic() + LIMIT_S
    while not (found := holds()):
        assert time.monotonic() < deadline, "expected it to hold by now"
        assert running is None or running.poll() is None, running and running.communicate()
        threading.Event().wait(0.1)
    return found


@pytest.fixture
def apart(cluster: Any, port: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A node that is another machine: with a home of its own, and without the folder of the port."""
    folder = tmp_path_factory.mktemp("apart")
    if not machine_apart.allowed(folder / "tried"):
        pytest.skip("this user may not make namespaces: run it as root on Linux")
    before = there(cluster)
    machine = machine_apart.node(folder, port.parent, cluster.address, STORE_BYTES)
    try:
        until(lambda: there(cluster) > before, machine)
        yield machine
    finally:
        machine_apart.end(machine)
        until(lambda: there(cluster) == before)


def there(cluster: Any) -> int:
    """Nodes that Ray believes to be there."""
    from ray._raylet import GcsClient

    return sum(node.state == 0 for node in GcsClient(address=cluster.address).get_all_node_info().values())


def test_a_machine_that_is_lost_in_the_middle_of_a_task_costs_that_task_alone(
    cluster: Any, apart: subprocess.Popen[str], port: Path, tmp_path: Path
) -> None:
    running = start(tmp_path, "run", "add", str(port), "--size", "smoke", "--parity-only", "--ray", cluster.address)
    task = until(lambda: below(apart.pid), running)
    machine_apart.end(apart)
    said = running.communicate(timeout=LIMIT_S)[1]
    assert running.returncode == 0, said
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    parts = record["workloads"]
    assert {name: part["parity"]["verdict"] for name, part in parts.items()} == dict.fromkeys(("add", "scaled"), "pass")
    lost = [name for name, part in parts.items() if part["lost_on"]]
    assert len(lost) == 1 and f"{lost[0]}: lost on {machine_apart.NAME}: " in said
    (gone,) = [name for name, node in record["nodes"].items() if node["lost"]]
    assert (
        gone == machine_apart.NAME
        and parts[lost[0]]["lost_on"] == [gone]
        and gone not in {part["node"] for part in parts.values()}
    )
    worked = [node for node in record["nodes"].values() if node["loads"]]
    assert len(worked) == 1 and all(node["host"] == socket.gethostname() for node in worked)
    assert all(node["environment"]["cores"] == len(os.sched_getaffinity(0)) for node in worked)
    # Nobody goes on with what another node was given.
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in task))


def test_times_of_two_unlike_machines_stand_in_one_record_and_are_not_held_against_each_other(
    cluster: Any, apart: subprocess.Popen[str], port: Path, tmp_path: Path
) -> None:
    short = (
        "--pairs",
        "1",
        "--max-pairs",
        "1",
        "--budget",
        "0.05",
        "--threads",
        "1",
        "--phases",
        "0",
        "--no-alignment",
    )
    less = ("--no-limits", "--no-peers", "--modes", "tf/jit", "jax/jit", "--size", "smoke", "--ray", cluster.address)
    running = start(tmp_path, "bench", "add", str(port), *short, *less)
    said = running.communicate(timeout=LIMIT_S)[1]
    assert running.returncode == 0, said
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    here, there = socket.gethostname(), machine_apart.NAME
    assert {part["node"] for part in record["workloads"].values()} == {here, there} == set(record["nodes"])
    for part in record["workloads"].values():
        assert part["parity"]["verdict"] == "pass" and part["timing"]["modes"]
    # Each node has its own processor and costs of a call; the record of both has neither.
    processors = {name: node["environment"]["cpu"] for name, node in record["nodes"].items()}
    assert processors[there] == machine_apart.PROCESSOR != processors[here]
    assert record["environment"]["cpu"] is None or not record["environment"]["cpu"]
    assert not record["dispatch"] and all(node["dispatch"] for node in record["nodes"].values())
    assert UNLIKE in (tmp_path / "out" / "report.html").read_text()


def test_nodes_of_other_versions_are_refused(cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packages = tmp_path / "packages" / "jax-0.1.0.dist-info"
    packages.mkdir(parents=True)
    (packages / "METADATA").write_text("Metadata-Version: 2.1\nName: jax\nVersion: 0.1.0\n")
    other = cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES, env_vars={"PYTHONPATH": str(packages.parent)})
    try:
        line = ["run", "add", "--size", "smoke", "--ray", cluster.address, "--out", str(tmp_path / "out")]
        assert main(line) == 2
    finally:
        cluster.remove_node(other, allow_graceful=False)
    said = capsys.readouterr().err
    # Ray lists nodes in the order of random numbers.
    told = re.search(r"expected the same versions on all nodes, found jax (\S+) on (\S+) and (\S+) on (\S+): ", said)
    assert told is not None and told[2] != told[4], said
    assert {told[1], told[3]} == {"0.1.0", version("jax")}


def test_an_address_where_nothing_answers_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for address, found in ((f"127.0.0.1:{port}", "Connection refused"), ("nonsense", "'nonsense'")):
        assert main(["run", "add", "--ray", address, "--out", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err
        assert found in said and address in said and len(said.strip().splitlines()) <= 2


def test_an_address_that_never_answers_is_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["run", "add", "--ray", address, "--ray-limit", "6", "--out", str(tmp_path / "out")]) == 2
    assert f"expected a Ray cluster at {address}, found" in capsys.readouterr().err
    assert time.monotonic() - began < 60


def test_an_interrupted_suite_leaves_no_task(cluster: Any, tmp_path: Path) -> None:
    head = cluster.head_node.all_processes["raylet"][0].process.pid
    others = [node.all_processes["raylet"][0].process.pid for node in cluster.worker_nodes]
    running = start(tmp_path, "run", "add", "--size", "smoke", "--parity-only", "--ray", cluster.address)
    until(lambda: [task for pid in (head, *others) for task in below(pid)], running)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=LIMIT_S)
    assert running.returncode == 130
    until(lambda: not [task for pid in (head, *others) for task in below(pid)])
