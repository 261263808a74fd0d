"""What is read of records: the number that is meant, and nothing of another workload or another size."""

from pathlib import Path
from typing import Any

import pytest

from compare.figures import further_readings, readings_of_devices
from compare.figures.all_rows import ROWS
from compare.figures.readings import OfRun
from compare.figures.row import Answer, Reading, Unread

RUN = {
    "workloads": {
        "add": {
            "size": "smoke",
            "profile": {"tf/graph": {"kernels": 4}, "tf/jit": {"kernels": None}},
            "parity": {"gates": {"rounding": {"verdict": "pass"}, "training": {"verdict": "not_applicable"}}},
            "timing": {
                "ratios": {
                    "tf/jit vs tf/graph": {"ratio": 0.5, "ci95": [0.4, 0.8], "withheld": ""},
                    "tf/autocluster vs tf/graph": {"ratio": None, "ci95": None, "withheld": "copies differ"},
                    "jax/jit vs tf/graph": {"ratio": 0.25, "ci95": None, "withheld": ""},
                }
            },
        }
    }
}


def read(reading: Reading, printed: Any, text: str = "") -> Any:
    return reading.read(Answer(printed, text, Path("nowhere")))


def test_kernels_and_gates_are_counted() -> None:
    run = OfRun("add", "smoke")
    (kernels,) = run.kernels("tf/graph")
    assert read(kernels, RUN) == (4, None) and read(run.gates(), RUN) == (1, None)


def test_a_speed_up_is_the_other_way_round_and_so_is_its_interval() -> None:
    jit, alone = OfRun("add", "smoke").speed_ups("tf/graph", "tf/jit", "jax/jit")
    assert read(jit, RUN) == (2.0, (1.25, 2.5)) and read(alone, RUN) == (4.0, None)
    assert jit.name == "tf/jit faster than tf/graph" and jit.unit == "x"


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (OfRun("mul", "smoke").kernels("tf/graph")[0], "expected a record of mul, found one of add"),
        (OfRun("add", "paper").kernels("tf/graph")[0], "expected a record of add at size paper, found size smoke"),
        (OfRun("add", "smoke").kernels("tf/jit")[0], "the record has no profile.tf/jit.kernels"),
        (OfRun("add", "smoke").kernels("jax/jit")[0], "the record has no profile.jax/jit"),
        (OfRun("add", "smoke").speed_ups("tf/graph", "tf/autocluster")[0], "withheld: copies differ"),
        (OfRun("add", "smoke").speed_ups("tf/graph", "tf/keras")[0], "no timing.ratios.tf/keras vs tf/graph"),
        (OfRun("add", "smoke").number("size", "", "size"), "'smoke' at size, and no number"),
    ],
)
def test_another_record_or_a_missing_number_is_said(reading: Reading, said: str) -> None:
    with pytest.raises(Unread, match=said):
        read(reading, RUN)


def test_a_gate_that_fails_is_no_count() -> None:
    failing = {"workloads": {"add": {"size": "smoke", "parity": {"gates": {"rounding": {"verdict": "fail"}}}}}}
    with pytest.raises(Unread, match="rounding does not hold"):
        read(OfRun("add", "smoke").gates(), failing)


def test_a_ledger_tells_calls_that_compile_from_those_that_do_not() -> None:
    calls = [
        {"seconds": 0.5, "compilations": 1},
        {"seconds": 0.1, "compilations": 0},
        {"seconds": 0.7, "compilations": 1},
    ]
    record = {"ledger": {"name": "cumsum", "sides": {"tf": {"calls": calls}}}}
    assert [read(each, record)[0] for each in further_readings.ledger("cumsum", "tf")] == [2, 0.6, 0.1]
    for reading in further_readings.ledger("argmax", "tf"):
        with pytest.raises(Unread, match="expected a record of argmax, found one of cumsum"):
            read(reading, record)
    with pytest.raises(Unread, match="no call of cumsum was found in the cache"):
        read(
            further_readings.ledger("cumsum", "tf")[2],
            {"ledger": {"name": "cumsum", "sides": {"tf": {"calls": calls[:1]}}}},
        )


def test_kernels_of_a_target_stand_without_and_with_fusion() -> None:
    def row(name: str, kernels: int, moved: float, held: int) -> dict[str, Any]:
        return {"name": name, "cell": {"kernels": kernels, "bytes": moved, "temp_bytes": held}}

    rows = [row("default", 1, 48.0, 8), row(further_readings.DISABLED, 3, 112.0, 64)]
    record = {"workloads": {"add": {"targets": {"A100": {"rows": rows}}}}}
    found = [read(each, record)[0] for each in further_readings.without_and_with_fusion("add", "A100", 16)]
    assert found == [3, 1, 7, 3, 64, 8]
    (first, *_) = further_readings.without_and_with_fusion("add", "A100")
    with pytest.raises(Unread, match=f"expected a record of {further_readings.DISABLED}, found one of default"):
        read(first, {"workloads": {"add": {"targets": {"A100": {"rows": rows[:1]}}}}})


