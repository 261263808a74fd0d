"""A cause is named only where the change that it claims gives the original's value: to look like one is not enough."""

from __future__ import annotations

import numpy as np
import pytest
from departing import ADD, MAX, constant, found, only, program

from compare.hlo import bindings
from compare.hlo.causes import UNKNOWN
from compare.hlo.levels import Subject
from compare.hlo.locate import Case, _parts, locate

ZERO = "z = f64[] constant(0)\n"
TOTAL = "r = f64[] reduce(q, z), dimensions={0}, to_apply=add_"
SQUARES = f"{ZERO}d = f64[8] subtract(x, y)\nq = f64[8] multiply(d, d)\n"
RUNNING = "w = f64[8] reduce-window(x, z), window={{size=8 {}}}, to_apply=add_\nr = f64[8] multiply(w, y)"
WHOLE = """h = f64[8] multiply(x, c)
    a = s64[8] convert(h)
    b0 = s64[] constant(3)
    b = s64[8] broadcast(b0), dimensions={}
"""
DOWN = """q = s64[8] divide(a, b)
    p = s64[8] multiply(q, b)
    e = pred[8] compare(p, a), direction=NE
    n0 = s64[] constant(0)
    n = s64[8] broadcast(n0), dimensions={}
    m = pred[8] compare(a, n), direction=LT
    f = pred[8] and(e, m)
    o0 = s64[] constant(1)
    o = s64[8] broadcast(o0), dimensions={}
    g = s64[8] subtract(q, o)
    i = s64[8] select(f, g, q)
    r = f64[8] convert(i)"""
RELU = constant(0, "z") + "a = f64[8] maximum(x, z)\nr = f64[8] multiply(a, y)"
SILU = "l = f64[8] logistic(x)\na = f64[8] multiply(x, l)\nr = f64[8] multiply(a, y)"
COUNTED = constant(1, "u") + "a = f64[8] abs(y)\nm = f64[8] maximum(a, u)\nr = f64[8] divide(x, m)"

