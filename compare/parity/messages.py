"""Sentences about what the gates found, one line each; `unjudged` has those about what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compare.parity.breaks import Broken, Extent
from compare.parity.measure import Distance
from workloads.core.spec import Deviation


@dataclass(frozen=True)
class Place:
    """The place of a comparison. `stand_in` names in messages the mode that replaces the expected one."""

    workload: str
    gate: str
    pass_: str
    case: str
    leaf: str
    found_from: str
    expected_from: str
    stand_in: str = ""

    @property
    def expected_name(self) -> str:
        """The name of the expected run in messages."""
        return self.stand_in or self.expected_from


def where(place: Place, index: tuple[int, ...] = ()) -> str:
    """Workload, gate, pass, case, leaf and index."""
    leaf = f", leaf {place.leaf}{list(index) if index else ''}" if place.leaf else ""
    return f"{place.workload}: {place.gate} gate, {place.pass_} pass, case {place.case}{leaf}"


def error_beside_bound(place: Place, far: Distance, dtype: str, bound: str, notes: tuple[str, ...]) -> str:
    """An error with both values, beside its bound."""
    values = f"{place.found_from} {far.found!s} ({dtype}), {place.expected_name} {far.expected!s}"
    comparison = "; ".join((f"error {far.error:.3g} of the largest value, bound {bound}", *notes))
    return f"{where(place, far.index)}: {values}; {comparison}"


def cannot_compare(place: Place, problem: str) -> str:
    """Something that cannot be compared at all."""
    return f"{where(place)}: {problem}"


def absent(source: str, dtype: str, why: str) -> str:
    """A run that is missing."""
    return f"{source} gave no {dtype} arrays: {why}"


def nothing(workload: str, gate: str, tf: str, jax: str) -> str:
    """A gate without any evidence."""
    return f"{workload}: {gate} gate: no evidence; tf: {tf}; jax: {jax}"


def one_sided(holder: str, other: str, array: np.ndarray) -> str:
    """A leaf that only one of the two has.

    Args:
      array: x[...], the leaf.
    """
    return f"only {holder} has it, {describe_array(array)}; {other} does not"


def unequal(what: str, found_from: str, actual: object, expected_from: str, expected: object) -> str:
    """Shapes or dtypes that differ.

    Args:
      what: "shape" or "dtype".
    """
    return f"{what} {actual} in {found_from}, {expected} in {expected_from}"


def widths(actual: str, expected: str) -> str:
    """Advice on JAX's 32 bits where TensorFlow has 64."""
    if (actual, expected) == ("int32", "int64"):
        return (
            ": JAX has no 64-bit integers unless asked; ask TensorFlow for 32 bits (output_type=tf.int32, tf.cast), "
            'or JAX for 64 (jax.config.update("jax_enable_x64", True))'
        )
    return ""


def half(actual: str, expected: str) -> str:
    """Why integers of 32 bits pass for those of 64.

    Args:
      actual: the dtype of the port.
    """
    return f"{actual} for {expected}, as JAX has it without jax_enable_x64: every value of the original fits"


def open_integers(names: Sequence[str]) -> str:
    """Advice on how integers of 32 bits pass for those of 64.

    Args:
      names: of inputs of 64-bit integers without a declared range.
    """
    return f"; declare low and high of {', '.join(names)} if all values fit into 32 bits"


def not_double(source: str, dtype: object, gate: str, apart: float) -> str:
    """A float64 run that was none.

    Args:
      apart: the relative difference of the two sides.
    """
    return (
        f"{source} returns {dtype} for float64 inputs, so that rounding hides errors (the two sides differ by "
        f"{apart:.3g}): compute in the type of the inputs, or declare Deviation({gate!r}, bound, reason)"
    )


def describe_array(array: np.ndarray) -> str:
    """Dtype and shape: float32[3, 4]."""
    return f"{array.dtype}{list(array.shape)}"


def differing(count: int, total: int, is_float: bool) -> str:
    """How much of a leaf differs where it must not.

    Args:
      is_float: whether they are floats, compared by their patterns of NaN and infinities.
    """
    rule = "NaN and infinities must stand in the same places" if is_float else "integers and booleans must be equal"
    return f"{rule}, {count} of {total} do not"


def tf_disagrees(eager: object, xla: object, index: tuple[int, ...]) -> str:
    """TensorFlow unlike itself: then no port can agree with both."""
    return f"TF itself differs at {list(index)}: tf/eager {eager!s}, tf/jit {xla!s}"


def modes_disagree(
    place: Place, index: tuple[int, ...], values: tuple[object, object], elements: int, follows: str
) -> str:
    """Two modes of TensorFlow that disagree, as a finding of its own.

    Args:
      elements: how many elements they disagree at.
    """
    one, other = f"{place.found_from} {values[0]!s}", f"{place.expected_from} {values[1]!s}"
    more = f" and {elements - 1:,} more" if elements > 1 else ""
    return f"{where(place, index)}{more}: TensorFlow's own modes disagree: {one}, {other}; the port follows {follows}"


