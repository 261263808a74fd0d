"""Names of layers, however hostile, are identifiers in the written code and text in its comments, and nothing else."""

import ast
import keyword

import pytest
from flax import nnx

from compare.porting.identifiers import OF_MODULES, Names, class_identifier, comment_text, identifier, snake
from compare.porting.safe_expressions import UnwritableError, check, literal

HOSTILE = (
    "class", "None", "match", "train", "eval", "self", "jax", "1st", "a-b c", "层", "é", "", "__init__", "__class__",
    'x"); import os; os.system("id") #', "a\nimport os", "a\rb", "a\x0cb", "a\u2028b", "'''", '"""', "\\", "\\\n",
    "\u202egnp", "a" * 500, "${x}", "{0}", "%s", "x\x00y",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_becomes_an_identifier(name: str) -> None:
    found = identifier(name, "dense")
    assert found.isidentifier() and found.isascii() and not keyword.iskeyword(found)
    assert not found.startswith("_") and not hasattr(nnx.Module, found) and len(found) < 80
    assert class_identifier(name).isidentifier() and snake(name or "Dense").isidentifier()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_in_a_comment_and_in_a_docstring_stays_there(name: str) -> None:
    tree = ast.parse(f'def f():\n    """{comment_text(name)}."""\n    return 1  # {comment_text(name)}\n')
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef) and len(function.body) == 2


def test_names_that_become_equal_are_numbered() -> None:
    names = Names()
    assert [names.of(identifier(each, "x")) for each in ("a/b", "a_b", "A-b", "a b")] == [
        "a_b",
        "a_b_2",
        "A_b_3",
        "a_b_4",
    ]


def test_every_public_attribute_of_a_module_is_kept_free() -> None:
    assert {each for each in dir(nnx.Module) if not each.startswith("_")} <= OF_MODULES


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('id')", "os.system('id')", "eval('1')", "jax.__class__", "[x for x in y]", "x; y",
     "(a := 1)", "f'{x}'", "open('x')", "getattr(jax, 'x')", "self._private", "await x", "x if y else z"],
)  # fmt: skip
def test_an_expression_calls_nothing_but_jax(text: str) -> None:
    with pytest.raises(UnwritableError):
        check(text, frozenset({"x", "y", "z"}))


def test_an_expression_of_jax_is_one() -> None:
    assert check("jax.nn.relu(self.a(x)[:, -1], y=(1, 'os'))", frozenset({"x"}))


def test_a_literal_is_read_back_as_it_was() -> None:
    values = [1, -2.5, True, None, 'a"\n', [1, [2, 3]], 1e-300]
    assert [ast.literal_eval(literal(each)) for each in values] == [1, -2.5, True, None, 'a"\n', (1, (2, 3)), 1e-300]
    assert literal(float("inf")) == "float('inf')"
    with pytest.raises(UnwritableError):
        literal(object())
