"""What a docstring says that ruff's pydocstyle rules cannot ask for: arguments where there are many, and shapes."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

HELD = ("compare/*.py", "compare/[!s]*/**/*.py", "jaxport/*.py", "tf_reference/*.py", "workloads/[a-z]*.py")
"""All but compare/sides, whose requests have their parameters explained in docs/protocol.md."""

MANY = 3
"""Parameters, from which on each is explained."""

ARRAYS = {"ndarray", "Arrays", "ArraySpec"}


def public_functions(pattern: str) -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Functions and methods without an underscore, of public classes too."""
    for path in sorted(ROOT.glob(pattern)):
        tree = ast.parse(path.read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        for node in (*tree.body, *(inner for outer in classes for inner in outer.body)):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not is_overload(node):
                yield path.relative_to(ROOT), node


def is_overload(function: ast.FunctionDef) -> bool:
    """Whether it is a signature alone: the function itself has the docstring."""
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in function.decorator_list)


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


@pytest.mark.parametrize("pattern", HELD)
def test_a_function_of_many_parameters_explains_each(pattern: str) -> None:
    functions = list(public_functions(pattern))
    assert functions
    unexplained = [
        f"{path}:{function.lineno} {function.name}"
        for path, function in functions
        if len(parameters(function)) >= MANY and "Args:" not in (ast.get_docstring(function) or "")
    ]
    assert not unexplained


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