def follows(mode: str) -> str:
    """Why a leaf is compared with another mode of TensorFlow."""
    return f"TF's own modes disagree: compared with {mode}, which the port follows in the whole leaf"


def noise(value: float) -> str:
    """How far TensorFlow is from itself."""
    return f"TF eager against TF XLA {value:.3g}"


def modes(like: Sequence[str], unlike: Sequence[str]) -> str:
    """A clause that names the modes with which the port agrees, where TensorFlow's modes disagree."""
    agrees = f"with {', '.join(like)}" if like else "with none of them"
    others = f", not with {', '.join(unlike)}" if like and unlike else ""
    return f"TF's own modes disagree here: the port agrees {agrees}{others}"


def constants(widening: float, sources: str) -> str:
    """Why a bound was widened without a declaration."""
    oracle = f"; float64 from {sources}" if sources else ""
    return f"widened by {widening:.3g}, which constants rounded to float32 explain{oracle}"


def formula(widening: float) -> str:
    """Why a bound was widened where values cancel."""
    return f"widened by {widening:.3g}, which roundings of TF's own formula explain"


def regions_hold(pass_: str, regions: int, count_open: int, kinds: int, calls: int) -> str:
    """Structural rules prove some regions of a pass, and the others hold in every call.

    Args:
      count_open: how many are not proved.
      kinds: how many of these differ: one of each kind runs in a call.
    """
    if not count_open:
        return f"{pass_}: all {regions} regions are proved equal"
    distinct = f" ({kinds} distinct)" if kinds < count_open else ""
    proofs = f"{regions - count_open} of {regions} regions are proved equal"
    return f"{pass_}: {proofs}, {count_open}{distinct} hold in {calls} calls"


def amplification(regions: int, count_open: int, calls: int) -> str:
    """Why a run in float32 may come apart from float64.

    Args:
      count_open: how many are not proved equal.
    """
    proofs = f"{regions - count_open} of {regions} regions are proved equal"
    times = "1 call" if calls == 1 else f"{calls} calls"
    rounds = f", {count_open} round as TF's do, from the same values, in {times}" if count_open else ""
    return f"{proofs}{rounds}: the remaining error is amplified rounding, no larger than TF's own result changes"


def declaration(deviation: Deviation) -> str:
    """Why a bound was raised."""
    return f"declared deviation up to {deviation.bound:.3g}: {deviation.reason}"


def drawn_within(name: str, table: int) -> str:
    """Integers that were drawn within what they index.

    Args:
      table: how many elements there are to pick from.
    """
    return (
        f"{name} was drawn within 0..{table}, the range that it indexes, because TensorFlow refuses larger values: "
        f"to change that, declare low and high, as in '{name}=i32[...]:0..{table}'"
    )


def beside_ties(pass_: str, case: str, beside: str, counts: tuple[int, int], aside: float) -> str:
    """Elements of a case of kinks that rounding decides.

    Args:
      counts: how many elements, of how many.
      aside: by how much of itself a number was moved.
    """
    few, all_ = counts
    return (
        f"{pass_} pass, case {case}: {few:,} of {all_:,} elements are decided by rounding, because values that "
        f"differ by rounding alone are compared; case {beside!r} judges both sides with each number changed by up to "
        f"{aside:.1g} of itself"
    )


def breaks(workload: str, pass_: str, input_name: str, mode: str, extents: Sequence[Extent], worst: Broken) -> str:
    """Where the port stops holding while the original goes on."""
    outcome = worst.outcome
    extent = next(extent for extent in extents if extent.pattern == worst.pattern)
    inputs = f"{input_name} {worst.pattern}{worst.magnitude:.3g}"
    place = f"{workload}: stability gate, {pass_} pass, {inputs}: leaf {outcome.leaf}{list(outcome.index)}"
    port = f"{mode} {outcome.found:.6g}{_origin(worst.operation, worst.line)}"
    original = f"tf/jit {outcome.original:.6g}{_origin('', worst.original_line)}, in float64 {outcome.exact:.6g}"
    return f"{place}: {port}; {original}; {describe_extent(extent)}"


def describe_extent(extent: Extent) -> str:
    """Between which magnitudes a pattern holds."""
    if extent.low is None or extent.high is None:
        return "it does not hold at ordinary magnitudes either"
    return f"it holds from {extent.low:.3g} to {extent.high:.3g}"


def _origin(operation: str, line: str) -> str:
    place = " at ".join(filter(None, (operation, line)))
    return f" ({place})" if place else ""


def fails_at_size(title: str, reason: str) -> str:
    """A size that the original takes and the port does not."""
    return f"{title}: structure gate: TensorFlow computes it, the port does not: {reason}"


def stale(workload: str, deviation: Deviation) -> str:
    """A declared deviation that is none."""
    return (
        f"{workload}: {deviation.gate} gate: the declared deviation ({deviation.reason}; bound {deviation.bound:.3g}) "
        "no longer occurs, because every error is within the ordinary bound: remove it"
    )
