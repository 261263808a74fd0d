"""Weights into Flax Linen: each layer gives the same, what differs is refused, and `load` takes all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import layers_to_carry
import numpy as np
import pytest
from flax import linen as nn
from safetensors.numpy import save_file

from compare.weights.planning import Plan, plan
from jaxport import weights
from jaxport._linen_reading import of_linen
from jaxport.weights import WeightsError
from tf_reference import _keras_weights
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Value

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

BOUND = 1e-6
"""Normwise, in float32."""

Make = Callable[..., nn.Module]


def normalized(kind: Any, **how: Any) -> Make:
    return lambda **other: kind(epsilon=0.001, use_fast_variance=False, **how, **other)


def layer(make: Any, *given: Any, **how: Any) -> Make:
    return lambda **other: make(*given, **how, **other)


CASES: dict[str, Make] = {
    "dense": layer(nn.Dense, 3),
    "dense_without_bias": layer(nn.Dense, 8, use_bias=False),
    "einsum_dense": layer(nn.Einsum, (4, 7), "abc,cd->abd"),
    "embedding": layer(nn.Embed, 10, 4),
    "conv1d": layer(nn.Conv, 5, (3,), 2, padding="SAME"),
    "conv1d_causal": layer(nn.Conv, 3, (3,), padding="CAUSAL", kernel_dilation=2),
    "conv2d": layer(nn.Conv, 5, (3, 3), padding="VALID"),
    "conv2d_groups": layer(nn.Conv, 6, (3, 2), kernel_dilation=2, feature_group_count=3),
    "conv3d": layer(nn.Conv, 5, (2, 2, 2), padding=0),
    "conv2d_transpose": layer(nn.ConvTranspose, 5, (3, 3), (2, 2), padding="VALID", transpose_kernel=True),
    "depthwise_conv2d": layer(nn.Conv, 6, (3, 3), (2, 2), padding="SAME", feature_group_count=3),
    "batch_normalization": normalized(nn.BatchNorm, momentum=0.99, use_running_average=True),
    "batch_normalization_bare": normalized(
        nn.BatchNorm, momentum=0.99, use_running_average=True, use_bias=False, use_scale=False
    ),
    "layer_normalization": normalized(nn.LayerNorm),
    "group_normalization": normalized(nn.GroupNorm, num_groups=None, group_size=4),
    "instance_normalization": normalized(nn.InstanceNorm),
    "rms_normalization": lambda **other: nn.RMSNorm(epsilon=1e-6, **other),
    "multi_head_attention": layer(nn.MultiHeadDotProductAttention, 2, qkv_features=8),
}


class Around(nn.Module):
    """A layer by the name that it has in the model; `call` is how it is called."""

    make: Make

    @nn.compact
    def __call__(self, *x: Any) -> Any:
        named = self.make(name="layer")
        if isinstance(named, nn.MultiHeadDotProductAttention):
            query, value, key = x
            return named(query, key, value)
        return named(*x)


class Carried:
    """A model of one layer, a port of it, and the plan between them."""

    def __init__(self, name: str, make: Make) -> None:
        model = layers_to_carry.model(name)
        source, arrays = _keras_weights.of_model(model)
        numbers = np.random.default_rng(3)
        self.x = [
            numbers.integers(0, 10, (2, *each.shape[1:])).astype("int32")
            if "int" in str(each.dtype)
            else numbers.normal(size=(2, *each.shape[1:])).astype("float32")
            for each in model.inputs
        ]
        self.wanted = np.asarray(model(self.x, training=False))
        self.module = Around(make)
        self.plan: Plan = plan(source, arrays, of_linen(self.module, source.inputs), {}, {})

    def difference(self) -> float:
        variables = jax.eval_shape(self.module.init, jax.random.key(0), *self.x)
        found = self.module.apply(weights.replace_values(variables, self.plan.arrays), *self.x)
        found = nn.relu(found) if self.wanted.min() == 0 else found  # the Dense of the model has an activation
        return float(np.linalg.norm(found - self.wanted) / np.linalg.norm(self.wanted))


@pytest.mark.parametrize("name", CASES)
def test_a_layer_and_its_linen_module_give_the_same(name: str) -> None:
    carried = Carried(name, CASES[name])
    assert [each.line for each in carried.plan.findings] == []
    assert carried.difference() <= BOUND


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("layer_normalization", normalized(nn.LayerNorm, use_bias=False), "use_bias"),
        ("layer_normalization", layer(nn.LayerNorm, epsilon=1e-6), "epsilon=0.001, found epsilon=1e-06"),
        ("batch_normalization", layer(nn.BatchNorm, True, momentum=0.9, epsilon=0.001), "momentum=0.99"),
        ("conv2d", layer(nn.Conv, 5, (3, 3)), "padding='VALID', found padding='SAME'"),
        ("conv1d", layer(nn.Conv, 5, (3,), padding="SAME"), "strides=[2]"),
        ("conv2d", layer(nn.Conv, 5, (3, 3), padding="VALID", mask=jnp.zeros((3, 3, 3, 5))), "found linen.Conv"),
        ("conv2d_transpose", layer(nn.ConvTranspose, 5, (3, 3), (2, 2), padding="VALID"), "transpose_kernel=True"),
        ("dense", layer(nn.Dense, 4), "out_features=3"),
        ("dense", layer(nn.Dense, 3, param_dtype=jnp.bfloat16), "bfloat16"),
        ("group_normalization", normalized(nn.GroupNorm, num_groups=4), "num_groups=2"),
        (
            "lstm",
            layer(lambda **other: nn.RNN(nn.LSTMCell(5), **other)),
            "or nnx.RNN of nnx.LSTMCell at layer, found linen.RNN",
        ),
    ],
)
def test_a_linen_module_that_computes_something_else_is_refused(name: str, make: Make, said: str) -> None:
    findings = [each.line for each in Carried(name, make).plan.findings]
    assert any(said in line for line in findings), findings


class Renamed(nn.Dense):
    """A subclass that computes what its base does."""


class Doubled(nn.Dense):
    @nn.compact
    def __call__(self, inputs: Any) -> Any:
        return 2 * super().__call__(inputs)


def test_a_subclass_is_what_its_call_is() -> None:
    assert not Carried("dense", layer(Renamed, 3)).plan.findings
    (line, *_) = [each.line for each in Carried("dense", layer(Doubled, 3)).plan.findings]
    assert line == "layer (Dense): expected nnx.Linear at layer, found Doubled"


class Trained(nn.Module):
    """Called with a flag, as Linen modules with dropout are."""

    @nn.compact
    def __call__(self, x: Any, train: bool) -> Any:
        x = nn.Dropout(0.1, deterministic=not train)(nn.Dense(3, name="dense")(x))
        return nn.BatchNorm(use_running_average=not train, name="norm")(x)


class Masked(nn.Module):
    @nn.compact
    def __call__(self, x: Any, mask: Any) -> Any:
        return nn.Dense(3)(x * mask)


def value(*shape: int | None) -> Value:
    return Value("x", "float32", shape)


def test_a_flag_of_training_is_given_and_every_collection_read() -> None:
    target = of_linen(Trained(), [value(None, 8)])
    assert {each.path: each.kind for each in target.variables} == {
        "dense.kernel": "Param", "dense.bias": "Param", "norm.scale": "Param", "norm.bias": "Param",
        "norm.mean": "BatchStat", "norm.var": "BatchStat",
    }  # fmt: skip
    assert {each.path: each.class_name for each in target.modules} == {
        "": "Trained", "Dropout_0": "nnx.Dropout", "dense": "nnx.Linear", "norm": "nnx.BatchNorm",
    }  # fmt: skip


def test_another_argument_without_a_default_is_refused() -> None:
    said = "Masked to be called with the 1 input of the model, found that it needs mask too: give it a default"
    with pytest.raises(Unsupported, match=said):
        of_linen(Masked(), [value(None, 8)])


def test_variables_are_loaded_all_or_none(tmp_path: Path) -> None:
    x = np.ones((2, 8), np.float32)
    variables = Trained().init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x, False)
    arrays = {
        path: np.random.default_rng(at).normal(size=each.shape).astype(np.float32)
        for at, (path, (_, each)) in enumerate(weights.by_path(variables).items())
    }
    path = tmp_path / "weights.safetensors"
    save_file(arrays, path)
    loaded = weights.load(variables, path)
    assert jax.tree.structure(loaded) == jax.tree.structure(dict(variables))
    np.testing.assert_array_equal(loaded["batch_stats"]["norm"]["var"], arrays["norm.var"])
    shapes = jax.eval_shape(lambda: variables)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, weights.load(shapes, path), loaded))

    save_file({name: each for name, each in arrays.items() if name != "norm.var"}, path)
    with pytest.raises(WeightsError, match=r"found none for the variable norm\.var"):
        weights.load(variables, path)
    save_file({**arrays, "dense.bias": np.zeros(4, np.float32)}, path)
    with pytest.raises(WeightsError, match=r"found float32\[4\] for dense\.bias, which takes float32\[3\]"):
        weights.load(variables, path)


def test_a_path_in_two_collections_is_refused() -> None:
    twice = {"params": {"norm": {"mean": jnp.ones(2)}}, "batch_stats": {"norm": {"mean": jnp.ones(2)}}}
    with pytest.raises(Unsupported, match=r"expected one variable at norm\.mean, found it in params and in batch_stat"):
        weights.by_path(twice)
