"""What real sides count in a stream of calls, and that arguments arrive as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from compare.inputs.call_streams import parse_call, stream
from compare.sides import requests
from compare.sides._side import SIDES, BadTarget, SideError
from compare.sides.call_arguments import CallLeaf, Leaves, pack, unpack
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet
from workloads.limits.recompilation import STREAMS, Expected, jax_target, tf_target
from workloads.protocol.recompiling import Staging

FUNCTIONS = {
    "tf": """
import tensorflow as tf
own = tf.function(lambda x: x + 1, input_signature=[tf.TensorSpec([None])], jit_compile=True)
graph = tf.function(lambda x: x + 1)
tree = lambda batch, scale=1.0: batch["x"] * scale
number = lambda x: x + 1
""",
    "jax": """
import jax
own = jax.jit(lambda x, mode, k=1: x * k if mode else x, static_argnames="mode", donate_argnums=0)
tree = lambda batch, scale=1.0: batch["x"] * scale
number = lambda x: x + 1
""",
}


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dump")


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory, dump: Path) -> Iterator[WorkerSet]:
    """Both sides, XLA of each writing what it compiles."""
    scratch = tmp_path_factory.mktemp("scratch")
    with WorkerSet(lambda side: LiveSide(side, scratch, settings=Settings(dump=dump / side))) as started:
        started.start(SIDES)
        yield started


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    for side, text in FUNCTIONS.items():
        (tmp_path / f"{side}_functions.py").write_text(text)
    return {side: str(tmp_path / f"{side}_functions.py") for side in FUNCTIONS}


def counted(workers: WorkerSet, side: str, staging: Staging, texts: list[str]) -> list[tuple[int, int]]:
    worker = workers.get(side)
    requests.watch(worker, staging)
    calls = stream(texts, [])
    seen = [requests.watched_call(worker, call.arguments)[0] for call in calls]
    return [(one.traces, one.compilations) for one in seen]


@pytest.mark.process
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", STREAMS)
def test_the_examples_are_traced_and_compiled_as_they_say(workers: WorkerSet, side: str, name: str, dump: Path) -> None:
    example, worker = STREAMS[name], workers.get(side)
    target = tf_target(name) if side == "tf" else jax_target(name)
    requests.watch(worker, Staging(target, example.static if side == "jax" else ()))
    before = dumped(dump / side)
    seen = [requests.watched_call(worker, one.arguments)[0] for one in stream(example.calls, example.sizes)]
    assert Expected(sum(one.traces for one in seen), sum(one.compilations for one in seen)) == example.expected[side]
    assert dumped(dump / side) - before == example.expected[side].compilations


def dumped(folder: Path) -> int:
    """Modules that XLA itself says it optimized: a count that owes nothing to a profiler or a listener."""
    return len(list(folder.glob("module_*after_optimizations.txt")))


@pytest.mark.process
def test_both_frameworks_give_the_same_results_in_the_examples(workers: WorkerSet) -> None:
    for name, example in STREAMS.items():
        (call, *_) = stream(example.calls, example.sizes)
        results = []
        for side, target in (("tf", tf_target(name)), ("jax", jax_target(name))):
            requests.watch(workers.get(side), Staging(target, example.static if side == "jax" else ()))
            results.append(requests.watched_call(workers.get(side), call.arguments)[1]["0"])
        np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


@pytest.mark.process
def test_a_function_that_is_compiled_already_keeps_what_it_was_told(workers: WorkerSet, files: dict[str, str]) -> None:
    vectors = ["x=f32[2]", "x=f32[3]", "x=f32[2]"]
    assert counted(workers, "tf", Staging(f"{files['tf']}:own"), vectors) == [(1, 1), (0, 1), (0, 0)]
    assert counted(workers, "tf", Staging(f"{files['tf']}:graph"), vectors) == [(1, 0), (1, 0), (0, 0)]
    texts = ["x=f32[2], mode=True", "x=f32[2], mode=False", "x=f32[2], mode=True, k=2", "x=f32[2], mode=True, k=3"]
    assert counted(workers, "jax", Staging(f"{files['jax']}:own"), texts) == [(1, 1), (1, 1), (1, 1), (0, 0)]


@pytest.mark.process
def test_numbers_count_by_value_type_or_not_at_all(workers: WorkerSet, files: dict[str, str]) -> None:
    texts = ["x=1.0", "x=1", "x=2", "x=np.float32(1)", "x=np.float32(2)", "x=f32(3)"]
    once, hit = (1, 1), (0, 0)
    # Equal Python values share a trace of TensorFlow's, whatever their types: 1 gives what 1.0 gave.
    assert counted(workers, "tf", Staging(f"{files['tf']}:number"), texts) == [once, hit, once, once, hit, hit]
    assert counted(workers, "jax", Staging(f"{files['jax']}:number"), texts) == [once, once, hit, once, hit, hit]


@pytest.mark.process
@pytest.mark.parametrize("side", SIDES)
def test_structures_and_arguments_by_name_arrive(workers: WorkerSet, files: dict[str, str], side: str) -> None:
    worker = workers.get(side)
    requests.watch(worker, Staging(f"{files[side]}:tree"))
    batch = {"batch": {"x": np.float32([1, 2]), "y": [np.int32(3), (None, True)]}, "scale": 3.0}
    _, results = requests.watched_call(worker, batch)
    assert results["0"].tolist() == [3.0, 6.0]


@pytest.mark.process
@pytest.mark.parametrize("side", SIDES)
def test_a_probe_holds_one_call_alone_in_its_cache(workers: WorkerSet, files: dict[str, str], side: str) -> None:
    worker = workers.get(side)
    requests.watch(worker, Staging(f"{files[side]}:tree"))
    two, three = ({"batch": {"x": np.ones(n, np.float32)}} for n in (2, 3))
    for body in (True, False):
        assert requests.probe(worker, two, three, body).traces == 1
        assert requests.probe(worker, two, two, body).traces == 0


@pytest.mark.process
@pytest.mark.parametrize("side", SIDES)
def test_a_call_that_fails_costs_itself(workers: WorkerSet, files: dict[str, str], side: str) -> None:
    worker = workers.get(side)
    requests.watch(worker, Staging(f"{files[side]}:tree"))
    with pytest.raises(SideError, match="batch"):
        requests.watched_call(worker, {"scale": 1.0})
    assert requests.watched_call(worker, {"batch": {"x": np.ones(2, np.float32)}})[0].traces == 1
    with pytest.raises(BadTarget, match="nothing_here"):
        requests.watch(worker, Staging(f"{files[side]}:nothing_here"))


def test_arguments_come_back_as_they_were_sent() -> None:
    call = parse_call("x={'a': [f32[2,B], (1, None)], 'b': 'text'}, k=np.int8(3), y=-2.5, z=True")
    leaves, arrays = pack(call)
    again = unpack(msgspec.convert(leaves, Leaves), arrays)
    assert again == call and type(again["k"]) is np.int8 and type(again["x"]["a"]) is list
    leaves, arrays = pack({"x": (np.arange(3),)}, "before")
    assert list(arrays) == ["before0"]
    assert unpack(msgspec.convert(leaves, Leaves), arrays)["x"][0].tolist() == [0, 1, 2]


def test_leaves_that_make_no_structure_are_refused() -> None:
    with pytest.raises(ValueError, match="expected the path"):
        unpack([CallLeaf((), (), "python", 1)], {})
