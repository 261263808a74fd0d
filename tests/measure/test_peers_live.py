"""Real peers in workers of their own: each holds on what it can do, and fails where TensorFlow says something else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from interpreters import interpreter
from places import ROOT

from compare.inputs.at_size import Prepared, prepare_both
from compare.measure import peers
from compare.prove.collect import FLOAT32, FLOAT64, Collected
from compare.prove.oracle import Doubles
from compare.record.cost_parts import Peer
from compare.sides import client, requests
from compare.sides._side import Side, Unavailable
from compare.sides.client import LiveSide
from compare.sides.peers import PEERS
from workloads import ArraySpec, Workload
from workloads.core import registry
from workloads.core.spec import Arrays, Training
from workloads.protocol.framework import FORWARD, STEP

pytestmark = pytest.mark.skipif(find_spec("tf2jax") is None, reason="tf2jax is not installed")

DESCENT = """
import tensorflow as tf
from tf_reference import Model

def build(dimensions, dtype):
    # Two variables of one name and shape: which is which must not rest on names.
    scale, shift = (tf.Variable(tf.ones(4, dtype), name="same") for _ in range(2))

    def loss(x):
        return tf.reduce_mean(tf.square(x * scale - 2 * shift))

    def step(x):
        with tf.GradientTape() as tape:
            value = loss(x)
        for variable, gradient in zip((scale, shift), tape.gradient(value, (scale, shift))):
            variable.assign_sub(0.1 * gradient)
        return value

    return Model(lambda x: x * scale - shift, {"shift": shift, "scale": scale}, loss=loss, step=step)
"""


def descent(folder: Path) -> Workload:
    (folder / "descent.py").write_text(DESCENT)
    examples = np.random.default_rng(0).standard_normal((32, 4)).astype("float32")
    return Workload(
        "descent",
        tf="descent.py:build",
        jax="descent.py:build",
        inputs={"x": ArraySpec((8, 4))},
        weights={"scale": ArraySpec((4,)), "shift": ArraySpec((4,))},
        sizes={"smoke": {"batch": 8}},
        training=Training(lambda path: {"x": examples}, lambda arrays: {}, steps=5, checkpoints=(1,)),
        folder=folder,
    )


def said(side: Side, prepared: Prepared) -> tuple[Collected, Doubles]:
    """What peers are held against: the part of what is collected of TensorFlow that they have a part in."""
    found, doubles = Collected("tf", modes=requests.load(side, prepared.loading)), Doubles()
    for case in prepared.loading.cases:
        doubles.arrays["tf", FORWARD, case] = requests.outputs(side, "graph", FORWARD, case, FLOAT64)
        for mode in ("eager", "jit"):
            found.outputs[f"tf/{mode}", FORWARD, case] = requests.outputs(side, mode, FORWARD, case, FLOAT32)
    if prepared.workload.training:
        for mode, dtype in (("graph", FLOAT64), ("graph", FLOAT32), ("jit", FLOAT32)):
            run = requests.trajectory(side, mode, dtype, prepared.workload.training.compared)
            found.trajectories[f"tf/{mode}", dtype] = run
    return found, doubles


LAYERS = """
import keras
import tensorflow as tf
from tf_reference import Model

def model(activation, after=lambda x: x):
    dense = keras.layers.Dense(4, activation=activation)
    dense.build((None, 4))
    return Model(lambda x: after(dense(x)), {"kernel": dense.kernel, "bias": dense.bias})

def rectified(dimensions, dtype):
    return model("relu")

def bounded(dimensions, dtype):
    return model("tanh")

def mixed(dimensions, dtype):
    return model("relu", tf.nn.relu)

class Rectified(keras.layers.Layer):
    def call(self, x):
        return tf.nn.relu(x)

def mixed_in_a_layer(dimensions, dtype):
    return model("relu", Rectified())
