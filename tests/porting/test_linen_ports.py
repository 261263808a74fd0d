"""Modules written in Flax Linen: the same numbers as the model, by variables of the same names, or one line."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import called, distance, drawn
from flax import linen as nn
from flax.errors import InvalidRngError
from linen_modules import module_of, scope_of, variables_of, written_of

from compare.api.named_model import NamedModel
from compare.api.port_writing import check_style
from compare.errors import RequestError
from compare.porting.formatting import format_source
from compare.porting.linen_classes import check_linen_use, linen_classes, linen_place
from compare.porting.port_builders import Original
from compare.porting.port_facts import facts_of_model
from compare.porting.port_source import Sizes
from compare.porting.safe_expressions import UnwritableError
from compare.porting.styles import LINEN, Style
from compare.porting.training_source import training_source
from compare.porting.writing_ports import texts
from compare.weights import constructors
from compare.weights.linen_modules import NoLinenModuleError, linen_module
from compare.weights.rule import Module
from jaxport import _linen_port
from jaxport._linen_port import linen_port
from tf_reference import _keras_compiled
from workloads.core.target import WeightsError

L = keras.layers
BOUND = 1e-5
"""The largest normwise difference in float32."""

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def blocks() -> Any:
    inputs = keras.Input((8, 8, 3), name="images")
    x = L.Conv2D(4, 3, padding="same", name="stem")(inputs)
    for number, strides in enumerate((1, 2, 1, 1)):
        y = L.DepthwiseConv2D(3, strides, padding="same", use_bias=False, name=f"block{number}_depthwise")(x)
        y = L.ReLU(6.0, name=f"block{number}_relu")(L.BatchNormalization(name=f"block{number}_bn")(y))
        x = L.Dropout(0.1, name=f"block{number}_drop")(y)
    top = L.Dense(3, activation="softmax", name="top")(L.GlobalAveragePooling2D(name="pool")(x))
    return keras.Model(inputs, top, name="repeated")


def two_inputs() -> Any:
    left, right = keras.Input((6,), name="left"), keras.Input((4,), name="train")
    layers = [keras.Input((6,)), L.Dense(6), L.BatchNormalization(), L.LayerNormalization()]
    inner, shared = keras.Sequential(layers, name="inner"), L.Dense(6, activation="relu", name="shared")
    wide = L.Dense(6, name="path")(right)
    joined = L.Concatenate()([inner(shared(left)), inner(wide), shared(wide)])
    doubled: Any = left
    return keras.Model([left, right], [L.Dense(2, name="out")(joined), doubled * 2.0])


def lists_of_blocks() -> Any:
    x = inputs = keras.Input((16, 16, 3))
    for stage in range(3):
        for _ in range(3):
            y = L.Conv2D(4, 3, padding="same")(L.ReLU()(L.BatchNormalization()(x)))
            x = L.Concatenate()([x, y])
        if stage < 2:
            x = L.AveragePooling2D(2)(L.Conv2D(6 + 2 * stage, 1)(L.ReLU()(L.BatchNormalization()(x))))
    return keras.Model(inputs, x)


def text() -> Any:
    tokens = keras.Input((7,), dtype="int32", name="tokens")
    x = L.GlobalAveragePooling1D()(L.Embedding(10, 8, name="table")(tokens))
    return keras.Model(tokens, L.Dense(1, activation="sigmoid", name="head")(x))


def attention() -> Any:
    x = keras.Input((6, 8))
    y = L.LayerNormalization(epsilon=1e-5)(L.MultiHeadAttention(2, 4, dropout=0.1)(x, x, use_causal_mask=True) + x)
    return keras.Model(x, L.TimeDistributed(L.Dense(3))(L.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d")(y)))


def convolutions() -> Any:
    x = keras.Input((12, 12, 4))
    y = L.SeparableConv2D(6, 3, padding="same", activation="tanh", name="separable")(x)
    y = L.GroupNormalization(2)(L.Conv2DTranspose(4, 3, 2, padding="same")(y))
    y = L.MaxPooling2D(3, 2, padding="same")(L.AveragePooling2D(2, padding="same")(L.ZeroPadding2D(1)(y)))
    y = L.Conv2D(6, (3, 2), dilation_rate=(1, 2), groups=2, padding="same", name="grouped")(y)
    return keras.Model(x, L.Dense(2, use_bias=False)(L.Flatten()(L.SpatialDropout2D(0.2)(L.RMSNormalization()(y)))))


def frozen() -> Any:
    x = keras.Input((6,))
    y = L.Dense(6, activation="tanh", name="first", trainable=False)(x)
    y = L.BatchNormalization(name="norm", trainable=False)(y)
    model = keras.Model(x, L.Dense(2, name="last")(y))
    model.compile(keras.optimizers.AdamW(0.01, weight_decay=0.1), "mse")
    return model


MODELS: tuple[Callable[[], Any], ...] = (blocks, two_inputs, lists_of_blocks, text, attention, convolutions, frozen)


@pytest.mark.parametrize("make", MODELS)
def test_a_written_module_gives_what_the_model_does(make: Callable[[], Any]) -> None:
    model = make()
    inputs = [drawn((2, *each.shape[1:]), str(each.dtype)) for each in model.inputs]
    called(model, inputs if len(inputs) > 1 else inputs[0])
    written, module, variables = module_of(model)
    found = jax.tree.leaves(module.apply(variables, *inputs))
    expected = keras.tree.flatten(model(inputs if len(inputs) > 1 else inputs[0], training=False))
    assert max(distance(one, other) for one, other in zip(found, expected, strict=True)) <= BOUND
    assert "nnx" not in written.text and "rngs" not in written.text


def test_statistics_move_as_those_of_the_model_and_dropout_draws() -> None:
    model, inputs = blocks(), drawn((4, 8, 8, 3))
    called(model, inputs)
    for layer in model.layers:
        if isinstance(layer, L.Dropout):
            layer.rate = 0.0
    written, module, variables = module_of(model)
    # Its rates are those of the layers: with 0 nothing is drawn, so that the statistics are those of Keras.
    _, updates = module.apply(variables, inputs, train=True, mutable=["batch_stats"])
    model(inputs, training=True)
    moved = variables_of(written, module, model)["batch_stats"]
    pairs = jax.tree.map(distance, updates["batch_stats"], moved)
    assert max(jax.tree.leaves(pairs)) <= BOUND
    assert any(
        jax.tree.leaves(jax.tree.map(lambda one, other: distance(one, other) > BOUND, moved, variables["batch_stats"]))
    )

    drops, _, _ = module_of(blocks())
    dropping = scope_of(drops, drops.text)["Repeated"]()
    key = {"dropout": jax.random.key(1)}
    first, _ = dropping.apply(variables, inputs, train=True, mutable=["batch_stats"], rngs=key)
    second, _ = dropping.apply(
        variables, inputs, train=True, mutable=["batch_stats"], rngs={"dropout": jax.random.key(2)}
    )
    assert distance(first, second) > BOUND


TEXT = '''from flax import linen as nn


class Block(nn.Module):
    """A block of the model, which has 4 of them."""

    strides: int

    @nn.compact
    def __call__(self, x: jax.Array, train: bool = False) -> jax.Array:
        x = nn.Conv(
            4,
            (3, 3),
            strides=(self.strides, self.strides),
            padding="SAME",
            feature_group_count=4,
            use_bias=False,
            name="depthwise",
        )(x)
        x = nn.BatchNorm(
            momentum=0.99, epsilon=0.001, use_fast_variance=False, use_running_average=not train, name="bn"
        )(x)
        x = jax.nn.relu6(x)
        return nn.Dropout(rate=0.1, deterministic=not train, name="drop")(x)


class Repeated(nn.Module):
    """The model: x [batch, 8, 8, 3] -> [batch, 3]."""

    @nn.compact
    def logits(self, x: jax.Array, train: bool = False) -> jax.Array:
        """What the softmax is taken of."""
        x = nn.Conv(4, (3, 3), padding="SAME", name="stem")(x)  # [batch, 8, 8, 4]
        for index, strides in enumerate((1, 2, 1, 1)):
            x = Block(strides, name=f"blocks_{index}")(x, train)  # [batch, 4, 4, 4]
        x = jnp.mean(x, (1, 2))  # pool: [batch, 4]
        return nn.Dense(3, name="top")(x)  # [batch, 3]

    def __call__(self, x: jax.Array, train: bool = False) -> jax.Array:
        return jax.nn.softmax(self.logits(x, train))
'''


def test_the_text_is_that_of_an_engineer() -> None:
    written, _ = written_of(blocks())
    assert format_source(f"from flax import linen as nn\n\n\n{written.text}", "model_jax.py") == TEXT
    assert written.names["block1_depthwise"] == "blocks_1.depthwise"


def test_a_layer_that_is_called_twice_is_one_module() -> None:
    written, _ = written_of(two_inputs())
    assert written.text.count("name='shared'") == 1 and "shared(left)" in written.text
    assert "inner(x, train)" in written.text and "train_: jax.Array, train: bool = False" in written.text


def shared_elsewhere() -> Any:
    x = keras.Input((4,))
    shared = L.Dense(4, name="shared")
    inner = keras.Sequential([keras.Input((4,)), shared], name="inner")
    return keras.Model(x, inner(shared(x)))


def always_in_training() -> Any:
    x = keras.Input((4,))
    return keras.Model(x, L.Dense(2)(L.Dropout(0.5, name="always")(x, training=True)))


def around(*layers: Any, shape: tuple[int, ...] = (6, 4)) -> Callable[[], Any]:
    def make() -> Any:
        x = y = keras.Input(shape)
        for layer in layers:
            y = layer(y)
        return keras.Model(x, y)

    return make


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (around(L.GRU(3, name="gru")), "gru (GRU): nnx.RNN of jaxport.layers.GRUCell is not written in Linen"),
        (around(L.PReLU(name="slopes"), L.Dense(2)), "slopes (PReLU): jaxport.layers.PReLU is not written in Linen"),
        (
            around(L.Masking(), L.BatchNormalization(name="norm")),
            "norm (BatchNormalization): jaxport.normalization.masked_batch_norm takes a module of NNX",
        ),
        (around(L.Lambda(lambda x: tf.sin(x), name="own")), "own (Lambda"),
        (always_in_training, "always (Dropout): its call"),
        (shared_elsewhere, "inner (Sequential): it calls shared, which stands in another model"),
    ],
)
def test_a_layer_without_a_counterpart_is_refused_by_its_name(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(RequestError) as error:
        written_of(make())
    line = str(error.value)
    assert said in line and line.startswith("expected layers that are written in Linen, found others: ")


NUMBERED = """class Whole(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.part_0 = nn.Dense(features=3)
        self.part = nnx.List(Part(rngs=rngs) for _ in range(3))

    def __call__(self, x: jax.Array) -> Any:
        x = self.part_0(x)
        for block in self.part:
            x = block(x)
        return x"""


def test_modules_of_a_list_and_another_one_under_the_same_name_are_refused() -> None:
    with pytest.raises(RequestError, match="expected modules under different names, found part_0 twice"):
        linen_classes([NUMBERED])
    (text_of_class,), _ = linen_classes([NUMBERED.replace("part_0", "first")])
    assert "x = Part(name=f'part_{index}')(x)" in text_of_class and "for index in range(3):" in text_of_class


def test_a_module_under_the_name_that_linen_keeps_is_refused() -> None:
    with pytest.raises(RequestError, match="expected no module under the name params"):
        linen_classes([NUMBERED.replace("part_0", "params")])


def test_a_model_without_weights_leaves_its_step() -> None:
    x = keras.Input((4,))
    model = keras.Model(x, L.Softmax()(x * 2.0))
    model.compile("sgd", "mse")
    architecture = _keras_compiled.of_model(model)
    written, _ = written_of(model)
    assert training_source(architecture, written).unwritten == (
        "the training step: the model has no weights that are trained",
    )


class Scaled(nn.Module):
    """A module of the user's own with a field that Flax's dropout has too."""

    rate: float

    @nn.compact
    def __call__(self, x: jax.Array, train: bool = False) -> jax.Array:
        return self.rate * nn.Dropout(0.5, deterministic=not train)(x)


def test_a_field_of_the_users_own_stays_while_a_module_is_judged() -> None:
    with _linen_port._interception(jnp.dtype("float32")):
        assert (Scaled(0.25).apply({}, jnp.ones((2, 3))) == 0.25).all()


def test_a_dropout_without_a_key_fails_while_it_is_judged() -> None:
    with _linen_port._interception(jnp.dtype("float32")):
        with pytest.raises(InvalidRngError):
            Scaled(1.0).apply({}, jnp.ones((4, 5)), train=True)
        drawn_with_key = Scaled(1.0).apply({}, jnp.ones((4, 5)), train=True, rngs={"dropout": jax.random.key(0)})
    assert 0 < (np.asarray(drawn_with_key) == 0).mean() < 1


def test_a_loop_overwrites_no_argument_of_the_call() -> None:
    inputs = keras.Input((8, 8, 4), name="strides")
    other = keras.Input((4,), name="index")
    x: Any = inputs
    for number, strides in enumerate((1, 2, 1, 2)):
        x = L.DepthwiseConv2D(3, strides, padding="same", use_bias=False, name=f"block{number}_depthwise")(x)
        x = L.ReLU(6.0, name=f"block{number}_relu")(L.BatchNormalization(name=f"block{number}_bn")(x))
        x = L.Dropout(0.1, name=f"block{number}_drop")(x)
    model = keras.Model([inputs, other], [L.GlobalAveragePooling2D()(x) + other, L.Flatten()(inputs)])
    given = [drawn((2, 8, 8, 4)), drawn((2, 4))]
    called(model, given)
    written, module, variables = module_of(model)
    assert "for index_2, strides_2 in enumerate((1, 2, 1, 2)):" in written.text
    found = module.apply(variables, *given)
    assert max(map(distance, found, model(given, training=False))) <= BOUND


def test_frozen_layers_are_no_part_of_what_the_optimizer_changes() -> None:
    model = frozen()
    written, training = written_of(model)
    scope = scope_of(written, f"{written.text}\n\n\n{training}")
    variables = variables_of(written, scope[written.class_name](), model)
    state = scope["make_state"](variables)
    x, targets = drawn((4, 6)), drawn((4, 2))
    after, value = scope["train_step"](state, (x,), targets)
    changed = jax.tree.map(lambda one, other: not np.array_equal(one, other), after.params, state.params)
    assert changed["last"] == {"bias": True, "kernel": True}
    assert not any(jax.tree.leaves((changed["first"], changed["norm"]))) and float(value) > 0
    # A batch norm that is not trained keeps its statistics.
    np.testing.assert_array_equal(after.batch_stats["norm"]["mean"], state.batch_stats["norm"]["mean"])


class OwnStep(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            value: Any = tf.reduce_mean(tf.abs(self(x, training=True) - y))
        gradients = tape.gradient(value, self.trainable_variables)
        self.optimizer.apply_gradients([(g, v) for g, v in zip(gradients, self.trainable_variables, strict=True)])
        return {"loss": value}


@pytest.mark.usefixtures("remembered")
def test_a_training_step_that_is_not_written_in_linen_is_left_and_named() -> None:
    x = keras.Input((4,))
    model = OwnStep(x, L.Dense(2, name="only")(x))
    model.compile("sgd")
    architecture = _keras_compiled.of_model(model)
    written, _ = written_of(model)
    training = training_source(architecture, written)
    assert not training.text and len(training.unwritten) == 1
    assert training.unwritten[0].startswith("the training step: ")

    scaled = around(L.Dense(2, name="only"))()
    scaled.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam()), "mse")
    training = training_source(_keras_compiled.of_model(scaled), written_of(scaled)[0])
    assert not training.text and "LossScaleOptimizer is not written in Linen" in training.unwritten[0]


def test_defaults_that_are_left_out_are_those_of_linen() -> None:
    """What a constructor does not say is what the rule says."""
    classes = (
        nn.Dense, nn.Conv, nn.ConvTranspose, nn.Einsum, nn.Embed, nn.BatchNorm, nn.LayerNorm, nn.GroupNorm,
        nn.InstanceNorm, nn.RMSNorm, nn.MultiHeadDotProductAttention, nn.Dropout,
    )  # fmt: skip
    for kind in classes:
        for name, parameter in inspect.signature(kind.__init__).parameters.items():
            # Groups have axes of their own, which no rule gives.
            if name in constructors._DEFAULTS and (kind, name) != (nn.GroupNorm, "reduction_axes"):
                default: Any = parameter.default
                plain = list(default) if isinstance(default, tuple) else getattr(default, "__name__", default)
                assert plain == constructors._DEFAULTS[name], (kind, name)


def test_heads_of_keys_that_linen_has_not_are_refused() -> None:
    sizes = {"num_heads": 4, "num_kv_heads": 2, "dtype": "float32", "param_dtype": "float32"}
    with pytest.raises(NoLinenModuleError, match="as many heads of keys"):
        linen_module(Module("nnx.MultiHeadAttention", sizes))


def test_a_module_that_a_function_takes_is_refused() -> None:
    assert check_linen_use("self.a(self.b(x)) + self.table.attend(nnx.max_pool(x, (2, 2)))")
    for text_of_call in ("jaxport.f(self.a, x)", "self.a.b(x)", "nnx.vmap(x)"):
        with pytest.raises(UnwritableError):
            check_linen_use(text_of_call)


def test_places_in_lists_are_names() -> None:
    assert linen_place("stages.0.blocks.12.conv.kernel") == "stages_0.blocks_12.conv.kernel"
    assert linen_place("a1.b.2c") == "a1.b.2c"


@pytest.mark.parametrize(
    ("names", "said"),
    [(("kernel",), r"found none for params\.bias"), (("kernel", "bias", "scale"), r"found no params\.scale")],
)
def test_a_receipt_of_other_variables_is_refused(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    shapes = {"kernel": (4, 2), "bias": (2,), "scale": (2,)}
    leaves = [
        {
            "key": name,
            "shape": shapes[name],
            "transform": {"name": "identity"},
            "variables": [{"path": name, "kind": "Param"}],
        }
        for name in names
    ]
    receipt = tmp_path / "weights.receipt.json"
    receipt.write_text(json.dumps({"leaves": leaves}))
    port = linen_port(nn.Dense(2), receipt, "float32", inputs=1)
    with pytest.raises(WeightsError, match=said):
        port.forward(port.from_weights({name: drawn(shapes[name]) for name in names}), drawn((3, 4)))


def test_an_unknown_style_and_modules_of_a_function_are_refused() -> None:
    with pytest.raises(RequestError, match="expected the style nnx or linen, found 'haiku'"):
        check_style(NamedModel("my_tf.py:f", (), (), None, 1.0), cast(Style, "haiku"))
    with pytest.raises(RequestError, match="expected --style linen with a Keras model"):
        check_style(NamedModel("my_tf.py:f", ("x=f32[3]",), (), None, 1.0), LINEN)


def test_what_the_readme_loads_with_survives_pooling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image of one pixel, of which pooling leaves none, cannot stand for an image of any size."""
    x = keras.Input((None, None, 1))
    halves = keras.layers.MaxPooling2D()(keras.layers.Conv2D(2, 3, padding="same", name="conv")(x))
    model = keras.Model(x, keras.layers.Concatenate()([keras.layers.UpSampling2D()(halves), x]), name="unet")
    architecture, original = _keras_compiled.of_model(model), Original("my_tf.py:build")
    source, training, files = texts(architecture, original, Sizes(), LINEN)
    (tmp_path / "model_jax.py").write_text(files["model_jax.py"])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "model_jax", raising=False)
    facts, names = facts_of_model(architecture, source, training, original, Sizes()), dict[str, Any]()
    exec("\n".join(facts.loading[:-1]), names)
    assert names["shapes"]["params"]["conv"]["kernel"].shape == (3, 3, 1, 2)
    assert facts.loading[-1] == 'variables = jaxport.weights.load(shapes, "weights.safetensors")'
