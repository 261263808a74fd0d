"""The contract of all rules: what each writes computes what the operation does, whatever its attributes are."""

import inspect
from collections import defaultdict

import pytest
import rule_examples_of_axes
import rule_examples_of_elements
import rule_examples_of_images
import rule_examples_of_products
import tensorflow as tf
from judged_rules import Example, departures, has_gradient, written
from written_rows import drawn, errors, run
from written_rows import written as written_function

from compare.porting.functions.written_types import RULES, TEMPLATES
from tf_reference import _private

pytestmark = pytest.mark.heavy

EXAMPLES: tuple[Example, ...] = (
    *rule_examples_of_elements.EXAMPLES,
    *rule_examples_of_axes.EXAMPLES,
    *rule_examples_of_products.EXAMPLES,
    *rule_examples_of_images.EXAMPLES,
)
WRITTEN = [each for each in EXAMPLES if not each.left]
FIRST = list({each.operation: each for each in reversed(WRITTEN)}.values())


def drawn_whole(x, seed, *ends):
    return x + tf.cast(tf.random.stateless_uniform([3], seed, *ends, dtype=tf.int32) % 100, x.dtype)


COMPOSED = {
    "StatelessRandomUniformIntV2": lambda x: drawn_whole(x, [1, 2], 0, 9),
    "StatelessRandomUniformFullIntV2": lambda x: drawn_whole(x, [1, 2], None, None),
    "StatelessRandomGetKeyCounter": lambda x: drawn_whole(x, tf.cast(x[:2], tf.int32), 0, 50),
    "Cholesky": lambda x: tf.linalg.cholesky(tf.tensordot(x, x, 0) + 3.0 * tf.eye(3)),
    "InvertPermutation": lambda x: x + tf.cast(tf.math.invert_permutation(tf.math.top_k(x, 3).indices), x.dtype),
}
"""Operations that others have to stand beside."""

SAME_WHATEVER = {
    "use_cudnn_on_gpu", "message", "validate_shape", "bad_indices_policy", "grad_x", "grad_y", "shape", "num", "N",
    "num_split", "validate_indices", "grad_a", "grad_b",
}  # fmt: skip
"""Attributes that do not change what is computed, or that what is given says."""

FIXED = {("Conv3D", "dilations"), ("DepthwiseConv2dNative", "dilations")}
"""TensorFlow's kernels for the CPU take one value."""


@pytest.mark.parametrize("example", WRITTEN, ids=lambda each: each.label)
def test_what_is_written_computes_the_same(example):
    made = written(example)
    assert not made.unwritten and example.operation in made.operations
    assert list(departures(example, made)) == []


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.left], ids=lambda each: each.label)
def test_what_is_refused_is_a_place_that_says_why(example):
    made = written(example)
    assert [example.left in each.reason for each in made.unwritten] == [True], made.unwritten


def test_every_rule_has_an_example():
    assert {*RULES, *TEMPLATES} - {each.operation for each in WRITTEN} == {*COMPOSED}


@pytest.mark.parametrize("operation", COMPOSED)
def test_what_others_stand_beside_computes_the_same(operation):
    made = written_function(COMPOSED[operation], ["x=f32[3]"])
    assert not made.unwritten and operation in made.operations
    assert max(errors(COMPOSED[operation], run(made), drawn(["x=f32[3]"])).values()) < 1e-6


def test_every_attribute_takes_two_values():
    values = defaultdict(set)
    for each in EXAMPLES:
        for name, default in defaults(each.operation).items():
            values[each.operation, name].add(str(each.attributes.get(name, default)))
    once = {key for key, seen in values.items() if len(seen) < 2 and key[1] not in SAME_WHATEVER}
    assert sorted(once ^ FIXED) == []


def defaults(operation):
    """The attributes of an operation, but for types of what it takes, with their defaults."""
    known = _private.operation_definition(operation)
    types = {each.name for each in known.attr if each.type in ("type", "list(type)")}
    parameters = list(inspect.signature(getattr(tf.raw_ops, operation)).parameters.values())[len(known.input_arg) :]
    return {each.name: each.default for each in parameters if each.name not in types | {"name"}}


WRONG = "jax.tree.map(lambda a: ~a if a.dtype == bool else -a - jnp.ones((), a.dtype), {})"
STEEP = "jax.tree.map(lambda a: 2 * a - jax.lax.stop_gradient(a) if a.dtype.kind in 'fc' else a, {})"


def planted(monkeypatch, operation, error):
    """Change the rule of an operation."""
    if operation in TEMPLATES:
        monkeypatch.setitem(TEMPLATES, operation, error.format(TEMPLATES[operation]))
        return

    def wrong(call, rule=RULES[operation]):
        found = rule(call)
        if isinstance(found, str):
            return error.format(found)
        return [each if each in ("*", "None") else error.format(each) for each in found]

    monkeypatch.setitem(RULES, operation, wrong)


@pytest.mark.parametrize("example", FIRST, ids=lambda each: each.operation)
def test_a_wrong_formula_is_seen(example, monkeypatch):
    planted(monkeypatch, example.operation, WRONG)
    assert any(each.startswith("result") for each in departures(example, written(example), gradients=False))


def test_gradients_of_most_rules_are_judged():
    judged = sum(map(has_gradient, FIRST))
    assert judged > 150, judged


@pytest.mark.parametrize("example", FIRST[::8], ids=lambda each: each.operation)
def test_a_wrong_gradient_is_seen(example, monkeypatch):
    if not has_gradient(example):
        pytest.skip("TensorFlow has no gradient of it, or it is zero")
    planted(monkeypatch, example.operation, STEEP)
    assert any(each.startswith("gradient") for each in departures(example, written(example)))
