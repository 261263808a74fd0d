"""The contract of the catalogue: what is declared in one folder is written in the two others, and nothing else is."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from compare.gotchas import expressions
from workloads.core.spec import ArraySpec
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry
from workloads.gotchas._gotcha import JAX, NAIVE, TENSORFLOW, Gotcha

ENTRIES = _catalogue.entries()
THEMES = _catalogue.themes()
ROOT = Path(__file__).parents[2]
PUBLIC = ("tf.", "keras.", "tensorflow_probability.", "flax.", "jax.", "optax.", "numpy.")

by_id = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)


def parameters(code: str) -> tuple[list[str], bool]:
    """The names, and whether further ones are taken together: `*weights`."""
    (function,) = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef)
    return [argument.arg for argument in function.args.args], function.args.vararg is not None


def test_a_name_stands_for_one_entry() -> None:
    names = Counter(entry.gotcha.name for entry in ENTRIES)
    assert [name for name, times in names.items() if times > 1] == []
    assert not set(names) & set(THEMES)


@by_id
def test_both_twins_take_the_inputs_in_their_order(entry: Entry) -> None:
    code = expressions.code_of(entry)
    for text in filter(None, (code.tensorflow, code.naive, code.jax)):
        named, takes_more = parameters(text)
        assert list(entry.gotcha.inputs)[: len(named) if takes_more else None] == named


@by_id
def test_an_entry_says_why_and_what_it_concerns(entry: Entry) -> None:
    assert entry.gotcha.why.endswith(".") and entry.gotcha.source
    assert entry.gotcha.concerns and all(name.startswith(PUBLIC) for name in entry.gotcha.concerns)
    assert any(name.startswith(("tf.", "keras.")) for name in entry.gotcha.concerns)


@by_id
def test_only_an_entry_that_differs_has_a_naive_port_and_that_is_another_one(entry: Entry) -> None:
    code = expressions.code_of(entry)
    names = expressions.functions("jaxport", entry.theme) | entry.gotcha.functions("jaxport")
    assert entry.gotcha.is_control == (f"{NAIVE}{entry.gotcha.name}" not in names)
    assert code.naive.partition("\n")[2] != code.jax.partition("\n")[2]


@by_id
def test_what_is_shown_of_an_entry_defines_all_of_its_files_own_names_that_it_reads(entry: Entry) -> None:
    code = expressions.code_of(entry)
    texts = {TENSORFLOW: [code.tensorflow], JAX: [code.naive, code.jax]}
    for side, shown in texts.items():
        tree = ast.parse("\n".join([*shown, expressions.shared_source(side, [entry])]))
        read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        made |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        own = {name for name in read if name.isupper() or name.startswith("_")}
        assert own - made <= imported(side, entry.theme)


def imported(side: str, theme: str) -> set[str]:
    path = ROOT / side / "gotchas" / f"{theme}.py"
    tree = ast.parse(path.read_text() if path.exists() else "")
    return {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def defined(side: str, theme: str) -> set[str]:
    return {name for one in expressions._definitions(side, theme) for name in one.names}


@pytest.mark.parametrize("side", [TENSORFLOW, JAX])
def test_an_expression_reads_its_inputs_and_what_its_side_has(side: str) -> None:
    for entry in ENTRIES:
        known = imported(side, "_expressions") | defined(side, entry.theme) | set(dir(builtins))
        for text in entry.gotcha.functions(side).values():
            names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
            bound = {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)}
            bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
            assert {node.id for node in names} - bound <= known, entry.id


def test_the_function_of_an_expression_is_built_and_its_lines_can_be_read() -> None:
    double = _catalogue.build_function(TENSORFLOW, "gelu", {"tf": SimpleNamespace(nn=SimpleNamespace(gelu=abs))})
    assert double(-3) == 3
    assert inspect.getsource(double) == "def gelu(x):\n    return tf.nn.gelu(x)"
    with pytest.raises(AttributeError, match="found none"):
        _catalogue.build_function(TENSORFLOW, "naive_gelu", {})


@pytest.mark.parametrize("texts", [{"jax": "x"}, {"naive": "x"}])
def test_an_entry_has_both_ports_as_expressions_or_none(texts: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected both ports of gelu as expressions"):
        Gotcha("gelu", "Why.", ("tf.abs",), {"x": ArraySpec((1,))}, "semantics", **texts)


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_has_no_function_without_an_entry(theme: str) -> None:
    gotchas = [entry.gotcha for entry in ENTRIES if entry.theme == theme]
    originals = {gotcha.name for gotcha in gotchas if not gotcha.tf}
    assert public(expressions.functions("tf_reference", theme)) == originals
    ported = public(expressions.functions("jaxport", theme))
    assert {name.removeprefix(NAIVE) for name in ported} == {gotcha.name for gotcha in gotchas if not gotcha.jax}


def public(functions: dict[str, str]) -> set[str]:
    return {name for name in functions if not name.startswith("_")}


def test_a_side_has_a_file_for_each_theme_that_has_functions() -> None:
    for side in ("tf_reference", "jaxport"):
        files = (ROOT / side / "gotchas").glob("[!_]*.py")
        assert {path.stem for path in files} <= set(THEMES)


@pytest.mark.parametrize("name", ["Gelu", "naive_gelu", "gelu-tanh", "1d", ""])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected a name of small letters"):
        Gotcha(name, "Why.", ("tf.abs",), {"x": ArraySpec((1,))})


def test_a_gate_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of the gates structure"):
        Gotcha("gelu", "Why.", ("tf.abs",), {"x": ArraySpec((1,))}, "forward")


def test_a_control_has_no_naive_workload() -> None:
    control = next(entry for entry in ENTRIES if entry.gotcha.is_control)
    with pytest.raises(ValueError, match="expected an entry that differs"):
        control.workload(naive=True)
