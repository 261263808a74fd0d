"""One call of a layer as an expression: by the module or function that its rule gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from compare.porting import written_operations
from compare.porting.calls_on_their_way import ALWAYS, Caller
from compare.porting.safe_expressions import UnwritableError, apart, argument, literal, substituted, tensors
from compare.porting.written_encodings import binned, encoded
from compare.porting.written_layers import OF_ALL_STEPS
from compare.porting.written_recurrence import both_ways, over_steps
from compare.weights.activations import ACTIVATIONS
from compare.weights.rule import Counterpart
from workloads._transfer import SourceLayer

_TOLD_ELSEWHERE = (
    *("activation=", "return_sequences=False", "synchronized="),
    # What these make or do is among the arguments of calls.
    *("return_state=", "zero_output_for_mask=", "mask_zero="),
)


def expression(caller: Caller) -> str:
    """What the call is in JAX.

    Raises:
      UnwritableError: there is no expression of it.
    """
    layer = caller.layer
    if layer.module == written_operations.MODULE:
        return written_operations.expression(layer, caller.call, caller.variables, caller.tensors)
    if layer.container:
        caller.refuse_keywords()
        given = [argument(value, caller.variables) for nest in caller.call.arguments for value in apart(nest)]
        return f"self.{caller.attribute}({', '.join(given)})"
    counterpart = caller.counterpart
    assert counterpart is not None
    _refuse_unchecked(counterpart)
    if layer.class_name in _SPECIAL:
        return _SPECIAL[layer.class_name](caller)
    # A TimeDistributed is given a mask, and hands it on to none of these.
    caller.refuse_keywords(*(("mask",) if layer.class_name in OF_ALL_STEPS else ()))
    if caller.attribute:
        return _activated(layer, f"self.{caller.attribute}({', '.join(caller.arguments())})")
    return _of_function(caller, counterpart.function)


def for_each_step(caller: Caller) -> str:
    """A call of a layer without weights for each step of a sequence, along its second axis.

    Args:
      caller: of the layer, with the sequence that is given to what calls it.

    Raises:
      UnwritableError: there is no expression of it.
    """
    given, caller_of_one = caller.arguments(), replace(caller, variables=dict.fromkeys(caller.variables, "x"))
    if len(given) != 1:
        raise UnwritableError(f"it is given {len(given)} arguments")
    caller.refuse_keywords()
    return f"jax.vmap(lambda x: {expression(caller_of_one)}, 1, 1)({given[0]})"


def _refuse_unchecked(counterpart: Counterpart) -> None:
    for told in counterpart.unchecked:
        if not told.startswith(_TOLD_ELSEWHERE):
            raise UnwritableError(f"it has {told}")


def _activated(layer: SourceLayer, text: str) -> str:
    name = layer.config.get("activation")
    if name in (None, "linear"):
        return text
    known = ACTIVATIONS.get(str(name))
    if known is None:
        raise UnwritableError(f"its activation is {str(name)[:40]!r}")
    return substituted(known.expression, {"x": text})


def _of_function(caller: Caller, text: str) -> str:
    if caller.layer.class_name == "Activation" and str(caller.layer.config.get("activation")) not in ACTIVATIONS:
        raise UnwritableError(f"its activation is {str(caller.layer.config.get('activation'))[:40]!r}")
    given = caller.arguments()
    if len(given) != 1:
        raise UnwritableError(f"it is given {len(given)} arguments")
    return substituted(text, {"x": given[0]})


def _several(caller: Caller, *known: str) -> list[str]:
    """The tensors that a merging layer is given, and maybe what is known by name."""
    caller.refuse_keywords(*known)
    (given,) = caller.call.arguments
    listed: Any = given if isinstance(given, list) else next(iter(given.values())) if isinstance(given, dict) else []
    return [argument(tensor, caller.variables) for tensor in listed]


def _folded(caller: Caller) -> str:
    assert caller.counterpart is not None
    first, *others = _several(caller)
    for other in others:
        first = substituted(caller.counterpart.function, {"x": first, "y": other})
    return first


def _of_two(caller: Caller) -> str:
    assert caller.counterpart is not None
    given = _several(caller)
    if len(given) != 2:
        raise UnwritableError(f"it is given {len(given)} tensors")
    return substituted(caller.counterpart.function, dict(zip("xy", given, strict=True)))


def _extreme(name: str) -> Callable[[Caller], str]:
    def written(caller: Caller) -> str:
        first, *others = _several(caller)
        for other in others:
            first = f"jaxport.elementwise.{name}({first}, {other})"
        return first

    return written


def _average(caller: Caller) -> str:
    given = _several(caller)
    return f"({' + '.join(given)}) / {len(given)}"


def _concatenated(caller: Caller) -> str:
    return f"jnp.concatenate(({', '.join(_several(caller))}), {literal(caller.layer.config.get('axis'))})"


def _separable(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    inner = f"self.{caller.attribute}_depthwise({x})"
    return _activated(caller.layer, f"self.{caller.attribute}_pointwise({inner})")


def _embedding(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    return f"self.{caller.attribute}({x})"


def _reversible(caller: Caller) -> str:
    """An embedding, or its way back; the way back alone has a cap and a dtype of its own, which both calls read."""
    caller.refuse_keywords("reverse")
    given, config = caller.call.arguments, caller.layer.config
    cap, dtype = config.get("logit_soft_cap"), config.get("reverse_dtype")
    x = argument(given[0], caller.variables)
    if not (given[1] if len(given) > 1 else caller.call.keywords.get("reverse")):
        return f"self.{caller.attribute}({x})"
    if dtype not in (None, caller.layer.compute_dtype):
        raise UnwritableError(f"it has reverse_dtype={dtype}")
    text = f"self.{caller.attribute}.attend({x})"
    return text if cap is None else f"jnp.tanh({text} / {literal(cap)}) * {literal(cap)}"


def _attention(caller: Caller) -> str:
    caller.refuse_keywords("query", "value", "key", "use_causal_mask", *ATTENTION_MASKS)
    given = dict(zip(("query", "value", "key"), caller.arguments(), strict=False))
    given |= {name: text for name in ("query", "value", "key") if (text := caller.keyword(name)) is not None}
    if len(caller.call.arguments) > 3 or not {"query", "value"} <= given.keys():
        raise UnwritableError("its call has no query and value, or more arguments than these and the key")
    query, value = given["query"], given["value"]
    made = [f"{ATTENTION_MASKS[name]}={text}" for name in ATTENTION_MASKS if (text := caller.keyword(name)) is not None]
    told = [f"jaxport.sequences.attention_mask({', '.join(made)})"] if made else []
    if caller.call.keywords.get("use_causal_mask"):
        told.insert(0, f"nnx.make_causal_mask({query}[..., 0])")
    mask = (
        f", mask=nnx.combine_masks({', '.join(told)})" if len(told) > 1 else "".join(f", mask={only}" for only in told)
    )
    return f"self.{caller.attribute}({query}, {given.get('key', value)}, {value}{mask})"


ATTENTION_MASKS = {"query_mask": "query", "value_mask": "value", "key_mask": "key", "attention_mask": "pairs"}
"""An argument of Keras' call -> that of attention_mask."""


