"""The folders are the architecture: who may import whom, and which names stand in three places.

The contracts of imports stand in pyproject.toml and are held by `lint-imports`.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from places import ROOT
from slow_files import HEAVY, LONGEST, SLOW

import jaxport
from compare.sides.client import LiveSide

PACKAGES = ("workloads", "tf_reference", "jaxport", "compare")
PEERS = "compare/sides/peers"
LISTING = """
import sys
from compare import cli
assert cli.main(["list"]) == 0
print(*(name for name in sys.modules if name.partition(".")[0] in ("tf_reference", "jaxport", "compare")))
"""


def files(folder: str) -> list[Path]:
    """Every file below a folder; the peers, each a framework's half of the protocol, are a folder of their own."""
    found = (ROOT / folder).rglob("*.py")
    return sorted(path for path in found if folder == PEERS or ROOT / PEERS not in path.parents)


def workload_names(folder: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob("*.py") if not path.stem.startswith("_")}


@pytest.mark.parametrize(
    ("folder", "adapters"),
    [
        ("tf_reference", {"_private.py"}),
        ("jaxport", {"_private.py"}),
        ("compare", {"bindings.py", "run_exported.py"}),
        (PEERS, set()),
    ],
)
def test_private_modules_are_named_in_one_file_a_side(folder: str, adapters: set[str]) -> None:
    """And in the runner that an export carries along, which can import nothing of jaxport's."""
    naming = {path.name for path in files(folder) if names_private(nodes_of(path))}
    assert naming <= adapters


PRIVATE = re.compile(r"jax\._src\b|jaxlib\.(?!version)\w|tensorflow\.(compiler|core|python|tsl)\b")


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All that a file is made of."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def names_private(nodes: Iterable[ast.AST]) -> bool:
    """Whether a file imports a private module, names it in a string, or reaches it through a public one."""
    return any(PRIVATE.match(name) for node in nodes for name in modules_of(node))


def modules_of(node: ast.AST) -> list[str]:
    """What a node may import, or find as an attribute of what is imported."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{each.name}" for each in node.names]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if re.fullmatch(r"[\w.]+", node.value) else []
    return [dotted(node)] if isinstance(node, ast.Attribute) else []


def dotted(node: ast.expr) -> str:
    """The name of an attribute of a module; of an attribute of anything else, its own part of it."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize(
    "source",
    [
        "from jax._src import core",
        "from jax._src.interpreters import mlir",
        "import jax._src.core as c",
        "import jax\njax._src.core.Tracer",
        "def late():\n    from jaxlib.mlir import ir",
        "import importlib\nimportlib.import_module('jax._src.compiler')",
        "from tensorflow.python.eager import context",
    ],
)
def test_a_private_module_is_found_however_it_is_reached(source: str) -> None:
    assert names_private(ast.walk(ast.parse(source)))


@pytest.mark.parametrize("source", ["import jax.extend", "from jax import lax", "import tensorflow as tf\ntf.raw_ops"])
def test_a_public_module_is_none(source: str) -> None:
    assert not names_private(ast.walk(ast.parse(source)))


def test_only_a_worker_runs_programs() -> None:
    naming = {path.name for path in files("compare") if "load_bytecode" in path.read_text()}
    assert naming == {"bindings.py", "xla.py"}


def test_a_module_that_is_imported_by_name_has_what_is_asked_of_it() -> None:
    """No type checker sees these calls: the modules import a framework, which the judges may not import."""
    missing = [
        f"{path.relative_to(ROOT)}:{node.lineno} asks {modules[name]} for {node.attr}"
        for path in files("compare")
        if (modules := modules_by_name(nodes_of(path)))
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and (name := name_of_import(node.value)) in modules
        if node.attr not in names_in(modules[name])
    ]
    assert missing == []


def test_what_a_module_has_not_is_found() -> None:
    source = (
        '_READER, _MODEL = "jaxport._module_reading", "x"\nimportlib.import_module(_READER).read(1)\n'
        "reader = importlib.import_module(_READER)\nreader.gone(1)"
    )
    nodes = tuple(ast.walk(ast.parse(source)))
    modules = modules_by_name(nodes)
    asked = [node for node in nodes if isinstance(node, ast.Attribute) and name_of_import(node.value) in modules]
    assert {node.attr for node in asked} == {"read", "gone"}
    assert "read" in names_in("jaxport._module_reading") and "gone" not in names_in("jaxport._module_reading")


