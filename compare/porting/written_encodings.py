"""Layers that encode numbers as classes: which bin a number lies in, and classes as rows of zeros and ones."""

from __future__ import annotations

from compare.porting.calls_on_their_way import Caller
from compare.porting.safe_expressions import UnwritableError, literal, substituted, tensors_of
from compare.weights.stand_ins import bin_expression


def binned(caller: Caller) -> str:
    """A Discretization: the number of the bin, or that as a row.

    Raises:
      UnwritableError: its bins are not known, or it encodes them in another way.
    """
    config = caller.layer.config
    # Both are of adapt(), which has made the boundaries.
    _ = config.get("num_bins"), config.get("epsilon")
    bounds = config.get("bin_boundaries")
    if not isinstance(bounds, list) or not bounds:
        raise UnwritableError("it has no bin_boundaries: give them, or call adapt() first")
    given = substituted(bin_expression(config), {"x": _only(caller)})
    return given if config.get("output_mode") == "int" else _row(caller, given, len(bounds) + 1)


def encoded(caller: Caller) -> str:
    """A CategoryEncoding: classes as rows.

    Raises:
      UnwritableError: it encodes them in another way.
    """
    (number,) = tensors_of(caller.call)
    given = _only(caller)
    # Keras takes what is no integer without its fraction.
    given = given if "int" in caller.tensors[number].dtype else substituted("x.astype(jnp.int32)", {"x": given})
    tokens = caller.layer.config.get("num_tokens")
    return _row(caller, given, tokens if isinstance(tokens, int) else 0)


def _only(caller: Caller) -> str:
    caller.refuse_keywords()
    given = caller.arguments()
    if len(given) != 1 or len(tensors_of(caller.call)) != 1:
        raise UnwritableError(f"it is given {len(given)} arguments")
    return given[0]


def _row(caller: Caller, classes: str, size: int) -> str:
    """Integers as rows of `size` numbers, as encode_categorical_inputs of Keras makes them."""
    layer, shape = caller.layer, caller.tensors[tensors_of(caller.call)[0]].shape
    mode = layer.config.get("output_mode")
    if layer.config.get("sparse"):
        raise UnwritableError("it gives a sparse tensor, which JAX has not in a module")
    if layer.compute_dtype != "float32":
        raise UnwritableError(f"it encodes in {layer.compute_dtype}")
    if mode == "one_hot":
        of_one = len(shape) > 1 and shape[-1] == 1
        return substituted(f"jax.nn.one_hot(x{'[..., 0]' if of_one else ''}, {literal(size)})", {"x": classes})
    if mode not in ("multi_hot", "count") or len(shape) != 2:
        raise UnwritableError(f"it has output_mode={mode!r} for an input of {len(shape)} axes")
    taken = "max" if mode == "multi_hot" else "sum"
    return substituted(f"jnp.{taken}(jax.nn.one_hot(x, {literal(size)}), 1)", {"x": classes})
