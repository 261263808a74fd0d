"""HDF5 files of Keras, and what lies beside a SavedModel: read as data; damaged and hostile ones are one line."""

from __future__ import annotations

import json
import os
import pickle
import random
import resource
from pathlib import Path
from typing import Any

import damaged
import h5py
import keras
import models_to_read as models
import numpy as np
import pytest
import tensorflow as tf

from compare.doctor import diagnosing
from tf_reference import _inspecting, _keras_archive, _keras_layers, _keras_weights, _saved_layers
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

CONV = {"class_name": "Conv2D", "config": {"name": "c", "filters": 4, "kernel_size": [3, 3], "padding": "same"}}
SEQUENTIAL = {"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 8, 8, 3], "dtype": "float32"}}, CONV,
]}}  # fmt: skip


class Runs:
    """Makes a file where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def h5(path: Path, config: Any, **attributes: Any) -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = config if isinstance(config, str | bytes | np.ndarray) else json.dumps(config)
        file.attrs.update(attributes)
    return path


def refused(path: Path) -> str:
    with pytest.raises(Unsupported) as caught:
        _inspecting.keras_archive(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_model_in_hdf5_is_told_as_the_same_model_in_an_archive(tmp_path: Path) -> None:
    model = models.cnn()
    model.compile("adam", "mse")
    model.save(tmp_path / "it.h5")
    model.save(tmp_path / "it.keras")
    said, archived = _inspecting.keras_archive(tmp_path / "it.h5"), _inspecting.keras_archive(tmp_path / "it.keras")
    assert [(each.module, each.class_name, each.name) for each in said.layers] == [
        (each.module, each.class_name, each.name) for each in archived.layers
    ]
    assert said.training and archived.training and said.training.losses == archived.training.losses == ("mse",)
    assert said.training.optimizer == "Adam" and said.versions == archived.versions
    built = _inspecting.keras_archive_built(tmp_path / "it.h5")
    assert {"Conv2D", "MatMul"} <= {each.type for each in built.operations} and built.training == said.training


def test_weights_alone_are_no_model(tmp_path: Path) -> None:
    models.cnn().save_weights(tmp_path / "it.weights.h5")
    assert "holds weights alone" in refused(tmp_path / "it.weights.h5")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{", "no JSON"),
        ("[]", "describes no object"),
        (models.nested(300).decode(), "levels deep"),
        (np.arange(4.0), "no text"),
        (np.array(["a", "b"], dtype=h5py.string_dtype()), "no text"),
    ],
)
def test_a_config_in_hdf5_that_is_none_is_one_line(tmp_path: Path, config: Any, said: str) -> None:
    assert said in refused(h5(tmp_path / "it.h5", config))


def test_a_config_that_is_too_long_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_keras_archive, "MOST_CONFIG_BYTES", 30)
    assert "MiB" in refused(h5(tmp_path / "it.h5", SEQUENTIAL))


def test_a_long_text_in_hdf5_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = h5(tmp_path / "it.h5", json.dumps(SEQUENTIAL) + " " * (20 << 20))
    assert _inspecting.keras_archive(path).layers
    monkeypatch.setattr(_keras_archive, "MOST_CONFIG_BYTES", 1 << 20)
    assert "more than 17 MiB had to be read" in refused(path)


def test_a_text_longer_than_the_memory_that_it_may_take_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = h5(tmp_path / "it.h5", json.dumps(SEQUENTIAL) + " " * (100 << 20))
    assert "had to be read" in refused(path)
    monkeypatch.setattr(_keras_archive, "MOST_BYTES_READ", 50 << 20)
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert "no HDF5 file, or a damaged one" in refused(path)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_config_of_more_objects_than_memory_holds_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(data: bytes) -> Any:
        raise MemoryError

    path = h5(tmp_path / "it.h5", SEQUENTIAL)
    monkeypatch.setattr(_keras_archive.json, "loads", short)
    assert "more memory than it may" in refused(path)


@pytest.mark.parametrize("data", [b"", b"no HDF5", b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(200)])
def test_what_is_no_hdf5_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "it.h5").write_bytes(data)
    assert "no HDF5 file" in refused(tmp_path / "it.h5")


def test_links_to_other_files_and_pickles_in_hdf5_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = h5(tmp_path / "it.h5", SEQUENTIAL, training_config=json.dumps({"loss": "mse"}))
    with h5py.File(path, "a") as file:
        file["model_weights"] = h5py.ExternalLink(str(tmp_path / "pipe.h5"), "/")
        file.attrs["pickled"] = np.void(pickle.dumps(Runs()))
    os.mkfifo(tmp_path / "pipe.h5")  # whoever opens it waits for ever
    assert [each.class_name for each in _inspecting.keras_archive_built(path).layers] == ["Conv2D"]
    assert not (tmp_path / "unpickled").exists()


def test_a_pickle_for_a_config_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = np.void(pickle.dumps(Runs()))
    assert "no text" in refused(h5(tmp_path / "it.h5", np.array([data])))
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ({"class_name": "Lambda", "config": {"name": "l", "function": ["4wEAAAA=", None, None]}}, "(Lambda): a Python"),
        ({"class_name": "Mine", "config": {"name": "m"}}, "add --custom FILE.py:Mine"),
        ({"class_name": "TFSMLayer", "config": {"name": "t", "filepath": "/tmp"}}, "TFSMLayer"),
        ({"module": "os", "class_name": "system", "config": {"command": "touch hacked"}}, "system is not of Keras"),
        ({"class_name": "StringLookup", "config": {"name": "s", "vocabulary": "/etc/passwd"}}, "vocabulary file"),
        ({"class_name": "Dense", "config": {"name": "d", "units": 1 << 40}}, "units="),
    ],
)
def test_what_keras_does_not_build_in_safe_mode_is_told_of_hdf5(tmp_path: Path, layer: Any, said: str) -> None:
    path = h5(tmp_path / "it.h5", keras_2(layer))
    assert [each.class_name for each in _inspecting.keras_archive(path).layers] == [layer["class_name"]]
    with pytest.raises(Unsupported, match="that Keras can build") as caught:
        _inspecting.keras_archive_built(path)
    assert said in str(caught.value) and "FILE.py:build" in str(caught.value)


POLICY = {"class_name": "Policy", "config": {"name": "mixed_float16"}}
RECURRENT = {"class_name": "SimpleRNN", "config": {"name": "r", "units": 4, "dtype": POLICY, "recurrent_initializer": {
    "class_name": "Identity", "config": {"gain": 1.0}}, "kernel_constraint": {
    "class_name": "Mine", "config": {}}}}  # fmt: skip


def keras_2(*layers: Any) -> dict[str, Any]:
    given = {"class_name": "InputLayer", "config": {"name": "x", "batch_input_shape": [None, 5, 3], "dtype": "float32"}}
    return {"class_name": "Sequential", "config": {"name": "s", "layers": [given, *layers]}}


def test_policies_initializers_and_constraints_of_keras_2_are_no_layers(tmp_path: Path) -> None:
    identity = {"class_name": "Identity", "config": {"name": "i", "dtype": POLICY}}
    found = _inspecting.keras_archive(h5(tmp_path / "it.h5", keras_2(RECURRENT, identity)))
    assert [(each.module, each.class_name, each.policy) for each in found.layers] == [
        ("keras.layers", "SimpleRNN", "mixed_float16"),
        ("keras.layers", "Identity", "mixed_float16"),
    ]
    # The constraint is still a class that nobody knows.
    with pytest.raises(Unsupported, match=r"layer r \(SimpleRNN\): .*Mine"):
        _keras_archive.build(tmp_path / "it.h5")


@pytest.mark.parametrize("module", [{}, {"module": "keras.mixed_precision", "registered_name": None}])
def test_a_mixed_model_of_keras_2_is_built_with_its_policies_and_initializers(tmp_path: Path, module: Any) -> None:
    config = {key: value for key, value in RECURRENT["config"].items() if key != "kernel_constraint"}
    config["dtype"] = POLICY | module
    path = h5(tmp_path / "it.h5", keras_2(RECURRENT | {"config": config}))
    model = _keras_archive.build(path)
    (layer,) = model.layers
    assert layer.dtype_policy.name == "mixed_float16" and layer.compute_dtype == "float16"
    initializer = layer.cell.recurrent_initializer
    assert isinstance(initializer, tf.keras.initializers.Identity)


def test_a_file_with_slices_arrays_and_an_ellipsis_is_built(tmp_path: Path) -> None:
    keras = tf.keras
    one, two = keras.Input((10, 6), name="one"), keras.Input((10,), name="two")
    y = keras.layers.Add()([one, two[..., None]])[:, ::2, -3:]
    y = keras.ops.concatenate([y[:, 0], y[..., 1] + np.ones((5,), "float32")[:3].sum()], axis=-1) * np.float32([2.0])
    model = keras.Model({"one": one, "two": two}, keras.layers.Dense(2)(y))
    model.save(tmp_path / "it.keras")
    given = {"one": tf.random.normal((3, 10, 6)), "two": tf.random.normal((3, 10))}
    found = _keras_weights.model(_keras_weights.Given(str(tmp_path / "it.keras")), tmp_path)
    np.testing.assert_array_equal(found(given), model(given))


NEST = [
    {"class_name": "InputLayer", "name": "x", "inbound_nodes": [], "config": {
        "name": "x", "batch_input_shape": [None, 6, 4], "dtype": "float32", "sparse": False, "ragged": False}},
    {"class_name": "Sequential", "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]]], "config": {
        "name": "inner", "layers": [
            {"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [None, 6, 4]}},
            {"class_name": "Conv1D", "config": {
                "name": "c", "batch_input_shape": [None, 6, 4], "filters": 4, "kernel_size": [1], "trainable": True}},
            {"class_name": "LSTM", "config": {
                "name": "l", "units": 4, "return_sequences": True, "time_major": False, "implementation": 2}},
            {"class_name": "TimeDistributed", "config": {"name": "t", "layer": {
                "class_name": "BatchNormalization", "config": {"name": "b", "axis": [1]}}}},
            {"class_name": "SpatialDropout1D", "config": {
                "name": "s", "trainable": True, "dtype": "float32", "rate": 0.1, "noise_shape": None, "seed": None}},
        ]}},
    {"class_name": "MultiHeadAttention", "name": "a", "inbound_nodes": [
        [["inner", 1, 0, {"value": ["x", 0, 0]}]]], "config": {
        "name": "a", "num_heads": 2, "key_dim": 2, "query_shape": [None, 6, 4], "softmax_robust_masking": False}},
    {"class_name": "Attention", "name": "s", "inbound_nodes": [[["inner", 1, 0, {}], ["a", 0, 0, {}]]], "config": {
        "name": "s", "score_mode": "dot"}},
]  # fmt: skip


def test_a_nested_model_of_keras_2_is_built_with_its_calls(tmp_path: Path) -> None:
    ends = {"input_layers": [["x", 0, 0]], "output_layers": [["s", 0, 0]]}
    path = h5(tmp_path / "it.h5", {"class_name": "Functional", "config": {"name": "m", "layers": NEST, **ends}})
    model = _keras_archive.build(path)
    given = tf.random.normal((2, 6, 4))
    inner = model.get_layer("inner")(given)
    right = model.get_layer("s")([inner, model.get_layer("a")(inner, value=given)])
    np.testing.assert_array_equal(model(given), right)


def test_an_older_sequential_takes_its_input_from_its_first_layer(tmp_path: Path) -> None:
    dense = {"class_name": "Dense", "config": {"name": "d", "units": 2, "batch_input_shape": [None, 3]}}
    model = _keras_archive.build(h5(tmp_path / "it.h5", {"class_name": "Sequential", "config": [dense]}))
    assert model.input_shape == (None, 3) and model.count_params() == 8


def test_an_argument_of_keras_2_that_computes_otherwise_is_told(tmp_path: Path) -> None:
    layer = {"class_name": "LSTM", "config": {"name": "l", "units": 4, "time_major": True}}
    with pytest.raises(Unsupported, match=r"layer l \(LSTM\): .*time_major"):
        _keras_archive.build(h5(tmp_path / "it.h5", keras_2(layer)))


def test_a_model_of_keras_2_is_compiled_as_it_says_without_metrics_that_keras_3_has_not(tmp_path: Path) -> None:
    optimizer = {"class_name": "Custom>Adam", "config": {"learning_rate": 0.25, "jit_compile": False, "name": "Adam",
                 "is_legacy_optimizer": False, "beta_1": 0.5}}  # fmt: skip
    metric = [{"class_name": "MeanMetricWrapper", "config": {"name": "accuracy", "fn": "categorical_accuracy"}}]
    trained = {"loss": "mse", "metrics": [metric], "optimizer_config": optimizer}
    dense = {"class_name": "Dense", "config": {"name": "d", "units": 2}}
    path = h5(tmp_path / "it.h5", keras_2(dense), training_config=json.dumps(trained))
    model = _keras_archive.build(path)
    _keras_archive.compile_as_saved(model, path)
    assert model.loss == "mse" and float(model.optimizer.learning_rate) == 0.25 and model.optimizer.beta_1 == 0.5


CUSTOM = """
import keras
@keras.saving.register_keras_serializable("mine")
class Scale(keras.layers.Layer):
    def build(self, shape): self.g = self.add_weight(shape=(shape[-1],), initializer="ones", name="g")
    def call(self, x): return x * self.g
