"""Ports in tests of `unittest` or pytest, as `numpy.testing` has arrays: one call, one AssertionError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jaxport._checking import check


def assert_ports_match(
    tf_fn: Callable[..., Any], jax_fn: Callable[..., Any], inputs: Mapping[str, Any], **options: Any
) -> None:
    """Do nothing where `jaxport.check` passes the port.

    Args:
      tf_fn: the original, as of `jaxport.check`.
      jax_fn: its port.
      inputs: by name, in the order of the arguments.
      options: others of `jaxport.check`.

    Raises:
      AssertionError: a gate fails or is not judged, or a result is missing; the lines that the command line prints.
      RequestError: the check cannot be carried out.

    Example:
      >>> import jax, tensorflow as tf
      >>> from jaxport.testing import assert_ports_match
      >>> assert_ports_match(tf.nn.softplus, jax.nn.softplus, {"features": "f32[4,8]"})
    """
    __tracebackhide__ = True
    check(tf_fn, jax_fn, inputs, **{"quiet": True, **options}).assert_passed()
