"""Small SavedModels and frozen graphs, in the styles of TensorFlow 1, TensorFlow 2 and Keras 3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_V1 = tf.compat.v1
_FLOATS = tf.TensorSpec([None, 4], tf.float32, "x")


def _numbers(*shape: int) -> np.ndarray:
    return (np.random.default_rng(len(shape)).standard_normal(shape) * 0.5).astype("float32")


def _draw(*shape: int) -> tf.Tensor:
    return tf.constant(_numbers(*shape))


class Net(tf.Module):
    """Several functions, and a variable that is no float."""

    def __init__(self) -> None:
        super().__init__(name="net")
        with self.name_scope:
            self.w = tf.Variable(_draw(4, 3), name="w")
            self.b = tf.Variable(_draw(3), name="b")
            self.count = tf.Variable(tf.constant(3), trainable=False, name="count")

    @tf.function(input_signature=[_FLOATS])
    def infer_tf(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """Two outputs."""
        hidden = tf.nn.relu(x @ self.w + self.b)
        return {"logits": hidden, "scaled": hidden * tf.cast(self.count, tf.float32)}

    @tf.function(input_signature=[_FLOATS])
    def embed(self, x: tf.Tensor) -> tf.Tensor:
        """One output."""
        return tf.nn.silu(x @ self.w)


class Looped(tf.Module):
    """A loop that reads a variable, and a branch."""

    def __init__(self) -> None:
        super().__init__(name="looped")
        self.w = tf.Variable(_draw(4, 4), name="w")

    @tf.function(input_signature=[_FLOATS])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for i in tf.range(3):
            x = tf.tanh(x @ self.w) + tf.cast(i, tf.float32)
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x)


class Words(tf.Module):
    """A table of words before an embedding; `label` gives a word back."""

    def __init__(self) -> None:
        super().__init__(name="words")
        words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        self.table = tf.lookup.StaticHashTable(words, 0)
        self.rows = tf.Variable(_draw(3, 4), name="rows")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "word"), _FLOATS])
    def __call__(self, word: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        return tf.gather(self.rows, self.table.lookup(word)) + x

    @tf.function(input_signature=[_FLOATS])
    def label(self, x: tf.Tensor) -> tf.Tensor:
        """A text of what is computed."""
        return tf.strings.as_string(tf.reduce_sum(x @ tf.transpose(self.rows)))


class Listener(tf.Module):
    """A model of Keras 3 behind a spectrum: the graph restores copies of its variables."""

    def __init__(self) -> None:
        super().__init__(name="listener")
        self.model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3, name="head")])

    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32, "sound")])
    def __call__(self, sound: tf.Tensor) -> tf.Tensor:
        return self.model(tf.abs(tf.signal.rfft(sound)), training=False)


class Twins(tf.Module):
    """Two variables of one name, the first of them frozen."""

    def __init__(self) -> None:
        super().__init__(name="twins")
        self.fixed = tf.Variable(_draw(4, 4), trainable=False)
        self.trained = tf.Variable(_draw(4, 3))

    @tf.function(input_signature=[_FLOATS])
    def project(self, x: tf.Tensor) -> tf.Tensor:
        """Through both."""
        return x @ self.fixed @ self.trained


@tf.custom_gradient
def round_straight(x: tf.Tensor) -> Any:
    """Rounding that hands gradients on."""
    return tf.round(x), lambda upstream: upstream


class Rounded(tf.Module):
    """A gradient of its own."""

    def __init__(self) -> None:
        super().__init__(name="rounded")
        self.w = tf.Variable(_draw(4, 3), name="w")

    @tf.function(input_signature=[_FLOATS])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return round_straight(x @ self.w * 4.0)


class Counter(tf.Module):
    """A call counts."""

    def __init__(self) -> None:
        super().__init__(name="counter")
        self.n = tf.Variable(tf.constant(0.0), name="n", trainable=False)

    @tf.function(input_signature=[_FLOATS])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        self.n.assign_add(1.0)
        return x * 2.0


def save_module(folder: Path) -> None:
    """Two signatures, one of them the default, and functions."""
    net = Net()
    tf.saved_model.save(net, folder, signatures={"serving_default": net.infer_tf, "embed": net.embed})


def save_without_signatures(folder: Path) -> None:
    """Functions alone."""
    tf.saved_model.save(Net(), folder)


def save_keras(folder: Path) -> None:
    """Keras 3 exports: batch norm, attention, inputs in a dict, steps that are not fixed."""
    ids, features = keras.Input((None,), dtype="int32", name="ids"), keras.Input((None, 4), name="features")
    table = keras.layers.Embedding(10, 8, name="table")(ids)
    mixed = keras.layers.Dense(8, "gelu", name="mix")(keras.layers.Concatenate()([table, features]))
    attended = keras.layers.MultiHeadAttention(2, 4, name="attention")(mixed, mixed)
    normed = keras.layers.BatchNormalization(name="norm")(attended + mixed)
    outputs = {"tokens": keras.layers.Dense(10, name="head")(normed), "pooled": keras.ops.mean(normed, 1)}
    keras.Model({"ids": ids, "features": features}, outputs).export(folder, verbose=False)


def save_recurrent(folder: Path) -> None:
    """Recurrent layers of Keras 3: from behind, with a mask, all states and the last one."""
    keras.utils.set_random_seed(3)
    x = keras.Input((5, 4), name="x")
    states = keras.layers.LSTM(3, return_sequences=True, go_backwards=True, name="lstm")(x)
    gated = keras.layers.GRU(2, reset_after=False, name="gru")(keras.layers.Masking(0.0, name="mask")(x))
    keras.Model(x, {"states": states, "last": gated}).export(folder, verbose=False)


class Ranged(tf.Module):
    """Loops over a tf.range, which say nothing of their largest number of steps."""

    def __init__(self) -> None:
        super().__init__(name="ranged")
        self.w = tf.Variable(_draw(4, 4), name="w")

    @tf.function(input_signature=[_FLOATS])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        h = tf.zeros([4])
        for i in tf.range(tf.shape(x)[0]):
            for _ in tf.range(0, 4, 2):
                h = tf.tanh(x[i] + tf.linalg.matvec(self.w, h))
        return h


def save_ranged(folder: Path) -> None:
    """A loop in a loop."""
    ranged = Ranged()
    tf.saved_model.save(ranged, folder, signatures=ranged.__call__)


def save_looped(folder: Path) -> None:
    """A loop and a branch."""
    tf.saved_model.save(Looped(), folder)


def save_words(folder: Path) -> None:
    """Texts before and behind the numbers."""
    words = Words()
    tf.saved_model.save(words, folder, signatures={"serving_default": words.__call__, "label": words.label})


def save_listener(folder: Path) -> None:
    """Operations whose float types are defaults, which saving leaves out."""
    listener = Listener()
    tf.saved_model.save(listener, folder, signatures=listener.__call__)


def save_twins(folder: Path) -> None:
    """Names that do not tell variables apart."""
    twins = Twins()
    tf.saved_model.save(twins, folder, signatures=twins.project)


def save_rounded(folder: Path) -> None:
    """A custom gradient."""
    rounded = Rounded()
    tf.saved_model.save(rounded, folder, signatures=rounded.__call__)


def save_reserved(path: Path) -> None:
    """A signature of TensorFlow 1, whose keys may be any text."""
    with tf.Graph().as_default() as graph, _V1.Session(graph=graph) as session:
        x, y, z = (_V1.placeholder(tf.float32, [None, 4]) for _ in range(3))
        signature = _V1.saved_model.predict_signature_def({"lambda": x, "_x": y, "2d": z}, {"sum": x * 0.5 + y - z * z})
        builder = _V1.saved_model.builder.SavedModelBuilder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()


def save_counter(folder: Path) -> None:
    """An effect."""
    tf.saved_model.save(Counter(), folder)


def _tf1_graph(resource: bool) -> tuple[Any, Any, Any]:
    (_V1.enable_resource_variables if resource else _V1.disable_resource_variables)()
    x = _V1.placeholder(tf.float32, [None, 8], "x")
    with _V1.variable_scope("layer"):
        weights = _V1.get_variable("w", [8, 6]), _V1.get_variable("b", [6])
        h = tf.nn.relu(tf.matmul(x, weights[0]) + weights[1])
    with _V1.variable_scope("bn"):
        ones = _V1.ones_initializer()
        gamma, beta = _V1.get_variable("gamma", [6], initializer=ones), _V1.get_variable("beta", [6])
        mean = _V1.get_variable("moving_mean", [6], trainable=False)
        variance = _V1.get_variable("moving_variance", [6], trainable=False, initializer=ones)
        h = tf.nn.batch_normalization(h, mean, variance, beta, gamma, 1e-3)
    with _V1.variable_scope("table", partitioner=_V1.fixed_size_partitioner(2)):
        h = tf.matmul(h, _V1.get_variable("rows", [6, 4]))
    return x, h, tf.nn.softmax(h, name="probabilities")


def save_tf1(folder: Path, resource: bool = False) -> None:
    """Variables by scopes, in two parts one of them, with two signatures and no default."""
    with tf.Graph().as_default() as graph, _V1.Session(graph=graph) as session:
        x, h, y = _tf1_graph(resource)
        session.run(_V1.global_variables_initializer())
        signature = _V1.saved_model.predict_signature_def
        builder = _V1.saved_model.builder.SavedModelBuilder(str(folder))
        signatures = {"predict": signature({"x": x}, {"y": y}), "logits": signature({"x": x}, {"y": h})}
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    _V1.enable_resource_variables()


def save_tf1_resource(folder: Path) -> None:
    """The same, of resource variables."""
    save_tf1(folder, resource=True)


def save_frozen(path: Path) -> None:
    """A GraphDef whose variables are constants."""
    with tf.Graph().as_default() as graph, _V1.Session(graph=graph) as session:
        _, _, y = _tf1_graph(resource=False)
        session.run(_V1.global_variables_initializer())
        frozen = _V1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), [y.op.name])
    _V1.enable_resource_variables()
    path.write_bytes(frozen.SerializeToString())


def save_frozen_loop(path: Path) -> None:
    """A loop of TensorFlow 1 with a TensorArray, without its variables."""
    with tf.Graph().as_default() as graph:
        _V1.disable_control_flow_v2()
        x = _V1.placeholder(tf.float32, [None, 3, 4], "x")
        w = tf.identity(tf.constant(np.ones((4, 4), "float32"), name="w"), name="w/read")
        steps = tf.TensorArray(tf.float32, 3).unstack(tf.transpose(x, [1, 0, 2]))
        _, h = tf.while_loop(
            lambda i, h: i < 3,
            lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w) + steps.read(i))),
            (0, tf.zeros_like(x[:, 0])),
        )
        tf.matmul(h, w, name="y")
        _V1.enable_control_flow_v2()
    path.write_bytes(graph.as_graph_def().SerializeToString())


def save_frozen_labels(path: Path) -> None:
    """A table that numbers what a network chooses, and one of what it takes."""
    with tf.Graph().as_default() as graph:
        x, word = _V1.placeholder(tf.float32, [None, 4], "x"), _V1.placeholder(tf.string, [None], "word")
        w = tf.identity(tf.constant(_numbers(4, 2), name="w"), name="w/read")
        text = tf.strings.as_string(tf.argmax(tf.matmul(x, w), 1))
        tf.strings.to_hash_bucket_fast(text, 7, name="label")
        start = tf.cast(tf.strings.to_hash_bucket_fast(word, 7), tf.float32)
        tf.add(tf.matmul(x, w), start[:, None], name="y")
    path.write_bytes(graph.as_graph_def().SerializeToString())


def save_fused(path: Path) -> None:
    """An operation that has no float64."""
    with tf.Graph().as_default() as graph:
        x = _V1.placeholder(tf.float32, [None, 2, 2, 3], "x")
        ones, zeros = tf.ones([3]), tf.zeros([3])
        y, *_ = _V1.nn.fused_batch_norm(x, ones, zeros, zeros, ones, is_training=False)
        tf.nn.relu(y, name="y")
    path.write_bytes(graph.as_graph_def().SerializeToString())


SAVED: Mapping[str, Callable[[Path], None]] = {
    "module": save_module, "functions": save_without_signatures, "keras": save_keras, "looped": save_looped,
    "recurrent": save_recurrent, "ranged": save_ranged,
    "words": save_words, "listener": save_listener, "twins": save_twins,
    "rounded": save_rounded, "reserved": save_reserved,
    "counter": save_counter, "tf1": save_tf1, "tf1_resource": save_tf1_resource,
    "frozen.pb": save_frozen, "fused.pb": save_fused, "loop.pb": save_frozen_loop, "labels.pb": save_frozen_labels,
}  # fmt: skip
