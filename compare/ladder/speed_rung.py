"""The last rung: the speed of a port that passes all others."""

from __future__ import annotations

from compare.inputs.request import Extras, Plan, Request
from compare.ladder.first_lines import first_lines
from compare.progress import Reporter
from compare.record.rung_part import SPEED, Rung
from compare.record.timing_part import Ratio, Timing
from compare.record.vocabulary import FAIL, PASS
from compare.record.workload_part import Workload
from compare.run import whole_run
from workloads.core.modes import PORT, recorded_pair


def speed(request: Request, reporter: Reporter) -> Rung:
    """Time a port against the modes of TensorFlow that were asked for. A slower port does not fail."""
    (part,) = whole_run.run(request, reporter).record.workloads.values()
    return rung_of(part)


def timed_request(request: Request, pairs: int, threads: int) -> Request:
    """A request that times and leaves out all that does not affect a ratio."""
    return Request(
        request.workloads, request.size, request.data, request.sources, request.timeout_s,
        plans=(Plan(pairs, pairs, threads=threads),), extras=Extras(limits=False), modes=request.modes, alignment=False,
    )  # fmt: skip


def rung_of(part: Workload) -> Rung:
    """The rung of a record's ratios. With a recorded side, the ratios are those of both programs in the other's XLA."""
    timing = part.timing or Timing()
    ours = {name: ratio for name, ratio in timing.ratios.items() if _is_ours(name)} or timing.program_ratios
    if part.failures or not ours:
        reasons = [failure.reason for failure in part.failures] or ["no ratio could be taken"]
        return Rung(SPEED, FAIL, first_lines(reasons))
    slower = any(ratio.verdict == "slower" for ratio in ours.values())
    return Rung(
        SPEED,
        PASS,
        tuple(f"{name}: {_ratio_text(ratio)}" for name, ratio in ours.items()),
        next=("it is slower: `jaxport explain` says why",) if slower else (),
    )


def _is_ours(name: str) -> bool:
    """Whether a ratio is that of the port to a mode of the original."""
    pair = recorded_pair(name)
    return pair is not None and pair.left == PORT and pair.right.is_original


def _ratio_text(ratio: Ratio) -> str:
    if ratio.ratio is None:
        return f"withheld: {ratio.withheld}"
    ends = f" [{ratio.ci95[0]:.3g}, {ratio.ci95[1]:.3g}]" if ratio.ci95 else ""
    return f"{ratio.ratio:.3g}{ends}, {ratio.verdict}"
