"""Distributed steps with one mistake each, run on two devices: the judge says so, and names the first value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import distributed_ports
import pytest

from compare.distribution import distributing
from compare.distribution.distributing import Asked
from compare.distribution.strategies import BY_NAME
from compare.distribution.worker_groups import Groups
from compare.errors import RequestError
from compare.inputs import port_files
from compare.progress import Silent
from compare.record.distribution_part import Distribution
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.sides import strategy_requests
from compare.sides._side import SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet

pytestmark = pytest.mark.process

Run = Callable[..., Distribution]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """What becomes of the small model's step of a name; one process serves all."""
    scratch = tmp_path_factory.mktemp("scratch")
    port = distributed_ports.write(tmp_path_factory.mktemp("port"))
    with port_files.ports_apart(), Groups({}, 300, 30, scratch) as groups:
        workload = port_files.get(str(port))

        def distributed(size: str, *names: str, resumed: bool = False) -> Distribution:
            strategies = [BY_NAME[name] for name in names or ("jax/own",)]
            folder = scratch / f"{size}-{len(list(scratch.iterdir()))}"
            folder.mkdir()
            return distributing.distribute(
                workload, Asked(strategies, size, 2, 3, timed=False, resumed=resumed), groups, folder, Silent()
            )

        yield distributed


def test_right_steps_hold(run: Run) -> None:
    found = run("right", "jax/own", "jax/spmd", "jax/shard_map")
    assert {name: step.verdict for name, step in found.strategies.items()} == dict.fromkeys(
        ("jax/own", "jax/spmd", "jax/shard_map"), PASS
    )
    assert found.verdict == PASS
    assert [found.strategies[name].means for name in ("jax/own", "jax/spmd")] == ["in-turn", "single"]
    # Each device normalises by its own mean: that is another step than on one device, and said.
    assert {each.against: each.verdict for each in found.strategies["jax/own"].parity} == {
        "jax/single": FAIL,
        "jax/in-turn": PASS,
    }
    # One program for both devices.
    assert {step.compilations for step in found.strategies.values()} == {1}
    assert all(transfer.groups == ((0, 1),) for step in found.strategies.values() for transfer in step.transfers)


FIRST = {
    "summed": (1, "optimizer state"),
    "not-reduced": (1, "kernel"),
    "loss-alone-of-one": (1, "loss"),
    "statistics-of-one": (1, "mean"),
    "statistics-of-each": (1, "mean"),
    "draws-of-one": (1, "loss"),
    "reduced-late": (1, "kernel"),
}
"""By mistake, the step and the array that depart first."""


@pytest.mark.parametrize("mistake", FIRST)
def test_a_mistake_fails_at_its_first_value(run: Run, mistake: str) -> None:
    found = run(mistake)
    step = found.strategies["jax/own"]
    assert found.verdict == step.verdict == FAIL
    departures = {each.against: each for each in step.parity}
    assert {each.verdict for each in departures.values()} == {FAIL}
    first = departures["jax/in-turn"]
    after, leaf = FIRST[mistake]
    assert first.step == after and first.leaf.startswith(leaf)


@pytest.mark.parametrize("mistake", ["not-reduced", "statistics-of-each"])
def test_copies_that_differ_are_named(run: Run, mistake: str) -> None:
    unlike = run(mistake).strategies["jax/own"].unlike
    assert unlike and unlike[0].step == 1 and len(set(unlike[0].devices)) == 2
    assert {each.leaf for each in unlike} >= ({"mean"} if mistake == "statistics-of-each" else {"kernel"})


def test_with_adam_a_sum_in_place_of_a_mean_shows_in_the_state(run: Run) -> None:
    """Adam divides by the size of the gradient: weights are the same but for its epsilon, moments are not."""
    (departure,) = [each for each in run("summed").strategies["jax/own"].parity if each.against == "jax/in-turn"]
    assert departure.leaf.startswith("optimizer state")
    assert departure.expected and departure.found
    assert departure.found / departure.expected == pytest.approx(2) or departure.error == pytest.approx(3)


def test_divided_weights_are_the_step_of_one_device(run: Run) -> None:
    found = run("right", "jax/fsdp", "jax/tensor", resumed=True)
    fsdp, tensor = found.strategies["jax/fsdp"], found.strategies["jax/tensor"]
    assert (fsdp.verdict, fsdp.means) == (PASS, "single"), fsdp
    # Each device has a part of the kernel: it is gathered, where `jax/spmd` has the whole everywhere.
    assert "all-gather" in {transfer.kind for transfer in fsdp.transfers}
    assert fsdp.resumed is not None and fsdp.resumed.identical
    # Three features on two devices.
    assert tensor.verdict == NOT_APPLICABLE and "expected features that 2 divides, found 3 of kernel" in tensor.reason


def test_bert_is_divided_by_heads_and_features(tmp_path: Path) -> None:
    with Groups({}, 300, 30, tmp_path) as groups:
        asked = Asked([BY_NAME["jax/tensor"]], "smoke", 2, 1, timed=False)
        found = distributing.distribute(port_files.get("bert"), asked, groups, tmp_path, Silent())
    (step,) = found.strategies.values()
    assert found.verdict == step.verdict == PASS and step.means == "single"
    assert {each.against: each.verdict for each in step.parity}["jax/single"] == PASS
    # Megatron-LM: all-reduces alone, behind attention and behind the feed-forward layer.
    assert {each.kind for each in step.transfers} == {"all-reduce"}


def test_a_batch_that_does_not_divide_is_refused(run: Run) -> None:
    with pytest.raises(RequestError, match=r"expected a batch of small that 2 devices divide, found 7 at size odd"):
        run("odd")


def test_a_killed_process_is_resumed(run: Run) -> None:
    found = run("right", "jax/own", "jax/gloo", resumed=True)
    for name, processes in (("jax/own", 1), ("jax/gloo", 2)):
        step = found.strategies[name]
        assert (step.verdict, step.devices, step.processes) == (PASS, 2 * processes, processes), step
        # After a process was started anew it has as many devices as before.
        assert {transfer.groups for transfer in step.transfers} == {(tuple(range(2 * processes)),)}
        assert step.resumed is not None and step.resumed.identical and step.resumed.after == 1
        assert "SIGKILL" in step.resumed.killed
        assert step.resumed.killed.startswith("process 1 of 2: ") == (processes == 2)


def test_a_process_that_never_comes_is_told_after_the_limit(tmp_path: Path) -> None:
    with WorkerSet(lambda _: LiveSide("jax_strategies", tmp_path, settings=Settings(logical_devices=1))) as workers:
        alone = workers.get("alone")
        with pytest.raises(
            SideError, match=r"expected 2 processes to join within 2 s, found that process 0 still waits"
        ):
            strategy_requests.join([alone], ["127.0.0.1:1", "127.0.0.1:2"], 2)
        assert not alone.alive
