"""The same of the algebraic rules."""

from __future__ import annotations

from collections.abc import Mapping

from hlo_rule_examples import ADD, MAX, Example, lines

X, Y = "x = f32[40] parameter(0)", "y = f32[40] parameter(1)"


def number(name: str, value: str) -> str:
    """A constant in every place of f32[40]."""
    return f"{name}0 = f32[] constant({value})\n{name} = f32[40] broadcast({name}0), dimensions={{}}"


ARITHMETIC: Mapping[str, Example] = {
    "neutral numbers dropped": Example(
        lines(X, number("c", "1"), "r = f32[40] multiply(x, c)"),
        # x + 0.0 is another zero where x is -0.0.
        lines(X, number("c", "0"), "r = f32[40] add(x, c)"),
        more=(
            lines(X, number("c", "-0.0"), "r = f32[40] add(x, c)"),
            lines(X, number("c", "0"), "r = f32[40] subtract(x, c)"),
            lines(X, number("c", "1"), "r = f32[40] divide(x, c)"),
            lines(X, number("c", "-inf"), "r = f32[40] maximum(x, c)"),
            lines(X, number("c", "inf"), "r = f32[40] minimum(c, x)"),
            lines("x = s32[] parameter(0)", "c = s32[] constant(0)", "r = s32[] add(x, c)"),
        ),
    ),
    "zeros dropped": Example(
        lines(X, number("c", "0"), "r = f32[40] add(x, c)"), lines(X, number("c", "0"), "r = f32[40] multiply(x, c)")
    ),
    "sums from 0.0": Example(
        lines(X, "z = f32[] constant(-0.0)", "r = f32[] reduce(x, z), dimensions={0}, to_apply=add"),
        lines(X, "z = f32[] constant(0)", "r = f32[] reduce(x, z), dimensions={0}, to_apply=add"),
        computations=ADD,
    ),
    "constants added": Example(
        lines(X, number("c", "0.1"), "r = f32[40] subtract(x, c)"), lines(X, Y, "r = f32[40] subtract(x, y)")
    ),
    "signs in sums": Example(
        lines(X, Y, "n = f32[40] negate(y)", "r = f32[40] add(n, x)"),
        lines(X, Y, "n = f32[40] negate(y)", "r = f32[40] subtract(n, x)"),
        more=(lines(X, Y, "n = f32[40] negate(y)", "r = f32[40] subtract(x, n)"),),
    ),
    "signs after products": Example(
        lines(X, Y, "n = f32[40] negate(y)", "r = f32[40] divide(x, n)"),
        lines(X, Y, "n = f32[40] abs(y)", "r = f32[40] divide(x, n)"),
        more=(lines(X, number("c", "-1"), "r = f32[40] multiply(c, x)"),),
    ),
    "signs in constants": Example(
        lines(X, number("c", "0.3"), "p = f32[40] divide(c, x)", "r = f32[40] negate(p)"),
        lines(X, Y, "p = f32[40] divide(y, x)", "r = f32[40] negate(p)"),
    ),
    "negated differences": Example(
        lines(X, Y, "d = f32[40] subtract(x, y)", "r = f32[40] negate(d)"),
        lines(X, Y, "d = f32[40] add(x, y)", "r = f32[40] negate(d)"),
    ),
    "division by a power of two": Example(
        lines(X, number("c", "8"), "r = f32[40] divide(x, c)"), lines(X, number("c", "3"), "r = f32[40] divide(x, c)")
    ),
    "division by a constant": Example(
        lines(X, number("c", "3"), "r = f32[40] divide(x, c)"), lines(X, number("c", "0"), "r = f32[40] divide(x, c)")
    ),
    "reciprocals": Example(
        lines(X, Y, number("c", "1"), "i = f32[40] divide(c, y)", "r = f32[40] multiply(x, i)"),
        lines(X, Y, number("c", "2"), "i = f32[40] divide(c, y)", "r = f32[40] multiply(x, i)"),
        low=0.5,
    ),
    "factors ordered": Example(
        lines(X, Y, number("c", "3"), "a = f32[40] multiply(x, c)", "r = f32[40] multiply(a, y)"),
        lines(X, Y, number("c", "3"), "a = f32[40] add(x, c)", "r = f32[40] multiply(a, y)"),
        more=(
            lines(X, number("c", "3"), number("d", "0.1"), "a = f32[40] multiply(x, c)", "r = f32[40] multiply(a, d)"),
        ),
    ),
}

