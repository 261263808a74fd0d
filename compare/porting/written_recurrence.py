"""Calls of recurrent layers, with their masks and states."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.calls_on_their_way import Caller
from compare.porting.safe_expressions import UnwritableError, apart, argument
from workloads.protocol.inspection import Plain

_STATES = ("LSTM",)
"""Layers whose module has its states the other way round: cell, then hidden."""

_JOINED = {
    "concat": "jnp.concatenate(({}, {}), -1)", "sum": "{} + {}", "mul": "{} * {}", "ave": "({} + {}) / 2",
    "None": "({}, {})",
}  # fmt: skip


def over_steps(caller: Caller) -> str:
    """A call of one layer: by its module, or by jaxport's function where Flax has no mask, or other states.

    Raises:
      UnwritableError: it is given what is not known here.
    """
    x, initial, mask = _call_arguments(caller)
    config, own = caller.layer.config, f"self.{caller.attribute}"
    last = not config.get("return_sequences")
    if mask is None and not config.get("return_state") and not _drops(config):
        states = _carry(caller, initial)
        return f"{own}({x}{states}){'[:, -1]' if last else ''}"
    text = _call_text(f"jaxport.sequences.over_steps({own}, {x}", caller, config, initial, mask)
    return text if config.get("return_state") else f"{text}[0]"


def both_ways(caller: Caller) -> str:
    """A call of a Bidirectional: all steps by the module; what each direction ends with by the two in it.

    Raises:
      UnwritableError: as for `over_steps`.
    """
    x, initial, mask = _call_arguments(caller)
    own, inner = f"self.{caller.attribute}", caller.inner
    mode = str(caller.layer.config.get("merge_mode"))
    if not inner:
        raise UnwritableError("the layers in it are not known")
    config, states = inner[0].config, bool(inner[0].config.get("return_state"))
    if mask is not None or initial or states or any(_drops(layer.config) for layer in inner):
        if states and mode == "None":
            raise UnwritableError("it returns states beside two results")
        text = _call_text(f"jaxport.sequences.both_ways({own}, {x}", caller, config, initial, mask)
        return text if states else f"{text}[0]"
    if config.get("return_sequences"):
        return f"{own}({x})"
    ends = f"{own}.forward_rnn({x})[:, -1]", f"{own}.backward_rnn({x}, reverse=True)[:, -1]"
    return _JOINED[mode].format(*ends)


def _drops(config: Mapping[str, Plain]) -> bool:
    return bool(config.get("dropout") or config.get("recurrent_dropout"))


def _call_arguments(caller: Caller) -> tuple[str, list[str], str | None]:
    """The input, the initial states one by one, and the mask."""
    caller.refuse_keywords("initial_state", "mask")
    x, *others = caller.call.arguments
    if len(others) > 1 or isinstance(x, list):
        raise UnwritableError(f"it is given {len(caller.call.arguments)} arguments")
    nest: Plain = others[0] if others else caller.call.keywords.get("initial_state")
    return (
        argument(x, caller.variables),
        # Those of stacked cells are a nest, whose tensors stand in the order of the cells.
        [argument(state, caller.variables) for state in apart(nest) if state is not None],
        caller.keyword("mask"),
    )


def _carry(caller: Caller, initial: list[str]) -> str:
    """The initial states as the module of a layer takes them."""
    if not initial:
        return ""
    if caller.layer.class_name == "RNN":
        raise UnwritableError("it is given an initial state, whose order its cell decides")
    states = initial[::-1] if caller.layer.class_name in _STATES else initial
    text = states[0] if len(states) == 1 else f"({', '.join(states)})"
    return f", initial_carry={text}"


def _call_text(text: str, caller: Caller, config: object, initial: list[str], mask: str | None) -> str:
    """A call of a function of jaxport with keyword arguments."""
    assert isinstance(config, dict)
    if mask is not None and config.get("unroll"):
        raise UnwritableError("it is given a mask and has unroll=True")
    more = f", mask={mask}" if mask is not None else ""
    more += f", initial=({', '.join(initial)},)" if initial else ""
    more += "" if config.get("return_sequences") else ", last=True"
    more += ", zero_output=True" if mask is not None and config.get("zero_output_for_mask") else ""
    return f"{text}{more})"