def _of_one_list(caller: Caller) -> str:
    """Attention that takes query, value and key as one list, and their masks as another."""
    given = _several(caller, "mask", "use_causal_mask")
    if len(given) not in (2, 3):
        raise UnwritableError(f"it is given {len(given)} tensors")
    masks: Any = caller.call.keywords.get("mask") or []
    for name, mask in zip(("query_mask", "value_mask"), masks, strict=False):
        given += [f"{name}={argument(mask, caller.variables)}"] if mask is not None else []
    given += ["use_causal_mask=True"] if caller.call.keywords.get("use_causal_mask") else []
    return f"self.{caller.attribute}({', '.join(given)})"


def _averaged(caller: Caller) -> str:
    caller.refuse_keywords("mask")
    assert caller.counterpart is not None
    mask = caller.keyword("mask")
    if mask is None:
        return _of_function(caller, caller.counterpart.function)
    (x,) = caller.arguments()
    kept = ", keepdims=True" if caller.layer.config.get("keepdims") else ""
    return f"jaxport.sequences.masked_average({x}, {mask}{kept})"


def _softmax(caller: Caller) -> str:
    caller.refuse_keywords("mask")
    assert caller.counterpart is not None
    given = [*caller.call.arguments, *(value for name, value in caller.call.keywords.items() if name == "mask")]
    if len(given) == 1:
        return _of_function(caller, caller.counterpart.function)
    x, mask = (argument(value, caller.variables) for value in given)
    dtypes = {caller.tensors[number].dtype for number in tensors(given[1])}
    if dtypes != {"bool"}:
        # Keras takes what is no truth by its size.
        mask = f"{mask} > {'0.5' if 'float' in ''.join(dtypes) else '0'}"
    return f"jax.nn.softmax({x}, {literal(caller.layer.config.get('axis'))}, where={mask})"


def _normalized(caller: Caller) -> str:
    """A batch norm that is not trained keeps to its statistics in training too."""
    caller.refuse_keywords(*ALWAYS)
    told = told_always(caller)
    still = "" if caller.layer.config.get("trainable", True) and told is not False else ", use_running_average=True"
    still = ", use_running_average=False" if told and not still else still
    return f"self.{caller.attribute}({', '.join(caller.arguments())}{still})"


def _drawn(caller: Caller) -> str:
    """A layer that draws in training; one that is told always, or never, to be in training says so."""
    caller.refuse_keywords(*ALWAYS, "mask")
    told = told_always(caller)
    still = "" if told is None else f", deterministic={not told}"
    return f"self.{caller.attribute}({', '.join(caller.arguments())}{still})"


def told_always(caller: Caller) -> bool | None:
    """Whether a call is in training whatever the model does, or never is; None where it is as the model."""
    return next((training for name, training in ALWAYS.items() if name in caller.call.keywords), None)


def _flattened(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    return f"{x}.reshape(len({x}), -1)"


_SPECIAL: Mapping[str, Callable[[Caller], str]] = {
    **dict.fromkeys(("Add", "Multiply", "Subtract"), _folded),
    **dict.fromkeys(("CustomScaleLayer", "Dot"), _of_two),
    "Maximum": _extreme("maximum"),
    "Minimum": _extreme("minimum"),
    "Average": _average,
    "Concatenate": _concatenated,
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), _separable),
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"), over_steps),
    **dict.fromkeys(("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"), _attention),
    "BatchNormalization": _normalized,
    **dict.fromkeys(("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"), _drawn),
    **dict.fromkeys(("GaussianNoise", "GaussianDropout", "AlphaDropout"), _drawn),
    "Bidirectional": both_ways,
    "GlobalAveragePooling1D": _averaged,
    "Softmax": _softmax,
    **dict.fromkeys(("Attention", "AdditiveAttention"), _of_one_list),
    "Embedding": _embedding,
    "ReversibleEmbedding": _reversible,
    "Flatten": _flattened,
    "Discretization": binned,
    "CategoryEncoding": encoded,
}
