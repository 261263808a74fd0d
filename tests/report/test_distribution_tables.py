"""Distributed steps on a console: every verdict with its reason, and the first value that departs."""

from __future__ import annotations

import io

from compare.record.distribution_part import (
    Blind,
    DistributedStep,
    Distribution,
    Distributions,
    Resumed,
    StepDeparture,
    Transfer,
    UnlikeCopies,
)
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.report import numbers
from compare.report.distribution_tables import print_distributions, scaling, sentences
from compare.report.terminal import PlainConsole

HELD = StepDeparture("jax/single", PASS, "a", 1, error=1e-17, bound=1e-12)
DEPARTS = StepDeparture("jax/in-turn", FAIL, "a", 2, "float64", (0, 3), 1.5, 1.25, 0.2, 1e-12)

FOUND = Distribution(
    name="small", size="smoke", batch=8, devices=2, steps=3,
    strategies={
        "jax/spmd": DistributedStep(
            "single", 2, 1, PASS, parity=(HELD, DEPARTS), compilations=1, seconds=1e-3,
            transfers=(Transfer("all-reduce", 2, 3, 2048, ((0, 1),), "model.py:7"),),
            resumed=Resumed(1, "the worker ended", True, HELD),
        ),
        "tf/mirrored": DistributedStep(
            "in-turn", 2, 1, FAIL, "devices hold different values of one array",
            unlike=(UnlikeCopies("mean", 1, (0,), ("CPU:0", "CPU:1"), 0.5, 0.25),),
        ),
        "tf/mirrored-compiled": DistributedStep("in-turn", 2, 1, NOT_APPLICABLE, "not on CPUs"),
    },
    references={"jax/single": 5e-4},
    blind={"jax: in-turn summed": Blind("in-turn summed", 0, 4)},
    verdict=FAIL,
)  # fmt: skip


def test_every_line_has_its_reason() -> None:
    told = list(sentences(FOUND))
    first = (
        "departs from jax/in-turn first at step 2, float64 a[0, 3]: 1.5 for 1.25, error 2.0e-01 of the largest value"
    )
    assert f"  jax/spmd: {first}, bound 1.0e-12" in told
    assert "  jax/spmd: 2 x all-reduce of 3 arrays, 2.00 KiB among {0,1}, model.py:7" in told
    assert any("every array that follows is the same to the last bit" in line for line in told)
    assert "  tf/mirrored: mean[0] after step 1 is 0.5 on CPU:0 and 0.25 on CPU:1; arrays that differ so: 1" in told
    assert "  tf/mirrored-compiled: refused: not on CPUs" in told
    assert any("a mistake of this kind would not be seen" in line for line in told)


def test_the_table_tells_the_same_from_what_departs() -> None:
    console = PlainConsole(file=io.StringIO(), width=200)
    print_distributions(Distributions(1, (FOUND,), 2), console)
    assert isinstance(console.file, io.StringIO)
    rows = {line.split()[0]: line.split() for line in console.file.getvalue().splitlines() if line.startswith("  ")}
    assert rows["jax/spmd"][1:4] == ["holds", "same", "departs"]
    assert rows["tf/mirrored"][1:2] == ["fails"] and rows["tf/mirrored-compiled"][1:2] == ["refused"]


def test_what_the_run_cannot_tell_is_said() -> None:
    steps = {"jax/own": DistributedStep("in-turn", 2, 1, PASS, seconds=1e-3)}
    found = Distribution(
        name="mine", size="s", batch=6, devices=2, strategies=steps, equal_parts={"jax": DEPARTS}, alike=("mask", "y")
    )
    told = list(sentences(found))
    assert any(line.startswith("  of equal parts, what replicas compute departs from") for line in told)
    assert told[-1].endswith("a mix-up is not seen: mask, y")
    for others, said in (((), True), ((Distribution(name="mine", devices=4, strategies=steps),), False)):
        console = PlainConsole(file=io.StringIO(), width=200)
        print_distributions(Distributions(1, (found, *others), 2), console)
        assert isinstance(console.file, io.StringIO)
        assert ("4 do not divide a batch of 6; take a size that they divide" in console.file.getvalue()) == said


def test_a_step_is_held_against_that_of_one_device_in_the_same_rounds() -> None:
    def on(devices: int, seconds: float, alone: float) -> Distribution:
        steps = {
            "jax/spmd": DistributedStep("single", devices, 1, PASS, seconds=seconds),
            "jax/gloo": DistributedStep("single", 2 * devices, 2, PASS, seconds=3 * seconds),
            "tf/mirrored": DistributedStep("in-turn", devices, 1, PASS),
        }
        return Distribution(name="small", devices=devices, strategies=steps, references={"jax/single": alone})

    # The machine was twice as slow in the second run: both of its times were.
    several = [on(2, 1.5e-3, 1e-3), on(4, 6e-3, 2e-3)]
    assert scaling(several) == {"jax/spmd": {1: 1.0, 2: 1.5, 4: 3.0}, "jax/gloo": {1: 1.0, 4: 4.5, 8: 9.0}}
    console = PlainConsole(file=io.StringIO(), width=200)
    print_distributions(Distributions(1, tuple(several), 2), console)
    assert isinstance(console.file, io.StringIO)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert ["jax/spmd", "1.00", "1.50", "3.00", numbers.MISSING] in lines
    assert ["jax/gloo", "1.00", numbers.MISSING, "4.50", "9.00"] in lines
    assert "nothing of how it scales on devices of their own" in console.file.getvalue()
