"""What ruff's pydocstyle rules cannot ask of a docstring: the arguments of public functions, shapes, no filler."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

PUBLIC = ("compare/api/*.py", "jaxport/[a-z]*.py", "workloads/[a-z]*.py")
"""What users import."""

PACKAGES = ("compare", "jaxport", "tf_reference", "workloads")

MANY = 3
"""Parameters from which on a public function explains each."""

ARRAYS = {"ndarray", "Arrays", "ArraySpec"}


def public_functions(pattern: str) -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Functions and methods without an underscore, of public classes too."""
    for path in sorted(ROOT.glob(pattern)):
        tree = ast.parse(path.read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        for node in (*tree.body, *(inner for outer in classes for inner in outer.body)):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not is_described_elsewhere(node):
                yield path.relative_to(ROOT), node


def is_described_elsewhere(function: ast.FunctionDef) -> bool:
    """Whether it is a signature alone, or overrides a method, which has the docstring."""
    names = {decorator.id for decorator in function.decorator_list if isinstance(decorator, ast.Name)}
    return bool(names & {"overload", "override"})


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


@functools.cache
def function_names() -> frozenset[str]:
    """The names of all functions of the packages."""
    paths = (path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py"))
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text())))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


def explains_parameters(docstring: str) -> bool:
    """Whether it has each parameter, or begins with the function whose parameters they are: "See `at_size.prepare`"."""
    other = re.match(r"(?:See|Like) `(?:\w+\.)*(\w+)`", docstring)
    return "Args:" in docstring or (other is not None and other[1] in function_names())


@pytest.mark.parametrize("pattern", PUBLIC)
def test_a_public_function_of_many_parameters_explains_each(pattern: str) -> None:
    functions = list(public_functions(pattern))
    assert functions
    unexplained = [
        f"{path}:{function.lineno} {function.name}"
        for path, function in functions
        if len(parameters(function)) >= MANY and not explains_parameters(ast.get_docstring(function) or "")
    ]
    assert not unexplained


@pytest.mark.parametrize(
    ("docstring", "explains"),
    [("See `jaxport.check`.", True), ("See `jaxport.chek`.", False), ("Checks, as `check`.", False), ("", False)],
)
def test_only_a_function_that_exists_explains_parameters_of_others(docstring: str, explains: bool) -> None:
    assert explains_parameters(docstring) is explains


FILLER = re.compile(r"\w+: (of (it|them)|likewise|itself|the same|the (\w+)|as of `[\w.]+`)\.?")
"""An entry of `Args:` that says nothing beyond the parameter's name and type."""


def filler_entries(docstring: str) -> list[str]:
    """The entries of a section `Args:` that are left out where they stand."""
    _, _, section = docstring.partition("Args:\n")
    return [line.strip() for line in section.split("\n\n")[0].splitlines() if FILLER.fullmatch(line.strip())]


def test_no_argument_is_explained_by_its_name() -> None:
    paths = [path for path in (ROOT / "compare").rglob("*.py") if path.parent.name != "api"]
    nodes = [(path, node) for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    functions = [(path, node) for path, node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(functions) > 1000
    found = [
        f"{path.relative_to(ROOT)} {node.name}: {entry}"
        for path, node in functions
        for entry in filler_entries(ast.get_docstring(node) or "")
    ]
    assert not found


@pytest.mark.parametrize(
    ("entry", "fills"),
    [("model: of it.", 1), ("b: likewise.", 1), ("graph: the graph.", 1), ("time_s: seconds of a call.", 0)],
)
def test_filler_says_nothing_beyond_the_name(entry: str, fills: int) -> None:
    assert len(filler_entries(f"Do it.\n\nArgs:\n  {entry}\n\nRaises:\n  ValueError: of it.")) == fills


def test_a_function_of_arrays_in_a_workload_says_their_shapes() -> None:
    of_arrays = []
    for path, function in public_functions("workloads/[a-z]*.py"):
        annotations = [node for node in (function.args, function.returns) if node is not None]
        names = {leaf.id for node in annotations for leaf in ast.walk(node) if isinstance(leaf, ast.Name)}
        attributes = {leaf.attr for node in annotations for leaf in ast.walk(node) if isinstance(leaf, ast.Attribute)}
        if (names | attributes) & ARRAYS:
            of_arrays.append((f"{path}:{function.lineno}", ast.get_docstring(function) or ""))
    assert len(of_arrays) > 20
    assert not [place for place, said in of_arrays if "[" not in said]
