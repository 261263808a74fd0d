"""Peers beside the port: judged against the same oracle, timed only where they hold, and told of where they cannot."""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compare.inputs.at_size import Prepared, prepare_both
from compare.measure import peers
from compare.plain_json import to_json
from compare.prove.collect import FLOAT32, FLOAT64, Collected
from compare.prove.oracle import Doubles
from compare.record.cost_parts import Peer
from compare.sides import worker
from compare.sides._side import Reply, Side, SideError, Unavailable
from compare.sides.peers import PEERS
from workloads import ArraySpec, Workload
from workloads.core.spec import Arrays, Training
from workloads.protocol.framework import FORWARD, GRADIENTS, STEP

PEER = PEERS[0]
STEPS = 3


def mean(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The running example in NumPy, in the dtype of its inputs."""
    return np.mean(x**2 * 3 + y, axis=1)


def losses(dtype: str) -> dict[str, np.ndarray]:
    """A training run that is the same in every mode."""
    weights = {f"weights@{step}/w": np.full(4, 1 / step, dtype) for step in range(1, STEPS + 1)}
    return {"loss": np.array([3, 2, 1], dtype) / 7} | weights


TRAINING = Training(dataset=lambda path: {}, dimensions_of=lambda arrays: {}, steps=STEPS, checkpoints=(1, 2))
WORKLOAD = Workload("means", tf="a:b", jax="c:d", inputs={"x": ArraySpec((4, 8)), "y": ArraySpec((4, 8))})


@dataclass
class Spoken(Side):
    """A peer that says what it is told to say; an error is raised."""

    cases: Mapping[str, Arrays]
    changed: Callable[[Arrays], Arrays] = dict
    trained: Arrays | SideError = field(default_factory=lambda: losses("float32"))
    loads: Any = None
    name: str = PEER

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if method == "environment":
            return Reply({"version": "peer 1.0"})
        if method == "load":
            if isinstance(self.loads, SideError):
                raise self.loads
            return Reply({"modes": {FORWARD: ["jit"]}})
        if method == "outputs":
            return Reply(arrays=self.changed({"output": self.cases[parameters["case"]]["output"].astype("float32")}))
        assert method == "trajectory"
        if isinstance(self.trained, SideError):
            raise self.trained
        return Reply(arrays=self.trained)

    def close(self) -> None:
        raise AssertionError("the judge starts and stops no process")


@dataclass
class Staff:
    """Where the judge gets its peers from."""

    side: Side | SideError

    def get(self, name: str) -> Side:
        if isinstance(self.side, SideError):
            raise self.side
        return self.side


@dataclass(frozen=True)
class Reference:
    """What TensorFlow said of the workload, and its oracle."""

    prepared: Prepared
    tf: Collected
    doubles: Doubles
    cases: Mapping[str, Arrays]

    def judged(self, side: Side | SideError, staff: Staff | None = None) -> Peer:
        return peers.judge(staff or Staff(side), self.prepared, {"tf": self.tf}, self.doubles)[PEER]

    def trains(self) -> Reference:
        """The same with a training step."""
        self.tf.modes = {FORWARD: ["jit"], STEP: ["jit"]}
        self.tf.trajectories["tf/jit", FLOAT32] = self.tf.trajectories["tf/eager", FLOAT32] = losses("float32")
        self.doubles.trajectories["tf/graph", FLOAT64] = losses("float64")
        return replace(self, prepared=replace(self.prepared, workload=replace(WORKLOAD, training=TRAINING)))


@pytest.fixture
def reference(tmp_path: Path) -> Reference:
    prepared, _ = prepare_both(WORKLOAD, None, None, tmp_path)
    generator = np.random.default_rng(0)
    tf, doubles, cases = Collected("tf", modes={FORWARD: ["jit"]}), Doubles(), {}
    for case in prepared.loading.cases:
        x, y = generator.standard_normal((2, 4, 8)).astype("float32")
        cases[case] = {"output": mean(x, y)}
        tf.outputs["tf/eager", FORWARD, case] = tf.outputs["tf/jit", FORWARD, case] = cases[case]
        doubles.arrays["tf", FORWARD, case] = {"output": mean(x.astype("float64"), y.astype("float64"))}
    return Reference(prepared, tf, doubles, cases)


# The judge, on peers that say what they are told to say.


def test_a_peer_that_is_right_passes_and_may_be_timed(reference: Reference) -> None:
    result = reference.judged(Spoken(reference.cases))
    assert (result.verdict, result.reason, result.version) == ("pass", "", "peer 1.0")
    assert {name: gate.verdict for name, gate in result.gates.items()} == {
        "structure": "pass",
        "semantics": "not_applicable",
        "rounding": "pass",
        "gradients": "not_applicable",
        "training": "not_applicable",
    }
    assert all(gate.message for gate in result.gates.values() if gate.verdict == "not_applicable")
    assert peers.arms({PEER: result}, FORWARD) == {PEER: ("jit",)}


@pytest.mark.parametrize(
    ("gate", "changed"),
    [
        ("rounding", lambda found: {"output": found["output"] * np.float32(1 + 1e-5)}),
        ("rounding", lambda found: {"output": found["output"][::-1]}),
        ("structure", lambda found: {"output": found["output"] / np.array([1, 1, 1, np.nan], "float32")}),
        ("structure", lambda found: {"output": found["output"].astype("float64")}),
        ("structure", lambda found: {"output": found["output"][:2]}),
        ("structure", lambda found: {"other": found["output"]}),
    ],
    ids=["scaled", "reversed", "nan", "dtype", "shape", "leaf"],
)
def test_a_peer_that_is_wrong_fails_and_is_not_timed(
    reference: Reference, gate: str, changed: Callable[[Arrays], Arrays]
) -> None:
    result = reference.judged(Spoken(reference.cases, changed))
    assert result.verdict == result.gates[gate].verdict == "fail"
    assert result.reason.startswith(f"means: {gate} gate, forward pass")
    assert f"{PEER}/jit" in result.gates[gate].message
    assert "jax/jit" not in result.gates[gate].message.replace(f"{PEER}/jit", "")
    assert peers.arms({PEER: result}, FORWARD) == {}


def test_what_is_declared_of_the_port_excuses_no_peer(reference: Reference) -> None:
    deviation = SimpleNamespace(gate="rounding", bound=1.0, reason="the port's own")
    excused = replace(reference.prepared, workload=replace(WORKLOAD, deviations=(deviation,)))  # type: ignore[arg-type]
    result = replace(reference, prepared=excused).judged(
        Spoken(reference.cases, lambda found: {"output": found["output"] * np.float32(1.5)})
    )
    assert result.gates["rounding"].verdict == "fail"


def test_a_peer_that_trains_is_timed_on_its_training_step(reference: Reference) -> None:
    result = reference.trains().judged(Spoken(reference.cases))
    assert (result.verdict, result.gates["training"].verdict) == ("pass", "pass")
    assert peers.arms({PEER: result}, STEP) == {PEER: ("jit",)}


@pytest.mark.parametrize("leaf", ["loss", "weights@2/w"])
def test_a_peer_that_trains_otherwise_fails(reference: Reference, leaf: str) -> None:
    wrong = losses("float32") | {leaf: losses("float32")[leaf] * np.float32(1.001)}
    result = reference.trains().judged(Spoken(reference.cases, trained=wrong))
    assert result.verdict == result.gates["training"].verdict == "fail"
    assert f"leaf {leaf}" in result.reason
    assert peers.arms({PEER: result}, STEP) == {}


def test_a_peer_without_a_training_step_is_judged_on_its_outputs_and_not_timed(reference: Reference) -> None:
    cannot = Unavailable(PEER, "trajectory", "cannot convert ReluGrad")
    result = reference.trains().judged(Spoken(reference.cases, trained=cannot))
    assert (result.verdict, result.reason) == ("pass", "not timed: cannot convert ReluGrad")
    assert result.gates["training"] == peers.PeerGate("not_applicable", "cannot convert ReluGrad")
    assert peers.arms({PEER: result}, STEP) == {}


def test_a_training_step_that_nothing_is_known_of_is_not_timed(reference: Reference) -> None:
    reference.tf.modes = {FORWARD: ["jit"], STEP: ["jit"]}
    result = reference.judged(Spoken(reference.cases))
    assert result.verdict == "pass"
    assert "no examples" in result.reason
    assert peers.arms({PEER: result}, STEP) == {}


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Unavailable(PEER, "load", "no Keras layers"), "unavailable"),
        (SideError(PEER, "load", "KeyError: 'x'"), "fail"),
        (SideError(PEER, "load", "the worker ended by signal SIGSEGV", is_lost=True), "fail"),
    ],
)
def test_a_peer_that_does_not_answer_says_why(reference: Reference, error: SideError, verdict: str) -> None:
    staff = Staff(Spoken(reference.cases, loads=error))
    result = reference.judged(staff.side, staff)
    assert result.verdict == verdict
    assert error.reason in result.reason
    assert peers.arms({PEER: result}, FORWARD) == {}


@pytest.mark.parametrize("kind", [Unavailable, SideError])
def test_a_peer_that_does_not_start_is_unavailable(reference: Reference, kind: type[SideError]) -> None:
    result = reference.judged(kind(PEER, "import", "found no such package", is_lost=True))
    assert (result.verdict, result.version) == ("unavailable", "")
    assert "found no such package" in result.reason


def test_the_record_holds_a_result_of_every_peer(reference: Reference) -> None:
    results = peers.judge(Staff(Spoken(reference.cases)), reference.prepared, {"tf": reference.tf}, reference.doubles)
    told = to_json(results)
    assert tuple(told) == PEERS
    assert {"verdict", "reason", "gates", "version"} <= set(told[PEER])


# What is not there.


def first_words(monkeypatch: pytest.MonkeyPatch, peer: str) -> dict[str, Any]:
    """What a worker says before it is asked anything."""
    monkeypatch.setitem(worker.HOSTED, peer, f"compare.sides.peers.{peer}")
    monkeypatch.delitem(sys.modules, f"compare.sides.peers.{peer}", raising=False)
    replies = io.BytesIO()
    worker.serve(peer, io.BytesIO(), replies)
    return json.loads(replies.getvalue())


def test_a_peer_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tf2jax", None)
    said = first_words(monkeypatch, "tf2jax")
    assert said["kind"] == "unavailable"
    assert said["reason"].startswith("expected tf2jax, found ")
    assert said["reason"].endswith("run `pip install 'jaxport[peers]'`")
    assert "\n" not in said["reason"]


@pytest.mark.heavy
def test_keras_on_another_backend_is_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("tf_reference")  # with Keras itself
    keras = SimpleNamespace(backend=SimpleNamespace(backend=lambda: "tensorflow"))
    monkeypatch.setitem(sys.modules, "keras", keras)  # type: ignore[arg-type]
    said = first_words(monkeypatch, "keras_jax")
    assert said["kind"] == "unavailable"
    assert said["reason"] == "expected Keras on JAX, found tensorflow: set KERAS_BACKEND=jax"


def test_the_names_of_the_peers_are_their_modules() -> None:
    folder = Path(str(importlib.import_module("compare.sides.peers").__file__)).parent
    assert {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")} == set(PEERS)


@pytest.mark.parametrize(
    ("timed_on", "reason", "arms"),
    [
        (FORWARD, "", {PEER: ("jit",)}),
        (STEP, "not timed: cannot convert ReluGrad", {}),
        (GRADIENTS, "not timed: a peer has no gradients pass", {}),
    ],
)
def test_a_peer_is_timed_where_it_has_the_pass_that_the_twins_are_timed_on(
    reference: Reference, timed_on: str, reason: str, arms: dict[str, tuple[str, ...]]
) -> None:
    trains = reference.trains()
    trains.tf.chosen = timed_on
    result = trains.judged(Spoken(reference.cases, trained=Unavailable(PEER, "trajectory", "cannot convert ReluGrad")))
    assert (result.verdict, result.reason) == ("pass", reason)
    assert peers.arms({PEER: result}, timed_on) == arms
