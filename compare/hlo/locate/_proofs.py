"""By cause, what proves it: the change that the cause claims, made to the right program, gives the left's value.

A proof returns what more there is to say ("" of nothing), or None where it is not made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

import numpy as np

from compare.hlo.causes import CAUSES, CHANGED, EXTRA, MISSING, UNKNOWN, Cause, is_close, is_count
from compare.hlo.locate import _edits, _fitting, _known_functions
from compare.hlo.locate._apart import CONSTANT, OPERAND, REDUCER, SWAPPED, TRANSPOSED, OperationDifference
from compare.hlo.locate._canonical import Computation
from compare.hlo.locate._counting import counts, depths, squares, transform_lengths
from compare.hlo.locate._fitting import Proof
from compare.hlo.locate._measured import exact, is_float
from compare.hlo.locate._spot import Spot
from compare.hlo.slot_names import is_weight

_LOGARITHMS = (math.log(2), math.log(10))


def prove_cause(spots: list[Spot], cause: Cause) -> str | None:
    """The text of a cause's proof, which has to hold at every spot; None if it does not."""
    answers: list[str] = []
    for spot in spots:
        one = PROOFS[cause.name](spot)
        if one is None:
            return None
        answers.append(one)
    return next(filter(None, answers), "") if answers else None


def cause_of(spots: list[Spot], alone: bool) -> tuple[Cause, str]:
    """The first known cause that fits and is proved, and what its proof says.

    Args:
      alone: whether nothing else departs.
    """
    return _first_proved(spots, [cause for cause in CAUSES if alone or not cause.alone]) or (UNKNOWN, "")


def cause_of_all(spots: list[Spot]) -> tuple[Cause, str] | None:
    """A cause whose one change gives every result, and what its proof says; None of no such cause."""
    return _first_proved(spots, [cause for cause in CAUSES if cause.everywhere])


def _first_proved(spots: list[Spot], causes: list[Cause]) -> tuple[Cause, str] | None:
    for cause in causes:
        fits = bool(spots) and cause.recognises(spots[0].clue)
        answer = prove_cause(spots, cause) if fits else None
        if answer is not None:
            return cause, answer
    return None


def _of(differences: Collection[OperationDifference] | None, *what: str) -> list[OperationDifference]:
    """The differences, where there are any and all are of these kinds."""
    apart = list(differences or ())
    return apart if all(difference.what in what for difference in apart) else []


def _but_for_counts(spot: Spot) -> list[OperationDifference]:
    """The differences, without divisors of means that follow from other numbers of elements."""
    apart = list(spot.apart or ())
    rest = [difference for difference in apart if difference.what != CONSTANT or not _is_of_counts(spot, difference)]
    return rest or apart


def _is_of_counts(spot: Spot, difference: OperationDifference) -> bool:
    keys = difference.left, difference.right
    sides = (spot.parting.left.program.graph, spot.parting.right.program.graph)
    arrays = [graph.constant(key) for graph, key in zip(sides, keys, strict=True)]
    return all(array is not None and array.size == 1 and is_count(float(array.flat[0].real)) for array in arrays)


def _opcodes(spot: Spot, apart: Collection[OperationDifference]) -> set[str]:
    return {spot.parting.right.program.node(difference.right).opcode for difference in apart}


def _only(*what: str, among: Collection[str] = ()) -> Proof:
    """Proof that the two computations differ only in these respects, at operations of these kinds."""

    def proof(spot: Spot) -> str | None:
        apart = _of(_but_for_counts(spot), *what)
        return "" if apart and (not among or _opcodes(spot, apart) <= set(among)) else None

    return proof


def _changed_to(holds: Callable[[Spot], bool]) -> Proof:
    """Proof that a change to the right program's computation gives the left's value."""
    return lambda spot: "" if holds(spot) else None


def _either(*proofs: Proof) -> Proof:
    def proof(spot: Spot) -> str | None:
        return next((answer for answer in (prove(spot) for prove in proofs) if answer is not None), None)

    return proof


def _numbers(spot: Spot) -> str | None:
    """Proof that both differ only in constants."""
    if _of(spot.apart, CONSTANT):
        return ""
    number = _edits.constant_of_the_left(spot)
    if number is None:
        return None
    has_name = spot.clue.pair is not None or spot.clue.kind != CHANGED
    return "" if has_name else f"with {number:.9g} for its constant, {spot.parting.right.program.label} agrees"


def _epsilon_before_correction(spot: Spot) -> str | None:
    """Proof that epsilon is added to a root before the correction of the value under the root."""
    epsilon = _edits.epsilon_before_correction(spot)
    return None if epsilon is None else f"{spot.parting.left.program.label} adds {epsilon:g}"


