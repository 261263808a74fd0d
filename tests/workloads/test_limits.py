"""Every limit has both functions and the port, and the two functions are one line apart."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import pytest

from workloads.limits._limit import WITHIN, Limit, limits

ROOT = Path(__file__).parents[2]
LIMITS = limits()

by_name = pytest.mark.parametrize(("theme", "limit"), LIMITS.values(), ids=LIMITS)


def functions(side: str, theme: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((ROOT / side / "limits" / f"{theme}.py").read_text())
    return {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}


@by_name
def test_a_limit_has_its_functions(theme: str, limit: Limit) -> None:
    both = functions("tf_reference", theme)
    for function in (both[limit.name], both[f"{WITHIN}{limit.name}"], functions("jaxport", theme)[limit.name]):
        assert [argument.arg for argument in function.args.args] == list(limit.inputs)
    assert limit.why.endswith(".")


@by_name
def test_an_edit_is_one_line(theme: str, limit: Limit) -> None:
    both = functions("tf_reference", theme)
    texts = [ast.unparse(ast.Module(both[name].body, [])) for name in (f"{WITHIN}{limit.name}", limit.name)]
    changed = [line[0] for line in difflib.ndiff(*(text.splitlines() for text in texts)) if line[0] in "+-"]
    assert changed and changed.count("+") <= 1 and changed.count("-") <= 1


def test_no_function_is_without_a_limit() -> None:
    for theme in {theme for theme, _ in LIMITS.values()}:
        names = {name.removeprefix(WITHIN) for name in functions("tf_reference", theme)}
        assert names == set(functions("jaxport", theme)) == {name for name, (of, _) in LIMITS.items() if of == theme}