class Plain(keras.layers.Layer):
    def call(self, x): return x + 1
def act(x): return x * 2
"""


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_classes_that_are_given_build_what_a_file_names(tmp_path: Path, ending: str) -> None:
    (tmp_path / "mine.py").write_text(CUSTOM)
    scale, plain, act = (resolve(f"{tmp_path}/mine.py:{name}") for name in ("Scale", "Plain", "act"))
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3, activation=act), scale(), plain()])
    path = tmp_path / f"it.{ending}"
    model.save(path)
    keras.saving.get_custom_objects().clear()
    custom = [f"{tmp_path}/mine.py:{name}" for name in ("Scale", "Plain", "act")]
    given = tf.random.normal((2, 4))
    found = _keras_weights.model(_keras_weights.Given(str(path), custom=custom), tmp_path)
    np.testing.assert_array_equal(found(given), model(given))
    keras.saving.get_custom_objects().clear()
    with pytest.raises(Unsupported, match=r"layer plain.* \(Plain\): .*--custom FILE.py:Plain"):
        _keras_archive.build(path, custom=[custom[0], custom[2]])


def test_a_damaged_hdf5_file_is_refused_or_read(tmp_path: Path) -> None:
    good = h5(tmp_path / "good.h5", SEQUENTIAL).read_bytes()
    for said, data in damaged.damaged_bytes(good, random.Random(0), 60):
        (tmp_path / "it.h5").write_bytes(data)
        try:
            _inspecting.keras_archive(tmp_path / "it.h5")
        except Unsupported:
            refused(tmp_path / "it.h5")
        except Exception as error:
            raise AssertionError(said) from error


def test_a_layer_of_a_sequential_is_called_once_and_a_shared_one_twice(tmp_path: Path) -> None:
    keras = tf.keras
    sequential = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(3)])
    assert [each.calls for each in _keras_layers.layers(sequential)] == [1, 1]
    sequential.save(saved := tmp_path / "saved.keras")
    assert [each.calls for each in _keras_layers.layers(keras.models.load_model(saved))] == [1, 1]
    shared, given = keras.layers.Dense(4), keras.Input((4,))
    assert [each.calls for each in _keras_layers.layers(keras.Model(given, shared(shared(given))))] == [2]


def metadata(*nodes: tuple[str, str, Any]) -> bytes:
    """A keras_metadata.pb, as Keras 2 writes it: path, identifier and what it says of each object."""
    message = _saved_layers._METADATA()
    for path, identifier, said in nodes:
        text = said if isinstance(said, str) else json.dumps(said)
        message.nodes.add(node_path=path, identifier=identifier, metadata=text)
    return message.SerializeToString()


def saved(folder: Path, data: bytes) -> Path:
    path = models.saved(folder, models.graph_with("Sin").SerializeToString())
    (path / "keras_metadata.pb").write_bytes(data)
    return path


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_in_a_file_too_a_layer_of_a_sequential_is_called_once_and_one_in_it_twice_may_be(
    tmp_path: Path, ending: str
) -> None:
    keras, path = tf.keras, tmp_path / f"model.{ending}"
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="inside")])
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="own"), inner]).save(path)
    found = {each.name: each.calls for each in _inspecting.keras_archive(path).layers}
    assert {name.rpartition("/")[2]: calls for name, calls in found.items()} == {"own": 1, "inside": 0}


def test_layers_that_keras_2_wrote_beside_a_saved_model_are_judged(tmp_path: Path) -> None:
    norm = {
        "class_name": "BatchNormalization",
        "config": {"name": "bn", "axis": [3], "epsilon": 0.001, "momentum": 0.9},
    }
    root = {"class_name": "Functional", "config": {"name": "m", "layers": [norm]}, "module": "keras"}
    path = saved(
        tmp_path / "it", metadata(("root", "_tf_keras_network", root), ("root.layer-0", "_tf_keras_layer", norm))
    )
    found = _inspecting.saved_model(path)
    assert [(each.module, each.name) for each in found.layers] == [("keras.layers", "bn")] and found.operations
    assert "normalization/batch_norm_epsilon" in {each.gotcha for each in diagnosing.diagnose("it", found).findings}


def test_of_a_subclass_the_layers_are_its_attributes(tmp_path: Path) -> None:
    path = saved(tmp_path / "it", metadata(
        ("root", "_tf_keras_model", {"class_name": "Mine", "config": {}}),
        ("root.conv", "_tf_keras_layer", CONV),
        ("root.conv.inner", "_tf_keras_layer", CONV),
        ("root.keras_api.metrics.0", "_tf_keras_metric", {"class_name": "Mean", "config": {"name": "loss"}}),
        ("root.seen", "_tf_keras_metric", {"class_name": "Mean", "config": {"name": "loss"}}),
    ))  # fmt: skip
    assert [each.class_name for each in _inspecting.saved_model(path).layers] == ["Conv2D"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x0a\xff\xff", "is damaged"),
        (metadata(("root", "_tf_keras_model", "{")), "is damaged"),
        (metadata(("root", "_tf_keras_model", "[" * 100_000)), "is damaged"),
        (metadata(("root", "_tf_keras_model", models.nested(300).decode())), "levels deep"),
    ],
    ids=["cut", "no JSON", "nested deeply", "nested"],
)
def test_damaged_metadata_of_keras_is_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(Unsupported, match=said) as caught:
        _inspecting.saved_model(saved(tmp_path / "it", data))
    assert "\n" not in str(caught.value)


def test_what_lies_beside_is_not_read_by_a_link_nor_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = models.saved(tmp_path / "it", models.graph_with("Sin").SerializeToString())
    (path / "keras_metadata.pb").symlink_to("/etc/passwd")
    with pytest.raises(Unsupported, match="a link that leads elsewhere"):
        _inspecting.saved_model(path)
    monkeypatch.setattr(_saved_layers, "MOST_BYTES", 5)
    with pytest.raises(Unsupported, match="remove that file"):
        _inspecting.saved_model(saved(tmp_path / "large", bytes(9)))


class Module(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3])])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        pointwise = tf.nn.conv2d(x, tf.ones([1, 1, 3, 2]), 2, "SAME")
        wide = tf.nn.conv2d(x, tf.ones([3, 3, 3, 2]), 2, "SAME")
        return tf.tanh(pointwise + wide)


def test_lines_that_were_saved_are_told_and_a_pointwise_convolution_pads_nothing(tmp_path: Path) -> None:
    module, options = Module(), tf.saved_model.SaveOptions(save_debug_info=True)
    tf.saved_model.save(module, str(tmp_path / "it"), module.__call__.get_concrete_function(), options)
    found = _inspecting.saved_model(tmp_path / "it")
    (tanh,) = [each for each in found.operations if each.type == "Tanh"]
    line = Path(__file__).read_text().splitlines()[int(tanh.source.rpartition(":")[2]) - 1]
    assert tanh.source.startswith(f"{__file__}:") and "tf.tanh(" in line
    assert sorted(each.kernel for each in found.operations if each.type == "Conv2D") == [(1, 1), (3, 3)]
    stated = [
        each for each in diagnosing.diagnose("it", found).findings if each.gotcha == "convolution/conv_same_stride"
    ]
    assert [len(each.places) for each in stated] == [1]
    file = tmp_path / "it" / "debug" / "saved_model_debug_info.pb"
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(Unsupported, match="is damaged"):
        _inspecting.saved_model(tmp_path / "it")


class Scoped(tf.Module):
    """As Keras 2 names what its layers make: MODEL/LAYER/OPERATION."""

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3])])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for scope in ("m/c/", "m/encoder/c/", "m/mine/", "m/mine/c/", "m/other/", "m/deep/m/c/"):
            with tf.name_scope(scope):
                x = tf.nn.conv2d(x, tf.ones([3, 3, 3, 3]), 2, "SAME")
        return x


def test_an_operation_in_the_scope_of_a_layer_of_keras_is_judged_with_the_layer(tmp_path: Path) -> None:
    module = Scoped()
    tf.saved_model.save(module, str(tmp_path / "it"), module.__call__.get_concrete_function())
    # A tuple as Keras 2 writes it into a SavedModel.
    strides = {"class_name": "__tuple__", "items": [2, 2]}
    strided = CONV | {"config": CONV["config"] | {"strides": strides}}
    mine = {"class_name": "Mine", "config": {"name": "mine"}}
    encoder = {"class_name": "Functional", "config": {"name": "encoder", "layers": [strided]}}
    root = {"class_name": "Functional", "config": {"name": "m", "layers": [strided, mine, encoder]}}
    nodes = {f"m/{each}/Conv2D" for each in ("c", "encoder/c", "mine", "mine/c", "other", "deep/m/c")}
    for data, layers in (
        (metadata(), {}),
        (metadata(("root", "_tf_keras_network", root)), {"m/c/Conv2D": "c", "m/encoder/c/Conv2D": "encoder/c"}),
    ):
        (tmp_path / "it" / "keras_metadata.pb").write_bytes(data)
        found = _inspecting.saved_model(tmp_path / "it")
        assert {each.name for each in found.operations if each.type == "Conv2D" and not each.in_layer} == (
            nodes - layers.keys()
        )
        stated = {
            place.name.rpartition(": ")[2]
            for each in diagnosing.diagnose("it", found).findings
            if each.gotcha == "convolution/conv_same_stride"
            for place in each.places
        }
        assert stated == {*layers.values(), *(nodes - layers.keys())}
