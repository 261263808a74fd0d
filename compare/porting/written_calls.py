"""One call of a layer as an expression: by the module or function that its rule gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from compare.porting import written_operations
from compare.porting.safe_expressions import UnwritableError, argument, literal, substituted
from compare.weights.activations import ACTIVATIONS
from compare.weights.rule import Counterpart
from workloads._architecture import TUPLE, Call
from workloads._transfer import SourceLayer

_TOLD_ELSEWHERE = ("activation=", "return_sequences=False", "synchronized=")
_TRAINING, _TOLD_ALWAYS = "training", ("training=False", "training=True")


@dataclass(frozen=True)
class Caller:
    """One call on its way to an expression.

    Attributes:
      layer: that is called.
      counterpart: by its rule; None of an operation of keras.ops and of a model.
      attribute: under which its module stands; "" where a function does.
      call: itself.
      variables: of tensors, by their numbers.
      rank: of a tensor, by its number.
    """

    layer: SourceLayer
    counterpart: Counterpart | None
    attribute: str
    call: Call
    variables: Mapping[int, str]
    rank: Callable[[int], int]

    def arguments(self) -> list[str]:
        """What it is given by position, each list of one tensor taken apart."""
        return [argument(each, self.variables) for each in self.call.arguments]

    def keyword(self, name: str) -> str | None:
        """An argument that is given by name."""
        given = self.call.keywords.get(name)
        return None if given is None else argument(given, self.variables)

    def refuse_keywords(self, *known: str) -> None:
        """Raise where it is given what is not known here."""
        for name, value in self.call.keywords.items():
            # What the outermost call says of training, Keras says to every layer, whatever its own call said.
            if name in _TOLD_ALWAYS:
                raise UnwritableError(f"its call has {name}")
            if name not in (*known, _TRAINING) and value is not False:
                raise UnwritableError(f"its call has {name}={str(value)[:40]}")


def expression(caller: Caller) -> str:
    """What the call is in JAX.

    Raises:
      UnwritableError: there is no expression of it.
    """
    layer = caller.layer
    if layer.module == written_operations.MODULE:
        return written_operations.expression(layer, caller.call, caller.variables, caller.rank)
    if layer.container:
        caller.refuse_keywords()
        given = [argument(each, caller.variables) for nest in caller.call.arguments for each in _apart(nest)]
        return f"self.{caller.attribute}({', '.join(given)})"
    counterpart = caller.counterpart
    assert counterpart is not None
    _refuse_unchecked(counterpart)
    if layer.class_name in _SPECIAL:
        return _SPECIAL[layer.class_name](caller)
    caller.refuse_keywords()
    if caller.attribute:
        return _activated(layer, f"self.{caller.attribute}({', '.join(caller.arguments())})")
    return _of_function(caller, counterpart.function)


def _apart(nest: Any) -> list[Any]:
    """What a written class takes one by one, where the call takes a list, tuple or dict: its inputs in their order."""
    if isinstance(nest, dict) and TUPLE in nest:
        nest = nest[TUPLE]
    if isinstance(nest, dict) and "dict" in nest:
        nest = [each for _, each in sorted(nest["dict"], key=lambda pair: pair[0])]
    return [inner for each in nest for inner in _apart(each)] if isinstance(nest, list) else [nest]


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


def _several(caller: Caller) -> list[str]:
    """The tensors that a merging layer is given."""
    caller.refuse_keywords()
    (given,) = caller.call.arguments
    listed: Any = given if isinstance(given, list) else next(iter(given.values())) if isinstance(given, dict) else []
    return [argument(each, caller.variables) for each in listed]


def _folded(caller: Caller) -> str:
    assert caller.counterpart is not None
    first, *others = _several(caller)
    for each in others:
        first = substituted(caller.counterpart.function, {"x": first, "y": each})
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
        for each in others:
            first = f"jaxport.elementwise.{name}({first}, {each})"
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


def _recurrent(caller: Caller) -> str:
    caller.refuse_keywords()
    given = caller.arguments()
    if len(given) != 1:
        raise UnwritableError("it is given an initial state")
    last = "" if caller.layer.config.get("return_sequences") else "[:, -1]"
    return f"self.{caller.attribute}({given[0]}){last}"


_JOINED = {"concat": "jnp.concatenate(({}, {}), -1)", "sum": "{} + {}", "mul": "{} * {}"}


def _of_both_directions(caller: Caller) -> str:
    """All steps by the module; what each direction ends with by the two in it."""
    caller.refuse_keywords()
    given = caller.arguments()
    if len(given) != 1 or len(caller.call.outputs) != 1:
        raise UnwritableError("it is given an initial state, or returns one")
    own = f"self.{caller.attribute}"
    if caller.rank(caller.call.outputs[0]) == 3:
        return f"{own}({given[0]})"
    ends = f"{own}.forward_rnn({given[0]})[:, -1]", f"{own}.backward_rnn({given[0]}, reverse=True)[:, -1]"
    return _JOINED[str(caller.layer.config.get("merge_mode"))].format(*ends)


def _embedding(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    return f"self.{caller.attribute}({x})"


def _attention(caller: Caller) -> str:
    caller.refuse_keywords("value", "key", "use_causal_mask")
    given = dict(zip(("query", "value", "key"), caller.arguments(), strict=False))
    given |= {name: text for name in ("value", "key") if (text := caller.keyword(name)) is not None}
    if "value" not in given:
        raise UnwritableError("its call has no value")
    query, value = given["query"], given["value"]
    mask = ""
    if caller.call.keywords.get("use_causal_mask"):
        mask = f", mask=nnx.make_causal_mask({query}[..., 0])"
    return f"self.{caller.attribute}({query}, {given.get('key', value)}, {value}{mask})"


def _flattened(caller: Caller) -> str:
    caller.refuse_keywords()
    (x,) = caller.arguments()
    return f"{x}.reshape(len({x}), -1)"


_SPECIAL: Mapping[str, Callable[[Caller], str]] = {
    **dict.fromkeys(("Add", "Multiply", "Subtract"), _folded),
    "CustomScaleLayer": _of_two,
    "Maximum": _extreme("maximum"),
    "Minimum": _extreme("minimum"),
    "Average": _average,
    "Concatenate": _concatenated,
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), _separable),
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"), _recurrent),
    **dict.fromkeys(("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"), _attention),
    "Bidirectional": _of_both_directions,
    "Embedding": _embedding,
    "Flatten": _flattened,
}
