"""Ports of models with repeated layers: the port has a class for them and returns the same numbers as the model."""

import ast
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from filled_modules import distance, filled, module_of, scope_of, written_of
from flax import nnx

from compare.porting.formatting import format_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled

L = keras.layers
IMPORTS = "import jax\nimport jax.numpy as jnp\nfrom flax import nnx\n\n"
BOUND = 1e-5
"""The largest normwise difference in float32."""

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def convolve(x: Any, features: int, name: str, strides: int = 1, size: int = 3) -> Any:
    y = L.Conv2D(features, size, strides, padding="same", use_bias=False, name=f"{name}_conv")(x)
    return L.BatchNormalization(name=f"{name}_bn")(y)


def residual(x: Any, features: int, name: str, strides: int = 1) -> Any:
    y = L.ReLU(name=f"{name}_1_relu")(convolve(x, features, f"{name}_1", strides))
    y = convolve(y, features, f"{name}_2")
    if strides > 1:
        x = convolve(x, features, f"{name}_0", strides, 1)
    return L.ReLU(name=f"{name}_out")(L.Add(name=f"{name}_add")([x, y]))


def residual_net(blocks: int = 4) -> Any:
    inputs = keras.Input((16, 16, 3), name="images")
    x = L.Conv2D(8, 3, padding="same", name="stem_conv")(inputs)
    for number in range(blocks):
        x = residual(x, 8 * 2 ** (number // 2), f"block{number + 1}", 2 if number == 2 else 1)
    top = L.Dense(5, activation="softmax", name="top")(L.GlobalAveragePooling2D(name="pool")(x))
    return keras.Model(inputs, top, name="residual_net")


def stages() -> Any:
    inputs = keras.Input((16, 16, 3))
    x = L.Conv2D(6, 3, padding="same")(inputs)
    for stage in range(3):
        for _ in range(3):
            y = L.Conv2D(4, 3, padding="same")(L.ReLU()(L.BatchNormalization()(x)))
            x = L.Concatenate()([x, y])
        if stage < 2:
            x = L.AveragePooling2D(2)(L.Conv2D(6 + 2 * stage, 1)(L.ReLU()(L.BatchNormalization()(x))))
    return keras.Model(inputs, x)


def of_two_inputs() -> Any:
    first, second = keras.Input((8,), name="block"), keras.Input((8,), name="blocks")
    x, context = L.Dense(8)(first), L.Dense(8)(second)
    for _ in range(4):
        y = L.Dense(16, activation="relu")(L.LayerNormalization()(x))
        x = L.Add()([x, L.Multiply()([L.Dense(8)(y), context])])
    return keras.Model([first, second], [x, L.Dense(2)(context)])


def shared_layer() -> Any:
    inputs = keras.Input((8,))
    layer, x = L.Dense(8, name="shared"), inputs
    for _ in range(4):
        x = L.Add()([x, layer(L.Dense(8, activation="tanh")(L.LayerNormalization()(x)))])
    return keras.Model(inputs, x)


def with_dropout() -> Any:
    inputs = keras.Input((8,))
    x = inputs
    for number in range(5):
        y = L.Dropout(0.1 * number)(L.Dense(12, activation="gelu")(L.LayerNormalization()(x)))
        x = x + L.Dense(8)(y)
    return keras.Model(inputs, x)


def with_masks() -> Any:
    tokens = keras.Input((7,), dtype="int32")
    x = L.Embedding(11, 8, mask_zero=True)(tokens)
    for _ in range(3):
        y = L.LayerNormalization()(x)
        x = L.Add()([x, L.MultiHeadAttention(2, 4)(y, y)])
        y = L.Dense(16, activation="relu")(L.LayerNormalization()(x))
        x = L.Add()([x, L.Dense(8)(y)])
    return keras.Model(tokens, x)


def with_an_attention_mask() -> Any:
    inputs, mask = keras.Input((6, 8)), keras.Input((6, 6), dtype="bool", name="mask")
    x = inputs
    for _ in range(4):
        y = L.LayerNormalization()(x)
        x = L.Add()([x, L.MultiHeadAttention(2, 4)(y, y, attention_mask=mask)])
        x = L.Add()([x, L.Dense(8, activation="gelu")(L.LayerNormalization()(x))])
    return keras.Model([inputs, mask], x)


def with_skips() -> Any:
    inputs = keras.Input((16, 16, 3))
    x, skips = L.Conv2D(8, 3, padding="same")(inputs), []
    for _ in range(3):
        for _ in range(2):
            x = L.ReLU()(L.BatchNormalization()(L.Conv2D(8, 3, padding="same")(x)))
        skips.append(x)
        x = L.MaxPooling2D()(x)
    for skip in reversed(skips):
        x = L.Concatenate()([L.UpSampling2D()(x), skip])
        for _ in range(2):
            x = L.ReLU()(L.BatchNormalization()(L.Conv2D(8, 3, padding="same")(x)))
    return keras.Model(inputs, x)


def intermediate_read() -> Any:
    inputs = keras.Input((8,))
    x, middles = inputs, []
    for _ in range(4):
        y = L.Dense(12, activation="relu")(L.LayerNormalization()(x))
        middles.append(y)
        x = L.Add()([x, L.Dense(8)(y)])
    return keras.Model(inputs, [x, middles[1]])


def of_blocks_alone() -> Any:
    inputs = keras.Input((8,))
    x = inputs
    for number in range(4):
        y = L.LayerNormalization(name=f"self_{number}_norm")(x)
        y = L.Dense(16, activation="relu", name=f"self_{number}_nnx")(y)
        x = L.Add(name=f"self_{number}_add")([x, L.Dense(8, name=f"self_{number}_rngs")(y)])
    return keras.Model(inputs, x)


def nested_models() -> Any:
    def inner(features: int, name: str) -> Any:
        layers = [keras.Input((features,))]
        for _ in range(4):
            layers += [L.Dense(8, activation="relu"), L.LayerNormalization(), L.Dense(8), L.LayerNormalization()]
        return keras.Sequential(layers, name=name)

    inputs = keras.Input((8,))
    x = inputs
    for number in range(3):
        x = L.Add()([x, inner(8, f"part_{number}")(x)])
    return keras.Model(inputs, x)


def separable() -> Any:
    inputs = keras.Input((8, 8, 4))
    x = inputs
    for number in range(4):
        y = L.SeparableConv2D(4, 3, padding="same", name=f"unit{number}_sepconv")(L.ReLU(name=f"unit{number}_act")(x))
        y = L.BatchNormalization(name=f"unit{number}_bn", trainable=number != 1)(y)
        x = L.Add(name=f"unit{number}_add")([x, y])
    return keras.Model(inputs, x)


def towers() -> Any:
    first, second = keras.Input((8, 8, 3)), keras.Input((8, 8, 3))

    def tower(x: Any) -> Any:
        for features in (4, 6, 8):
            x = L.ReLU()(L.BatchNormalization()(L.Conv2D(features, 3, padding="same", use_bias=False)(x)))
        return L.Flatten()(x)

    return keras.Model([first, second], L.Dense(3)(L.Concatenate()([tower(first), tower(second)])))


def branches() -> Any:
    inputs = keras.Input((8, 8, 6))
    x = inputs
    for _ in range(3):
        one = L.Conv2D(2, 1, activation="relu")(x)
        two = L.Conv2D(2, 3, padding="same", activation="relu")(L.Conv2D(4, 1, activation="relu")(x))
        three = L.Conv2D(2, 1)(L.MaxPooling2D(3, 1, padding="same")(x))
        x = L.Concatenate()([one, two, three])
    return keras.Model(inputs, x)


def sequential() -> Any:
    layers: list[Any] = [keras.Input((16, 16, 3))]
    for features in (4, 8, 8, 8):
        layers += [
            L.Conv2D(features, 3, padding="same", use_bias=False, dilation_rate=2),
            L.BatchNormalization(),
            L.ReLU(),
            L.MaxPooling2D(),
        ]
    return keras.Sequential([*layers, L.Flatten(), L.Dense(3, activation="softmax")])


def inverted() -> Any:
    """Blocks with an expansion, which the first block does not have."""
    inputs = keras.Input((8, 8, 3))
    x = convolve(inputs, 12, "stem")
    for number, features in enumerate((8, 8, 10, 10)):
        y = L.ReLU(name=f"block{number}_expand_relu")(convolve(x, 24, f"block{number}_expand", size=1)) if number else x
        y = L.DepthwiseConv2D(3, padding="same", use_bias=False, name=f"block{number}_depthwise")(y)
        y = L.ReLU(name=f"block{number}_relu")(L.BatchNormalization(name=f"block{number}_bn")(y))
        x = convolve(y, features, f"block{number}_project", size=1)
    return keras.Model(inputs, x)


REPEATING = [
    *(residual_net, stages, of_two_inputs, with_dropout, with_masks, with_an_attention_mask, with_skips),
    *(inverted, of_blocks_alone, nested_models, separable, towers, branches, sequential),
]


def with_weights(model: Any) -> Any:
    """The model with small weights that all differ."""
    for number, each in enumerate(model.weights):
        numbers = np.random.default_rng(number)
        if len(each.shape) > 1:
            each.assign(numbers.normal(size=each.shape) / np.sqrt(np.prod(each.shape[:-1])))
        elif "float" in str(each.dtype):
            each.assign(numbers.uniform(0.5, 1.0, each.shape))
    return model


def arrays(model: Any) -> list[np.ndarray]:
    """One array for each input of a model."""
    numbers = np.random.default_rng(3)
    return [
        numbers.integers(0, 10 if "int" in str(each.dtype) else 2, (2, *each.shape[1:])).astype(str(each.dtype))
        if "float" not in str(each.dtype)
        else numbers.normal(size=(2, *each.shape[1:])).astype("float32")
        for each in model.inputs
    ]


def check_same(model: Any, module: Any) -> None:
    """Compare the outputs of a model and of its port."""
    inputs = arrays(model)
    expected = jax.tree.leaves(
        jax.tree.map(np.asarray, model(inputs[0] if len(inputs) == 1 else inputs, training=False))
    )
    outputs = jax.tree.leaves(module(*map(jnp.asarray, inputs)))
    assert [each.shape for each in outputs] == [each.shape for each in expected]
    assert all(distance(one, other) <= BOUND for one, other in zip(outputs, expected, strict=True))


def classes_in(text: str) -> dict[str, str]:
    """The text of each class of a port, by name."""
    parts = re.split(r"^(?=class )", text, flags=re.MULTILINE)
    return {match[1]: part for part in parts if (match := re.match(r"class (\w+)", part))}


@pytest.mark.parametrize("make", REPEATING)
def test_a_model_of_blocks_gives_what_the_model_gives(make: Callable[[], Any]) -> None:
    model = with_weights(make())
    written, module = module_of(model)
    assert '"""A block of the model' in written.text
    check_same(model, module)


def padded_and_projected_late() -> Any:
    """Stages whose first convolution pads where it has strides, and whose input is projected behind it, as in kimm."""
    x = inputs = keras.Input((16, 16, 8))
    for stage, features in enumerate((8, 16, 32, 64)):
        for unit in range(2):
            strides, name = 2 if stage and not unit else 1, f"stage{stage + 1}_{unit}"
            y = x if strides == 1 else L.ZeroPadding2D(1, name=f"{name}_pad")(x)
            y = L.Conv2D(features, 3, strides, "valid" if strides > 1 else "same", name=f"{name}_conv1")(y)
            y = L.ReLU(name=f"{name}_relu")(L.BatchNormalization(name=f"{name}_bn1")(y))
            y = L.BatchNormalization(name=f"{name}_bn2")(L.Conv2D(features, 3, padding="same", name=f"{name}_conv2")(y))
            if strides > 1:
                x = L.Conv2D(features, 1, strides, "valid", name=f"{name}_down")(x)
                x = L.BatchNormalization(name=f"{name}_down_bn")(x)
            x = L.ReLU(name=f"{name}_out")(L.Add(name=f"{name}_add")([y, x]))
    return keras.Model(inputs, L.Dense(3, name="top")(L.GlobalAveragePooling2D(name="pool")(x)))


def test_a_part_of_some_copies_may_replace_what_only_earlier_steps_read() -> None:
    model = with_weights(padded_and_projected_late())
    written, module = module_of(model)
    assert '"""A block of the model' in written.text
    check_same(model, module)


def test_features_of_an_input_are_its_width_also_without_the_layer_that_needs_them() -> None:
    text = written_of(inverted()).text
    columns = re.search(r'"""(in_features, .*)\."""', text)
    rows = re.search(r"BLOCKS = (.*)", text)
    assert columns is not None and rows is not None
    assert [row[0] for row in ast.literal_eval(rows[1])] == [12, 8, 8, 10]


@pytest.mark.parametrize("make", [shared_layer, intermediate_read])
def test_what_is_called_or_read_elsewhere_is_in_no_block(make: Callable[[], Any]) -> None:
    model = with_weights(make())
    written, module = module_of(model)
    if make is shared_layer:
        assert (
            written.text.count("self.shared = ") == 1 and "self.shared(" in classes_in(written.text)[written.class_name]
        )
    check_same(model, module)


RESIDUAL = '''
class ResidualBlock(nnx.Module):
    """A block of the model, which has 4 of them."""

    def __init__(self, in_features: int, out_features: int, strides: int, has_conv_0: bool, *, rngs: nnx.Rngs) -> None:
        self.has_conv_0 = has_conv_0
        if has_conv_0:
            self.conv_0 = nnx.Conv(8, 16, kernel_size=(1, 1), strides=(2, 2), padding="SAME", use_bias=False, rngs=rngs)
            self.bn_0 = nnx.BatchNorm(16, momentum=0.99, epsilon=0.001, use_fast_variance=False, rngs=rngs)
        self.conv_1 = nnx.Conv(
            in_features,
            out_features,
            kernel_size=(3, 3),
            strides=(strides, strides),
            padding="SAME",
            use_bias=False,
            rngs=rngs,
        )
        self.bn_1 = nnx.BatchNorm(out_features, momentum=0.99, epsilon=0.001, use_fast_variance=False, rngs=rngs)
        self.conv_2 = nnx.Conv(
            out_features, out_features, kernel_size=(3, 3), padding="SAME", use_bias=False, rngs=rngs
        )
        self.bn_2 = nnx.BatchNorm(out_features, momentum=0.99, epsilon=0.001, use_fast_variance=False, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        if self.has_conv_0:
            y = self.conv_0(x)  # [batch, 8, 8, 16]
            y = self.bn_0(y)  # [batch, 8, 8, 16]
        else:
            y = x
        x = self.conv_1(x)
        x = self.bn_1(x)
        x = jax.nn.relu(x)
        x = self.conv_2(x)
        x = self.bn_2(x)
        y = y + x
        return jax.nn.relu(y)


RESIDUAL_BLOCKS = ((8, 8, 1, False), (8, 8, 1, False), (8, 16, 2, True), (16, 16, 1, False))
"""in_features, out_features, strides, has_conv_0."""


class ResidualNet(nnx.Module):
    """The model: x [batch, 16, 16, 3] -> [batch, 5]."""

    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.stem_conv = nnx.Conv(3, 8, kernel_size=(3, 3), padding="SAME", rngs=rngs)
        self.blocks = nnx.List(ResidualBlock(*row, rngs=rngs) for row in RESIDUAL_BLOCKS)
        self.top = nnx.Linear(16, 5, rngs=rngs)

    def logits(self, x: jax.Array) -> jax.Array:
        """What the softmax is taken of."""
        x = self.stem_conv(x)  # [batch, 16, 16, 8]
        for block in self.blocks:
            x = block(x)  # [batch, 8, 8, 16]
        x = jnp.mean(x, (1, 2))  # pool: [batch, 16]
        return self.top(x)  # [batch, 5]

    def __call__(self, x: jax.Array) -> jax.Array:
        return jax.nn.softmax(self.logits(x))
'''


def test_the_text_of_a_small_residual_net() -> None:
    written = written_of(residual_net())
    assert format_source(f"{IMPORTS}{written.text}\n", "model_jax.py") == f"{IMPORTS}{RESIDUAL}"
    assert written.names["block3_1_conv"] == "blocks.2.conv_1"


@pytest.mark.parametrize(
    ("row", "other"), [("(8, 8, 1, False), (8, 16", "(8, 8, 1, True), (8, 16"), ("16, 2, True", "16, 1, True")]
)
def test_a_wrong_row_is_seen(row: str, other: str) -> None:
    model = with_weights(residual_net())
    written = written_of(model)
    assert written.text.count(row) == 1
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check_same(model, filled(written, written.text.replace(row, other), model))


def test_a_wrong_order_of_blocks_is_seen() -> None:
    model = with_weights(residual_net())
    module = module_of(model)[1]
    check_same(model, module)
    first, second = module.blocks[0], module.blocks[1]
    module.blocks[0], module.blocks[1] = second, first
    with pytest.raises(AssertionError):
        check_same(model, module)


def test_what_a_training_names_stands_in_blocks() -> None:
    model = residual_net()
    model.get_layer("block1_1_conv").trainable = False
    model.get_layer("block2_2_conv").kernel.regularizer = keras.regularizers.L2(0.5)
    model.compile("adam", "sparse_categorical_crossentropy")
    architecture = _keras_compiled.of_model(model)
    written = written_of(model)
    training = training_source(architecture, written)
    assert training.unwritten == ()
    assert "FROZEN = (('blocks', 0, 'conv_1',), )" in training.text
    scope = scope_of(written, f"{written.text}\n{training.text}")
    module = scope[written.class_name](rngs=nnx.Rngs(0))
    frozen = nnx.to_flat_state(nnx.state(module, nnx.All(nnx.Param, nnx.Not(scope["TRAINED"]))))
    assert [path for path, _ in frozen] == [("blocks", 0, "conv_1", "kernel")]
    x, targets = jnp.asarray(arrays(model)[0]), jnp.zeros((2,), "int32")
    loss = scope["loss"](module, (x,), targets)
    module.blocks[1].conv_2.kernel[...] *= 2
    assert "model.blocks[1].conv_2.kernel[...]" in training.text and scope["loss"](module, (x,), targets) != loss


def test_a_result_that_is_read_elsewhere_ends_a_list() -> None:
    inputs = keras.Input((8,))
    x, results = inputs, []
    for _ in range(5):
        y = L.Dense(12, activation="relu")(L.LayerNormalization()(x))
        y = L.Dense(8)(L.LayerNormalization()(y))
        x = L.Add()([x, y])
        results.append(x)
    model = with_weights(keras.Model(inputs, [x, results[2]]))
    written, module = module_of(model)
    assert [int(each) for each in re.findall(r"range\((\d)\)", written.text)] == [3, 2]
    check_same(model, module)


def test_a_model_in_which_nothing_repeats_is_written_layer_by_layer() -> None:
    x = keras.Input((16, 16, 3))
    y = L.Conv2D(4, 3, name="one")(x)
    model = keras.Model(x, L.Dense(3, name="two")(L.Flatten()(L.MaxPooling2D()(y))))
    written = written_of(model)
    assert [*classes_in(written.text)] == [written.class_name]
    assert "nnx.Conv(in_features=3, out_features=4" in written.text and "nnx.List" not in written.text


class Encoder(L.Layer):
    """A layer of the user's own with two inputs, as those of transformers."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.dense = L.Dense(4, activation="tanh")

    def build(self, input_shape: Any) -> None:
        self.dense.build(input_shape)

    def call(self, inputs: Any, kept: Any) -> Any:
        return inputs + self.dense(inputs) * kept


def encoders(taken: tuple[int, ...] = (4,)) -> Any:
    """Five equal layers in a row; a later one reads another mask."""
    inputs: list[Any] = [keras.Input((4,), name="x"), keras.Input((1,), name="kept")]
    (x, kept), results = inputs, list[Any]()
    for number in range(5):
        x = Encoder(f"encoder_{number}")(x, kept if number < 4 else 1.0 - kept)
        results.append(x)
    return keras.Model(inputs, [L.Dense(2, name="top")(results[number]) for number in taken[:1]] + [x])


def test_equal_layers_in_a_row_are_a_list_and_a_loop() -> None:
    model = with_weights(encoders())
    written, module = module_of(model)
    assert "self.encoders = nnx.List(Encoder(rngs=rngs) for _ in range(4))" in written.text
    assert written.text.count("class Encoder") == 1
    assert written.names["encoder_2"] == "encoders.2" and "encoder_4" not in written.names
    check_same(model, module)
    module.encoders[0], module.encoders[1] = module.encoders[1], module.encoders[0]
    with pytest.raises(AssertionError):
        check_same(model, module)


def test_a_row_ends_where_its_result_is_read() -> None:
    model = with_weights(encoders((2,)))
    written, module = module_of(model)
    assert "range(3)" in written.text and "range(4)" not in written.text
    check_same(model, module)


def test_what_a_training_names_stands_in_a_row() -> None:
    model = encoders()
    model.get_layer("encoder_1").dense.trainable = False
    model.compile("adam", "mse")
    written = written_of(model)
    training = training_source(_keras_compiled.of_model(model), written)
    assert "FROZEN = (('encoders', 1,), )" in training.text
