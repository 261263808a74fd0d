"""One call of a layer as an expression: by the module or function that its rule gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from compare.porting import written_operations
from compare.porting.calls_on_their_way import ALWAYS, Caller
from compare.porting.safe_expressions import UnwritableError, apart, argument, literal, substitute, tensors
from compare.porting.written_encodings import bin_text, encoding_text
from compare.porting.written_layers import OF_ALL_STEPS
from compare.porting.written_recurrence import both_ways, over_steps
from compare.weights.activations import ACTIVATIONS
from compare.weights.rule import Counterpart
from workloads.protocol.transfer import SourceLayer

_TOLD_ELSEWHERE = (
    *("activation=", "return_sequences=False", "synchronized="),
    # What these make or do is among the arguments of calls.
    *("return_state=", "zero_output_for_mask=", "mask_zero="),
)


def expression(caller: Caller) -> str:
    """The expression of the call in JAX.

    Raises:
      UnwritableError: there is no expression of it.
    """
    layer = caller.layer
    if layer.module == written_operations.MODULE:
        return written_operations.expression(layer, caller.call, caller.variables, caller.tensors)
    if layer.container:
        caller.refuse_keywords()
        arguments = [argument(value, caller.variables) for nest in caller.call.arguments for value in apart(nest)]
        return f"self.{caller.attribute}({', '.join(arguments)})"
    counterpart = caller.counterpart
    assert counterpart is not None
    _refuse_unchecked(counterpart)
    if layer.class_name in _SPECIAL:
        return _SPECIAL[layer.class_name](caller)
    # A TimeDistributed is given a mask, and hands it on to none of these.
    caller.refuse_keywords(*(("mask",) if layer.class_name in OF_ALL_STEPS else ()))
    if caller.attribute:
        return _with_activation(layer, f"self.{caller.attribute}({', '.join(caller.arguments())})")
    return _of_function(caller, counterpart.function)


def for_each_step(caller: Caller) -> str:
    """A call of a layer without weights for each step of a sequence, along its second axis.

    Args:
      caller: of the layer, with the sequence that is given to what calls it.

    Raises:
      UnwritableError: there is no expression of it.
    """
    arguments, caller_of_one = caller.arguments(), replace(caller, variables=dict.fromkeys(caller.variables, "x"))
    if len(arguments) != 1:
        raise UnwritableError(f"it is given {len(arguments)} arguments")
    caller.refuse_keywords()
    return f"jax.vmap(lambda x: {expression(caller_of_one)}, 1, 1)({arguments[0]})"


def _refuse_unchecked(counterpart: Counterpart) -> None:
    for attribute in counterpart.unchecked:
        if not attribute.startswith(_TOLD_ELSEWHERE):
            raise UnwritableError(f"it has {attribute}")


def _with_activation(layer: SourceLayer, text: str) -> str:
    name = layer.config.get("activation")
    if name in (None, "linear"):
        return text
    activation = ACTIVATIONS.get(str(name))
    if activation is None:
        raise UnwritableError(f"its activation is {str(name)[:40]!r}")
    return substitute(activation.expression, {"x": text})


def _of_function(caller: Caller, text: str) -> str:
    if caller.layer.class_name == "Activation" and str(caller.layer.config.get("activation")) not in ACTIVATIONS:
        raise UnwritableError(f"its activation is {str(caller.layer.config.get('activation'))[:40]!r}")
    arguments = caller.arguments()
    if len(arguments) != 1:
        raise UnwritableError(f"it is given {len(arguments)} arguments")
    return substitute(text, {"x": arguments[0]})


def _several(caller: Caller, *allowed_names: str) -> list[str]:
    """The tensors that a merging layer is given, and maybe what is known by name."""
    caller.refuse_keywords(*allowed_names)
    (nest,) = caller.call.arguments
    tensors_listed: Any = (
        nest if isinstance(nest, list) else next(iter(nest.values())) if isinstance(nest, dict) else []
    )
    return [argument(tensor, caller.variables) for tensor in tensors_listed]


def _fold(caller: Caller) -> str:
    assert caller.counterpart is not None
    first, *others = _several(caller)
    for other in others:
        first = substitute(caller.counterpart.function, {"x": first, "y": other})
    return first


def _of_two(caller: Caller) -> str:
    assert caller.counterpart is not None
    arguments = _several(caller)
    if len(arguments) != 2:
        raise UnwritableError(f"it is given {len(arguments)} tensors")
    return substitute(caller.counterpart.function, dict(zip("xy", arguments, strict=True)))


def _extreme(name: str) -> Callable[[Caller], str]:
    def write(caller: Caller) -> str:
        first, *others = _several(caller)
        for other in others:
            first = f"jaxport.elementwise.{name}({first}, {other})"
        return first

    return write


def _average(caller: Caller) -> str:
    arguments = _several(caller)
    return f"({' + '.join(arguments)}) / {len(arguments)}"


def _concatenate(caller: Caller) -> str:
    return f"jnp.concatenate(({', '.join(_several(caller))}), {literal(caller.layer.config.get('axis'))})"


def _separable(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    inner = f"self.{caller.attribute}_depthwise({x})"
    return _with_activation(caller.layer, f"self.{caller.attribute}_pointwise({inner})")


def _embedding(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    return f"self.{caller.attribute}({x})"


def _reversible(caller: Caller) -> str:
    """An embedding, or its way back; the way back alone has a cap and a dtype of its own, which both calls read."""
    caller.refuse_keywords("reverse")
    arguments, config = caller.call.arguments, caller.layer.config
    cap, dtype = config.get("logit_soft_cap"), config.get("reverse_dtype")
    x = argument(arguments[0], caller.variables)
    if not (arguments[1] if len(arguments) > 1 else caller.call.keywords.get("reverse")):
        return f"self.{caller.attribute}({x})"
    if dtype not in (None, caller.layer.compute_dtype):
        raise UnwritableError(f"it has reverse_dtype={dtype}")
    text = f"self.{caller.attribute}.attend({x})"
    return text if cap is None else f"jnp.tanh({text} / {literal(cap)}) * {literal(cap)}"


def _attention(caller: Caller) -> str:
    caller.refuse_keywords("query", "value", "key", "use_causal_mask", *ATTENTION_MASKS)
    arguments = dict(zip(("query", "value", "key"), caller.arguments(), strict=False))
    arguments |= {name: text for name in ("query", "value", "key") if (text := caller.keyword(name)) is not None}
    if len(caller.call.arguments) > 3 or not {"query", "value"} <= arguments.keys():
        raise UnwritableError("its call has no query and value, or more arguments than these and the key")
    query, value = arguments["query"], arguments["value"]
    mask_texts = [
        f"{ATTENTION_MASKS[name]}={text}" for name in ATTENTION_MASKS if (text := caller.keyword(name)) is not None
    ]
    masks = [f"jaxport.sequences.attention_mask({', '.join(mask_texts)})"] if mask_texts else []
    if caller.call.keywords.get("use_causal_mask"):
        masks.insert(0, f"nnx.make_causal_mask({query}[..., 0])")
    mask = (
        f", mask=nnx.combine_masks({', '.join(masks)})"
        if len(masks) > 1
        else "".join(f", mask={only}" for only in masks)
    )
    return f"self.{caller.attribute}({query}, {arguments.get('key', value)}, {value}{mask})"


ATTENTION_MASKS = {"query_mask": "query", "value_mask": "value", "key_mask": "key", "attention_mask": "pairs"}
"""An argument of Keras' call -> that of attention_mask."""


