"""Models for the doctor: saved by TensorFlow, and made by hand to be damaged or hostile."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow import keras

PB = "saved_model.pb"
DENSE = {
    "module": "keras.layers", "class_name": "Dense", "registered_name": None,
    "config": {"name": "dense", "units": 3, "activation": "gelu", "use_bias": True},
    "build_config": {"input_shape": [None, 4]},
}  # fmt: skip
INPUT = {
    "module": "keras.layers", "class_name": "InputLayer", "registered_name": None,
    "config": {"name": "x", "batch_shape": [None, 4], "dtype": "float32"},
}  # fmt: skip
LAMBDA = {
    "module": "keras.layers", "class_name": "Lambda", "registered_name": None,
    "config": {"name": "lambda", "function": {"class_name": "__lambda__", "config": {"code": "4wEAAAA="}}},
}  # fmt: skip


def cnn() -> Any:
    return keras.Sequential(
        [
            keras.Input((9, 9, 3)),
            keras.layers.Conv2D(4, 3, strides=2, padding="same"),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(6.0),
            keras.layers.Dropout(0.1),
            keras.layers.Flatten(),
            keras.layers.Dense(2, activation="gelu"),
        ]
    )


def rnn() -> Any:
    return keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4)])


class Preprocessing(tf.Module):
    """Strings are looked up, and equal numbers found: neither is for a compiler."""

    def __init__(self) -> None:
        super().__init__()
        words = tf.constant(["a", "b"])
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, tf.constant([1, 2])), 0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, words: tf.Tensor) -> Any:
        values, places = tf.unique(self.table.lookup(words))
        return {"values": values, "places": places}


def graph_with(operation: str) -> Any:
    """A SavedModel whose only signature calls an operation of this type, by hand."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta = saved.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    meta.graph_def.node.add(name="y", op=operation, input=["x"]).attr["T"].type = 1
    # What no signature needs is no part of the model.
    meta.graph_def.node.add(name="unneeded", op="ReadFile")
    signature = meta.signature_def["serving_default"]
    signature.inputs["x"].name, signature.inputs["x"].dtype = "x:0", 1
    signature.outputs["y"].name, signature.outputs["y"].dtype = "y:0", 1
    return saved


def saved(folder: Path, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / PB).write_bytes(data)
    return folder


def sequential(*layers: Mapping[str, Any]) -> dict[str, Any]:
    config = {"name": "sequential", "layers": [INPUT, *layers]}
    return {"module": "keras", "class_name": "Sequential", "registered_name": None, "config": config}


def archive(path: Path, config: Any, **more: bytes) -> Path:
    """A .keras file with this config, an object or bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("config.json", config if isinstance(config, bytes) else json.dumps(config))
        file.writestr("metadata.json", '{"keras_version": "3.0.0"}')
        for name, data in more.items():
            file.writestr(name, data)
    return path


def nested(depth: int) -> bytes:
    return b'{"class_name": "Sequential", "config": ' + b'{"a": ' * depth + b"1" + b"}" * depth + b"}"
