"""By rule: a program that it rewrites, and one beside it that it must leave alone. HLO text, the last line the root.

`structural` rules are in this file, the algebraic ones in hlo_rule_examples_algebraic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }"
MAX = "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }"

X, Y = "x = f32[2,3] parameter(0)", "y = f32[2,3] parameter(1)"
WIDE = "x = f32[4,5,6] parameter(0)"
INDEX = "i = s32[4] parameter(1)"


@dataclass(frozen=True)
class Example:
    """What a rule rewrites and a near miss.

    Attributes:
      beside: other rules that the form needs to be seen.
      whole: floats are small whole numbers: sums of them are exact in any order.
      low, high: floats are uniform in this range.
      computations: what reductions, loops and branches call; `beside_the_miss` those of the near miss, if others.
      known: what the program computes, where this process's XLA has no word for it.
      more: further programs that it rewrites.
    """

    fires: str
    misses: str
    beside: tuple[str, ...] = ()
    whole: bool = False
    low: float | None = None
    high: float = 4.0
    computations: str = ""
    known: Callable[..., np.ndarray] | None = None
    more: tuple[str, ...] = ()
    beside_the_miss: str = ""


def lines(*instructions: str) -> str:
    """Instructions, the last of them the root."""
    return "\n".join((*instructions[:-1], f"ROOT {instructions[-1]}"))


FORWARDING: Mapping[str, Example] = {
    "tuples forwarded": Example(
        lines(X, Y, "t = (f32[2,3], f32[2,3]) tuple(x, y)", "r = f32[2,3] get-tuple-element(t), index=1"),
        lines("t = (f32[2,3], f32[2,3]) parameter(0)", "r = f32[2,3] get-tuple-element(t), index=1"),
    ),
    "identities dropped": Example(
        lines(X, "r = f32[2,3] copy(x)"),
        lines(X, 'r = f32[2,3] custom-call(x), custom_call_target="Softmax"'),
        more=(
            lines(X, "r = f32[2,3] opt-barrier(x)"),
            lines(X, 'r = f32[2,3] custom-call(x), custom_call_target="Sharding"'),
        ),
        known=lambda x: x,
    ),
    "layouts spelled out": Example(
        lines("x = f32[2,3]{1,0} parameter(0)", "r = f32[3,2]{0,1} bitcast(x)"),
        lines("x = f32[2,3]{1,0} parameter(0)", "r = s32[3,2]{1,0} bitcast(x)"),
        known=lambda x: x.T,
        more=(lines("x = f32[2,3]{0,1} parameter(0)", "r = f32[3,2]{1,0} bitcast(x)"),),
    ),
    "no-ops dropped": Example(
        lines(X, "r = f32[2,3] reshape(x)"),
        lines("x = f32[3,3] parameter(0)", "r = f32[3,3] transpose(x), dimensions={1,0}"),
        more=(
            lines(X, "r = f32[2,3] slice(x), slice={[0:2], [0:3]}"),
            lines(X, "r = f32[2,3] concatenate(x), dimensions={0}"),
            lines(X, "r = f32[2,3] broadcast(x), dimensions={0,1}"),
            lines(X, "r = f32[2,3] convert(x)"),
        ),
    ),
    "empty reversals dropped": Example(
        lines("x = f32[1,3] parameter(0)", "r = f32[1,3] reverse(x), dimensions={0}"),
        lines(X, "r = f32[2,3] reverse(x), dimensions={0}"),
    ),
    "empty padding dropped": Example(
        lines(X, "z = f32[] constant(0)", "r = f32[2,3] pad(x, z), padding=0_0x0_0"),
        lines(X, "z = f32[] constant(0)", "r = f32[2,3] pad(x, z), padding=1_-1x0_0"),
    ),
    "empty rounding dropped": Example(
        lines(X, "r = f32[2,3] reduce-precision(x), exponent_bits=8, mantissa_bits=23"),
        lines(X, "r = f32[2,3] reduce-precision(x), exponent_bits=8, mantissa_bits=7"),
    ),
    "converts joined": Example(
        lines(X, "w = f64[2,3] convert(x)", "r = f16[2,3] convert(w)"),
        lines(X, "w = f16[2,3] convert(x)", "r = f32[2,3] convert(w)"),
        more=(lines("x = s32[4] parameter(0)", "w = s64[4] convert(x)", "r = f32[4] convert(w)"),),
    ),
}

SHAPES: Mapping[str, Example] = {
    "reshapes joined": Example(
        lines(X, "y = f32[6] reshape(x)", "r = f32[3,2] reshape(y)"),
        lines(X, "y = f32[2,3] negate(x)", "r = f32[3,2] reshape(y)"),
    ),
    "transposes joined": Example(
        lines(
            WIDE, "y = f32[5,6,4] transpose(x), dimensions={1,2,0}", "r = f32[6,5,4] transpose(y), dimensions={1,0,2}"
        ),
        lines(WIDE, "y = f32[6,5,4] reshape(x)", "r = f32[4,5,6] transpose(y), dimensions={2,1,0}"),
    ),
    "broadcasts joined": Example(
        lines(
            "x = f32[3] parameter(0)",
            "y = f32[2,3] broadcast(x), dimensions={1}",
            "r = f32[2,4,3] broadcast(y), dimensions={0,2}",
        ),
        lines("x = f32[3] parameter(0)", "y = f32[3] negate(x)", "r = f32[2,3] broadcast(y), dimensions={1}"),
    ),
    "broadcasts in order": Example(
        lines(X, "r = f32[3,4,2] broadcast(x), dimensions={2,0}"),
        lines(X, "r = f32[2,4,3] broadcast(x), dimensions={0,2}"),
    ),
    "broadcasts moved": Example(
        lines("x = f32[3] parameter(0)", "y = f32[2,4,3] broadcast(x), dimensions={2}", "r = f32[8,3] reshape(y)"),
        lines("x = f32[3] parameter(0)", "y = f32[2,3] broadcast(x), dimensions={1}", "r = f32[6] reshape(y)"),
        more=(
            lines(
                "x = f32[3] parameter(0)",
                "y = f32[2,3] broadcast(x), dimensions={1}",
                "r = f32[3,2] transpose(y), dimensions={1,0}",
            ),
            lines("x = f32[] parameter(0)", "y = f32[2,3] broadcast(x), dimensions={}", "r = f32[6,1] reshape(y)"),
        ),
    ),
    "iotas by row": Example(
        lines("r = s32[2,3] iota(), iota_dimension=1"), lines("r = s32[3] iota(), iota_dimension=0")
    ),
    "broadcasts without size 1": Example(
        lines("x = f32[2,1] parameter(0)", "r = f32[2,4,1] broadcast(x), dimensions={0,2}"),
        lines("x = f32[2] parameter(0)", "r = f32[2,4] broadcast(x), dimensions={0}"),
    ),
    "transposes without size 1": Example(
        lines("x = f32[2,1,3] parameter(0)", "r = f32[3,1,2] transpose(x), dimensions={2,1,0}"),
        lines(X, "r = f32[3,2] transpose(x), dimensions={1,0}"),
    ),
    "scalars spread": Example(
        lines(X, "a = f32[] constant(-1)", "b = f32[] constant(1)", "r = f32[2,3] clamp(a, x, b)"),
        lines(X, "a = f32[2,3] parameter(1)", "b = f32[2,3] parameter(2)", "r = f32[2,3] clamp(a, x, b)"),
    ),
    "elementwise without size 1": Example(
        lines("x = f32[2,1] parameter(0)", "y = f32[2,1] parameter(1)", "r = f32[2,1] divide(x, y)"),
        lines("x = f32[2,1] parameter(0)", "r = f32[2,1] reverse(x), dimensions={0}"),
    ),
    "elementwise first": Example(
        lines(X, Y, "a = f32[6] reshape(x)", "b = f32[6] reshape(y)", "r = f32[6] subtract(a, b)"),
        lines(X, "y = f32[6] parameter(1)", "a = f32[6] reshape(x)", "r = f32[6] subtract(a, y)"),
        more=(
            lines(
                X,
                "c = f32[] constant(3)",
                "b = f32[3,2] broadcast(c), dimensions={}",
                "a = f32[3,2] transpose(x), dimensions={1,0}",
                "r = f32[3,2] power(a, b)",
            ),
            lines(
                "x = f32[2] parameter(0)",
                "y = f32[2] parameter(1)",
                "a = f32[2,3] broadcast(x), dimensions={0}",
                "b = f32[2,3] broadcast(y), dimensions={0}",
                "r = pred[2,3] compare(a, b), direction=LT",
            ),
        ),
    ),
}

CONSTANTS: Mapping[str, Example] = {
    "splats spread": Example(lines("r = f32[2] constant({7, 7})"), lines("r = f32[2] constant({0, -0.0})")),
    "counting constants": Example(lines("r = s32[3] constant({0, 1, 2})"), lines("r = s32[3] constant({0, 1, 3})")),
    "iotas of one": Example(lines("r = s32[1] iota(), iota_dimension=0"), lines("r = s32[2] iota(), iota_dimension=0")),
    "constants moved": Example(
        lines("c = f32[2,2] constant({{1, 2}, {3, 4}})", "r = f32[2,2] transpose(c), dimensions={1,0}"),
        lines("c = f32[2,2] parameter(0)", "r = f32[2,2] transpose(c), dimensions={1,0}"),
        more=(
            lines("c = f32[3] constant({1, 2, 3})", "r = f32[3] reverse(c), dimensions={0}"),
            lines("c = f32[4] constant({1, 2, 3, 4})", "r = f32[2] slice(c), slice={[0:4:2]}"),
            lines("c = f32[4] constant({1, 2, 3, 4})", "r = f32[2,2] reshape(c)"),
        ),
    ),
    "constants converted": Example(
        lines("c = s32[] constant(16777217)", "r = f32[] convert(c)"),
        lines("c = f32[] constant(1.5)", "r = s32[] convert(c)"),
    ),
    "constants computed": Example(
        lines("a = f32[] constant(48)", "b = f32[] constant(0.1)", "r = f32[] subtract(a, b)"),
        lines("a = f32[] constant(48)", "b = f32[] constant(0.1)", "r = f32[] power(a, b)"),
        more=(
            lines(
                "a = s32[5] iota(), iota_dimension=0",
                "b = s32[5] constant({3, 3, 2, 2, 2})",
                "r = s32[5] remainder(a, b)",
            ),
            lines("a = s32[] constant(-7)", "b = s32[] constant(2)", "r = s32[] divide(a, b)"),
            lines("a = s32[] constant(2147483647)", "b = s32[] constant(2)", "r = s32[] multiply(a, b)"),
        ),
    ),
}

P = "p = pred[2,3] parameter(2)"
CHOICES: Mapping[str, Example] = {
    "operands sorted": Example(
        lines(X, Y, "a = f32[2,3] add(x, y)", "b = f32[2,3] add(y, x)", "r = (f32[2,3], f32[2,3]) tuple(a, b)"),
        lines(
            X, Y, "a = f32[2,3] subtract(x, y)", "b = f32[2,3] subtract(y, x)", "r = (f32[2,3], f32[2,3]) tuple(a, b)"
        ),
    ),
    "comparisons mirrored": Example(
        lines(X, Y, "r = pred[2,3] compare(x, y), direction=GE"),
        lines(X, Y, "r = pred[2,3] compare(x, y), direction=LE"),
    ),
    "comparisons strict": Example(
        lines("x = s32[] parameter(0)", "c = s32[] constant(9)", "r = pred[] compare(x, c), direction=LE"),
        lines("x = s32[] parameter(0)", "c = s32[] constant(2147483647)", "r = pred[] compare(x, c), direction=LE"),
        more=(lines("x = s32[] parameter(0)", "c = s32[] constant(0)", "r = pred[] compare(c, x), direction=LE"),),
    ),
    "comparisons negated": Example(
        lines(X, Y, "p = pred[2,3] compare(x, y), direction=EQ", "r = pred[2,3] not(p)"),
        lines(X, Y, "p = pred[2,3] compare(x, y), direction=LT", "r = pred[2,3] not(p)"),
        more=(
            lines(
                "x = s32[3] parameter(0)",
                "y = s32[3] parameter(1)",
                "p = pred[3] compare(x, y), direction=LT",
                "r = pred[3] not(p)",
            ),
        ),
    ),
    "comparisons with itself": Example(
        lines("x = s32[3] parameter(0)", "r = pred[3] compare(x, x), direction=LE"),
        lines(X, "r = pred[2,3] compare(x, x), direction=LE"),
    ),
    "truths compared": Example(
        lines("p = pred[] parameter(0)", "t = pred[] constant(true)", "r = pred[] compare(p, t), direction=NE"),
        lines("p = pred[] parameter(0)", "t = pred[] constant(true)", "r = pred[] compare(p, t), direction=LT"),
    ),
    "double negations dropped": Example(
        lines(X, "y = f32[2,3] negate(x)", "r = f32[2,3] negate(y)"),
        lines(X, "y = f32[2,3] abs(x)", "r = f32[2,3] negate(y)"),
    ),
    "repetitions dropped": Example(lines(X, "r = f32[2,3] maximum(x, x)"), lines(X, "r = f32[2,3] add(x, x)")),
    "clamps in two operations": Example(
        lines(X, "a = f32[] constant(-1)", "b = f32[] constant(0.5)", "r = f32[2,3] clamp(a, x, b)"),
        lines("i = s32[2] parameter(0)", "a = s32[] constant(0)", "b = s32[] constant(6)", "r = s32[2] clamp(a, i, b)"),
        more=(lines(X, Y, "a = f32[2,3] abs(y)", "r = f32[2,3] clamp(y, x, a)"),),
    ),
    "decided logic": Example(
        lines("p = pred[] parameter(0)", "t = pred[] constant(false)", "r = pred[] or(p, t)"),
        lines("p = s32[] parameter(0)", "t = s32[] constant(0)", "r = s32[] or(p, t)"),
        more=(lines("p = pred[] parameter(0)", "t = pred[] constant(false)", "r = pred[] and(p, t)"),),
    ),
    "decided choices": Example(
        lines(
            X,
            Y,
            "t = pred[] constant(false)",
            "p = pred[2,3] broadcast(t), dimensions={}",
            "r = f32[2,3] select(p, x, y)",
        ),
        lines(X, Y, P, "r = f32[2,3] select(p, x, y)"),
        more=(lines(X, "p = pred[2,3] parameter(1)", "r = f32[2,3] select(p, x, x)"),),
    ),
    "choices by what holds": Example(
        lines(X, Y, "p = pred[2,3] compare(x, y), direction=NE", "r = f32[2,3] select(p, x, y)"),
        lines(X, Y, "p = pred[2,3] compare(x, y), direction=LE", "r = f32[2,3] select(p, x, y)"),
        more=(lines(X, Y, P, "q = pred[2,3] not(p)", "r = f32[2,3] select(q, x, y)"),),
    ),
    "choices of 1 and 0": Example(
        lines("p = pred[] parameter(0)", "a = f32[] constant(1)", "b = f32[] constant(0)", "r = f32[] select(p, a, b)"),
        lines(
            "p = pred[] parameter(0)", "a = f32[] constant(1)", "b = f32[] constant(-0.0)", "r = f32[] select(p, a, b)"
        ),
        more=(
            lines(
                "p = pred[] parameter(0)", "a = f32[] constant(0)", "b = f32[] constant(1)", "r = f32[] select(p, a, b)"
            ),
        ),
    ),
    "signs of integers": Example(
        lines(
            "x = s32[4] iota(), iota_dimension=0",
            "c = s32[] constant(3)",
            "n = s32[4] broadcast(c), dimensions={}",
            "y = s32[4] remainder(x, n)",
            "z = s32[] constant(0)",
            "zs = s32[4] broadcast(z), dimensions={}",
            "r = pred[4] compare(y, zs), direction=LT",
        ),
        lines(
            "x = s32[4] parameter(0)",
            "z = s32[] constant(0)",
            "zs = s32[4] broadcast(z), dimensions={}",
            "r = pred[4] compare(x, zs), direction=LT",
        ),
    ),
}