def _of_one_list(caller: Caller) -> str:
    """Attention that takes query, value and key as one list, and their masks as another."""
    arguments = _several(caller, "mask", "use_causal_mask")
    if len(arguments) not in (2, 3):
        raise UnwritableError(f"it is given {len(arguments)} tensors")
    masks: Any = caller.call.keywords.get("mask") or []
    for name, mask in zip(("query_mask", "value_mask"), masks, strict=False):
        arguments += [f"{name}={argument(mask, caller.variables)}"] if mask is not None else []
    arguments += ["use_causal_mask=True"] if caller.call.keywords.get("use_causal_mask") else []
    return f"self.{caller.attribute}({', '.join(arguments)})"


def _average_masked(caller: Caller) -> str:
    caller.refuse_keywords("mask")
    assert caller.counterpart is not None
    mask = caller.keyword("mask")
    if mask is None:
        return _of_function(caller, caller.counterpart.function)
    (x,) = caller.arguments()
    keepdims = ", keepdims=True" if caller.layer.config.get("keepdims") else ""
    return f"jaxport.sequences.masked_average({x}, {mask}{keepdims})"


def _softmax(caller: Caller) -> str:
    caller.refuse_keywords("mask")
    assert caller.counterpart is not None
    arguments = [*caller.call.arguments, *(value for name, value in caller.call.keywords.items() if name == "mask")]
    if len(arguments) == 1:
        return _of_function(caller, caller.counterpart.function)
    x, mask = (argument(value, caller.variables) for value in arguments)
    dtypes = {caller.tensors[number].dtype for number in tensors(arguments[1])}
    if dtypes != {"bool"}:
        # Keras takes what is no truth by its size.
        mask = f"{mask} > {'0.5' if 'float' in ''.join(dtypes) else '0'}"
    return f"jax.nn.softmax({x}, {literal(caller.layer.config.get('axis'))}, where={mask})"


