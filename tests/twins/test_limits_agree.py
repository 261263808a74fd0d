"""The functions of the limits compute the same in both frameworks, on either side of the limit."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import jax
import numpy as np
import pytest
import tensorflow as tf

from compare.inputs import call_streams
from workloads.core.arrays import draw
from workloads.limits._limit import WITHIN, Limit, limits
from workloads.limits.recompilation import STREAMS, Stream

LIMITS = limits()


def alike(found: object, expected: object) -> None:
    """Equal but for rounding: a softmax of a product of 256 terms makes parts in ten thousand of it."""
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=5e-4, atol=1e-6)


@pytest.fixture
def optimizer_options() -> Iterator[None]:
    """One of the functions sets an option of the graph optimizer, which holds for the process."""
    before = tf.config.optimizer.get_experimental_options()
    yield
    tf.config.optimizer.set_experimental_options({"remapping": before.get("remapping", True)})


@pytest.mark.usefixtures("optimizer_options")
@pytest.mark.parametrize(("theme", "limit"), LIMITS.values(), ids=LIMITS)
def test_an_edit_and_the_port_change_no_value(theme: str, limit: Limit) -> None:
    original, port = (importlib.import_module(f"{side}.limits.{theme}") for side in ("tf_reference", "jaxport"))
    arrays = [np.asarray(draw(spec, name, 0)) for name, spec in limit.inputs.items()]
    of_port = jax.jit(getattr(port, limit.name))(*arrays)
    for name in (limit.name, f"{WITHIN}{limit.name}"):
        alike(getattr(original, name)(*map(tf.constant, arrays)), of_port)


@pytest.mark.parametrize(("name", "stream"), STREAMS.items(), ids=STREAMS)
def test_the_calls_of_a_stream_give_the_same_in_both(name: str, stream: Stream) -> None:
    original, port = (importlib.import_module(f"{side}.limits.recompilation") for side in ("tf_reference", "jaxport"))
    for call in call_streams.stream(stream.calls, stream.sizes):
        of_port = jax.jit(getattr(port, name), static_argnames=stream.static)(**call.arguments)
        alike(tf.function(getattr(original, name))(**call.arguments), of_port)
