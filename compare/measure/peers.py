"""Peers beside the port: each is judged against the same oracle, and timed only where it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, Protocol

import msgspec

from compare.inputs.at_size import Prepared
from compare.measure.timed_sets import Timed
from compare.parity.evidence import Evidence, trajectories_as_runs
from compare.parity.holding import Context, Held, measure_noise
from compare.parity.rules import compare_rounding
from compare.parity.structure import compare_structure
from compare.prove.collect import FLOAT32, Collected
from compare.prove.oracle import Doubles
from compare.record.cost_parts import Peer, PeerGate
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS, Judgement, compose
from compare.sides import requests
from compare.sides._side import Side, SideError, Unavailable
from compare.sides.peers import PEERS
from workloads.core.modes import PEER_NAME, Mode, parse_mode
from workloads.core.precision import narrow_dtype
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, STEP, is_kinks

UNAVAILABLE: Final = "unavailable"

_NOT_JUDGED = {
    "semantics": "a peer is not built in float64: its program is not the port's",
    "gradients": "a peer is judged by its outputs and its training run",
}


class Workers(Protocol):
    """Where peers run: compare.sides.pool.Pool, with a source for each."""

    def get(self, name: str) -> Side:
        """The peer's worker, started where it is not up."""
        ...


@dataclass
class _Answers:
    """The answers of one peer, filled request by request."""

    outputs: dict[tuple[str, str, str], Arrays] = field(default_factory=dict)
    trajectory: Arrays | None = None
    without_training: str = ""


def with_peers(instance: Prepared) -> Prepared:
    """Add the targets of peers to an instance: each runs TensorFlow's twin."""
    targets = {**instance.loading.targets, **dict.fromkeys(PEERS, instance.loading.targets["tf"])}
    return dataclasses.replace(instance, loading=dataclasses.replace(instance.loading, targets=targets))


def judge(workers: Workers, small: Prepared, deliveries: Mapping[str, Collected], doubles: Doubles) -> dict[str, Peer]:
    """Judge every peer as the port was judged. The port's parity has to hold.

    Args:
      deliveries: by side, its results.
      doubles: float64 arrays of both sides.
    """
    with_targets = with_peers(small)
    return {peer: _judge_one(workers, peer, with_targets, deliveries["tf"], doubles) for peer in PEERS}


def join(to_time: Timed, results: Mapping[str, Peer], main_pass: str) -> Timed:
    """The workload with the peers that passed as further arms.

    Args:
      results: by peer.
    """
    modes = {**to_time.modes, **arms(results, main_pass)}
    return dataclasses.replace(to_time, prepared=with_peers(to_time.prepared), modes=modes)


def arms(results: Mapping[str, Peer], main_pass: str) -> dict[str, tuple[str, ...]]:
    """The modes of each peer that may be timed: those that passed, on the pass that the twins are timed on."""
    return {
        peer: (PEER_NAME,) for peer, result in results.items() if result.verdict == PASS and main_pass in result.passes
    }


def _judge_one(workers: Workers, peer: str, with_targets: Prepared, tf: Collected, doubles: Doubles) -> Peer:
    version = ""
    try:
        side = workers.get(peer)
        version = str(requests.environment(side)["version"])
        answers = _ask(side, Mode(peer, PEER_NAME), with_targets, tf)
    except Unavailable as error:
        return _result(UNAVAILABLE, error.reason, version=version)
    except SideError as error:
        # A worker that never came up has computed nothing that could be wrong.
        return _result(FAIL if version else UNAVAILABLE, f"{error.doing}: {error.reason}", version=version)
    return msgspec.structs.replace(_judge(Mode(peer, PEER_NAME), with_targets, tf, doubles, answers), version=version)