ROW = "x = f32[4,6] parameter(0)"
ZERO, LEAST = "z = f32[] constant(0)", "z = f32[] constant(-inf)"
SUMMATION: Mapping[str, Example] = {
    "reductions joined": Example(
        lines(
            ROW,
            ZERO,
            "a = f32[4] reduce(x, z), dimensions={1}, to_apply=add",
            "r = f32[] reduce(a, z), dimensions={0}, to_apply=add",
        ),
        lines(
            ROW,
            "z = f32[] constant(1)",
            "a = f32[4] reduce(x, z), dimensions={1}, to_apply=add",
            "r = f32[] reduce(a, z), dimensions={0}, to_apply=add",
        ),
        low=0.5,
        computations=ADD,
    ),
    "tiles joined": Example(
        lines(
            ROW,
            LEAST,
            "a = f32[2,2] reduce-window(x, z), window={size=2x3 stride=2x3}, to_apply=max",
            "r = f32[] reduce(a, z), dimensions={0,1}, to_apply=max",
        ),
        lines(
            ROW,
            LEAST,
            "a = f32[2,2] reduce-window(x, z), window={size=2x3 stride=2x3}, to_apply=max",
            "r = f32[2] reduce(a, z), dimensions={0}, to_apply=max",
        ),
        computations=MAX,
    ),
    "contractions ordered": Example(
        lines(
            "a = f32[2,3] parameter(0)",
            "b = f32[2,3] parameter(1)",
            "r = f32[] dot(a, b), lhs_contracting_dims={1,0}, rhs_contracting_dims={1,0}",
        ),
        lines(
            "a = f32[2,3] parameter(0)",
            "b = f32[2,3] parameter(1)",
            "r = f32[] dot(a, b), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}",
        ),
        low=0.5,
    ),
    "transposed products": Example(
        lines(
            "a = f32[2,3] parameter(0)",
            "b = f32[3,4] parameter(1)",
            "d = f32[2,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            "r = f32[4,2] transpose(d), dimensions={1,0}",
        ),
        lines(
            "a = f32[5,2,3] parameter(0)",
            "b = f32[3,4] parameter(1)",
            "d = f32[5,2,4] dot(a, b), lhs_contracting_dims={2}, rhs_contracting_dims={0}",
            "r = f32[2,5,4] transpose(d), dimensions={1,0,2}",
        ),
        low=0.5,
    ),
}

SIGNS: Mapping[str, Example] = {
    "absolute values": Example(
        lines(
            X,
            "e = f32[40] exponential(x)",
            ZERO,
            "s = f32[] reduce(e, z), dimensions={0}, to_apply=add",
            "r = f32[] abs(s)",
        ),
        lines(
            X, "e = f32[40] tanh(x)", ZERO, "s = f32[] reduce(e, z), dimensions={0}, to_apply=add", "r = f32[] abs(s)"
        ),
        computations=ADD,
    ),
    "signs of floats": Example(
        lines(X, "e = f32[40] multiply(x, x)", number("c", "0"), "r = pred[40] compare(c, e), direction=LE"),
        lines(X, Y, "e = f32[40] multiply(x, y)", number("c", "0"), "r = pred[40] compare(c, e), direction=LE"),
    ),
}

