"""Each rule proved: a Keras layer with random weights, and the module that they are carried into, give the same."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import layers_to_carry
import modules_to_carry
import numpy as np
import pytest
from carried_layers import Pair, inputs_of
from flax import nnx

import jaxport
from compare.weights import constructors
from compare.weights.all_rules import BY_CLASS, rules_of
from compare.weights.planning import plan
from jaxport import _module_reading
from tf_reference import _keras_weights

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

BOUND = 1e-6
"""Of the normwise difference in float32: one product of some ten terms, or a recurrence of four steps."""

NAMES = sorted(layers_to_carry.CASES)


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_and_its_module_give_the_same(name: str) -> None:
    pair = Pair(name)
    found = pair.planned()
    assert [each.line for each in found.findings] == []
    assert pair.difference(found) <= BOUND
    back = {move.leaf.key: move.transform.back([found.arrays[path] for path in move.variables]) for move in found.moves}
    assert back.keys() | found.left.keys() == pair.arrays.keys()
    assert all(back[key].tobytes() == pair.arrays[key].tobytes() for key in back)


class Written(nnx.Module):
    """A layer that was made by the call that its rule gives."""

    def __init__(self, call: str) -> None:
        scope = {"jax": jax, "jnp": jnp, "nnx": nnx, "jaxport": jaxport, "rngs": nnx.Rngs(0)}
        self.layer = eval(call, scope)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_that_a_rule_writes_takes_the_weights(name: str) -> None:
    source, arrays = _keras_weights.of_model(layers_to_carry.model(name))
    (layer, *inner) = source.layers[1:]
    tried = 0
    for rule in rules_of(layer)[0]:
        module = rule.counterpart(layer).module
        if inner or module is None or not module.class_name:
            continue
        tried += 1
        target = _module_reading.of_module(Written(constructors.constructor_text(module)))
        found = plan(source, arrays, target, {}, {})
        assert [each.line for each in found.findings] == []
        assert [each.advice for each in found.told] == [()]
    assert tried or inner or name.startswith("separable")


@pytest.mark.parametrize("name", layers_to_carry.FUNCTIONS)
def test_an_expression_that_stands_in_gives_the_same(name: str) -> None:
    model = layers_to_carry.model(name)
    source, arrays = _keras_weights.of_model(model)
    found = plan(source, arrays, _module_reading.of_module(nnx.Module()), {}, {})
    assert [each.line for each in found.findings] == [] and not arrays
    (layer,) = found.told
    given = inputs_of(model)
    x, y = map(jnp.asarray, (given * 2)[:2])
    stood_in = eval(layer.function, {"jax": jax, "jnp": jnp, "nnx": nnx, "jaxport": jaxport, "x": x, "y": y})
    wanted = np.asarray(model(given, training=False))
    assert stood_in.shape == wanted.shape
    assert np.linalg.norm(stood_in - wanted) <= BOUND * np.linalg.norm(wanted)


def test_every_class_that_has_a_rule_is_proved() -> None:
    names = (*NAMES, *layers_to_carry.FUNCTIONS)
    sources = (_keras_weights.of_model(layers_to_carry.model(name))[0] for name in names)
    classes = {each.class_name for source in sources for each in source.layers}
    # Under its older name, by which files of it know it; and what has no weights and is judged in test_encoded_classes.
    assert BY_CLASS.keys() - classes == {"GroupQueryAttention", "CategoryEncoding", "Discretization"}


def turned(array: np.ndarray) -> np.ndarray:
    return np.swapaxes(array, -1, -2)


def gates(*order: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.concatenate([np.split(array, 4, -1)[at] for at in order], -1)


def thirds(array: np.ndarray) -> np.ndarray:
    """Gates z, r, h as r, z, h."""
    update, reset, candidate = np.split(array, 3, -1)
    return np.concatenate([reset, update, candidate], -1)


def heads(array: np.ndarray) -> np.ndarray:
    return array[:, ::-1]


@pytest.mark.parametrize(
    ("name", "leaf", "changed"),
    [
        ("dense_without_bias", "layer/kernel", turned),
        ("batch_normalization", "layer/moving_variance", lambda array: array[::-1]),
        ("layer_normalization", "layer/beta", np.negative),
        ("lstm", "layer/lstm_cell/kernel", gates(0, 2, 1, 3)),
        ("lstm_split", "layer/lstm_cell/recurrent_kernel", gates(0, 1, 3, 2)),
        ("lstm", "layer/lstm_cell/bias", gates(1, 0, 2, 3)),
        ("simple_rnn", "layer/simple_rnn_cell/recurrent_kernel", turned),
        ("conv1d_causal", "layer/kernel", turned),
        ("multi_head_attention", "layer/query/kernel", heads),
        ("depthwise_conv2d", "layer/kernel", turned),
        ("gru", "layer/gru_cell/kernel", thirds),
        ("gru", "layer/gru_cell/bias", lambda array: array[::-1]),
        ("gru_reset_before", "layer/gru_cell/recurrent_kernel", thirds),
        ("prelu", "layer/alpha", lambda array: array[::-1]),
    ],
)
def test_a_weight_that_arrives_wrong_is_seen_or_refused(
    name: str, leaf: str, changed: Callable[[np.ndarray], np.ndarray]
) -> None:
    pair = Pair(name)
    wrong = np.ascontiguousarray(changed(pair.arrays[leaf]))
    found = pair.planned(**{leaf: wrong})
    assert found.findings or pair.difference(found) > 1e-3


@pytest.mark.parametrize(("name", "one", "other"), [
    ("multi_head_attention", "query", "key"), ("multi_head_attention", "value", "key"),
    ("bidirectional", "forward_layer/lstm_cell", "backward_layer/lstm_cell"),
])  # fmt: skip
def test_weights_of_equal_shape_that_are_swapped_are_seen(name: str, one: str, other: str) -> None:
    pair = Pair(name)
    swapped = {key: pair.arrays[key.replace(one, other)] for key in pair.arrays if f"/{one}/" in key}
    swapped |= {key: pair.arrays[key.replace(other, one)] for key in pair.arrays if f"/{other}/" in key}
    assert pair.difference(pair.planned()) <= BOUND
    assert pair.difference(pair.planned(**swapped)) > 1e-3


def test_the_module_that_was_read_is_not_changed_by_reading() -> None:
    module = modules_to_carry.module("dense")
    before = nnx.state(module)
    _module_reading.of_module(module)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, before, nnx.state(module)))
