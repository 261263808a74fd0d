"""A chain of layers in NumPy as both sides tell of it: what the judges of layers are tried on, with planted errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from compare.ladder.layer_verdicts import Captured
from workloads.protocol.layer_calls import NO_CALL, LayerCall, LayerCalls, number_paths, value_digest

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Layer:
    """One call in a chain.

    Attributes:
      path: of the layer.
      function: x[3, 4] -> what it gives.
      noted: whether the side has a layer for it: a port has none for what it writes as a function.
      activation: what the layer itself puts its result through.
      weights: its own.
    """

    path: str
    function: Function
    noted: bool = True
    activation: Function | None = None
    weights: tuple[np.ndarray, ...] = ()


def given() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((3, 4))


def captured(
    chain: Sequence[Layer], inputs_of: Captured | None = None, matches: dict[int, int] | None = None
) -> Captured:
    """The calls of a chain; with TensorFlow's calls, each module on what its layer was given too."""
    value, maker = given(), NO_CALL
    calls: list[LayerCall] = []
    arrays: dict[str, np.ndarray] = {}
    noted = [layer for layer in chain if layer.noted]
    numbers = dict(zip(map(id, noted), number_paths(layer.path for layer in noted), strict=True))
    theirs = {ours: at for at, ours in (matches or {}).items()}
    for layer in chain:
        before = layer.function(value)
        after = layer.activation(before) if layer.activation else before
        if layer.noted:
            at = len(calls)
            arrays |= {f"{at}/in": value, f"{at}/out": after, f"{at}/before": before}
            own: tuple[str, ...] = ()
            if inputs_of is not None and at in theirs:
                (name,) = inputs_of.calls.calls[theirs[at]].inputs
                arrays[f"{at}/own"] = layer.function(inputs_of.arrays[name])
                own = (f"{at}/own",)
            calls.append(
                LayerCall(
                    *(layer.path, numbers[id(layer)], "Dense", (f"{at}/in",), (f"{at}/out",)),
                    before_activation=f"{at}/before" if layer.activation else "",
                    makers=(maker,),
                    own=own,
                    started=at,
                )
            )
            maker = at
        value = after
    arrays["result/output"] = value
    weights = {layer.path: tuple(map(value_digest, layer.weights)) for layer in noted}
    return Captured(LayerCalls(tuple(calls), {"output": maker}, weights), arrays)


def double(x: np.ndarray) -> np.ndarray:
    return 2 * x


def triple(x: np.ndarray) -> np.ndarray:
    return 3 * x


def shifted(x: np.ndarray) -> np.ndarray:
    return x + 1