INDEX = "i = s32[] parameter(0)\nz = s32[] constant(0)\nn = s32[] constant(5)"
FORMULAS: Mapping[str, Example] = {
    "powers": Example(
        lines(X, number("c", "3"), "r = f32[40] power(x, c)"),
        lines(X, number("c", "2.5"), "r = f32[40] power(x, c)"),
        low=0.5,
        more=tuple(
            lines(X, number("c", power), "r = f32[40] power(x, c)") for power in ("2", "1", "0.5", "-0.5", "-1", "-2")
        ),
    ),
    "divided roots": Example(
        lines(X, Y, "s = f32[40] sqrt(y)", "r = f32[40] divide(x, s)"),
        lines(X, Y, "s = f32[40] cbrt(y)", "r = f32[40] divide(x, s)"),
        low=0.5,
        more=(
            lines(
                X,
                "y = f32[] parameter(1)",
                "s = f32[] rsqrt(y)",
                "b = f32[40] broadcast(s), dimensions={}",
                "r = f32[40] divide(x, b)",
            ),
        ),
    ),
    "logistic": Example(
        lines(
            X,
            number("c", "1"),
            "n = f32[40] negate(x)",
            "e = f32[40] exponential(n)",
            "a = f32[40] add(e, c)",
            "r = f32[40] divide(c, a)",
        ),
        lines(
            X,
            number("c", "1"),
            "n = f32[40] negate(x)",
            "e = f32[40] exponential(n)",
            "a = f32[40] subtract(e, c)",
            "r = f32[40] divide(c, a)",
        ),
        beside=("double negations dropped",),
    ),
    "logs near one": Example(
        lines(X, number("c", "1"), "a = f32[40] add(c, x)", "r = f32[40] log(a)"),
        lines(X, number("c", "2"), "a = f32[40] add(c, x)", "r = f32[40] log(a)"),
        low=1.0,
        more=(lines(X, number("c", "-1"), "a = f32[40] exponential(x)", "r = f32[40] add(a, c)"),),
    ),
    "logs of exponentials": Example(
        lines(X, "a = f32[40] exponential(x)", "r = f32[40] log(a)"),
        lines(X, "a = f32[40] exponential-minus-one(x)", "r = f32[40] log(a)"),
        low=0.5,
    ),
    "clamps": Example(
        lines(X, number("a", "-1"), number("b", "0.5"), "r = f32[40] clamp(a, x, b)"),
        lines(X, number("a", "-1"), "r = f32[40] maximum(a, x)"),
    ),
    "larger and smaller": Example(
        lines(X, Y, "p = pred[40] compare(x, y), direction=LT", "r = f32[40] select(p, y, x)"),
        lines(X, Y, "p = pred[40] compare(x, y), direction=EQ", "r = f32[40] select(p, y, x)"),
        more=(lines(X, Y, "p = pred[40] compare(x, y), direction=LE", "r = f32[40] select(p, x, y)"),),
    ),
    "positive parts": Example(
        lines(X, number("c", "0"), "m = f32[40] maximum(c, x)", "r = pred[40] compare(c, m), direction=LT"),
        lines(X, number("c", "0"), "m = f32[40] maximum(c, x)", "r = pred[40] compare(c, m), direction=LE"),
    ),
    "masks": Example(
        lines(X, "p = pred[40] parameter(1)", "m = f32[40] convert(p)", "r = f32[40] multiply(x, m)"),
        lines(X, "p = s32[40] parameter(1)", "m = f32[40] convert(p)", "r = f32[40] multiply(x, m)"),
    ),
    "finite guards": Example(
        lines(X, number("c", "0"), "f = pred[40] is-finite(x)", "r = f32[40] select(f, x, c)"),
        lines(X, Y, number("c", "0"), "f = pred[40] is-finite(y)", "r = f32[40] select(f, x, c)"),
    ),
    "index wrap-around": Example(
        lines(INDEX, "b = pred[] compare(i, z), direction=LT", "w = s32[] add(i, n)", "r = s32[] select(b, w, i)"),
        lines(INDEX, "b = pred[] compare(i, n), direction=LT", "w = s32[] add(i, n)", "r = s32[] select(b, w, i)"),
    ),
}
