"""Sentences about what no gate judges, and why: one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def at_sizes(gate: str, sizes: str, reason: str) -> str:
    """A gate that is not judged at another size."""
    return f"{gate} gate: not judged at {sizes}: {reason}"


def not_swept(pass_: str, elements: int) -> str:
    """A pass has too many inputs for a sweep."""
    return f"{pass_}: not swept, because hundreds of calls on {elements:,} elements take minutes: judge a smaller size"


def beyond(name: str, table: int) -> str:
    """An index that no case holds against the original."""
    return (
        f"beyond 0..{table - 1}, index {name} means something else in the port than in the original "
        "(it may clamp, count from the end, fill or drop): no case judges that"
    )


def without_gradients(case: str) -> str:
    """Gradients that nothing is known of."""
    return f"gradients pass, case {case}: not judged, because TensorFlow's own modes give different results there"


_WIDEN = "widen the range of an input, as in 'x=f32[8]:-1e6..1e6'"


def _decision(decider: str, condition: str, line: str) -> str:
    place = f" at {line}" if line else ""
    return f"{decider} decides{place} whether a value is {condition}"


def _values(holds: bool) -> str:
    return "every value was" if holds else "no value was"


SPECIAL_UNASKED = "TensorFlow could not be asked whether its own modes agree there: run it instead of a recorded side"
"""Why a case with special values is not used."""
SPECIAL_WITHOUT_VALUE = "the original gives NaN there, and does not test for infinities"
SPECIAL_OVERFLOW = "the original gives an infinity there and the port NaN, and formulas of equal quality differ so"
SPECIAL_UNREACHED = (
    "no NaN, infinity, zero or largest number in the inputs leads to it: judge the function that decides alone, "
    "and pass the value that it decides about as an input"
)


def special_disagreement(modes: Sequence[str]) -> str:
    """Why a case is not used that TensorFlow's own modes do not agree on."""
    return f"TensorFlow's own modes ({', '.join(modes)}, and XLA in float64) disagree there: choose which one is right"


def special_refused(mode: str, reason: str) -> str:
    """Why a case is not used that a mode of TensorFlow raises an error on."""
    return f"{mode} refuses such inputs: {reason}"


def special_range(inputs: Sequence[str]) -> str:
    """Why no special value was placed."""
    return f"the declared range of {', '.join(inputs)} contains none: remove the range to have it judged"


def special_lost(kind: str, reason: str) -> str:
    """Special values that no case is used of."""
    return f"no case judges inputs with {kind}: {reason}"


def one_branch(side: str, condition: str, line: str, holds: bool, why: str = _WIDEN) -> str:
    """A decision that every case took one way.

    Args:
      line: the user's line; empty where it is not known.
      holds: whether the condition held in every case.
      why: why no case decides it the other way, and what to do.
    """
    decision = _decision(side, condition, line)
    return f"{decision}: in all cases, {_values(holds)}; the other branch of the port is not judged: {why}"


def refused_kinks(cases: Sequence[str], reason: str) -> str:
    """The original refuses such inputs, so that the port is not judged there."""
    return f"TensorFlow refuses {', '.join(cases)}: {reason.rstrip('.')}; the port is not judged there"


def constant_outputs(workload: str, leaves: Mapping[str, str]) -> str:
    """Outputs that are the same whatever goes in."""
    same = ", ".join(f"{leaf} is {value}" for leaf, value in list(leaves.items())[:4])
    return (
        f"{workload}: semantics gate: {same} in every case, which proves nothing: "
        "draw inputs that lead to another result, as in 'x=f32[8]:-100..100' or ArraySpec(low=, high=)"
    )


def no_late_steps(reason: str) -> str:
    """Why the training step is judged in its ordinary run alone."""
    return f"only the ordinary training run is judged, no later step: {reason}"


def never_decided(side: str, line: str, steps: int) -> str:
    """A decision by a counter that comes out one way for as long as counters were run.

    Args:
      steps: for how many steps counters were run.
    """
    return (
        f"{side}'s training step decides at {line} by a counter that does not reach that number in {steps} "
        "steps: the other branch of the port is not judged"
    )


def no_far_steps(operations: int) -> str:
    """Why curves over the number of the step are judged in the ordinary run alone."""
    return (
        f"the training step has {operations} operations and no counter decides anything after the ordinary run: no "
        "later step is judged"
    )


def turns_left_out(count: int, first: int) -> str:
    """Steps at which decisions turn that are too many to be judged."""
    return f"{count} more steps at which a decision turns are not judged, the first of them about step {first}"


def never_turned(side: str, condition: str, line: str, holds: bool) -> str:
    """A decision of the training step over data that no changed batch turned.

    Args:
      line: the user's line; empty where it is not known.
      holds: whether it held in every step.
    """
    decision = _decision(f"{side}'s training step", condition, line)
    return (
        f"{decision}: {_values(holds)}, in ordinary steps and with inputs or weights times 0 and 2^-20 to 2^20: the "
        "other branch of the port is not judged"
    )


def same_everywhere(leaf: str, value: str) -> str:
    """An output that no case varies, beside others."""
    return f"leaf {leaf} is {value} in every case: nothing is proved of it"


def one_size() -> str:
    """The gates judge the workload's own size alone."""
    return "judged at one size only: name the dimensions that vary, as in 'x=f32[B,128]', or give a workload ranges"


def not_at_sizes(sizes: Sequence[str], reason: str) -> str:
    """Sizes that the original does not take, or that the workload refuses, and why it refuses the first."""
    return (
        f"nothing is judged at {'; '.join(sizes)}: {reason}: "
        "say which sizes it takes, as with --dimension B=2..64 or ranges="
    )
