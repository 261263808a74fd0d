"""Peers beside the port: each is judged against the same oracle, and timed only where it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from compare.inputs.at_size import Prepared
from compare.measure.timed_sets import Timed
from compare.parity.evidence import PORT, Evidence, trajectories_as_runs
from compare.parity.holding import Context, Held, measure_noise
from compare.parity.rules import compare_rounding
from compare.parity.structure import compare_structure
from compare.prove.collect import FLOAT32, Collected
from compare.prove.oracle import Doubles
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.sides import requests
from compare.sides._side import Side, SideError, Unavailable
from compare.sides.peers import PEERS
from workloads._framework import FORWARD, STEP, is_kinks
from workloads._precision import narrow_dtype
from workloads._spec import Arrays

UNAVAILABLE = "unavailable"

MODE = "jit"
"""The one mode of every peer."""

_NOT_JUDGED = {
    "semantics": "a peer has no float64 self: its program is not the port's",
    "gradients": "a peer is judged by its outputs and its training run",
}


class Workers(Protocol):
    """Where peers run: compare.sides.pool.Pool, with a source for each."""

    def get(self, name: str) -> Side: ...

    def drop(self, name: str) -> None: ...


@dataclass(frozen=True)
class PeerGate:
    """A verdict, and the first comparison that failed or the reason that there is none."""

    verdict: str
    message: str = ""


@dataclass(frozen=True)
class PeerResult:
    """What became of one peer: pass, fail, or unavailable where it does not apply or is not installed.

    `reason` says why it failed or is unavailable, or why a peer that passes cannot train.
    """

    verdict: str
    reason: str = ""
    gates: Mapping[str, PeerGate] = field(default_factory=dict)
    version: str = ""
    passes: Sequence[str] = ()
    """The passes that its parity was judged on."""


@dataclass
class _Answers:
    """What one peer said, filled request by request."""

    outputs: dict[tuple[str, str, str], Arrays] = field(default_factory=dict)
    trajectory: Arrays | None = None
    without_training: str = ""


def with_peers(prepared: Prepared) -> Prepared:
    """The workload as peers are told of it too: their target is TensorFlow's twin."""
    targets = {**prepared.loading.targets, **dict.fromkeys(PEERS, prepared.loading.targets["tf"])}
    return dataclasses.replace(prepared, loading=dataclasses.replace(prepared.loading, targets=targets))


def judge(
    workers: Workers, small: Prepared, collected: Mapping[str, Collected], doubles: Doubles
) -> dict[str, PeerResult]:
    """Hold every peer against what the port was held against. Asked for where the port's parity holds."""
    told = with_peers(small)
    return {peer: _judge_one(workers, peer, told, collected["tf"], doubles) for peer in PEERS}


def join(timed: Timed, results: Mapping[str, PeerResult], main_pass: str) -> Timed:
    """The workload with the peers that passed as further arms."""
    modes = {**timed.modes, **arms(results, main_pass)}
    return dataclasses.replace(timed, prepared=with_peers(timed.prepared), modes=modes)


def arms(results: Mapping[str, PeerResult], main_pass: str) -> dict[str, tuple[str, ...]]:
    """The modes of each peer that may be timed: those that passed, on the pass that the twins are timed on."""
    return {peer: (MODE,) for peer, result in results.items() if result.verdict == PASS and main_pass in result.passes}


def _judge_one(workers: Workers, peer: str, told: Prepared, tf: Collected, doubles: Doubles) -> PeerResult:
    version = ""
    try:
        side = workers.get(peer)
        version = requests.environment(side)["version"]
        answers = _ask(side, told, tf)
    except Unavailable as error:
        return PeerResult(UNAVAILABLE, error.reason, version=version)
    except SideError as error:
        if error.lost:
            workers.drop(peer)
        # A worker that never came up has computed nothing that could be wrong.
        return PeerResult(FAIL if version else UNAVAILABLE, f"{error.doing}: {error.reason}", version=version)
    return dataclasses.replace(_judged(peer, told, tf, doubles, answers), version=version)


def _ask(side: Side, told: Prepared, tf: Collected) -> _Answers:
    requests.load(side, told.loading)
    found = _Answers()
    for case in told.loading.cases:
        found.outputs[PORT, FORWARD, case] = requests.outputs(side, MODE, FORWARD, case, FLOAT32)
    training = told.workload.training
    if STEP not in tf.modes:
        return found
    if training is None:
        found.without_training = "the workload names no examples to judge its training step on"
        return found
    try:
        found.trajectory = requests.trajectory(side, MODE, FLOAT32, training.compared)
    except Unavailable as error:
        found.without_training = error.reason
    return found


def _judged(peer: str, told: Prepared, tf: Collected, doubles: Doubles, answers: _Answers) -> PeerResult:
    evidence = _evidence(told, tf, doubles, answers)
    context = Context(evidence, measure_noise(evidence))
    cases = tuple(case for case in told.loading.cases if not is_kinks(case))
    why = answers.without_training or "the workload has no training step"
    gates = {
        "structure": _gate(peer, compare_structure(context), ""),
        "semantics": PeerGate(NOT_APPLICABLE, _NOT_JUDGED["semantics"]),
        "rounding": _gate(peer, compare_rounding(context, "rounding", FORWARD, cases), "no output is floating-point"),
        "gradients": PeerGate(NOT_APPLICABLE, _NOT_JUDGED["gradients"]),
        "training": _gate(peer, _training(evidence) if answers.trajectory is not None else [], why),
    }
    failing = [gate.message for gate in gates.values() if gate.verdict == FAIL]
    if failing:
        return PeerResult(FAIL, failing[0], gates)
    passes = (FORWARD,) if answers.trajectory is None else (FORWARD, STEP)
    reason = f"not timed: {answers.without_training}" if answers.without_training else ""
    return PeerResult(PASS, reason, gates, passes=passes)


def _evidence(told: Prepared, tf: Collected, doubles: Doubles, answers: _Answers) -> Evidence:
    """The peer in the port's place. What is declared of the port excuses no peer."""
    reference = {key: run for key, run in (tf.trajectories | doubles.trajectories).items() if key[0].startswith("tf/")}
    trained = {} if answers.trajectory is None else {(PORT, FLOAT32): answers.trajectory}
    return Evidence(
        workload=told.workload.name,
        outputs={key: run for key, run in tf.outputs.items() if key[1] == FORWARD} | answers.outputs,
        doubles={key: run for key, run in doubles.arrays.items() if key[:2] == ("tf", FORWARD)},
        trajectories=reference | trained,
        failures=(*tf.failures, *doubles.failures),
        computes_in=narrow_dtype(told.loading.dimensions),
    )


def _training(evidence: Evidence) -> list[Held]:
    runs = trajectories_as_runs(evidence)
    return compare_rounding(Context(runs, measure_noise(runs)), "training", STEP, runs.float_cases(STEP))


def _gate(peer: str, held: Sequence[Held], why_none: str) -> PeerGate:
    if not held:
        return PeerGate(NOT_APPLICABLE, why_none)
    failed = [each for each in held if each.verdict == FAIL]
    if not failed:
        return PeerGate(PASS)
    return PeerGate(FAIL, failed[0].message.replace(PORT, f"{peer}/{MODE}"))
