"""Adds TensorFlow's float64 runs in its other mode, where its own modes may disagree.

The reference is eager mode in cases that both sides ran, and XLA in those that programs suggest.
"""

from __future__ import annotations

import dataclasses

from compare.parity import unjudged
from compare.parity.evidence import TF_REFERENCE, TF_XLA, Evidence, Otherwise
from compare.parity.holding import Leaves
from compare.parity.own_modes import DISAGREES, disagreement
from compare.prove.oracle import NATIVE, Doubles
from compare.prove.original_modes import AskEager
from compare.prove.running import running
from compare.record.vocabulary import FAIL
from workloads.core.modes import TF
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, GRADIENTS, Twin


def with_xla(evidence: Evidence, leaves: Leaves, twin: Twin, doubles: Doubles) -> Evidence:
    """The evidence with XLA's float64 results, in cases where TensorFlow's modes differ, or where the port fails.

    Args:
      evidence: the evidence to judge; XLA's results that it has are not computed again.
      doubles: the float64 programs, and their results.

    Raises:
      UnreadableProgram: XLA cannot run a program apart.
    """
    by_mode: dict[tuple[str, str], Otherwise] = {}
    runs_to_judge = _select_runs(leaves)
    for pass_ in (FORWARD, GRADIENTS):
        runs = [(pass_, case) for case in evidence.float_cases(pass_)]
        cases = [case for _, case in runs if (pass_, case) in runs_to_judge - evidence.otherwise.keys()]
        program = doubles.programs.get((TF, pass_))
        if cases and program is not None and _is_eager(evidence, pass_):
            for case, arrays in running(program, twin).by_case(cases).items():
                by_mode[pass_, case] = Otherwise(TF_XLA, TF_REFERENCE, arrays)
    return dataclasses.replace(evidence, otherwise={**evidence.otherwise, **by_mode}) if by_mode else evidence


def with_eager(evidence: Evidence, leaves: Leaves, doubles: Doubles, eager: AskEager) -> Evidence:
    """The evidence held to eager mode in float64, in cases that programs suggest and that alone fail.

    XLA was the reference there. Its own algorithms may be less accurate than those of eager mode: in float64, singular
    values by XLA were measured 3e-8 off, those by LAPACK 1e-15.
    """
    failing = {(one.place.pass_, one.place.case) for gate in leaves.values() for one in gate if one.verdict == FAIL}
    # A port that fails where both sides ran is wrong anyway.
    if not failing or any(case not in doubles.cases for _, case in failing):
        return evidence
    by_mode: dict[tuple[str, str], Otherwise] = {}
    exact: dict[tuple[str, str, str], Arrays] = {}
    for pass_ in sorted({pass_ for pass_, _ in failing if _is_eager(evidence, pass_)}):
        cases = sorted(case for ran, case in failing if ran == pass_)
        runs = eager(pass_, [doubles.cases[case] for case in cases])
        for case, run in zip(cases, runs, strict=False):
            by_mode[pass_, case] = Otherwise(TF_XLA, TF_REFERENCE, evidence.doubles[TF, pass_, case])
            exact[TF, pass_, case] = run.exact
    if not by_mode:
        return evidence
    otherwise, exact = {**evidence.otherwise, **by_mode}, {**evidence.doubles, **exact}
    return _without_gradients_at_cutoffs(dataclasses.replace(evidence, otherwise=otherwise, doubles=exact))


def _without_gradients_at_cutoffs(evidence: Evidence) -> Evidence:
    """The evidence without gradients of suggested cases in which TensorFlow's modes give two results.

    For example, a singular value may be above a cutoff by XLA, and below it by LAPACK: the derivative there is noise of
    both, and no mode of TensorFlow is known to be right.
    """
    open_cases = {
        case
        for (pass_, case), other in evidence.otherwise.items()
        if pass_ == FORWARD
        and other.mode == TF_XLA
        and any(disagreement(evidence, FORWARD, case, leaf) is not None for leaf in other.arrays)
        and case not in evidence.float_cases(FORWARD)
    }
    doubles = {key: run for key, run in evidence.doubles.items() if not (key[1] == GRADIENTS and key[2] in open_cases)}
    remarks = tuple(unjudged.without_gradients(case) for case in sorted(open_cases))
    return dataclasses.replace(evidence, doubles=doubles, remarks=(*evidence.remarks, *remarks))


def _is_eager(evidence: Evidence, pass_: str) -> bool:
    """Whether eager mode is the float64 reference of the cases that both sides ran."""
    source = evidence.oracle.get((TF, pass_))
    return source is not None and source.kind == NATIVE


def _select_runs(leaves: Leaves) -> set[tuple[str, str]]:
    """Pass and case of failures, and of results in which TensorFlow's eager mode and its XLA differ."""
    return {
        (one.place.pass_, one.place.case)
        for gate in leaves.values()
        for one in gate
        if one.verdict == FAIL or one.finding is not None or (one.noise or 0.0) >= DISAGREES
    }
