"""The folders are the architecture: who may import whom, and which names stand in three places."""

import ast
from pathlib import Path

import pytest
from places import ROOT

TF, JAX = {"tensorflow", "keras", "tf_keras"}, {"jax", "jaxlib", "flax", "optax"}
PEERS = "compare/sides/peers"
COMPARE_JOINS = {"cli.py", "__main__.py", "pytest_plugin.py"}


def imports(path: Path) -> set[str]:
    """Every module that a file imports, anywhere in it, as a dotted name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a module lives"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def packages(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def files(folder: str) -> list[Path]:
    """Every file below a folder; the peers, each a framework's half of the protocol, are a folder of their own."""
    found = (ROOT / folder).rglob("*.py")
    return sorted(path for path in found if folder == PEERS or ROOT / PEERS not in path.parents)


def workload_names(folder: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob("*.py") if not path.stem.startswith("_")}


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("workloads", TF | JAX | {"compare", "tf_reference", "jaxport"}),
        ("tf_reference", JAX | {"compare", "jaxport"}),
        ("jaxport", TF | {"compare", "tf_reference"}),
        ("compare", TF | {"flax", "optax", "tf_reference", "jaxport"}),
        (PEERS, {"flax", "optax", "jaxport"}),
    ],
)
def test_a_folder_imports_only_what_it_may_know(folder: str, forbidden: set[str]) -> None:
    for path in files(folder):
        assert not packages(path) & forbidden, path


def test_only_the_bindings_know_a_framework_in_compare() -> None:
    knowing = {path.name for path in files("compare") if packages(path) & (JAX | TF)}
    assert knowing <= {"bindings.py"}


@pytest.mark.parametrize("judge", ["parity", "hlo", "bench", "report"])
def test_judges_know_records_and_never_each_other(judge: str) -> None:
    others = {f"compare.{other}" for other in ("parity", "hlo", "bench", "report", "run", "sides")} - {
        f"compare.{judge}"
    }
    for path in files(f"compare/{judge}"):
        assert not [name for name in imports(path) if name.startswith(tuple(f"{other}." for other in others))], path


@pytest.mark.parametrize(
    ("folder", "adapters"),
    [("tf_reference", {"_private.py"}), ("jaxport", {"_private.py"}), ("compare", {"bindings.py"}), (PEERS, set())],
)
def test_private_modules_are_named_in_one_file_a_side(folder: str, adapters: set[str]) -> None:
    private = ("jax._src", "jaxlib.", "tensorflow.compiler", "tensorflow.python", "tensorflow.tsl")
    naming = {path.name for path in files(folder) if any(f'"{name}' in path.read_text() for name in private)}
    assert naming <= adapters


def test_only_a_worker_runs_programs() -> None:
    naming = {path.name for path in files("compare") if "load_bytecode" in path.read_text()}
    assert naming == {"bindings.py", "xla.py"}


def test_the_names_of_the_peers_need_no_framework() -> None:
    assert packages(ROOT / PEERS / "__init__.py") == {"__future__"}


def test_a_workload_stands_under_one_name_in_three_folders() -> None:
    assert workload_names("workloads") == workload_names("tf_reference") == workload_names("jaxport")


def test_nothing_but_the_last_line_of_defence_swallows_every_exception() -> None:
    broad = []
    for path in (
        path for folder in ("workloads", "tf_reference", "jaxport", "compare", PEERS) for path in files(folder)
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and caught(node) & {"", "Exception", "BaseException"}:
                broad.append(path.name)
    # The file writer cleans up and raises again; a run of several workloads goes on with the next one; all but these
    # and the last line of defence report what foreign code raised.
    assert sorted(broad) == [
        "_registry.py",
        "_registry.py",
        "cli.py",
        "port_host.py",
        "whole_run.py",
        "worker.py",
        "writing.py",
    ]


def caught(handler: ast.ExceptHandler) -> set[str]:
    """The names of what a handler catches; a bare one catches ""."""
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {getattr(name, "id", "") for name in names if name is None or isinstance(name, ast.Name)}
