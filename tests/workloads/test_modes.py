"""Names of modes, cells, arms and pairs: written by str(), read back by one parser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.core import modes
from workloads.core.modes import Arm, BadName, Cell, Mode, Pair


@pytest.mark.parametrize(
    ("arm", "name"),
    [
        (Arm(Mode("jax", "jit")), "jax/jit"),
        (Arm(Cell("tf", "jax")), "tf@jax"),
        (Arm(Mode("jax", "jit"), copy=2), "jax/jit#2"),
        (Arm(Mode("tf", "jit"), slowdown=0.05), "tf/jit+5%"),
        (Arm(Mode("jax", "jit"), copy=2, slowdown=0.1), "jax/jit#2+10%"),
        (Arm(Cell("jax", "tf"), copy=2), "jax@tf#2"),
        (Arm(Mode("tf2jax", "jit")), "tf2jax/jit"),
    ],
)
def test_a_name_is_read_back_as_what_was_written(arm: Arm, name: str) -> None:
    assert str(arm) == name
    assert modes.parse_arm(name) == arm
    assert arm.is_public is (name in ("jax/jit", "tf@jax", "tf2jax/jit"))


WORDS = st.from_regex(r"\A[A-Za-z0-9_.-]+\Z")
MODES = st.builds(Mode, WORDS, WORDS)
CELLS = st.builds(Cell, WORDS, WORDS)
PERCENTS = st.integers(0, 999).map(lambda percent: percent / 100)
ARMS = st.builds(Arm, MODES | CELLS, st.integers(1, 999), PERCENTS)


@given(ARMS)
def test_every_name_is_read_back(arm: Arm) -> None:
    assert modes.parse_arm(str(arm)) == arm


@given(MODES, MODES, CELLS)
def test_every_name_of_a_mode_a_cell_and_a_pair_is_read_back(left: Mode, right: Mode, cell: Cell) -> None:
    assert modes.parse_mode(str(left)) == left
    assert modes.parse_cell(str(cell)) == cell
    assert modes.parse_pair(str(Pair(left, right))) == Pair(left, right)


SPELLINGS = st.from_regex(r"\A\w*[/@]\w*(#\d*)?(\+\d*%)?\Z") | st.text()


@given(SPELLINGS, st.sampled_from([modes.parse_arm, modes.parse_mode, modes.parse_cell, modes.parse_pair]))
def test_what_is_read_is_written_as_it_was(text: str, parse: Callable[[str], object]) -> None:
    try:
        read = parse(text)
    except BadName:
        return
    assert str(read) == text


REFUSED = ["", "jit", "jax/", "/jit", "jax/jit#", "jax/jit+5", "jax/jit vs tf/jit", "tf@jax@tf"]
OTHERWISE_SPELT = ["jax/jit#0", "jax/jit#1", "jax/jit#02", "jax/jit+0%", "jax/jit+05%", "jax/jit#\u0662", "jax/jit\n"]


@pytest.mark.parametrize("text", [*REFUSED, *OTHERWISE_SPELT, f"jax/jit#{'9' * 5000}"])
def test_a_text_that_is_no_name_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(BadName, match="expected a mode or cell such as jax/jit or tf@jax, found"):
        modes.parse_arm(text)


def test_a_mode_is_no_cell_and_an_arm_of_a_second_process_is_neither() -> None:
    assert modes.parse_mode("jax/tuned") == modes.JAX_TUNED
    assert modes.parse_cell("tf@jax") == Cell("tf", "jax")
    for text in ("tf@jax", "jax/jit#2", "jax/jit+5%", "jax/jit#1", "jax/jit+0%"):
        with pytest.raises(BadName, match=r"expected a mode (or cell )?such as jax/jit"):
            modes.parse_mode(text)
    for text in ("jax/jit", "tf@jax#2"):
        with pytest.raises(BadName, match="expected a cell such as tf@jax"):
            modes.parse_cell(text)


def test_a_pair_is_read_back_as_what_was_written() -> None:
    pair = Pair(modes.PORT, Mode("tf2jax", "jit"))
    assert str(pair) == "jax/jit vs tf2jax/jit"
    assert modes.parse_pair(str(pair)) == pair
    for text in ("jax/jit", "jax/jit vs ", "jax/jit vs tf@tf"):
        with pytest.raises(BadName):
            modes.parse_pair(text)


def test_every_mode_is_the_ports_or_the_originals_and_any_other_a_peers() -> None:
    assert [str(mode) for mode in modes.MODES if mode.is_port] == [
        "jax/eager",
        "jax/apart",
        "jax/jit",
        "jax/donated",
        "jax/tuned",
    ]
    assert all(mode.is_port != mode.is_original and not mode.is_peer for mode in modes.MODES)
    assert Mode("call_tf", "jit").is_peer


def test_names_of_a_record_are_read_whatever_version_wrote_them() -> None:
    assert modes.recorded_mode("tf/later mode") == Mode("tf", "later mode")
    assert modes.recorded_mode("tf@jax") is None
    assert modes.recorded_pair("jax/jit vs tf/later") == Pair(modes.PORT, Mode("tf", "later"))
    assert modes.recorded_pair("jax/jit vs itself") is None
    assert modes.recorded_pair("jax/jit") is None
