"""Gotchas of layers are stated where their attributes are such, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from compare.counterparts import rows
from compare.doctor import layers_judged, rules_of_layers, rules_of_operations
from compare.doctor.conditions_of_layers import Facts
from workloads.gotchas._catalogue import entries
from workloads.protocol.inspection import Layer


def layer(class_name: str, name: str = "it", **config: Any) -> Layer:
    known = {key: config.pop(key) for key in ("policy", "calls", "shape", "weights", "bytecode") if key in config}
    return Layer(name, "keras.layers", class_name, config, **known)


def stated(*layers: Layer) -> set[str]:
    """The gotchas that are stated of layers."""
    return {each.gotcha for each in layers_judged.findings(layers)} - {""}


CASES = [
    ("normalization/batch_norm_epsilon", "BatchNormalization", {"epsilon": 1e-3}, {"epsilon": 1e-5}),
    ("normalization/batch_norm_momentum", "BatchNormalization", {"momentum": 0.9}, {"momentum": 0.99}),
    ("normalization/batch_norm_frozen", "BatchNormalization", {"trainable": False}, {"trainable": True}),
    ("normalization/layer_norm_epsilon", "LayerNormalization", {"epsilon": 1e-3}, {"epsilon": 1e-6}),
    ("normalization/layer_norm_rms_scaling", "LayerNormalization", {"rms_scaling": True}, {"rms_scaling": False}),
    ("normalization/group_norm_epsilon", "GroupNormalization", {"epsilon": 1e-3, "groups": 4},
     {"epsilon": 1e-3, "groups": -1}),
    ("normalization/instance_norm_epsilon", "GroupNormalization", {"epsilon": 1e-3, "groups": -1},
     {"epsilon": 1e-6, "groups": -1}),
    ("mixed_precision/mixed_batch_norm", "BatchNormalization", {"policy": "mixed_bfloat16"}, {"policy": "float32"}),
    ("activations/gelu", "Dense", {"activation": "gelu"}, {"activation": "relu"}),
    ("activations/keras_leaky_relu", "LeakyReLU", {"negative_slope": 0.3}, {"negative_slope": 0.01}),
    ("activations/keras_relu_max_value", "ReLU", {"max_value": 6.0, "threshold": 0.0, "negative_slope": 0.0},
     {"max_value": None, "threshold": 0.0, "negative_slope": 0.0}),
    ("convolution/conv_default_padding", "Conv2D", {"padding": "valid", "kernel_size": [3, 3]},
     {"padding": "valid", "kernel_size": [1, 1]}),
    ("convolution/conv_same_stride", "Conv2D",
     {"padding": "same", "kernel_size": [3, 3], "strides": [2, 2], "shape": (None, 224, 224, 3)},
     {"padding": "same", "kernel_size": [3, 3], "strides": [2, 2], "shape": (None, 225, 225, 3)}),
    ("convolution/zero_padding_before_conv", "ZeroPadding2D", {"padding": [[3, 3], [3, 3]]},
     {"padding": [[0, 1], [0, 1]]}),
    ("convolution/cropping_nothing_behind", "Cropping1D", {"cropping": [1, 0]}, {"cropping": [1, 2]}),
    ("pooling/avg_pool_same", "AveragePooling2D", {"padding": "same"}, {"padding": "valid"}),
    ("pooling/max_pool_default_strides", "MaxPooling2D", {"strides": [2, 2]}, {"strides": [1, 1]}),
    ("recurrent/gru_recurrent_bias", "GRU", {"reset_after": True, "use_bias": True},
     {"reset_after": True, "use_bias": False}),
    ("recurrent/gru_reset_before", "GRU", {"reset_after": False}, {"reset_after": True}),
    ("embedding/embedding_mask_zero", "Embedding", {"mask_zero": True}, {"mask_zero": False}),
    ("attention/attention_scale", "Attention", {"use_scale": False}, {"use_scale": True}),
    ("resizing/resize_bicubic", "Resizing", {"interpolation": "bicubic"}, {"interpolation": "nearest"}),
    ("resizing/resize_bilinear_down", "Resizing", {"interpolation": "bilinear"}, {"interpolation": "nearest"}),
    ("state/shared_layer_step", "Dense", {"calls": 2}, {"calls": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "class_name", "differing", "agreeing"), CASES, ids=[case[0] for case in CASES])
def test_a_gotcha_is_stated_only_where_the_attribute_is_such(
    entry: str, class_name: str, differing: dict[str, Any], agreeing: dict[str, Any]
) -> None:
    assert entry in stated(layer(class_name, **differing))
    agrees = layer(class_name, **agreeing)
    assert entry not in stated(agrees)
    assert entry not in layers_judged.find_undecided(Facts(agrees))


def test_what_an_attribute_decides_and_the_layer_does_not_say_is_general() -> None:
    silent = layer("BatchNormalization")
    assert "normalization/batch_norm_epsilon" not in stated(silent)
    assert "normalization/batch_norm_epsilon" in layers_judged.find_undecided(Facts(silent))


def test_the_values_of_the_model_are_told_and_not_the_defaults_of_keras() -> None:
    (found,) = (
        each
        for each in layers_judged.findings([layer("BatchNormalization", epsilon=1.001e-5, momentum=0.99)])
        if each.gotcha == "normalization/batch_norm_epsilon"
    )
    assert found.what == "Adds 1.001e-05 to the variance, nnx.BatchNorm 1e-05 unless told: pass epsilon=1.001e-05."
    assert found.because == "epsilon=1.001e-05"


def test_masks_matter_where_a_layer_of_the_model_attaches_one() -> None:
    pooled = layer("GlobalAveragePooling1D", "pool")
    assert "pooling/global_average_pooling_masked" in stated(layer("Embedding", "ids", mask_zero=True), pooled)
    assert "pooling/global_average_pooling_masked" not in stated(layer("Embedding", "ids", mask_zero=False), pooled)


def test_a_wrapper_is_judged_by_what_it_wraps() -> None:
    around = layer("Bidirectional", "both")
    last = layer("LSTM", "both/forward", return_sequences=False)
    assert "recurrent/bidirectional_last" in stated(around, last)
    every = layer("LSTM", "both/forward", return_sequences=True)
    assert "recurrent/bidirectional_order" in stated(around, every)
    assert "recurrent/bidirectional_last" not in stated(around, every)


def test_the_same_of_many_layers_is_one_finding_and_other_values_are_another() -> None:
    many = [layer("BatchNormalization", f"bn{at}", epsilon=1e-3 if at < 30 else 2e-3) for at in range(40)]
    found = [each for each in layers_judged.findings(many) if each.gotcha == "normalization/batch_norm_epsilon"]
    assert [(each.because, each.count) for each in found] == [("epsilon=0.001", 30), ("epsilon=0.002", 10)]
    assert len(found[0].places) == layers_judged.MOST_PLACES


@pytest.mark.parametrize(
    ("given", "means"),
    [
        (layer("Dense", activation="relu", kernel_initializer="GlorotUniform"), "flax"),
        (layer("Flatten"), "expression"),
        (layer("GRU", reset_after=True, use_bias=True), "library"),
        (layer("PReLU", weights={"alpha": "float32[8]"}), "own"),
        (layer("StringLookup"), "own"),
        (layer("Lambda", bytecode=True), "own"),
        (Layer("mine", "my_model.py", "Block"), "own"),
        (Layer("add", "keras.ops", "Add"), "expression"),
        (layer("NoSuchLayer"), "own"),
    ],
    ids=lambda value: value.class_name if isinstance(value, Layer) else value,
)
def test_layers_are_counted_by_what_ports_them(given: Layer, means: str) -> None:
    assert layers_judged.effort([given]) == {means: 1}


def test_bytecode_blocks_and_so_does_a_layer_without_a_counterpart() -> None:
    found = list(layers_judged.findings([layer("Lambda", bytecode=True), layer("StringLookup", "words")]))
    assert [(each.severity, each.subject) for each in found if each.severity == "blocker"] == [
        ("blocker", "Lambda"),
        ("blocker", "StringLookup"),
    ]


def test_every_rule_names_an_entry_that_differs_and_a_layer_that_is_in_the_map() -> None:
    differ = {entry.id for entry in entries() if not entry.gotcha.is_control}
    rules = (*rules_of_layers.LAYERS, *rules_of_layers.OPTIMIZERS, *rules_of_operations.OPERATIONS)
    assert {rule.entry for rule in rules} - differ == set()
    named = {name for rule in rules_of_layers.LAYERS for name in rule.classes} - {rules_of_layers.ANY}
    known = {row.name.rpartition(".")[2] for group in rows.layers().values() for row in group}
    assert named - known == set()
