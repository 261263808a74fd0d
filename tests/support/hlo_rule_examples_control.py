"""The same of loops and branches."""

from __future__ import annotations

from collections.abc import Mapping

from hlo_rule_examples import Example, lines

_STEP = ("one = s32[] constant(1)", "m = s32[] add(v0, one)")


def body(name: str, state: tuple[str, ...], steps: tuple[str, ...], results: str) -> str:
    """A loop body of state v0, v1 and so on."""
    kind = f"({', '.join(state)})"
    parts = [f"v{at} = {each} get-tuple-element(p), index={at}" for at, each in enumerate(state)]
    return f"{name} {{\n" + lines(f"p = {kind} parameter(0)", *parts, *steps, f"r = {kind} tuple({results})") + "\n}"


def tested(name: str, state: tuple[str, ...], at: int) -> str:
    """A loop's test: whether the state at a place is below 3."""
    kind = f"({', '.join(state)})"
    counter = f"c = s32[] get-tuple-element(p), index={at}"
    instructions = lines(
        f"p = {kind} parameter(0)", counter, "n = s32[] constant(3)", "t = pred[] compare(c, n), direction=LT"
    )
    return f"{name} {{\n{instructions}\n}}"  # fmt: skip


def looped(state: tuple[str, ...], inputs: tuple[str, ...], start: str, part: int) -> str:
    """A program that runs the loop and returns one part of its state."""
    kind = f"({', '.join(state)})"
    run = (f"t = {kind} tuple({start})", f"w = {kind} while(t), condition=test, body=body")
    return lines(*inputs, *run, f"r = {state[part]} get-tuple-element(w), index={part}")


def branch(name: str, opcode: str) -> str:
    """A branch that reads the second part of what it is handed."""
    parts = ("p = (f32[2], f32[2]) parameter(0)", "b = f32[2] get-tuple-element(p), index=1", f"r = f32[2] {opcode}(b)")
    return f"{name} {{\n{lines(*parts)}\n}}"


def single(name: str, opcode: str) -> str:
    """A branch that reads all that it is handed."""
    parts = ("p = (f32[2]) parameter(0)", "b = f32[2] get-tuple-element(p), index=0", f"r = f32[2] {opcode}(b)")
    return f"{name} {{\n{lines(*parts)}\n}}"


S, F = "s32[]", "f32[2]"
ZERO, VALUE = "z = s32[] constant(0)", "x = f32[2] parameter(0)"
_SCALE = ("w = f32[2] multiply(v1, v2)",)
_THREE = (S, F, F)
_FIXED = body("body", _THREE, (*_STEP, *_SCALE), "m, w, v2") + "\n" + tested("test", _THREE, 0)
_SPREAD = ("c = f32[] constant(0.5)", "y = f32[2] broadcast(c), dimensions={}")

_BRANCHES = f"{branch('yes', 'negate')}\n{branch('no', 'abs')}"
_HANDED = ("x = f32[2] parameter(0)", "y = f32[2] parameter(1)", "t = (f32[2], f32[2]) tuple(x, y)")
_CHOSEN = "r = f32[2] conditional(p, t, t), true_computation=yes, false_computation=no"
_NUMBERED = "r = f32[2] conditional(i, t, t), branch_computations={no, yes}"

CONTROL: Mapping[str, Example] = {
    "constants in loops": Example(
        looped(_THREE, (VALUE, *_SPREAD, ZERO), "z, x, y", 1),
        looped(_THREE, (VALUE, "y = f32[2] parameter(1)", ZERO), "z, x, y", 1),
        computations=_FIXED,
    ),
    # Both counters start and step alike: one is enough.
    "loop state ordered": Example(
        looped((S, F, S), (VALUE, ZERO), "z, x, z", 1),
        looped((S,), (ZERO,), "z", 0),
        computations=body("body", (S, F, S), (*_STEP, "o = s32[] add(v2, one)", "w = f32[2] negate(v1)"), "m, w, o")
        + "\n"
        + tested("test", (S, F, S), 2),
        beside_the_miss=body("body", (S,), _STEP, "m") + "\n" + tested("test", (S,), 0),
    ),
    "unchanged state": Example(
        looped(_THREE, (VALUE, "y = f32[2] parameter(1)", ZERO), "z, x, y", 2),
        looped(_THREE, (VALUE, "y = f32[2] parameter(1)", ZERO), "z, x, y", 1),
        computations=_FIXED,
    ),
    "decided branches": Example(
        lines(*_HANDED, "p = pred[] constant(false)", _CHOSEN),
        lines(*_HANDED, "p = pred[] parameter(2)", _CHOSEN),
        computations=_BRANCHES,
        more=(lines(*_HANDED, "i = s32[] constant(7)", _NUMBERED),),
    ),
    "branches by truth": Example(
        lines(*_HANDED, "p = pred[] parameter(2)", "i = s32[] convert(p)", _NUMBERED),
        lines(*_HANDED, "i = s32[] parameter(2)", _NUMBERED),
        computations=_BRANCHES,
    ),
    "operands of branches": Example(
        lines(*_HANDED, "p = pred[] parameter(2)", _CHOSEN),
        lines(
            "x = f32[2] parameter(0)",
            "t = (f32[2]) tuple(x)",
            "p = pred[] parameter(1)",
            "r = f32[2] conditional(p, t, t), true_computation=one, false_computation=other",
        ),
        computations=_BRANCHES,
        beside_the_miss=f"{single('one', 'negate')}\n{single('other', 'abs')}",
    ),
    "equal branches": Example(
        lines(*_HANDED, "p = pred[] parameter(2)", _CHOSEN),
        lines(*_HANDED, "p = pred[] parameter(2)", _CHOSEN),
        computations=f"{branch('yes', 'negate')}\n{branch('no', 'negate')}",
        beside_the_miss=_BRANCHES,
    ),
}