def test_an_exported_example_says_how_far_it_is_off() -> None:
    printed = "output: differs by 0 of its largest value\nloss: differs by 2.5e-07 of its largest value\n"
    assert read(further_readings.exported_error("C++"), None, printed) == (2.5e-07, None)
    with pytest.raises(Unread, match="printed no difference but 'Killed'"):
        read(further_readings.exported_error("C++"), None, "Killed\n")


def test_every_reading_refuses_an_empty_record(tmp_path: Path) -> None:
    readings = [reading for row in ROWS for experiment in row.experiments for reading in experiment.readings]
    assert len(readings) > 100
    for reading in readings:
        with pytest.raises(Unread):
            reading.read(Answer({}, "", tmp_path))


BLOCKS = {
    "series": [
        {
            "name": "chain",
            "runs": [
                {"block": 1, "kernels": {"tf/eager": 16}, "over_whole": {
                    "tf/eager": {"ratio": 2.0, "interval": [1.5, 3.0], "withheld": ""},
                    "jax/eager": {"ratio": None, "interval": None, "withheld": "copies differ"},
                }},
                {"block": 16, "kernels": {"tf/eager": 1}, "over_whole": {}},
            ],
        }
    ]
}  # fmt: skip


def test_what_the_chain_compiled_whole_gains_is_the_ratio_of_blocks_of_one_layer() -> None:
    single, whole, gain = further_readings.in_blocks("chain", "tf/eager", 16)
    assert (read(single, BLOCKS), read(whole, BLOCKS)) == ((16, None), (1, None))
    assert read(gain, BLOCKS) == (2.0, (1.5, 3.0)) and gain.name == "tf/eager: whole faster than blocks of 1"


def test_blocks_of_another_size_or_without_a_ratio_are_said() -> None:
    with pytest.raises(Unread, match="no blocks of 8 layers of chain"):
        read(further_readings.in_blocks("chain", "tf/eager", 8)[1], BLOCKS)
    with pytest.raises(Unread, match="chain in jax/eager: copies differ"):
        read(further_readings.in_blocks("chain", "jax/eager", 16)[2], BLOCKS)


def distributed(**step: Any) -> Any:
    held = {"verdict": "pass", "devices": 2, "compilations": 2, "transfers": [{"count": 1}, {"count": 4}]}
    return {"workloads": [{"name": "mlp", "steps": 3, "strategies": {"tf/mirrored": held | step}}]}


def test_of_a_distributed_step_compilations_steps_and_exchanges_are_counted() -> None:
    of = ("mlp", "tf/mirrored")
    assert read(readings_of_devices.compilations(*of, 2), distributed()) == (2, None)
    assert read(readings_of_devices.holding(*of), distributed()) == (3, None)
    assert read(readings_of_devices.transfers(*of), distributed()) == (5, None)


@pytest.mark.parametrize(
    ("reading", "step", "said"),
    [
        (readings_of_devices.compilations("mlp", "tf/mirrored", 4), {}, "of 4 devices, found one of 2"),
        (readings_of_devices.holding("mlp", "tf/mirrored"), {"verdict": "fail", "reason": "devices differ"}, "differ"),
        (readings_of_devices.holding("mlp", "jax/spmd"), {}, "no strategies.jax/spmd"),
        (readings_of_devices.transfers("bert", "tf/mirrored"), {}, "expected a record of bert, found one of mlp"),
    ],
)
def test_a_distributed_step_of_another_kind_or_one_that_fails_is_said(
    reading: Reading, step: dict[str, Any], said: str
) -> None:
    with pytest.raises(Unread, match=said):
        read(reading, distributed(**step))


def test_of_an_example_the_times_are_those_of_its_last_line() -> None:
    batch, step, both = readings_of_devices.written_times("tf", ("a batch", "a step", "both"))
    text = 'a warning\n{"losses": [1.0], "batch_s": 0.5, "step_s": 0.25, "loop_s": 1.5}\n'
    assert [read(each, None, text) for each in (batch, step, both)] == [(0.5, None), (0.25, None), (1.5, None)]
    with pytest.raises(Unread, match="expected a line of JSON, found 'killed'"):
        read(batch, None, "killed")
