"""Where a pass departs: on the console, at the head of the gates, and in what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

import pytest
from goldens import BY_HAND
from msgspec.structs import replace
from rich.console import Console

from compare.record.envelope import Record
from compare.record.parity_part import Place
from compare.record.results_file import load
from compare.record.vocabulary import FAIL
from compare.report import verdicts
from compare.report.console import print_overview
from compare.report.html import render
from compare.report.next_steps import next_steps
from compare.report.overviews import overview

LOCATED = Place(
    pass_="forward",
    operation="changed add",
    tf_line="/its/my_tf.py:3",
    jax_line="/its/my_jax.py:7",
    difference="the constant is 1e-05, tf has 0.001",
    cause="epsilon",
    remedy="pass TensorFlow's",
    gotchas="epsilon",
    proof="given TensorFlow's value here, every result agrees",
)
UNKNOWN = Place(pass_="gradients", difference="no operation is located: a side gave no program")


@dataclass(frozen=True)
class Failing:
    """A record of one workload that fails, and its name."""

    record: Record
    name: str


def failing_at(place: Place) -> Failing:
    record = load(BY_HAND)
    name, part = next((name, part) for name, part in record.workloads.items() if part.parity is not None)
    assert part.parity is not None
    part = replace(part, parity=replace(part.parity, verdict=FAIL, places=(place,)))
    return Failing(replace(record, workloads={name: part}, command=("jaxport", "run", name)), name)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (
            LOCATED,
            "forward, changed add at /its/my_jax.py:7, TensorFlow's /its/my_tf.py:3: the constant is 1e-05, "
            "tf has 0.001; epsilon: pass TensorFlow's; see jaxport lookup gotchas epsilon (proof: given TensorFlow's "
            "value here, every result agrees)",
        ),
        (UNKNOWN, "gradients: no operation is located: a side gave no program"),
    ],
    ids=["located", "unknown"],
)
def test_a_place_is_one_sentence_on_the_console_and_on_the_page(place: Place, sentence: str) -> None:
    failing = failing_at(place)
    assert verdicts.places(failing.record.workloads[failing.name]) == (sentence,)
    console = Console(file=StringIO(), width=80)
    print_overview(failing.record, console)
    assert isinstance(console.file, StringIO)
    assert f"place {failing.name}: {sentence}" in console.file.getvalue()
    page = render(failing.record)
    assert page.index("Where the pass that fails departs") < page.index("<h3>Programs</h3>")


@pytest.mark.parametrize(
    ("place", "command"), [(LOCATED, "jaxport watch {} --fail-fast"), (UNKNOWN, "jaxport locate {}")]
)
def test_what_to_do_next_is_to_search_unless_the_place_is_known(place: Place, command: str) -> None:
    failing = failing_at(place)
    steps = next_steps(failing.record, overview(failing.record))
    assert steps[0][0] == command.format(failing.name)