def _ask(side: Side, mode: Mode, with_targets: Prepared, tf: Collected) -> _Answers:
    requests.load(side, with_targets.loading)
    answers = _Answers()
    for case in with_targets.loading.cases:
        answers.outputs[str(mode), FORWARD, case] = requests.outputs(side, mode.name, FORWARD, case, FLOAT32)
    training = with_targets.workload.training
    if STEP not in tf.modes:
        return answers
    if training is None:
        answers.without_training = "the workload names no examples to judge its training step on"
        return answers
    try:
        answers.trajectory = requests.trajectory(side, mode.name, FLOAT32, training.compared)
    except Unavailable as error:
        answers.without_training = error.reason
    return answers


def _judge(mode: Mode, with_targets: Prepared, tf: Collected, doubles: Doubles, answers: _Answers) -> Peer:
    evidence = _evidence(mode, with_targets, tf, doubles, answers)
    context = Context(evidence, measure_noise(evidence))
    cases = tuple(case for case in with_targets.loading.cases if not is_kinks(case))
    why = answers.without_training or "the workload has no training step"
    gates = {
        "structure": _gate(compare_structure(context), ""),
        "semantics": _gate_of(NOT_APPLICABLE, _NOT_JUDGED["semantics"]),
        "rounding": _gate(compare_rounding(context, "rounding", FORWARD, cases), "no output is floating-point"),
        "gradients": _gate_of(NOT_APPLICABLE, _NOT_JUDGED["gradients"]),
        "training": _gate(_training(evidence) if answers.trajectory is not None else [], why),
    }
    failing, missing = (
        [gate.message for gate in gates.values() if gate.verdict == verdict] for verdict in (FAIL, NOT_JUDGED)
    )
    if failing:
        return _result(FAIL, failing[0], gates)
    if missing:
        return _result(UNAVAILABLE, missing[0], gates)
    passes = (FORWARD,) if answers.trajectory is None else (FORWARD, STEP)
    why_not = answers.without_training if tf.main_pass == STEP else f"a peer has no {tf.main_pass} pass"
    reason = "" if tf.main_pass in passes else f"not timed: {why_not}"
    return _result(PASS, reason, gates, passes=passes)


def _evidence(mode: Mode, with_targets: Prepared, tf: Collected, doubles: Doubles, answers: _Answers) -> Evidence:
    """The peer in the port's place. What is declared of the port excuses no peer."""
    reference = {
        key: run for key, run in (tf.trajectories | doubles.trajectories).items() if parse_mode(key[0]).is_original
    }
    own_trajectory = {} if answers.trajectory is None else {(str(mode), FLOAT32): answers.trajectory}
    return Evidence(
        workload=with_targets.workload.name,
        outputs={key: run for key, run in tf.outputs.items() if key[1] == FORWARD} | answers.outputs,
        doubles={key: run for key, run in doubles.arrays.items() if key[:2] == ("tf", FORWARD)},
        trajectories=reference | own_trajectory,
        failures=(*tf.failures, *doubles.failures),
        port=str(mode),
        computes_in=narrow_dtype(with_targets.loading.dimensions),
    )


def _training(evidence: Evidence) -> list[Held]:
    runs = trajectories_as_runs(evidence)
    return compare_rounding(Context(runs, measure_noise(runs)), "training", STEP, runs.float_cases(STEP))


def _gate(comparisons: Sequence[Held], why_none: str) -> PeerGate:
    if not comparisons:
        return _gate_of(NOT_APPLICABLE, why_none)
    verdict = compose(comparison.verdict for comparison in comparisons)
    messages = (comparison.message for comparison in comparisons if comparison.verdict == verdict)
    return _gate_of(verdict, "" if verdict == PASS else next(messages))


def _gate_of(verdict: Judgement, message: str = "") -> PeerGate:
    return PeerGate(verdict=verdict, message=message)


def _result(
    verdict: Literal["pass", "fail", "unavailable"],
    reason: str,
    gates: Mapping[str, PeerGate] = MappingProxyType({}),
    version: str = "",
    passes: tuple[str, ...] = (),
) -> Peer:
    """`reason` says why a peer fails or is unavailable, or why one that passes cannot train."""
    return Peer(verdict=verdict, reason=reason, gates=gates, version=version, passes=passes)