"""


def layers(folder: Path, name: str) -> Prepared:
    """A Keras twin of one layer."""
    (folder / "layers.py").write_text(LAYERS)
    target = f"layers.py:{name}"
    weights = {"kernel": ArraySpec((4, 4)), "bias": ArraySpec((4,))}
    asked = Workload(name, tf=target, jax=target, inputs={"x": ArraySpec((8, 4))}, weights=weights, folder=folder)
    return peers.with_peers(prepare_both(asked, None, None, folder)[0])


class Bench:
    """Live workers of TensorFlow and of every peer, and what TensorFlow said of each workload."""

    def __init__(self, sides: Mapping[str, LiveSide], folder: Path) -> None:
        self._sides = sides
        classifier = registry.get("mnist_mlp")
        assert classifier.training
        shorter = replace(classifier, training=replace(classifier.training, steps=5, checkpoints=(1,)))
        self.prepared: dict[str, Prepared] = {}
        self.tf: dict[str, Collected] = {}
        self.doubles: dict[str, Doubles] = {}
        feed_forward = registry.get(str(ROOT / "examples" / "feed_forward" / "port.py"))
        for each in (registry.get("running_example"), feed_forward, shorter, descent(folder)):
            self.prepared[each.name] = prepare_both(each, "smoke", None, folder)[0]
            self.tf[each.name], self.doubles[each.name] = said(self.get("tf"), self.prepared[each.name])

    def judged(self, name: str) -> dict[str, Peer]:
        return peers.judge(self, self.prepared[name], {"tf": self.tf[name]}, self.doubles[name])

    def get(self, name: str) -> LiveSide:
        return self._sides[name]


def host(folder: Path, peer: str) -> str:
    """An interpreter whose worker knows one peer."""
    knows = f"worker.HOSTED['{peer}'] = 'compare.sides.peers.{peer}'"
    code = f"import sys; sys.argv = ['', '{peer}']; from compare.sides import worker; {knows}; worker.main()"
    backend = "KERAS_BACKEND=jax " if peer == "keras_jax" else ""
    return interpreter(folder, f'{backend}exec {sys.executable} -c "{code}"')


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("peers")
    with pytest.MonkeyPatch.context() as patch:
        for peer in PEERS:
            patch.setitem(client.NAMES, peer, peer)
        # All at once: each imports TensorFlow.
        sides = {"tf": LiveSide("tf", folder)} | {peer: LiveSide(peer, folder, host(folder, peer)) for peer in PEERS}
        try:
            yield Bench(sides, folder)
        finally:
            for side in sides.values():
                side.close()


@pytest.fixture(scope="module")
def results(bench: Bench) -> dict[str, dict[str, Peer]]:
    return {name: bench.judged(name) for name in bench.prepared}


EXPECTED = {
    ("running_example", "tf2jax"): ("pass", (FORWARD,)),
    ("running_example", "call_tf"): ("pass", (FORWARD,)),
    ("running_example", "keras_jax"): ("unavailable", ()),
    ("feed_forward", "tf2jax"): ("pass", (FORWARD,)),
    ("feed_forward", "call_tf"): ("pass", (FORWARD,)),
    ("feed_forward", "keras_jax"): ("unavailable", ()),
    ("mnist_mlp", "tf2jax"): ("pass", (FORWARD,)),
    ("mnist_mlp", "call_tf"): ("pass", (FORWARD,)),
    ("mnist_mlp", "keras_jax"): ("pass", (FORWARD, STEP)),
    ("descent", "tf2jax"): ("pass", (FORWARD, STEP)),
    ("descent", "call_tf"): ("pass", (FORWARD,)),
    ("descent", "keras_jax"): ("unavailable", ()),
}


@pytest.mark.parametrize(("name", "peer"), EXPECTED)
def test_a_real_peer_holds_on_what_it_can_do(results: dict[str, dict[str, Peer]], name: str, peer: str) -> None:
    result = results[name][peer]
    assert (result.verdict, result.passes) == EXPECTED[name, peer], result
    assert result.version


def test_what_a_real_peer_cannot_do_is_said_in_a_line(results: dict[str, dict[str, Peer]]) -> None:
    assert "'ReluGrad'" in results["mnist_mlp"]["tf2jax"].reason
    assert "cannot update TensorFlow's variables" in results["mnist_mlp"]["call_tf"].reason
    assert "Keras layers" in results["running_example"]["keras_jax"].reason
    assert not any("\n" in result.reason for each in results.values() for result in each.values())


@pytest.mark.parametrize(("name", "gate"), [("running_example", "rounding"), ("mnist_mlp", "training")])
def test_a_real_peer_fails_against_another_oracle(bench: Bench, name: str, gate: str) -> None:
    """The same as a peer that computes something else: TensorFlow's twin is moved by 1e-3 in its place."""

    def moved(run: Arrays) -> Arrays:
        return {leaf: (array * 1.001).astype(array.dtype) for leaf, array in run.items()}

    reference, doubles = bench.tf[name], bench.doubles[name]
    if gate == "training":
        tf = replace(reference, trajectories={key: moved(run) for key, run in reference.trajectories.items()})
    else:
        tf = replace(reference, outputs={key: moved(run) for key, run in reference.outputs.items()})
        doubles = Doubles({key: moved(run) for key, run in doubles.arrays.items()})
    found = peers.judge(bench, bench.prepared[name], {"tf": tf}, doubles)
    asked = [peer for peer, (_, passes) in ((p, EXPECTED[name, p]) for p in PEERS) if tf.main_pass in passes]
    assert asked
    for peer in asked:
        assert found[peer].verdict == found[peer].gates[gate].verdict == "fail"


@pytest.mark.parametrize(("name", "peer"), [("running_example", "call_tf"), ("mnist_mlp", "keras_jax")])
def test_a_real_peer_is_timed_like_any_side(bench: Bench, name: str, peer: str) -> None:
    side = bench.get(peer)
    requests.load(side, peers.with_peers(bench.prepared[name]).loading)
    ready = requests.prepare(side, "jit")
    assert all(ready[phase] > 0 for phase in ("first_call_s", "trace_s", "compile_s"))
    assert len(requests.time_round(side, "jit", 3)) == 3


def test_a_peer_without_the_pass_that_is_timed_is_refused_by_its_worker_too(bench: Bench) -> None:
    side = bench.get("call_tf")
    requests.load(side, peers.with_peers(bench.prepared["mnist_mlp"]).loading)
    with pytest.raises(Unavailable, match="cannot update TensorFlow's variables"):
        requests.prepare(side, "jit")


@pytest.mark.parametrize("name", ["mixed", "mixed_in_a_layer"])
def test_a_keras_twin_that_calls_tensorflow_is_no_keras_workload(bench: Bench, tmp_path: Path, name: str) -> None:
    found = peers.judge(bench, layers(tmp_path, name), {"tf": Collected("tf")}, Doubles())["keras_jax"]
    assert found.verdict == "unavailable"
    assert "TensorFlow's own operations" in found.reason


def test_a_worker_that_was_given_another_twin_runs_that_one(bench: Bench, tmp_path: Path) -> None:
    """Of the same names and shapes: what was traced of the one must not stand for the other."""
    side, largest = bench.get("keras_jax"), []
    for name in ("rectified", "bounded"):
        prepared = layers(tmp_path, name)
        requests.load(side, prepared.loading)
        largest.append(requests.outputs(side, "jit", FORWARD, prepared.loading.cases[0], FLOAT32)["output"].max())
    assert largest[1] <= 1 < largest[0]