def _normalize(caller: Caller) -> str:
    """A batch norm that is not trained keeps to its statistics in training too."""
    caller.refuse_keywords(*ALWAYS, "mask")
    training, mask = find_training(caller), caller.keyword("mask")
    still = "" if caller.layer.config.get("trainable", True) and training is not False else ", use_running_average=True"
    still = ", use_running_average=False" if training and not still else still
    if mask is not None:
        (x,) = caller.arguments()
        return f"jaxport.normalization.masked_batch_norm(self.{caller.attribute}, {x}, {mask}{still})"
    return f"self.{caller.attribute}({', '.join(caller.arguments())}{still})"


def _draw(caller: Caller) -> str:
    """A layer that draws in training; a layer whose call fixes `training` states it."""
    caller.refuse_keywords(*ALWAYS, "mask")
    training = find_training(caller)
    still = "" if training is None else f", deterministic={not training}"
    return f"self.{caller.attribute}({', '.join(caller.arguments())}{still})"


def find_training(caller: Caller) -> bool | None:
    """Whether a call is in training whatever the model does, or never is; None where it is as the model."""
    return next((training for name, training in ALWAYS.items() if name in caller.call.keywords), None)


def _flatten(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    return f"{x}.reshape(len({x}), -1)"


_SPECIAL: Mapping[str, Callable[[Caller], str]] = {
    **dict.fromkeys(("Add", "Multiply", "Subtract"), _fold),
    **dict.fromkeys(("CustomScaleLayer", "Dot"), _of_two),
    "Maximum": _extreme("maximum"),
    "Minimum": _extreme("minimum"),
    "Average": _average,
    "Concatenate": _concatenate,
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), _separable),
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"), over_steps),
    **dict.fromkeys(("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"), _attention),
    "BatchNormalization": _normalize,
    **dict.fromkeys(("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"), _draw),
    **dict.fromkeys(("GaussianNoise", "GaussianDropout", "AlphaDropout"), _draw),
    "Bidirectional": both_ways,
    "GlobalAveragePooling1D": _average_masked,
    "Softmax": _softmax,
    **dict.fromkeys(("Attention", "AdditiveAttention"), _of_one_list),
    "Embedding": _embedding,
    "ReversibleEmbedding": _reversible,
    "Flatten": _flatten,
    "Discretization": bin_text,
    "CategoryEncoding": encoding_text,
}
