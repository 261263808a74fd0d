"""Operations of keras.ops whose attributes stand in one expression: {0} is an argument, {axis} an attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from compare.porting.safe_expressions import UnwritableError, literal
from workloads.protocol.inspection import Plain

_NONE = (None,)


@dataclass(frozen=True)
class Template:
    """An expression, and when it is right.

    Attributes:
      text: of it.
      known: attribute -> the values of it that the text is right for.
    """

    text: str
    known: Mapping[str, Sequence[Plain]] = field(default_factory=dict)


_OVER_AXIS = "jnp.{}({{0}}, axis={{axis}}, keepdims={{keepdims}})"
_NO_DTYPE: Mapping[str, Sequence[Plain]] = {"dtype": _NONE}

TEMPLATES: Mapping[str, Template] = {
    **{name: Template(_OVER_AXIS.format(name.lower())) for name in ("Var", "Std", "Argmax", "Argmin", "Mean", "Sum")},
    **{name: Template(_OVER_AXIS.format(name.lower()), {"initial": _NONE}) for name in ("Max", "Min")},
    "Prod": Template(_OVER_AXIS.format("prod"), _NO_DTYPE),
    "Any": Template(_OVER_AXIS.format("any")),
    "All": Template(_OVER_AXIS.format("all")),
    "Argsort": Template("jnp.argsort({0}, {axis})"),
    "Celu": Template("jaxport.activations.celu({0}, {alpha})"),
    "Concatenate": Template("jnp.concatenate({0}, {axis})"),
    "CountNonzero": Template("jnp.count_nonzero({0}, {axis})"),
    "Cross": Template("jnp.cross({0}, {1}, {axisa}, {axisb}, {axisc})"),
    "Cumsum": Template("jnp.cumsum({0}, {axis})", _NO_DTYPE),
    "Cumprod": Template("jnp.cumprod({0}, {axis})", _NO_DTYPE),
    "Diagonal": Template("jnp.diagonal({0}, {offset}, {axis1}, {axis2})"),
    "Diff": Template("jnp.diff({0}, {n}, {axis})"),
    "DivideNoNan": Template("jaxport.elementwise.divide_no_nan({0}, {1})"),
    "Elu": Template("jax.nn.elu({0}, {alpha})"),
    "ExpandDims": Template("jnp.expand_dims({0}, {axis})"),
    "FFT": Template("jaxport.signal.parts(jnp.fft.fft(jaxport.signal.whole({0})))"),
    "FFT2": Template("jaxport.signal.parts(jnp.fft.fft2(jaxport.signal.whole({0})))"),
    "Flip": Template("jnp.flip({0}, {axis})"),
    "Gelu": Template("jax.nn.gelu({0}, {approximate})"),
    "Glu": Template("jax.nn.glu({0}, {axis})"),
    "Hstack": Template("jnp.hstack({0})"),
    "LeakyRelu": Template("jnp.where({0} > 0, {0}, {negative_slope} * {0})"),
    "LogSoftmax": Template("jax.nn.log_softmax({0}, {axis})"),
    "Logsumexp": Template("jax.nn.logsumexp({0}, axis={axis}, keepdims={keepdims})"),
    "Median": Template("jnp.median({0}, {axis}, keepdims={keepdims})"),
    "Moveaxis": Template("jnp.moveaxis({0}, {source}, {destination})"),
    "NanToNum": Template("jnp.nan_to_num({0}, nan={nan}, posinf={posinf}, neginf={neginf})"),
    "Norm": Template("jnp.linalg.norm({0}, axis={axis}, keepdims={keepdims})", {"ord": _NONE}),
    "OneHot": Template(
        "jax.nn.one_hot({0}, {num_classes}, axis={axis})", {"dtype": (None, "float32"), "sparse": (False,)}
    ),
    "Quantile": Template("jnp.quantile({0}, {1}, {axis}, keepdims={keepdims})", {"method": ("linear",)}),
    "RFFT": Template("jaxport.signal.parts(jnp.fft.rfft({0}, {fft_length}))"),
    "Ravel": Template("{0}.ravel()"),
    "Roll": Template("jnp.roll({0}, {shift}, {axis})"),
    "Round": Template("jnp.round({0})", {"decimals": (0,)}),
    "SearchSorted": Template("jnp.searchsorted({0}, {1}, side={side})"),
    "SegmentSum": Template("jax.ops.segment_sum({0}, {1}, {num_segments})"),
    "Softmax": Template("jax.nn.softmax({0}, {axis})"),
    "Sort": Template("jnp.sort({0}, {axis})"),
    "Split": Template("jnp.split({0}, {indices_or_sections}, {axis})"),
    "Squeeze": Template("jnp.squeeze({0}, {axis})"),
    "Stack": Template("jnp.stack({0}, {axis})"),
    "Swapaxes": Template("jnp.swapaxes({0}, {axis1}, {axis2})"),
    "Take": Template("jnp.take({0}, {1}, axis={axis})"),
    "TakeAlongAxis": Template("jnp.take_along_axis({0}, {1}, {axis})"),
    "Tensordot": Template("jnp.tensordot({0}, {1}, {axes})"),
    "Tile": Template("jnp.tile({0}, {repeats})"),
    "TopK": Template("jax.lax.top_k({0}, {k})", {"sorted": (True,)}),
    "Trace": Template("jnp.trace({0}, {offset}, {axis1}, {axis2})"),
    "Transpose": Template("jnp.transpose({0}, {axes})"),
    "Tril": Template("jnp.tril({0}, {k})"),
    "Triu": Template("jnp.triu({0}, {k})"),
    "Unstack": Template("jnp.unstack({0}, axis={axis})"),
    "Vstack": Template("jnp.vstack({0})"),
}
"""By the class of the operation."""


def fill(template: Template, arguments: Sequence[str], config: Mapping[str, Plain]) -> str:
    """The expression of one call.

    Raises:
      UnwritableError: it is given another number of arguments, or has an attribute that the text is not right for.
    """
    for attribute, allowed_values in template.known.items():
        if config.get(attribute) not in allowed_values:
            raise UnwritableError(f"it has {attribute}={str(config[attribute])[:40]}")
    fields = {name for _, name, _, _ in Formatter().parse(template.text) if name is not None}
    count = sum(name.isdigit() for name in fields)
    if len(arguments) != count:
        raise UnwritableError(f"it is given {len(arguments)} arguments")
    attributes = {name: literal(config.get(name)) for name in fields if not name.isdigit()}
    return template.text.format(*arguments, **attributes).replace(", keepdims=False", "")
