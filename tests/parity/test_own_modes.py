"""Where TensorFlow's own modes disagree, a port may follow the one that is right, or either by convention."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from compare.parity import Evidence, judge
from compare.parity.evidence import OracleSource, Otherwise
from compare.parity.own_modes import disagreeing
from compare.record.parity_part import Parity
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from workloads.core.spec import Arrays

CASES = ("seed0", "seed1")
PLAIN = np.array([0.5, -1.25, 3.0])
CHOSEN = np.array([2, 0, 1], np.int32)


def of(leaf: np.ndarray) -> Arrays:
    return {"output": leaf}


def evidence(
    port: np.ndarray,
    eager: np.ndarray,
    jit: np.ndarray,
    doubles: tuple[np.ndarray, np.ndarray],
    port_double: np.ndarray | None = None,
) -> Evidence:
    """The same in each case; `doubles` are TensorFlow's eager mode and its XLA in float64."""

    def narrow(leaf: np.ndarray) -> Arrays:
        return of(leaf.astype(np.float32) if leaf.dtype.kind == "f" else leaf)

    runs = {"jax/jit": port, "tf/eager": eager, "tf/graph": eager, "tf/jit": jit}
    own = port if port_double is None else port_double
    # One case differs, so that the outputs tell something.
    return Evidence(
        workload="my_port",
        outputs={(mode, "forward", case): _varied(narrow(leaf), case) for mode, leaf in runs.items() for case in CASES},
        doubles={
            (side, "forward", case): _varied(of(leaf), case)
            for side, leaf in (("tf", doubles[0]), ("jax", own))
            for case in CASES
        },
        oracle={("tf", "forward"): OracleSource("native")},
        otherwise={("forward", case): Otherwise("tf/jit", "tf/eager", _varied(of(doubles[1]), case)) for case in CASES},
        not_applicable={"gradients": "none", "training": "none"},
    )


def _varied(run: Arrays, case: str) -> Arrays:
    return {leaf: array if case == CASES[0] else array[::-1] for leaf, array in run.items()}


def at(index: int, value: float, leaf: np.ndarray = PLAIN) -> np.ndarray:
    changed = leaf.copy()
    changed[index] = value
    return changed


def failed(parity: Parity) -> set[str]:
    return {name for name, gate in parity.gates.items() if gate.verdict == FAIL}


def follows(parity: Parity) -> Mapping[str, str]:
    return {finding.gate: finding.follows for finding in parity.findings}


OTHER = at(1, 4, CHOSEN)


@pytest.mark.parametrize(("port", "mode"), [(CHOSEN, "tf/eager"), (OTHER, "tf/jit")])
def test_either_convention_passes_and_is_found(port: np.ndarray, mode: str) -> None:
    parity = judge(evidence(port, CHOSEN, OTHER, (CHOSEN, OTHER)))
    assert parity.verdict == PASS
    assert parity.gates["rounding"].verdict == NOT_APPLICABLE
    assert follows(parity) == {"structure": mode, "semantics": mode}


def test_a_third_answer_fails() -> None:
    assert failed(judge(evidence(at(1, 3, CHOSEN), CHOSEN, OTHER, (CHOSEN, OTHER)))) == {"structure", "semantics"}


def test_a_port_follows_one_mode_in_a_whole_leaf() -> None:
    other = at(2, 9, OTHER)
    patched = at(2, CHOSEN[2], OTHER)
    assert failed(judge(evidence(patched, CHOSEN, other, (CHOSEN, other)))) == {"structure", "semantics"}


def test_only_elements_at_which_the_modes_disagree_are_excused() -> None:
    assert failed(judge(evidence(at(0, 7, OTHER), CHOSEN, OTHER, (CHOSEN, OTHER)))) == {"structure", "semantics"}


def test_a_mode_that_float64_refutes_is_no_excuse() -> None:
    parity = judge(evidence(OTHER, CHOSEN, OTHER, (CHOSEN, CHOSEN)))
    assert failed(parity) == {"structure", "semantics"} and not parity.findings


def test_a_mode_that_float64_confirms_is_followed_though_eager_differs() -> None:
    parity = judge(evidence(PLAIN, at(1, np.inf), PLAIN, (PLAIN, PLAIN)))
    assert parity.verdict == PASS
    assert follows(parity) == {"structure": "tf/jit"}
    assert failed(judge(evidence(at(1, np.nan), PLAIN, at(1, np.nan), (PLAIN, PLAIN), PLAIN))) == {
        "structure",
        "rounding",
    }


@pytest.mark.parametrize("there", [0.25, np.nan, 1e6])
def test_a_float_that_is_defined_by_convention(there: float) -> None:
    """A subgradient at a kink: XLA gives another one, in float64 too."""
    other = at(1, there)
    assert judge(evidence(PLAIN, PLAIN, other, (PLAIN, other))).verdict == PASS
    parity = judge(evidence(other, PLAIN, other, (PLAIN, other)))
    assert parity.verdict == PASS
    assert set(follows(parity).values()) == {"tf/jit"}
    neither = at(1, 0.125)
    assert "semantics" in failed(judge(evidence(neither, PLAIN, other, (PLAIN, other))))


def test_what_vanishes_but_for_rounding_is_no_disagreement() -> None:
    none = np.array([1e-17, -2e-17, 0.0])
    assert disagreeing(none, -none).any() and not disagreeing(none, -none, model=1.0).any()
    assert disagreeing(PLAIN, at(1, 0.25), model=1e6).any()


def test_a_large_value_of_one_mode_hides_no_error_elsewhere() -> None:
    other = at(1, 1e9)
    for port in (at(0, 0.5 + 1e-6, other), at(0, 0.5 + 1e-6)):
        found = evidence(port, PLAIN, other, (PLAIN, other))
        assert "semantics" in failed(judge(found)), port
    big_eager = evidence(at(0, 0.5 + 1e-6), other, PLAIN, (other, PLAIN))
    assert "semantics" in failed(judge(big_eager))


def test_modes_that_disagree_do_not_widen_the_bound_of_rounding() -> None:
    other = at(1, 0.25)
    off = evidence(at(0, 0.51), PLAIN, other, (PLAIN, other), PLAIN)
    assert failed(judge(off)) == {"rounding"}