def _one_operation(spot: Spot) -> int | None:
    """The only operation that computes something and is on one side alone."""
    kind = spot.blamed.kind
    part = spot.mine if kind == MISSING else spot.theirs if kind == EXTRA else None
    return part.computing[0] if part is not None and len(part.computing) == 1 else None


def _of_weight(*opcodes: str) -> Proof:
    """Proof that one operation of these kinds, which reads a weight, is missing or added."""

    def proof(spot: Spot) -> str | None:
        key = _one_operation(spot)
        side = spot.parting.left if spot.blamed.kind == MISSING else spot.parting.right
        if key is None or side.program.node(key).opcode not in opcodes:
            return None
        slots = [side.program.slot(operand) for operand in side.program.node(key).operands]
        return "" if any(map(is_weight, slots)) else None

    return proof


def _residual(spot: Spot) -> str | None:
    """A sum with a value that the other term is computed from."""
    key = _one_operation(spot)
    program = (spot.parting.left if spot.blamed.kind == MISSING else spot.parting.right).program
    if key is None or program.node(key).opcode != "add":
        return None
    one, other = (program.original_of(operand) for operand in program.node(key).operands)
    return "" if program.comes_from(one, other) or program.comes_from(other, one) else None


def _slope(spot: Spot) -> str | None:
    """Proof that one of two branches has another factor."""
    clue = spot.clue
    branch = clue.pair is not None and clue.op == "multiply" and "select" in clue.near
    return _numbers(spot) if branch and all(0 < slope < 1 for slope in clue.pair or ()) else None


def _factor(*factors: float, few: bool = False) -> Proof:
    """Proof that the value is the left's times a factor, one of these if any are given."""

    def proof(spot: Spot) -> str | None:
        factor = spot.factor(few)
        if factor is None or (factors and not is_close(factor, *factors)):
            return None
        return f"it is {1 / factor:.6g} times what {spot.parting.left.program.label} has"

    return proof


def _nearby(spot: Spot, numbers: Callable[[Computation, int], set[float]]) -> set[float]:
    return {number for program, key in spot.linear for number in numbers(program, key)}


def _factor_is_count(spot: Spot) -> str | None:
    """Proof that the factor is the number of elements of a sum nearby."""
    factor = spot.factor(few=True)
    if factor is None or not is_count(factor):
        return None
    return "" if is_close(max(factor, 1 / factor), *_nearby(spot, counts)) else None


def _depth(spot: Spot) -> str | None:
    """Proof that the scale of a product differs by, or from, the root of its number of terms."""
    pair = spot.clue.pair
    depths_nearby = _nearby(spot, depths)
    if pair is not None:
        return "" if is_close(max(pair.left, 1 / pair.left), *depths_nearby) and _numbers(spot) is not None else None
    by = spot.factor(few=True)
    return "" if by is not None and by > 0 and is_close(max(by, 1 / by), *depths_nearby) else None


def _transform(spot: Spot) -> str | None:
    by = spot.factor(few=True)
    return "" if by is not None and by > 0 and is_close(max(by, 1 / by), *_nearby(spot, transform_lengths)) else None


def _one_less(spot: Spot) -> str | None:
    """Proof that a sum of squares is divided by one less, or more, than its number of terms."""
    by = spot.factor(few=True)
    ratios = [count / (count - 1) for count in _nearby(spot, squares) if count > 1]
    # By how much it is more than one: of many elements both are nearly one.
    more = [ratio - 1 for ratio in (*ratios, *map(math.sqrt, ratios))]
    return "" if by is not None and by > 0 and is_close(max(by, 1 / by) - 1, *more) else None


def _logarithm(spot: Spot) -> str | None:
    by = spot.factor(few=True)
    has_logarithm = any(program.node(key).opcode == "log" for program, key in spot.linear)
    return "" if has_logarithm and is_close(by, *_LOGARITHMS, *(1 / logarithm for logarithm in _LOGARITHMS)) else None


def _each_case(spot: Spot) -> str | None:
    """A factor of its own in every case, as of a counter."""
    cases = zip(spot.actual, spot.expected, spot.bounds, strict=True)
    factors = [
        _known_functions.factor([actual], [expected], [bound], few=actual.size == 1)
        for actual, expected, bound in cases
    ]
    return "" if None not in factors else None


