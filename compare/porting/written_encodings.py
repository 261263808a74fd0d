"""Layers that encode numbers as classes: which bin a number lies in, and classes as rows of zeros and ones."""

from __future__ import annotations

from compare.porting.calls_on_their_way import Caller
from compare.porting.safe_expressions import UnwritableError, literal, substitute, tensors_of
from compare.weights.stand_ins import bin_expression


def bin_text(caller: Caller) -> str:
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
    bins = substitute(bin_expression(config), {"x": _only(caller)})
    return bins if config.get("output_mode") == "int" else _row(caller, bins, len(bounds) + 1)


def encoding_text(caller: Caller) -> str:
    """A CategoryEncoding: classes as rows.

    Raises:
      UnwritableError: it encodes them in another way.
    """
    (number,) = tensors_of(caller.call)
    classes = _only(caller)
    # Keras takes what is no integer without its fraction.
    classes = classes if "int" in caller.tensors[number].dtype else substitute("x.astype(jnp.int32)", {"x": classes})
    tokens = caller.layer.config.get("num_tokens")
    return _row(caller, classes, tokens if isinstance(tokens, int) else 0)


def _only(caller: Caller) -> str:
    caller.refuse_keywords()
    arguments = caller.arguments()
    if len(arguments) != 1 or len(tensors_of(caller.call)) != 1:
        raise UnwritableError(f"it is given {len(arguments)} arguments")
    return arguments[0]


def _row(caller: Caller, classes: str, size: int) -> str:
    """Integers as rows of `size` numbers, as encode_categorical_inputs of Keras makes them."""
    layer, shape = caller.layer, caller.tensors[tensors_of(caller.call)[0]].shape
    mode = layer.config.get("output_mode")
    if layer.config.get("sparse"):
        raise UnwritableError("it returns a sparse tensor, and no JAX module returns one")
    if layer.compute_dtype != "float32":
        raise UnwritableError(f"it encodes in {layer.compute_dtype}")
    if mode == "one_hot":
        of_one = len(shape) > 1 and shape[-1] == 1
        return substitute(f"jax.nn.one_hot(x{'[..., 0]' if of_one else ''}, {literal(size)})", {"x": classes})
    if mode not in ("multi_hot", "count") or len(shape) != 2:
        raise UnwritableError(f"it has output_mode={mode!r} for an input of {len(shape)} axes")
    reduction = "max" if mode == "multi_hot" else "sum"
    return substitute(f"jnp.{reduction}(jax.nn.one_hot(x, {literal(size)}), 1)", {"x": classes})
