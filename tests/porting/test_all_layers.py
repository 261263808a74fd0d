"""No layer of Keras vanishes from a written port: it stands in the code, or a place names it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import keras
import msgspec
import numpy as np
import pytest
from filled_modules import distance, module_of, written_of
from public_layers import CASES, NAME, NOT_IN_A_MODEL, model_of, public

from compare.porting import read_attributes
from compare.porting.model_source import model_source
from compare.weights.all_rules import BY_CLASS
from jaxport import noise
from jaxport._same_masks import drop_by_place
from tf_reference import _keras_compiled, _keras_port

L = keras.layers


def test_every_public_layer_is_walked() -> None:
    assert public().keys() - {*CASES, *NOT_IN_A_MODEL} == set()
    assert {*CASES, *NOT_IN_A_MODEL} - public().keys() == set()


@pytest.mark.parametrize("name", CASES)
def test_a_layer_stands_in_the_code_or_is_a_place(name: str) -> None:
    written = written_of(model_of(name))
    assert NAME in written.text
    assert name in BY_CLASS or written.places


OTHERWISE: dict[str, Any] = {
    "activation": "selu", "alpha": 0.3, "attention_axes": (2,), "axis": 1, "center": False,
    "data_format": "channels_first",
    "dilation_rate": 2, "dropout": 0.2, "epsilon": 0.1, "go_backwards": True, "groups": 4, "interpolation": "bilinear",
    "invert": True, "keepdims": True, "lora_rank": 2, "mask_value": 3.0, "max_value": 3.0,
    "merge_mode": "sum", "momentum": 0.5, "negative_slope": 0.1, "noise_shape": (None, 1, None), "normalize": True,
    "offset": 1.0, "padding": "same", "rate": 0.7, "recurrent_activation": "relu", "recurrent_dropout": 0.2,
    "renorm": True, "reset_after": False, "return_sequences": True, "return_state": True, "scale": False,
    "score_mode": "concat", "size": 3, "sliding_window": 2, "stateful": True, "stddev": 0.7, "strides": 2,
    "threshold": 1.0, "tie_weights": False, "use_bias": False, "use_gate": True, "use_scale": None, "antialias": True,
    "crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True, "pool_size": 3, "zero_output_for_mask": True,
    "output_padding": 1, "output_mode": "count", "sparse": True, "num_bins": 3,
}  # fmt: skip
"""A value of an argument with which a layer does something else than by default."""

ELSEWHERE = {
    "rms_scaling", "reverse_dtype", "logit_soft_cap", "name", "dtype", "mean", "variance", "renorm_clipping",
    "renorm_momentum", "lora_alpha", "quantization_config", "zero_output_for_mask", "gptq_unpacked_column_size",
    "fill_mode", "fill_value", "height", "width",
}  # fmt: skip
"""Arguments that need another one beside them, or another call: test_layers_of_packages.py calls an embedding back."""


SPECIAL: dict[tuple[str, str], Any] = {("scale", "Rescaling"): 3.0, ("interpolation", "Resizing"): "nearest"} | {
    ("strides", f"{kind}Pooling{count}D"): 3 for kind in ("Max", "Average") for count in (1, 2, 3)
}


WITHOUT_EFFECT_HERE = {("epsilon", "Discretization"), ("sparse", "CategoryEncoding")}
"""How finely adapt() looks at the data, where the boundaries are told; and what the config of a layer does not say: the
numbers are the same.
"""


def arguments_of(name: str) -> Iterator[str]:
    """The arguments of a class that are not decided once for all classes."""
    decided = read_attributes.OF_WEIGHTS | read_attributes.OF_LAYERS_WITHIN | read_attributes.WITHOUT_EFFECT | ELSEWHERE
    for parameter in inspect.signature(public()[name].__init__).parameters.values():
        named = parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) and parameter.name != "self"
        if named and parameter.name not in decided and not parameter.name.endswith(read_attributes.OF_VALUES):
            yield parameter.name


@pytest.mark.parametrize("name", sorted(set(BY_CLASS) & set(CASES)))
def test_no_argument_of_a_layer_vanishes(name: str) -> None:
    plain = written_of(model_of(name))
    for argument in arguments_of(name):
        if (argument, name) in WITHOUT_EFFECT_HERE:
            continue
        if argument in CASES[name].arguments and argument not in ("rate", "stddev", "groups", "pool_size", "scale"):
            continue
        value: Any = OTHERWISE[argument]
        if argument == "use_scale":
            value = not inspect.signature(public()[name].__init__).parameters[argument].default
        value = SPECIAL.get((argument, name), value)
        more = {"strides": 3} if argument == "output_padding" else {}
        try:
            model = model_of(name, **{argument: value}, **more)
        except (ValueError, NotImplementedError):
            # Keras has none of that value, as of channels_first on a CPU.
            continue
        written = written_of(model)
        assert written.places or written.text != plain.text, argument


def changed(model: Any, **config: Any) -> Any:
    """The architecture of a model whose layer says more of itself."""
    architecture = _keras_compiled.of_model(model)
    layers = tuple(
        replace(layer, config={**layer.config, **config}) if layer.step == NAME else layer
        for layer in architecture.source.layers
    )
    return replace(architecture, source=replace(architecture.source, layers=layers))


@pytest.mark.parametrize(
    "name", ["Dense", "Conv2D", "LSTM", "Dropout", "LayerNormalization", "TimeDistributed", "ReLU"]
)
def test_an_argument_of_a_later_keras_makes_a_place(name: str) -> None:
    written = model_source(changed(model_of(name), of_later=True))
    assert ["of_later=True" in place.reason for place in written.places] == [True]


def test_a_layer_of_a_later_keras_is_a_place() -> None:
    architecture = _keras_compiled.of_model(model_of("Identity"))
    sent = msgspec.json.encode(msgspec.to_builtins(architecture)).replace(b'"Identity"', b'"OfLater"')
    written = model_source(msgspec.convert(msgspec.json.decode(sent), type(architecture)))
    assert [place.class_name for place in written.places] == ["OfLater"]


NOISES: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "GaussianNoise": (lambda: L.GaussianNoise(0.4, name=NAME), lambda r: noise.GaussianNoise(0.4, rngs=r)),
    "GaussianDropout": (lambda: L.GaussianDropout(0.3, name=NAME), lambda r: noise.GaussianDropout(0.3, rngs=r)),
    "AlphaDropout": (lambda: L.AlphaDropout(0.3, name=NAME), lambda r: noise.AlphaDropout(0.3, rngs=r)),
}


@pytest.mark.parametrize("name", NOISES)
def test_noise_has_the_distribution_of_keras_in_training_and_is_none_in_inference(name: str) -> None:
    from flax import nnx

    theirs, ours = NOISES[name][0](), NOISES[name][1](nnx.Rngs(0))
    x = np.linspace(-2, 2, 200_000, dtype="float32").reshape(1000, 200)
    first, second, keras_drawn = ours(jnp.asarray(x)), ours(jnp.asarray(x)), np.asarray(theirs(x, training=True))
    assert not np.array_equal(first, second)
    for found, wanted in ((np.asarray(first) - x, keras_drawn - x), (np.asarray(first), keras_drawn)):
        assert abs(found.mean() - wanted.mean()) < 0.01 and abs(found.std() / wanted.std() - 1) < 0.01
        places = np.linspace(0.01, 0.99, 50)
        assert np.abs(np.quantile(found, places) - np.quantile(wanted, places)).max() < 0.05
    ours.eval()
    assert np.array_equal(ours(jnp.asarray(x)), x)
    assert not np.array_equal(ours(jnp.asarray(x), deterministic=False), x)


@pytest.mark.parametrize(
    "make",
    [*(made for made, _ in NOISES.values()), lambda: L.AlphaDropout(0.3, (None, 1, None), name=NAME)],
)
def test_what_noise_draws_is_judged(make: Callable[[], Any]) -> None:
    keras.utils.clear_session()
    x = keras.Input((5, 4))
    model = keras.Model(x, L.Dense(3, name="after")(make()(x)))
    given = np.random.default_rng(0).normal(size=(6, 5, 4)).astype("float32")
    _, module = module_of(model)
    _, without = module_of(model)
    without.the_layer = lambda x: x
    _keras_port._draw_alike(model)
    wanted = np.asarray(model(given, training=True))
    for port, equal in ((module, True), (without, False)):
        drop_by_place(port)
        port.train()
        assert (distance(port(jnp.asarray(given)), wanted) < 3e-6) is equal


def test_an_alpha_dropout_sets_whole_axes_together() -> None:
    from flax import nnx

    module = noise.AlphaDropout(0.5, broadcast_dims=(1,), rngs=nnx.Rngs(0))
    kept = np.asarray(module(jnp.zeros((4, 5, 6))) > 0)
    assert (kept == kept[:, :1]).all() and 0 < kept.mean() < 1


def functional(layer: Any, **named: Any) -> Any:
    keras.utils.clear_session()
    x = keras.Input((5, 4))
    return keras.Model(x, layer(x, **named))


def inner() -> Any:
    x = keras.Input((5, 4))
    return keras.Model(x, L.Dropout(0.5)(L.BatchNormalization()(x)), name="inner")


@pytest.mark.parametrize(
    ("make", "left"),
    [
        (lambda: functional(L.Dropout(0.5), training=True), True),
        (lambda: functional(L.Dropout(0.5), training=False), False),
        (lambda: functional(L.Dropout(0.5)), False),
        (lambda: functional(L.GaussianNoise(0.5), training=True), True),
        (lambda: functional(L.AlphaDropout(0.5), training=True), True),
        (lambda: functional(L.SpatialDropout1D(0.5), training=True), True),
        (lambda: functional(L.BatchNormalization(), training=True), True),
        (lambda: functional(L.BatchNormalization(), training=False), False),
        (lambda: functional(L.GRU(3), training=True), False),
        (lambda: functional(inner(), training=True), True),
        (lambda: functional(inner(), training=False), False),
    ],
)
def test_a_call_that_is_told_to_train_is_a_place(make: Callable[[], Any], left: bool) -> None:
    assert bool(written_of(make()).places) is left


def test_each_call_of_a_layer_is_told_for_itself() -> None:
    keras.utils.clear_session()
    x, drop = keras.Input((5, 4)), L.Dropout(0.5, name=NAME)
    written = written_of(keras.Model(x, drop(drop(x), training=True)))
    assert f"x = self.{NAME}(x)" in written.text and len(written.places) == 1


def test_what_keras_overrides_is_said() -> None:
    """A fit() of Keras tells every layer of a functional model that it trains, whatever its call was told."""
    model = functional(L.BatchNormalization(name=NAME), training=False)
    before = model.layers[1].moving_mean.numpy()
    model(np.ones((2, 5, 4), "float32"), training=True)
    assert not np.array_equal(before, model.layers[1].moving_mean.numpy())
    (remark,) = written_of(model).remarks
    assert "training=False, which fit()" in remark


class Own(keras.Model):
    """Its layers are told whether they train, whatever the model does."""

    def __init__(self, drops: bool, normalizes: bool) -> None:
        super().__init__()
        self.drop, self.norm = L.Dropout(0.5), L.BatchNormalization()
        self.drops, self.normalizes = drops, normalizes

    def call(self, x: Any, training: bool = False) -> Any:
        return self.norm(self.drop(x, training=self.drops), training=self.normalizes)


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_a_call_of_the_users_own_tells_its_layers(drops: bool, training: bool, remembered: None) -> None:
    keras.utils.clear_session()
    model, x = Own(drops, False), np.random.default_rng(0).normal(size=(6, 5, 4)).astype("float32")
    model(x)
    written, module = module_of(model)
    assert f"self.drop(x, deterministic={not drops})" in written.text
    _keras_port._draw_alike(model)
    drop_by_place(module)
    module.train() if training else module.eval()
    wanted = np.asarray(model(x, training=training))
    assert distance(module(jnp.asarray(x)), wanted) < 3e-6