def modules_by_name(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Modules of ours that a file imports by name: by the constant that holds the name, and by a variable for it."""
    modules: dict[str, str] = {}
    assignments = [node for node in nodes if isinstance(node, ast.Assign)]
    for target, value in (pair for node in assignments for pair in pairs_assigned(node)):
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and module_file(value.value):
            modules[target] = value.value
    for target, value in (pair for node in assignments for pair in pairs_assigned(node)):
        if isinstance(value, ast.Call) and name_of_import(value) in modules:
            modules[target] = modules[name_of_import(value)]
    return modules


def pairs_assigned(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """Each name of an assignment with its value."""
    target = node.targets[0]
    pairs = [(target, node.value)]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(target.elts, node.value.elts, strict=False))
    return ((each.id, value) for each, value in pairs if isinstance(each, ast.Name))


def name_of_import(node: ast.expr) -> str:
    """The constant of `import_module(CONSTANT)`, or the variable itself; "" of anything else."""
    match node:
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Name(id=name)]) | ast.Name(id=name):
            return name
    return ""


def module_file(module: str) -> Path | None:
    """The file of a module of ours; None where there is none."""
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return path if module.partition(".")[0] in PACKAGES and path.is_file() else None


def names_in(module: str) -> set[str]:
    """The functions, classes, constants and imports at the top of a module's file."""
    path = module_file(module)
    assert path is not None
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.Assign():
                names |= {name for name, _ in pairs_assigned(node)}
            case _:
                pass
    return names


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four packages and their contracts, to be damaged."""
    folder = tmp_path_factory.mktemp("packages")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.process
@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("compare/parity/rules.py", "from compare import bench", "The rooms of compare/"),
        ("compare/prove/cells.py", "from compare.report import tables", "The rooms of compare/"),
        ("compare/run/whole_run.py", "from compare import commands", "The rooms of compare/"),
        ("compare/new_room.py", "", "The rooms of compare/"),
        (
            "compare/report/tables.py",
            "from compare.bench import stats",
            "Pages are made from records, and from what saved runs say of one another",
        ),
        ("compare/history/store.py", "import compare.hlo", "Saved runs are compared"),
        ("compare/sides/worker.py", "def late():\n    import tensorflow", "The judges import no framework"),
        ("compare/sides/peers/tf2jax.py", "import flax", "Neither the judges nor the peers"),
        ("workloads/add.py", "import jax", "Workloads are declared without any framework"),
        ("tf_reference/add.py", "import jaxport", "The TensorFlow twins"),
        ("jaxport/add.py", "from tensorflow import keras", "The JAX twins"),
    ],
)
def test_an_import_against_a_contract_is_found(copied: Path, file: str, line: str, broken: str) -> None:
    path = copied / file
    before = path.read_text() if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n")
    command = [sys.executable, "-c", "from importlinter import cli; cli.lint_imports_command()", "--no-cache"]
    done = subprocess.run(command, cwd=copied, capture_output=True, text=True)
    path.write_text(before) if before is not None else path.unlink()
    assert done.returncode == 1
    assert f"\n{broken}" in done.stdout.partition("Broken contracts")[2]


def test_a_test_without_the_mark_starts_neither_python_nor_a_worker(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"mark the test with @pytest\.mark\.process"):
        subprocess.run([sys.executable, "-c", ""], check=False)
    with pytest.raises(pytest.fail.Exception, match=r"mark the test with @pytest\.mark\.process"):
        LiveSide("jax", tmp_path)


@pytest.mark.parametrize("name", sorted({*SLOW, *LONGEST, *HEAVY}))
def test_a_file_that_is_said_to_take_long_is_there(name: str) -> None:
    assert len(list((ROOT / "tests").rglob(name))) == 1


def test_no_file_name_stands_twice_in_compare() -> None:
    names = Counter(path.name for path in (ROOT / "compare").rglob("*.py"))
    assert [name for name, times in names.items() if times > 1] == ["__init__.py"]


@pytest.mark.process
def test_listing_workloads_imports_few_modules() -> None:
    done = subprocess.run([sys.executable, "-c", LISTING], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 0 < len(done.stdout.splitlines()[-1].split()) <= 30


def test_whoever_starts_workers_gives_them_to_a_set_which_alone_closes_them() -> None:
    starting = [path for path in files("compare") if calls(path) & {"LiveSide", "launch"}]
    assert len(starting) > 3
    assert [path.name for path in starting if "WorkerSet" not in calls(path)] == []
    closing = [path.name for path in files("compare") if "closing" in calls(path)]
    assert closing == []


def calls(path: Path) -> set[str]:
    """The names of what a file calls."""
    called = (node.func for node in nodes_of(path) if isinstance(node, ast.Call))
    return {node.id if isinstance(node, ast.Name) else getattr(node, "attr", "") for node in called}


def test_a_workload_stands_under_one_name_in_three_folders() -> None:
    names = workload_names("workloads")
    assert names == workload_names("tf_reference")
    assert workload_names("jaxport") - names == {*jaxport.LIBRARY, "testing"}


@pytest.mark.parametrize("name", jaxport.LIBRARY)
def test_a_module_of_the_library_is_found_in_the_package(name: str) -> None:
    assert getattr(jaxport, name).__name__ == f"jaxport.{name}" and name in dir(jaxport)


def test_what_the_library_lacks_is_said_with_what_it_has() -> None:
    with pytest.raises(AttributeError, match=r"found jaxport\.optimisers"):
        _ = jaxport.optimisers


@pytest.mark.parametrize("folder", PACKAGES)
def test_a_variable_of_a_function_says_what_it_holds(folder: str) -> None:
    """Not that it is one of several, or was found: the thing has a name."""
    nameless = {"each", "found"}
    assert [f"{path.name}:{name}" for path in files(folder) for name in bound_in_functions(path) & nameless] == []


def bound_in_functions(path: Path) -> set[str]:
    """The names of variables and parameters, without the fields of classes."""
    names: set[str] = set()
    functions = (node for node in nodes_of(path) if isinstance(node, ast.FunctionDef | ast.Lambda))
    for node in (inner for function in functions for inner in ast.walk(function)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.MatchAs(name=str(name)):
                names.add(name)
    return names


PARTICIPLE = re.compile(
    "_*([a-z]+ed|at|built|chosen|done|drawn|found|given|gone|held|kept|known|left|lost|made|meant|met|said|seen|sent|"
    "shown|sought|spent|taken|told|un(known|made|read|seen|told|written)|written)_*"
)
NOUNS = {
    "compiled",
    "expected",
    "hidden",
    "lowered",
    "need",
    "red",
    "searchsorted",
    "seed",
    "speed",
    "traced",
    "unknown",
}
"""Nouns, and what this field uses as such: `compiled` and `lowered` are what `jax.stages` calls them,
`searchsorted` is a function of NumPy."""

VERBS = {"embed", "feed"}

PARTICIPLES = {
    "compare/api": 3,
    "compare/porting": 1,
    "compare/sides": 7,
    "jaxport": 15,
    "tf_reference": 6,
    "workloads": 7,
}
"""By room, the names that are participles. None may be added; whoever renames some writes the smaller number."""


def test_no_room_gains_a_participle_as_a_name() -> None:
    """A function is a verb, a value is a noun, a boolean is a claim."""
    counts: Counter[str] = Counter()
    for path in (path for folder in PACKAGES for path in files(folder)):
        counts[room_of(path)] += len(participles(nodes_of(path)))
    assert {room: count for room, count in counts.items() if count > PARTICIPLES.get(room, 0)} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def judged(): ...", ["judged"]),
        ("def judge(told, *, given=0): ...", ["given", "told"]),
        ("def judge(gates):\n    _kept = [at for at in gates]", ["_kept", "at"]),
        ("def judge(nest):\n    match nest:\n        case [found]: ...", ["found"]),
        ("class Verdict:\n    given: str", []),
        ("def halves(left, right, seed): ...", []),
    ],
)
def test_a_participle_is_found_wherever_a_function_has_it(source: str, names: list[str]) -> None:
    assert sorted(participles(tuple(ast.walk(ast.parse(source))))) == names


def room_of(path: Path) -> str:
    """Where the file is: a room of compare/, or a folder."""
    package, *folders = path.relative_to(ROOT).parts[:-1]
    return f"{package}/{folders[0]}" if package == "compare" and folders else package


def participles(nodes: Iterable[ast.AST]) -> list[str]:
    """The participles that functions, their parameters and variables have as names, as often as they are bound.

    Not the fields of classes, of which some are keys of files, and not `left` beside `right`.
    """
    names: list[str] = []
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
        bound = Counter(name for node in own_nodes(function) if (name := bound_name(node)))
        without = NOUNS | VERBS | ({"left"} if "right" in bound else set())
        names += [name for name in bound.elements() if PARTICIPLE.fullmatch(name) and name.strip("_") not in without]
    return names


def own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of the functions in it."""
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        if node is function or not isinstance(node, ast.FunctionDef):
            yield node
            waiting += ast.iter_child_nodes(node)


def bound_name(node: ast.AST) -> str:
    """The name that a node binds; "" where it binds none."""
    match node:
        case (
            ast.FunctionDef(name=name)
            | ast.Name(id=name, ctx=ast.Store())
            | ast.arg(arg=name)
            | ast.MatchAs(name=str(name))
        ):
            return name
    return ""


def test_nothing_but_the_last_line_of_defence_swallows_every_exception() -> None:
    broad = []
    for path in (
        path for folder in ("workloads", "tf_reference", "jaxport", "compare", PEERS) for path in files(folder)
    ):
        for node in nodes_of(path):
            if isinstance(node, ast.ExceptHandler) and caught(node) & {"", "Exception", "BaseException"}:
                broad.append(path.name)
    # The file writer cleans up and raises again; a run of several workloads goes on with the next one; a program that
    # observes itself goes on and notes why; what interrupts a check ends its judges first; all but these and the
    # last line of defence report what foreign code raised.
    assert sorted(broad) == [
        "_launched_program.py",
        "callers_thread.py",
        "callers_thread.py",
        "cli.py",
        "object_side.py",
        "port_host.py",
        "registry.py",
        "registry.py",
        "whole_run.py",
        "worker.py",
        "writing.py",
    ]


def caught(handler: ast.ExceptHandler) -> set[str]:
    """The names of what a handler catches; a bare one catches ""."""
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {getattr(name, "id", "") for name in names if name is None or isinstance(name, ast.Name)}
