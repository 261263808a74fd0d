"""Samples one open region: both pieces in float64, given the values that TensorFlow's program has at its cut points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import bindings, executing, promote
from compare.hlo.align.equal_values import Arguments
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Graph
from compare.hlo.open_constants import move_constants, open_constants
from compare.hlo.write_module import write_graph
from compare.regions.parts import Region, Regions
from compare.regions.pieces import make_programs
from compare.regions.proving import RegionProof
from workloads._compiling import QUICKLY

HOLDS, FAILS, NOT_JUDGED = "holds", "fails", "not judged"
_BOUND = 1e-12
"""Relative to the largest value: what float64 leaves of two formulas of a few operations."""
_PERTURBATIONS = 3

CutValues = Mapping[int, Sequence[np.ndarray]]
"""By cut point, its value in each case."""


@dataclass(frozen=True)
class SampleVerdict:
    """What sampling says of a region.

    Attributes:
      verdict: holds, fails, or not judged.
      error: the largest distance of two outputs, relative to the largest value; None where nothing ran.
      bound: of the error, with what the rounding of constants to float32 explains.
      reason: why it is not judged.
    """

    verdict: str
    error: float | None = None
    bound: float = _BOUND
    reason: str = ""


def compute_cut_values(regions: Regions, members: Iterable[Region], cases: Sequence[Arguments]) -> CutValues:
    """What TensorFlow's program, the left one, computes in float64 at the cut points that some regions read.

    Not in float32: two cut points of which one is computed from the other would not fit together.

    Args:
      regions: the split.
      members: the regions to be sampled.
      cases: arguments of both programs.

    Raises:
      UnreadableProgram: XLA cannot run it.
      PromotionError: it has no float64 self.
    """
    graph = regions.graphs.left
    read = sorted({position for region in members for position in region.inputs})
    artifact = _in_float64(graph, [regions.cut_points[position].nodes.left[0] for position in read])
    runs = _run(artifact, [[widen(array) for array in arguments] for arguments, _ in cases])
    return {position: [arrays[place] for arrays in runs] for place, position in enumerate(read)}


def sample(proof: RegionProof, regions: Regions, at_cuts: CutValues, cases: Sequence[Arguments]) -> SampleVerdict:
    """Whether both pieces of a region compute the same from the same arrays; in exact arithmetic, not in float32.

    A parameter that one program alone takes keeps its value. A region that reads one holds or is not judged: a
    difference may be due to the parameter.

    Args:
      proof: an open region.
      regions: the split that it belongs to.
      at_cuts: has the values of the cut points that it reads.
      cases: arguments of both programs.
    """
    if proof.reason:
        return SampleVerdict(NOT_JUDGED, reason=proof.reason)
    programs = make_programs(proof.region, regions)
    values_by_case = [[at_cuts[cut][case] for cut in programs.inputs] for case in range(len(cases))]
    calls = [
        [
            [*arrays, *_alone(regions, proof.region, side, case)]
            for arrays, case in zip(values_by_case, cases, strict=True)
        ]
        for side in (0, 1)
    ]
    try:
        artifacts = [_in_float64(graph) for graph in programs.graphs]
        left, right = (_run(artifact, call) for artifact, call in zip(artifacts, calls, strict=True))
        error = _distance(left, right)
        if error <= _BOUND:
            return SampleVerdict(HOLDS, error)
        spreads = [
            _spread(one, call, arrays) for one, call, arrays in zip(artifacts, calls, (left, right), strict=True)
        ]
    except (promote.PromotionError, UnreadableProgram) as failure:
        return SampleVerdict(NOT_JUDGED, reason=str(failure))
    bound = _BOUND + 4 * sum(spreads)
    if error > bound and any(piece.alone for piece in proof.region.pieces):
        # Two counters of two optimizers, for example, may count different things.
        return SampleVerdict(NOT_JUDGED, error, bound, "it reads parameters of one program alone, which may not fit")
    return SampleVerdict(HOLDS if error <= bound else FAILS, error, bound)


def _alone(regions: Regions, region: Region, side: int, case: Arguments) -> list[np.ndarray]:
    positions = {key: position for position, key in enumerate(regions.graphs[side].parameters)}
    return [widen(case[side][positions[key]]) for key in region.pieces[side].alone]


def widen(array: np.ndarray) -> np.ndarray:
    """An array of floats or complex numbers in their widest type; others as they are."""
    kind = array.dtype.kind
    return array if kind in "biu" else array.astype(np.complex128 if kind == "c" else np.float64, copy=False)


def _in_float64(graph: Graph, results: Sequence[int] | None = None) -> bytes:
    return promote.promote(bindings.bytecode_of_hlo(write_graph(graph, results)))


def _run(artifact: bytes, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    return executing.compile_bytecode(artifact, QUICKLY).each(calls)


def _spread(artifact: bytes, calls: Sequence[Sequence[np.ndarray]], plain: Sequence[Sequence[np.ndarray]]) -> float:
    """How far results move with the constants that look rounded to float32."""
    open_program = open_constants(artifact)
    if not open_program.values:
        return 0.0
    constants_by_seed = [move_constants(open_program.values, seed) for seed in range(_PERTURBATIONS)]
    runs = _run(open_program.artifact, [[*call, *constants] for constants in constants_by_seed for call in calls])
    return max(_distance(plain, runs[start : start + len(calls)]) for start in range(0, len(runs), len(calls)))


def _distance(left: Sequence[Sequence[np.ndarray]], right: Sequence[Sequence[np.ndarray]]) -> float:
    """The largest distance of an output from the first of the left piece; infinite where they are of other kinds."""
    pairs = zip(left, right, strict=True)
    return max(_apart(mine[0], other) for mine, theirs in pairs for other in (*mine, *theirs))


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape or one.dtype != other.dtype:
        return np.inf
    if one.dtype.kind in "biu":
        return 0.0 if np.array_equal(one, other) else np.inf
    ordinary = np.isfinite(one)
    if not np.array_equal(one[~ordinary], other[~ordinary], equal_nan=True) or not np.isfinite(other[ordinary]).all():
        return np.inf
    scale = float(np.max(np.abs(one[ordinary]), initial=0.0)) or 1.0
    return float(np.max(np.abs(one[ordinary] - other[ordinary]), initial=0.0)) / scale
