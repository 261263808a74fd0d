"""Rules for elementwise operations, one expression each. `$0` is an array, `%0` an array or a number."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compare.porting.functions.rule_calls import Call, Rule, plain_dtype
from compare.porting.functions.written_values import elements_text
from compare.porting.safe_expressions import UnwritableError

TEMPLATES: Mapping[str, str] = {
    "Acos": "jnp.arccos($0)", "Asin": "jnp.arcsin($0)", "Asinh": "jnp.arcsinh($0)",
    "Atan": "jnp.arctan($0)", "Atanh": "jnp.arctanh($0)", "Ceil": "jnp.ceil($0)", "Cos": "jnp.cos($0)",
    "Cosh": "jnp.cosh($0)", "Digamma": "jax.lax.digamma($0)", "Elu": "jax.nn.elu($0)", "Erf": "jax.lax.erf($0)",
    "Erfc": "jax.lax.erfc($0)", "Erfinv": "jax.lax.erf_inv($0)", "Exp": "jnp.exp($0)", "Expm1": "jnp.expm1($0)",
    "Floor": "jnp.floor($0)", "Invert": "~$0", "IsFinite": "jnp.isfinite($0)", "IsInf": "jnp.isinf($0)",
    "IsNan": "jnp.isnan($0)", "Lgamma": "jax.lax.lgamma($0)", "Log": "jnp.log($0)", "Log1p": "jnp.log1p($0)",
    "LogicalNot": "~$0", "Neg": "-$0", "Real": "jnp.real($0)", "Imag": "jnp.imag($0)", "Conj": "jnp.conj($0)",
    "Reciprocal": "1 / $0", "Inv": "1 / $0", "Relu": "jax.nn.relu($0)",
    "Rint": "jnp.rint($0)", "Round": "jnp.round($0)", "Rsqrt": "jax.lax.rsqrt($0)", "Sigmoid": "jax.nn.sigmoid($0)",
    "Sign": "jnp.sign($0)", "Sin": "jnp.sin($0)", "Sinh": "jnp.sinh($0)", "Softplus": "jax.nn.softplus($0)",
    "Softsign": "jax.nn.soft_sign($0)", "Sqrt": "jnp.sqrt($0)", "Square": "jnp.square($0)", "Tan": "jnp.tan($0)",
    "Tanh": "jnp.tanh($0)", "BesselI0e": "jax.lax.bessel_i0e($0)", "BesselI1e": "jax.lax.bessel_i1e($0)",
    "Add": "%0 + %1", "AddV2": "%0 + %1", "Sub": "%0 - %1", "Mul": "%0 * %1", "RealDiv": "%0 / %1",
    "Atan2": "jnp.arctan2($0, $1)", "Equal": "%0 == %1",
    "NotEqual": "%0 != %1", "Less": "%0 < %1", "LessEqual": "%0 <= %1", "Greater": "%0 > %1",
    "GreaterEqual": "%0 >= %1", "LogicalAnd": "$0 & $1", "LogicalOr": "$0 | $1", "BitwiseAnd": "%0 & %1",
    "BitwiseOr": "%0 | %1", "BitwiseXor": "%0 ^ %1", "LeftShift": "%0 << %1", "RightShift": "%0 >> %1",
    "NextAfter": "jnp.nextafter($0, $1)", "Complex": "jax.lax.complex($0, $1)", "ComplexAbs": "jnp.abs($0)",
    "Angle": "jnp.angle($0)", "SelectV2": "jnp.where($0, %1, %2)", "ZerosLike": "jnp.zeros_like($0)",
    "OnesLike": "jnp.ones_like($0)", "StopGradient": "jax.lax.stop_gradient($0)", "Softmax": "jax.nn.softmax($0)",
    "LogSoftmax": "jax.nn.log_softmax($0)", "L2Loss": "jnp.sum(jnp.square($0)) / 2",
    "Igamma": "jax.lax.igamma($0, $1)", "Igammac": "jax.lax.igammac($0, $1)",
    "TanhGrad": "$1 * (1 - jnp.square($0))", "SigmoidGrad": "$1 * $0 * (1 - $0)", "RsqrtGrad": "-0.5 * $1 * $0**3",
    "SqrtGrad": "0.5 * $1 / $0", "ReluGrad": "jnp.where($1 > 0, $0, 0)", "SoftplusGrad": "$0 * jax.nn.sigmoid($1)",
    "ReciprocalGrad": "-$1 * $0 * $0", 
    "BesselI0": "jax.lax.bessel_i0e($0) * jnp.exp(jaxport.elementwise.absolute($0))",
    "BesselI1": "jax.lax.bessel_i1e($0) * jnp.exp(jaxport.elementwise.absolute($0))",
    "Xdivy": "jnp.where($0 == 0, 0, $0 / jnp.where($0 == 0, 1, $1))",
    "Zeta": "jax.scipy.special.zeta(jax.lax.stop_gradient($0), $1)",
    "Betainc": "jax.scipy.special.betainc($0, $1, $2)", "Ndtri": "jax.scipy.special.ndtri($0)",
    "PopulationCount": "jax.lax.population_count($0).astype(jnp.uint8)",
}  # fmt: skip
"""By type of operation; those that are the same in values and gradients, at ties and at zero too."""

_OWN: Mapping[str, tuple[str, str]] = {
    "Abs": ("jaxport.elementwise.absolute($0)", "kinks/abs_at_zero"),
    "Maximum": ("jaxport.elementwise.maximum(%0, %1)", "kinks/maximum_tie"),
    "Minimum": ("jaxport.elementwise.minimum(%0, %1)", "kinks/minimum_tie"),
    "Xlogy": ("jaxport.elementwise.xlogy($0, $1)", "kinks/xlogy_at_zero"),
    "Xlog1py": ("jaxport.elementwise.xlog1py($0, $1)", "kinks/xlogy_at_zero"),
    "DivNoNan": ("jaxport.elementwise.divide_no_nan($0, $1)", ""),
    "MulNoNan": ("jaxport.elementwise.multiply_no_nan(%0, %1)", ""),
    "ClipByValue": ("jaxport.elementwise.clip_by_value($0, $1, $2)", "kinks/clip_ends"),
    "Selu": ("jaxport.activations.selu($0)", ""),
}
"""Operations whose gradients differ in JAX, with the gotcha."""

_OF_INTEGERS = {"Abs": "jnp.abs($0)", "Maximum": "jnp.maximum(%0, %1)", "Minimum": "jnp.minimum(%0, %1)",
                "ClipByValue": "jnp.clip($0, $1, $2)"}  # fmt: skip
_MOST_FACTORS = 8


def _own(call: Call) -> str:
    kind = call.node.type
    if kind in _OF_INTEGERS and not call.is_float(0) and not call.is_complex(0):
        return call.template(_OF_INTEGERS[kind])
    text, gotcha = _OWN[kind]
    if gotcha:
        call.note(f"jaxport lookup gotchas {gotcha}")
    return call.template(text)


def _divide(call: Call) -> str:
    """Div: that of integers goes towards zero."""
    return call.template("%0 / %1") if call.is_float(0) or call.is_complex(0) else _truncate(call)


def _truncate(call: Call) -> str:
    return f"jax.lax.div(*jnp.broadcast_arrays({call.array(0)}, {call.array(1)}))"


def _remainder(call: Call) -> str:
    if call.is_float(0):
        return call.template("jnp.fmod(%0, %1)")
    return f"jax.lax.rem(*jnp.broadcast_arrays({call.array(0)}, {call.array(1)}))"


def _floor_divide(call: Call) -> str:
    return call.template("jnp.floor(%0 / %1)" if call.is_float(0) else "%0 // %1")


def _floor_modulo(call: Call) -> str:
    return call.template("jnp.mod(%0, %1)")


def _power(call: Call) -> str:
    exponent = call.values[1]
    if call.is_complex(0):
        return call.template("jnp.power($0, $1)")
    if exponent.is_known and exponent.host is not None and exponent.host.ndim == 0:
        number = exponent.host[()]
        if float(number).is_integer() and 0 < abs(number) <= _MOST_FACTORS:
            return f"{call.array(0)} ** {int(number)}"
        return call.template("$0 ** %1")
    if not call.is_float(0):
        return call.template("jnp.power($0, $1)")
    return call.template("jaxport.elementwise.power($0, $1)")


def _cast(call: Call) -> str:
    dtype, input_dtype = call.node.results[0].dtype, call.dtype_of(0)
    if call.attribute("Truncate"):
        raise UnwritableError("it truncates where JAX rounds (Truncate=True)")
    if input_dtype == dtype and call.values[0].result.follows == call.node.results[0].follows:
        return call.array(0)
    if dtype == "bool":
        return f"{call.array(0)} != 0"
    if call.is_complex(0) and not dtype.startswith("complex"):
        return f"jnp.real({call.array(0)}).astype({call.dtype()})"
    return f"{call.array(0)}.astype({call.dtype()})"


def _leaky(call: Call) -> str:
    return f"jaxport.activations.leaky_relu({call.array(0)}, {float(call.attribute('alpha', 0.2))!r})"


def _bias(call: Call) -> str:
    if call.attribute("data_format", "NHWC") == "NHWC":
        return call.template("$0 + $1")
    behind = call.rank(0) - 2
    return f"{call.array(0)} + {call.array(1)}[:{', None' * behind}]"


def _inverse_cosine(call: Call) -> str:
    if call.is_complex(0):
        raise UnwritableError("the gradient that JAX has of it is of another branch")
    return call.template("jnp.arccosh($0)")


def _relu6(call: Call) -> str:
    return call.template("jax.nn.relu6($0)" if call.is_float(0) else "jnp.clip($0, 0, 6)")


def _squared_difference(call: Call) -> str:
    return call.template("(%0 - %1) * jnp.conj(%0 - %1)" if call.is_complex(0) else "jnp.square(%0 - %1)")


def _sum_of_all(call: Call) -> str:
    return " + ".join(call.array(index) for index in range(len(call.values)))


def _same(call: Call) -> str:
    return call.array(0)


def _check(call: Call) -> str:
    call.note(f"tf {call.node.type} raises where this does not")
    return call.array(0)


def _select(call: Call) -> str:
    if call.shape(0) != call.shape(1) and call.rank(0) not in (0, call.rank(1)):
        behind = call.rank(1) - 1
        return f"jnp.where({call.array(0)}[:{', None' * behind}], {call.operand(1)}, {call.operand(2)})"
    return call.template("jnp.where($0, %1, %2)")


def _bitcast(call: Call) -> str:
    return f"jax.lax.bitcast_convert_type({call.array(0)}, {plain_dtype(call.node.results[0].dtype)})"


def _sparse_cross_entropy(call: Call) -> tuple[str, str]:
    logits, labels = call.variable(0), call.variable(1)
    return (
        f"-jnp.take_along_axis(jax.nn.log_softmax({logits}), {labels}[..., None], -1)[..., 0]",
        f"jax.nn.softmax({logits}) - jax.nn.one_hot({labels}, {logits}.shape[-1], dtype={logits}.dtype)",
    )


def _cross_entropy(call: Call) -> tuple[str, str]:
    logits, labels = call.variable(0), call.variable(1)
    if call.shape(0) != call.shape(1):
        raise UnwritableError("its labels are broadcast")
    return (
        f"jaxport.losses.softmax_cross_entropy({labels}, {logits})",
        f"jax.nn.softmax({logits}) - jax.lax.stop_gradient({labels})",
    )


def _polygamma(call: Call) -> str:
    order = call.known_array(0)
    if (order != np.round(order)).any():
        raise UnwritableError("its order is no whole number")
    return f"jax.scipy.special.polygamma(jnp.array({elements_text(order, 'int32', False)}), {call.array(1)})"


RULES: Mapping[str, Rule] = {
    "SoftmaxCrossEntropyWithLogits": _cross_entropy, "Polygamma": _polygamma,
    "Acosh": _inverse_cosine, "Relu6": _relu6, "SquaredDifference": _squared_difference,
    **dict.fromkeys(_OWN, _own),
    **dict.fromkeys(("Snapshot", "EnsureShape", "PlaceholderWithDefault"), _same),
    **dict.fromkeys(("CheckNumerics", "CheckNumericsV2"), _check),
    "Div": _divide, "TruncateDiv": _truncate, "TruncateMod": _remainder, "Mod": _remainder,
    "FloorDiv": _floor_divide, "FloorMod": _floor_modulo, "Pow": _power, "Cast": _cast, "LeakyRelu": _leaky,
    "BiasAdd": _bias, "AddN": _sum_of_all, "Select": _select, "Bitcast": _bitcast,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
}  # fmt: skip
