"""Mistakes that the optimizer, the loss or the number of devices may hide, each run on two devices and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import replica_mistakes

from compare.distribution import distributing
from compare.distribution.distributing import Asked
from compare.distribution.more_devices import with_more_devices
from compare.distribution.strategies import BY_NAME
from compare.distribution.worker_groups import Groups
from compare.inputs import port_files
from compare.progress import Silent
from compare.record.distribution_part import Distribution
from compare.record.vocabulary import FAIL, PASS
from compare.report.distribution_tables import sentences

pytestmark = pytest.mark.process

OWN = BY_NAME["jax/own"]
Run = Callable[..., Distribution]


def asked(size: str, *names: str) -> Asked:
    return Asked([BY_NAME[name] for name in names or ("jax/own",)], size, 2, 2, timed=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """What becomes of the step of a name; one process serves all on two devices."""
    scratch = tmp_path_factory.mktemp("scratch")
    port = replica_mistakes.write(tmp_path_factory.mktemp("port"))
    with port_files.ports_apart(), Groups({}, 300, 30, scratch) as groups, Groups({}, 300, 30, scratch) as more:
        workload = port_files.get(str(port))

        def distributed(given: Asked) -> Distribution:
            folder = scratch / str(len(list(scratch.iterdir())))
            folder.mkdir()
            return distributing.distribute(workload, given, groups if given.devices == 2 else more, folder, Silent())

        yield distributed


@pytest.mark.parametrize("name", ["right", "right-clipped"])
def test_what_is_right_holds(run: Run, name: str) -> None:
    assert run(asked(name)).strategies["jax/own"].verdict == PASS


FIRST = {
    "averaged-twice": "optimizer state",
    "moments-of-each": "optimizer state",
    "clipped-apart": "kernel",
    "decayed-by-each": "kernel",
    "counted-by-each": "optimizer state",
}
"""By mistake, the array that departs first: to weights Adam's first step is the same however long the gradient is."""


@pytest.mark.parametrize("mistake", FIRST)
def test_a_mistake_fails_where_it_shows(run: Run, mistake: str) -> None:
    step = run(asked(mistake)).strategies["jax/own"]
    assert step.verdict == FAIL
    (departure,) = [each for each in step.parity if each.against == "jax/in-turn"]
    assert (departure.verdict, departure.step) == (FAIL, 1) and departure.leaf.startswith(FIRST[mistake])
    assert bool(step.unlike) == (mistake == "moments-of-each")


def test_clipping_that_is_idle_hides_where_it_stands(run: Run) -> None:
    """A limit of the judge, which docs/distribute.md says: what is never clipped is clipped alike everywhere."""
    assert run(asked("clipped-apart-idle")).strategies["jax/own"].verdict == PASS


def test_an_exchange_with_one_neighbour_shows_on_four_devices(run: Run) -> None:
    verdicts = {}
    for name in ("right", "with-a-neighbour"):
        two = run(asked(name))
        again = with_more_devices(two, asked(name))
        assert again is not None and again.devices == 4
        verdicts[name] = (two.verdict, run(again).verdict)
    assert verdicts == {"right": (PASS, PASS), "with-a-neighbour": (PASS, FAIL)}


def test_a_sum_over_examples_that_replicas_average_is_no_training_step(run: Run) -> None:
    found = run(asked("sum-averaged", "jax/own", "jax/shard_map"))
    for step in found.strategies.values():
        assert step.verdict == FAIL and "the loss adds up over examples" in step.reason
    departure = found.equal_parts["jax"]
    assert departure.verdict == FAIL and departure.found and departure.expected
    assert departure.found / departure.expected == pytest.approx(1 / 2)
    assert any("of equal parts, what replicas compute departs from jax/single" in line for line in sentences(found))


def test_a_sum_over_examples_that_replicas_add_up_holds(run: Run) -> None:
    step = run(asked("sum-summed")).strategies["jax/own"]
    assert (step.verdict, step.means) == (PASS, "single")


def test_draws_that_are_equal_on_all_replicas_fail(run: Run) -> None:
    found = run(asked("seed-of-all", "jax/own", "jax/spmd"))
    assert {name: step.verdict for name, step in found.strategies.items()} == {"jax/own": FAIL, "jax/spmd": PASS}
    assert "draws come from what every device is given whole" in found.strategies["jax/own"].reason


def test_an_input_whose_parts_are_alike_is_told(run: Run) -> None:
    found = run(asked("right"))
    assert found.alike == ("mask",)
    assert any(line.endswith("a mix-up is not seen: mask") for line in sentences(found))