PROVED = {
    "a square as an absolute value": (
        SQUARES + TOTAL, f"{ZERO}d = f64[8] subtract(x, y)\nq = f64[8] abs(d)\n{TOTAL}", "another function",
    ),
    "a third power": (SQUARES + TOTAL, SQUARES.replace("q =", "p =") + f"q = f64[8] multiply(p, d)\n{TOTAL}", "power"),
    "a sum that leaves the element out": (
        ZERO + RUNNING.format("pad=8_-1"), ZERO + RUNNING.format("pad=7_0"), "cumulative sum",
    ),
    "a quotient rounded down": (
        constant(20) + WHOLE + "q = s64[8] divide(a, b)\nr = f64[8] convert(q)", constant(20) + WHOLE + DOWN,
        "integer division",
    ),
    "silu for relu": (RELU, SILU, "another activation"),
    "a mean": (
        f"{ZERO}q = f64[8] tanh(x)\n" + TOTAL.replace("r =", "s =") + "\ne = f64[] constant(8)\nr = f64[] divide(s, e)",
        f"{ZERO}q = f64[8] tanh(x)\n{TOTAL}", "mean or sum",
    ),
    "the sign": ("n = f64[8] negate(x)\ne = f64[8] tanh(n)\nr = f64[8] add(e, y)",
                 "e = f64[8] tanh(x)\nr = f64[8] add(e, y)", "sign"),
    "a reversal": ("v = f64[8] reverse(x), dimensions={0}\nr = f64[8] multiply(v, y)", "r = f64[8] multiply(x, y)",
                   "order of elements"),
    "a number of another operation": (
        constant(-0.5, "l") + constant(0.5, "h")
        + "a = f64[8] minimum(x, h)\nb = f64[8] maximum(a, l)\nr = f64[8] add(b, y)",
        constant(-0.7, "l") + constant(0.5, "h")
        + "a = f64[8] maximum(x, l)\nb = f64[8] minimum(a, h)\nr = f64[8] add(b, y)", "another constant",
    ),
}  # fmt: skip
UNPROVED = {
    "a count of at least one is no activation": (COUNTED, "a = f64[8] abs(y)\nr = f64[8] divide(x, a)"),
    "a product with tanh is none that is known": (RELU, "t = f64[8] tanh(x)\na = f64[8] multiply(t, t)\n"
                                                  "b = f64[8] sine(a)\nr = f64[8] multiply(b, y)"),
    "another place of a sum is no residual": ("s = f64[8] add(x, y)\nr = f64[8] tanh(s)",
                                              "t = f64[8] tanh(x)\nr = f64[8] multiply(t, y)"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVED)
def test_a_cause_is_proved_by_the_change_that_it_claims(name: str) -> None:
    left, right, cause = PROVED[name]
    assert only(found(left, right, f"{ADD}\n{MAX}")).cause == cause


@pytest.mark.parametrize("name", UNPROVED)
def test_what_only_looks_like_a_cause_is_none(name: str) -> None:
    left, right = UNPROVED[name]
    departure = only(found(left, right, f"{ADD}\n{MAX}"))
    assert departure.cause == UNKNOWN.name
    assert departure.difference


def test_a_factor_that_is_no_number_of_elements_is_no_mean() -> None:
    left = f"{ZERO}q = f64[8] tanh(x)\n{TOTAL.replace('r =', 's =')}\ne = f64[] constant(5)\nr = f64[] divide(s, e)"
    assert only(found(left, f"{ZERO}q = f64[8] tanh(x)\n{TOTAL}", ADD)).cause not in ("mean or sum", "another constant")


@pytest.mark.parametrize(("squared", "cause"), [(True, "biased or unbiased variance"), (False, "another constant")])
def test_one_less_is_a_variance_only_where_squares_are_added_up(squared: bool, cause: str) -> None:
    added = "q = f64[8] multiply(x, x)" if squared else "q = f64[8] tanh(x)"
    body = f"{ZERO}{added}\n{TOTAL.replace('r =', 's =')}\ne = f64[] constant(COUNT)\nr = f64[] divide(s, e)"
    assert only(found(body.replace("COUNT", "8"), body.replace("COUNT", "7"), ADD)).cause == cause


CUT = """i = f64[2] slice(x), slice={[0:2]}
    f = f64[2] slice(x), slice={[2:4]}
    g = f64[2] slice(x), slice={[4:6]}
    a = f64[2] logistic(I)
    b = f64[2] logistic(F)
    c = f64[2] tanh(g)
    d = f64[2] multiply(a, c)
    r = f64[2] add(d, b)"""


def test_gates_that_are_read_in_another_order_are_one_departure_where_they_are_cut_out() -> None:
    departure = only(found(CUT.replace("I", "i").replace("F", "f"), CUT.replace("I", "f").replace("F", "i")))
    assert (departure.op, departure.cause, departure.confirmed) == ("slice", "gates of a recurrent cell", True)
    assert departure.difference == "it reads the parts 0:2, 2:4 where tf reads 2:4, 0:2"


def test_parts_that_are_no_gates_are_not_called_so() -> None:
    body = "i = f64[4] slice(x), slice={[0:4]}\nf = f64[4] slice(x), slice={[4:8]}\nr = f64[4] divide(FIRST, SECOND)"
    pairs = [body.replace("FIRST", one).replace("SECOND", other) for one, other in ("if", "fi")]
    assert only(found(*pairs)).cause == "order of parts"


PARTS_READ_RIGHT = """a = f64[4] slice(x), slice={[0:4]}
    b = f64[4] slice(x), slice={[4:8]}
    d = f64[4] subtract(a, b)
    e = f64[4] slice(y), slice={[0:4]}
    f = f64[4] slice(y), slice={[4:8]}
    g = f64[4] subtract(e, f)
"""


def test_no_order_is_tried_of_parts_whose_readers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order is a compilation, and nothing departs where the parts are joined."""
    tried: list[int] = []
    monkeypatch.setattr(_parts, "_agrees", lambda *_: bool(tried.append(1)))
    found(f"{PARTS_READ_RIGHT}r = f64[4] add(d, g)", f"{PARTS_READ_RIGHT}r = f64[4] subtract(d, g)")
    assert not tried


def wide(label: str, body: str) -> Subject:
    text = f"HloModule m\nENTRY e {{ x = c128[8] parameter(0)\n{body} }}"
    return Subject(label, bindings.hlo_from_text(text), ("input x",), ("out",))


def test_a_factor_of_a_fourier_transforms_length_is_its_norm_and_no_mean() -> None:
    generator = np.random.default_rng(0)
    array = generator.standard_normal(8) + 1j * generator.standard_normal(8)
    scaled = "c = c128[] constant((0.125, 0))\nb = c128[8] broadcast(c), dimensions={}\nROOT r = c128[8] multiply(f, b)"
    bodies = [
        f"f = c128[8] fft(x), fft_type=FFT, fft_length={{8}}\n{end}" for end in ("ROOT r = c128[8] copy(f)", scaled)
    ]
    departure = only(locate(wide("tf", bodies[0]), wide("jax", bodies[1]), [Case([array], [array])]))
    assert departure.cause == "norm of the Fourier transform"


def test_a_value_that_departs_at_an_edge_alone_is_a_gradients_only_where_gradients_are_taken() -> None:
    zero = constant(0, "z")
    sides = [zero + f"m = pred[8] compare(x, z), direction={how}\nr = f64[8] select(m, y, z)" for how in ("GT", "GE")]
    assert only(found(*sides)).cause == "value at an edge"
    named = [side.replace("direction=GT", 'direction=GT, metadata={op_name="transpose(jvp())/gt"}') for side in sides]
    assert only(found(*named)).cause == "subgradient at an edge"
    assert program("tf", named[0])


MOMENTS = (
    constant(0.1, "b1") + constant(0.001, "b2") + "z = f64[8] subtract(y, y)\nc1 = f64[8] add(z, b1)\n"
    "c2 = f64[8] add(z, b2)\nm = f64[8] multiply(y, b1)\nq = f64[8] multiply(y, y)\nv = f64[8] multiply(q, b2)\n"
)  # fmt: skip
KERAS = (
    MOMENTS + constant(0.01, "l") + constant(1e-7, "e") + "h = f64[8] sqrt(c2)\na = f64[8] multiply(l, h)\n"
    "k = f64[8] divide(a, c1)\ns = f64[8] sqrt(v)\nd = f64[8] add(s, e)\nn = f64[8] multiply(m, k)\n"
    "u = f64[8] divide(n, d)\nr = f64[8] subtract(x, u)"
)  # fmt: skip
OPTAX = (
    MOMENTS + constant(-0.01, "l") + constant(1e-8, "e") + "mh = f64[8] divide(m, c1)\nvh = f64[8] divide(v, c2)\n"
    "s = f64[8] sqrt(vh)\nd = f64[8] add(s, e)\nu = f64[8] divide(mh, d)\nn = f64[8] multiply(u, l)\n"
    "r = f64[8] add(x, n)"
)  # fmt: skip


def test_an_optimizers_epsilon_before_the_bias_correction_explains_every_weight() -> None:
    departure = only(found(KERAS, OPTAX, results=("weight kernel",)))
    assert (departure.cause, departure.confirmed, departure.value) == ("epsilon of an optimizer", True, None)
    assert departure.remedy.startswith("tf adds 1e-07; ")


def test_two_constants_that_differ_are_two_departures() -> None:
    body = "{}s = f64[8] multiply(x, a)\nt = f64[8] tanh(s)\nr = f64[8] multiply(t, b)"
    sides = [body.format(constant(one, "a") + constant(other, "b")) for one, other in ((2.0, 5.0), (3.0, 7.0))]
    assert [each.difference for each in found(*sides).departures] == [
        "the constant is 3.0, tf has 2.0", "the constant is 7.0, tf has 5.0",
    ]  # fmt: skip


def test_a_factor_is_no_departure_of_its_own_where_another_one_departs_in_the_original() -> None:
    product = "r = f64[] dot({}), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}"
    left = constant(2.0) + "a = f64[8] multiply(x, c)\n" + product.format("a, y")
    right = constant(3.0) + "a = f64[8] multiply(y, c)\n" + product.format("x, a")
    assert only(found(left, right)).confirmed


def test_an_optimizer_that_differs_in_more_than_its_epsilon_is_not_explained_by_it() -> None:
    other = OPTAX.replace("n = f64[8] multiply(u, l)", "w = f64[8] tanh(u)\nn = f64[8] multiply(w, l)")
    assert all(
        each.cause != "epsilon of an optimizer" for each in found(KERAS, other, results=("weight kernel",)).departures
    )
