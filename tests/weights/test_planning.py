"""Plans of weights: every leaf once, every variable once, and one line for each thing that speaks against it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
import weight_pairs as pairs
from places import ROOT
from weight_pairs import BATCH_NORM, CONV

from compare.weights.all_rules import BY_CLASS, RULES
from compare.weights.planning import Plan, plan
from workloads.protocol.transfer import Leaf, Source, SourceLayer, Target, TargetVariable


def planned(
    source: tuple[Source, dict[str, np.ndarray]],
    target: Target,
    names: dict[str, str] | None = None,
    allowed: dict[str, str] | None = None,
) -> Plan:
    return plan(*source, target, names or {}, allowed or {})


def lines(found: Plan) -> list[str]:
    return [each.line for each in found.findings]


def test_layers_and_modules_of_one_name_are_pairs() -> None:
    source = pairs.two_dense()
    found = planned(source, pairs.two_linear())
    assert lines(found) == []
    assert {path: array.tolist() for path, array in found.arrays.items()} == {
        key.replace("/", "."): array.tolist() for key, array in source[1].items()
    }
    assert [each.rule for each in found.moves] == ["dense"] * 4


def test_a_map_names_other_pairs() -> None:
    source = pairs.two_dense()
    swapped = planned(source, pairs.two_linear(), {"first": "second", "second": "first"})
    assert lines(swapped) == []
    assert np.array_equal(swapped.arrays["second.kernel"], source[1]["first/kernel"])


def test_two_layers_may_not_become_one_module() -> None:
    found = planned(pairs.two_dense(), pairs.two_linear(), {"second": "first"})
    assert "second (Dense): kernel: expected first.kernel for it alone, found first (Dense): kernel there too" in lines(
        found
    )
    assert any(line.startswith("second.kernel (Param, float32[4,4]): expected a leaf") for line in lines(found))


def test_what_finds_no_module_is_listed_with_both_sides() -> None:
    target = pairs.target(
        {
            "first": ("nnx.Linear", pairs.linear(4), {"kernel": (4, 4), "bias": (4,)}),
            "other": ("nnx.Linear", pairs.linear(4), {"kernel": (4, 4), "bias": (4,)}),
        }
    )
    found = lines(planned(pairs.two_dense(), target))
    assert found[0] == "second (Dense): expected nnx.Linear at second, found none"
    assert found[-1] == "no layer was matched with other (nnx.Linear): name pairs with --map"
    assert lines(planned(pairs.two_dense(), target, {"second": "other"})) == []


def test_of_a_module_that_a_rule_could_be_for_its_parts_are_not_listed() -> None:
    target = pairs.target(
        {
            "core": ("Core", {}, {}),
            "core.rnn": ("nnx.RNN", {}, {}),
            "core.rnn.cell": ("nnx.OptimizedLSTMCell", {}, {}),
            "core.rnn.cell.dense_i": ("nnx.Linear", pairs.linear(4), {"kernel": (4, 4)}),
            "core.parts": ("nnx.List", {}, {}),
            "core.parts.0": ("nnx.Linear", pairs.linear(4), {"kernel": (4, 4)}),
        }
    )
    found = lines(planned(pairs.two_dense(), target))
    assert found[-1] == (
        "no layer was matched with core.rnn (nnx.RNN), core.parts.0 (nnx.Linear): name pairs with --map"
    )


@pytest.mark.parametrize(
    ("conv", "norm", "line"),
    [
        ({}, {"epsilon": 1e-5}, "norm (nnx.BatchNorm): expected epsilon=0.001, found epsilon=1e-05"),
        ({}, {"momentum": 0.9}, "norm (nnx.BatchNorm): expected momentum=0.99, found momentum=0.9"),
        ({}, {"axis": 1}, "norm (nnx.BatchNorm): expected axis=-1, found axis=1"),
        ({"padding": "VALID"}, {}, "conv (nnx.Conv): expected padding='SAME', found padding='VALID'"),
        ({"padding": [[1, 1], [1, 1]]}, {}, "expected padding='SAME', found padding=[[1, 1], [1, 1]]"),
        ({"strides": 2}, {}, "conv (nnx.Conv): expected strides=[1, 1], found strides=2"),
        ({"strides": [1, 2]}, {}, "expected strides=[1, 1], found strides=[1, 2]"),
        ({"kernel_dilation": 2}, {}, "expected kernel_dilation=[1, 1], found kernel_dilation=2"),
        ({"feature_group_count": 2}, {}, "expected feature_group_count=1, found feature_group_count=2"),
        ({"dtype": "bfloat16"}, {}, "expected dtype='float32', found dtype='bfloat16'"),
        ({"use_bias": False}, {}, "expected use_bias=True, found use_bias=False"),
        ({"use_bias": 1}, {}, "expected use_bias=True, found use_bias=1"),
    ],
)
def test_an_attribute_that_differs_is_named_on_both_sides(
    conv: dict[str, Any], norm: dict[str, Any], line: str
) -> None:
    found = planned(pairs.conv_and_norm(), pairs.conv_and_norm_of_flax({**CONV, **conv}, {**BATCH_NORM, **norm}))
    assert len(found.findings) == 1 and line in found.findings[0].line
    assert found.findings[0].line.endswith(("(rule convolution)", "(rule batch_normalization)"))
    assert found.findings[0].kind == "attribute"


def test_attributes_may_be_written_in_any_way() -> None:
    written = {"strides": [1, 1], "kernel_dilation": None, "dtype": "float32", "input_dilation": [1, 1]}
    source = pairs.conv_and_norm()
    assert lines(planned(source, pairs.conv_and_norm_of_flax({**CONV, **written}, {**BATCH_NORM, "axis": 3}))) == []


def test_what_matters_elsewhere_is_advice() -> None:
    found = planned(pairs.conv_and_norm(), pairs.conv_and_norm_of_flax(norm={**BATCH_NORM, "use_fast_variance": True}))
    assert lines(found) == []
    assert found.told[1].advice == ("use_fast_variance=False, found True",)


def without(target: Target, path: str) -> Target:
    return dataclasses.replace(target, variables=tuple(each for each in target.variables if each.path != path))


def replaced(target: Target, path: str, **fields: Any) -> Target:
    variables = (dataclasses.replace(each, **fields) if each.path == path else each for each in target.variables)
    return dataclasses.replace(target, variables=tuple(variables))


def test_a_variable_that_is_missing_left_over_or_of_another_kind_is_named() -> None:
    source, target = pairs.two_dense(), pairs.two_linear()
    (missing,) = lines(planned(source, without(target, "first.bias")))
    assert missing == "first (Dense): bias: expected a variable first.bias, found none (rule dense)"
    extra = TargetVariable("first.scale", "Param", (4,), "float32")
    more = dataclasses.replace(target, variables=(*target.variables, extra))
    (left,) = lines(planned(source, more))
    assert left == "first.scale (Param, float32[4]): expected a leaf of the source, found none"
    assert lines(planned(source, more, allowed={"first.scale": "new"})) == []
    (dtype,) = lines(planned(source, replaced(target, "first.kernel", dtype="bfloat16")))
    assert dtype == ("first (Dense): kernel: expected bfloat16[4,4] for first.kernel, found float32[4,4] (rule dense)")
    (shape,) = lines(planned(source, replaced(target, "first.bias", shape=(1,))))
    assert "expected float32[1] for first.bias, found float32[4]" in shape


def test_what_is_allowed_to_stay_may_not_be_written() -> None:
    (line,) = lines(planned(pairs.two_dense(), pairs.two_linear(), allowed={"first.bias": "new"}))
    assert line == "first.bias: expected no leaf for what --allow leaves as it is, found one"


def test_a_leaf_that_is_missing_or_of_no_rule_is_named() -> None:
    source = pairs.source(
        pairs.layer("norm", "GroupNormalization", {"gamma": (4,), "extra": (4,)}, groups=2, epsilon=0.001, axis=-1)
    )
    target = pairs.target(
        {
            "norm": (
                "nnx.GroupNorm",
                {"num_groups": 2, "epsilon": 0.001, "feature_axis": -1, "use_bias": True, "use_scale": True,
                 "use_fast_variance": False, **pairs.F32},
                {"scale": (4,)},
            )
        }
    )  # fmt: skip
    (line,) = lines(planned(source, target))
    assert line == "norm (GroupNormalization): expected no leaf extra, which the rule group_normalization lacks"
    missing = pairs.source(pairs.layer("norm", "RMSNormalization", {}, epsilon=0.001, axis=-1))
    found = lines(planned(missing, target))
    assert any("expected nnx.RMSNorm" in each for each in found)


@pytest.mark.parametrize(
    ("class_name", "config", "line"),
    [
        ("Conv2D", {"data_format": "channels_first"}, "no rule knows Conv2D with data_format='channels_first'"),
        ("LSTM", {"use_bias": False}, "no rule knows LSTM with use_bias=False"),
        ("MultiHeadAttention", {"use_gate": True}, "no rule knows MultiHeadAttention with use_gate=True"),
        ("Unheard", {}, "no rule knows Unheard"),
    ],
)
def test_a_layer_with_weights_and_without_a_rule_is_refused(class_name: str, config: dict[str, Any], line: str) -> None:
    source = pairs.source(pairs.layer("it", class_name, {"kernel": (3, 3, 4, 4)}, **config))
    found = lines(planned(source, pairs.two_linear()))
    assert found[0] == f"it ({class_name}): expected a rule, found that {line}"


@pytest.mark.parametrize(
    ("class_name", "leaf"),
    [("Dense", "kernel"), ("Conv2D", "kernel"), ("Embedding", "embeddings"), ("LSTM", "lstm_cell/kernel")],
)
def test_a_layer_without_the_leaf_that_its_rule_reads_is_refused(class_name: str, leaf: str) -> None:
    source = pairs.source(pairs.layer("it", class_name, {"bias": (4,)}, groups=1, depth_multiplier=1))
    found = lines(planned(source, pairs.two_linear()))
    assert found[0] == f"it ({class_name}): expected a rule, found that {class_name} has no leaf {leaf}"


def test_a_class_of_anothers_is_not_taken_for_keras_own() -> None:
    (model, layer), arrays = pairs.source(pairs.layer("it", "Dense", {"kernel": (4, 4)}))[0].layers, {}
    foreign = dataclasses.replace(layer, module="my_layers.py")
    found = lines(planned((Source((model, foreign)), arrays), pairs.two_linear()))
    assert "Dense is no class of keras.layers" in found[0]


def test_weights_of_a_users_class_go_by_their_own_names() -> None:
    leaf = Leaf("scale", "block/scale", (4,), "float32")
    block = SourceLayer("block", "", "block", "blocks.py", "Block", leaves=(leaf,), container=True)
    model = SourceLayer("", None, "", "keras", "Functional", container=True)
    arrays = {"block/scale": np.ones(4, np.float32)}
    target = pairs.target({"block": ("Block", {}, {"scale": (4,)})})
    found = planned((Source((model, block)), arrays), target)
    assert lines(found) == [] and found.moves[0].rule == found.told[0].rule == "own_weights"
    other = planned((Source((model, block)), arrays), pairs.target({"block": ("Block", {}, {"gain": (4,)})}))
    assert lines(other)[0] == "block (Block): scale: expected a variable block.scale, found none (rule own_weights)"


def test_integers_of_a_users_class_are_narrowed_where_jax_has_them_so_and_no_others() -> None:
    leaf = Leaf("index", "block/index", (2,), "int64", trainable=False)
    block = SourceLayer("block", "", "block", "blocks.py", "Block", leaves=(leaf,), container=True)
    source = Source((SourceLayer("", None, "", "keras", "Functional", container=True), block))
    arrays = {"block/index": np.array([3, -1])}

    def carried(dtype: str) -> Plan:
        held = pairs.target({"block": ("Block", {}, {"index": (2,)})})
        return planned((source, arrays), with_dtype(held, dtype))

    def with_dtype(held: Target, dtype: str) -> Target:
        return dataclasses.replace(held, variables=tuple(dataclasses.replace(v, dtype=dtype) for v in held.variables))

    assert lines(carried("int32")) == [] and carried("int32").arrays["block.index"].dtype == np.int32
    assert lines(carried("int64")) == [] and carried("int64").arrays["block.index"].dtype == np.int64
    for other in ("float32", "int16", "uint32"):
        assert lines(carried(other)) == [
            f"block (Block): index: expected {other}[2] for block.index, found int64[2] (rule own_weights)"
        ]


def test_a_tied_leaf_has_to_be_tied_in_the_target() -> None:
    source, arrays = pairs.two_dense()
    model, first, second = source.layers
    tied = dataclasses.replace(second.leaves[0], tied="first/kernel")
    second = dataclasses.replace(second, leaves=(tied, second.leaves[1]))
    arrays = {key: array for key, array in arrays.items() if key != "second/kernel"}
    shared = dataclasses.replace(without(pairs.two_linear(), "second.kernel"), shared={"second.kernel": "first.kernel"})
    assert lines(planned((Source((model, first, second)), arrays), shared)) == []
    apart = lines(planned((Source((model, first, second)), arrays), pairs.two_linear()))
    assert apart[0] == (
        "second (Dense): kernel: expected the variable of first/kernel, which it is tied to, found second.kernel"
    )


def test_every_rule_has_a_name_of_its_own() -> None:
    names = [each.name for each in RULES]
    assert len(set(names)) == len(names)
    assert all(BY_CLASS[name] for each in RULES for name in each.classes)


def test_the_page_names_every_class_that_has_a_rule() -> None:
    named = set(re.findall(r"\w+", (ROOT / "docs/weights.md").read_text()))
    # The class of Keras' GroupQueryAttention has another name than its export.
    assert BY_CLASS.keys() - named == {"GroupedQueryAttention"}


def test_a_layer_in_a_list_is_found_under_the_attribute_that_init_writes() -> None:
    source, arrays = pairs.two_dense()
    listed = [
        dataclasses.replace(layer, step="hidden/0", path="hidden/0") if layer.path == "first" else layer
        for layer in source.layers
    ]
    module = pairs.two_linear()
    renamed = dataclasses.replace(
        module,
        modules=tuple(
            dataclasses.replace(each, path=each.path.replace("first", "hidden_0")) for each in module.modules
        ),
        variables=tuple(
            dataclasses.replace(each, path=each.path.replace("first", "hidden_0")) for each in module.variables
        ),
    )
    found = planned((dataclasses.replace(source, layers=tuple(listed)), arrays), renamed)
    assert lines(found) == [] and "hidden_0.kernel" in found.arrays
