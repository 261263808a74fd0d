"""Every statement has its functions on both sides, and says what follows from it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from workloads.core import registry
from workloads.gotchas._gotcha import NAIVE
from workloads.limits._limit import limits
from workloads.limits._pictures import decode, encode
from workloads.limits._statement import Statement, statements
from workloads.limits.recompilation import STREAMS, Stream
from workloads.protocol.attempting import AROUND

ROOT = Path(__file__).parents[2]
STATEMENTS = statements()

by_name = pytest.mark.parametrize(("theme", "one"), STATEMENTS.values(), ids=STATEMENTS)


def functions(side: str, theme: str) -> dict[str, list[str]]:
    """By the name of a function or an alias of one, its parameters."""
    tree = ast.parse((ROOT / side / "limits" / f"{theme}.py").read_text())
    found = {each.name: [one.arg for one in each.args.args] for each in tree.body if isinstance(each, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = found[node.value.id]
    return found


@by_name
def test_a_statement_has_its_functions(theme: str, one: Statement) -> None:
    tensorflow, jax = functions("tf_reference", theme), functions("jaxport", theme)
    naive = f"{NAIVE}{one.name}"
    assert (naive in jax) == ("jax/naive" in one.seen)
    called = [(tensorflow, one.name), (jax, one.name), *([(jax, naive)] if naive in jax else [])]
    for side, name in called:
        around = side.get(f"{AROUND}{name}")
        assert (around[1:] if around else side[name]) == list(one.inputs)


@by_name
def test_a_statement_is_about_what_is_run(theme: str, one: Statement) -> None:
    assert one.says and one.says.keys() <= one.seen.keys()
    assert one.statement.endswith(".") and one.source and one.port and not one.port.endswith(".")
    assert one.raises.keys() == {way for way, outcome in one.seen.items() if outcome == "raises"}
    assert "tf/eager" in one.seen and "jax/port" in one.seen
    assert ("runs" in {one.seen["tf/jit"], one.seen["jax/port"]}) <= (one.seen["tf/eager"] == "raises")


def test_no_function_is_without_a_statement() -> None:
    for theme in {theme for theme, _ in STATEMENTS.values()}:
        for side in ("tf_reference", "jaxport"):
            public = {name.removeprefix(AROUND) for name in functions(side, theme) if not name.startswith("_")}
            assert {name.removeprefix(NAIVE) for name in public} == {
                name for name, (of, _) in STATEMENTS.items() if of == theme
            }


def test_a_name_stands_for_one_limit() -> None:
    assert not set(STATEMENTS) & (set(STREAMS) | set(limits()))
    # The stream `add` is asked for by `jaxport compilation recompiles`, the workload by `jaxport run`.
    assert set(STATEMENTS) & set(registry.names()) == set()


def test_a_picture_is_decoded_as_it_was_encoded() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    assert np.array_equal(decode(encode(pixels)), pixels)


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_what_follows_of_a_stream_is_one_count_or_an_error(stream: Stream) -> None:
    assert stream.says.keys() <= stream.expected.keys()
    assert all(
        re.fullmatch(r"raises|1 (trace|compilation)|\d+ (traces|compilations)", one) for one in stream.says.values()
    )