def _weight_decay(spot: Spot) -> str | None:
    """Proof that both differ by a multiple of a weight."""
    program = spot.theirs.side.program
    slots = {key: program.slot(key) for key in program.graph.parameters}
    change = [exact(a).ravel() - exact(b).ravel() for a, b in zip(spot.expected, spot.actual, strict=True)]
    for key, slot in slots.items():
        weight = spot.theirs.side.measured.arrays[key]
        if is_weight(slot) and weight[0].size == change[0].size:
            by = _known_functions.factor(weight, change, spot.bounds)
            if by is not None and any(array.any() for array in change):
                return ""
    return None


def _index(spot: Spot) -> str | None:
    """Proof that integers differ by one constant, everywhere or wherever they differ."""
    if is_float(spot.expected[0]) or spot.expected[0].size != spot.actual[0].size:
        return None
    pairs = zip(spot.expected, spot.actual, strict=True)
    off = {int(offset) for a, b in pairs for offset in np.unique(b.ravel().astype(int) - a.ravel().astype(int))}
    return f"off by {max(off, key=abs)}" if off - {0} and len(off | {0}) == 2 else None


def _gradient_stop(spot: Spot) -> str | None:
    """Proof that a gradient, or one of its terms, is zero."""
    program = spot.theirs.side.program
    if spot.blamed.kind != MISSING or spot.mine is None:
        return None
    if spot.theirs.nodes and not any(values.any() for values in spot.actual):
        return "" if set(spot.theirs.nodes) - {spot.theirs.target} <= program.constants else None
    return "" if spot.parting.left.program.node(spot.mine.target).opcode == "add" else None


def _at_edges(spot: Spot) -> str | None:
    return "" if spot.at_edges() else None


_REARRANGES = ("dimensions", TRANSPOSED)
_CONTRACTS = ("dot_dimension_numbers", *_REARRANGES)
_LAYS_OUT = ("convolution_dimension_numbers", *_REARRANGES)
_AXES = ("reduce", "concatenate", "sort", "reverse", "broadcast", "iota")

PROOFS: Mapping[str, Proof] = {
    "narrow type": _changed_to(_edits.widening_mends),
    "subgradient at an edge": _at_edges,
    "value at an edge": _at_edges,
    "stop_gradient": _gradient_stop,
    "epsilon": _numbers,
    "place of epsilon": _changed_to(_edits.epsilon_elsewhere),
    "epsilon of an optimizer": _epsilon_before_correction,
    "gelu": _fitting.function(_fitting.is_gelu),
    "biased or unbiased variance": _one_less,
    "number of iterations": _either(_numbers, _only("comparison_direction")),
    "base of the logarithm": _logarithm,
    "cumulative sum": _fitting.wherever(_fitting.running),
    "axis of the softmax": _either(_only("dimensions", among=_AXES), _fitting.reduction(_fitting.is_softmax)),
    "axis": _either(_only("dimensions", among=_AXES), _fitting.reduction(_fitting.same_reducer)),
    "padding": _only("window", "padding_config"),
    "window": _only("window"),
    "axes of a product": _only(*_CONTRACTS, among=("dot", "transpose", "broadcast")),
    "transposed kernel": _only(*_CONTRACTS, among=("dot", "transpose")),
    "layout": _only(*_LAYS_OUT, among=("convolution", "transpose")),
    "kernel of a transposed convolution": _of_weight("reverse"),
    "order of elements": _fitting.wherever(_fitting.explain_order),
    "operands swapped": _either(_only(SWAPPED), _changed_to(_edits.swapped_operands)),
    "weights swapped": _changed_to(_edits.another_weight),
    "slope of leaky relu": _either(_fitting.function(_fitting.is_slope), _slope),
    "optimizer's averages": _numbers,
    "weight decay": _weight_decay,
    "bias correction": _each_case,
    "power": _fitting.wherever(_fitting.power),
    "learning rate": _either(_numbers, _factor(few=True)),
    "scale by the root of the depth": _depth,
    "norm of the Fourier transform": _transform,
    "mean or sum": _either(_factor_is_count, _fitting.reduction(_fitting.is_mean)),
    "another reduction": _either(_only(REDUCER), _fitting.reduction(_fitting.same_axes)),
    "index": _index,
    "integer division": _fitting.wherever(_fitting.division),
    "momentum of batch normalization": _numbers,
    "bias left out": _of_weight("add"),
    "weight left out": _of_weight("multiply", "divide"),
    "residual connection": _residual,
    "another activation": _fitting.function(lambda *functions: True),
    "another function": _fitting.function(lambda *functions: True, _known_functions.function),
    "weights in the code": _numbers,
    "another constant": _fitting.wherever(_numbers),
    "sign": _factor(-1.0, few=True),
    "another factor": _factor(),
    "another operand": _either(_only(OPERAND), _changed_to(_edits.another_operand)),
}  # fmt: skip
