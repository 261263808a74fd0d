"""Recurrent translation with attention in Keras, trained with a gradient tape."""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model, share
from tf_reference._gradients import densify
from workloads import _parallel_text, seq2seq
from workloads.core.spec import Dimensions


class AttentionCell(keras.layers.Layer):
    """One step of the decoder: the state asks the memory, and what is read enters the GRU beside the input."""

    def __init__(self, units: int, attention: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.state_size = units
        self.gru = keras.layers.GRUCell(units, dtype=self.dtype_policy)
        self.memory_projection = keras.layers.Dense(attention, dtype=self.dtype_policy)
        self.query_projection = keras.layers.Dense(attention, use_bias=False, dtype=self.dtype_policy)
        self.score = keras.layers.Dense(1, use_bias=False, dtype=self.dtype_policy)

    def build(self, input_shape: Any) -> None:
        """input_shape: [batch, embedding]; the memory is set up by now."""
        self.gru.build((input_shape[0], input_shape[-1] + self.memory.shape[-1]))
        self.query_projection.build((None, self.state_size))
        self.score.build((None, self.query_projection.units))

    def setup_memory(self, memory: Any, mask: tf.Tensor) -> None:
        """Before the first step: memory [batch, source, 2 * units], mask [batch, source], true for words."""
        self.memory, self.keys = memory, self.memory_projection(memory)
        self.bias = tf.where(mask, tf.zeros((), memory.dtype), tf.constant(-1e9, memory.dtype))

    def call(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Inputs [batch, embedding], states [batch, units] -> output and new states [batch, units]."""
        query = self.query_projection(states[0])
        scores = tf.squeeze(self.score(tf.tanh(self.keys + query[:, None])), -1) + self.bias
        context = tf.einsum("bs,bsd->bd", tf.nn.softmax(scores), self.memory)
        return self.gru(tf.concat([inputs, context], -1), states)


class Translator(keras.Model):
    """source [batch, length], target words so far [batch, length] -> logits [batch, length, vocabulary]."""

    def __init__(self, dimensions: Dimensions, dtype: str) -> None:
        super().__init__(dtype=dtype)
        vocabulary, embedding, units = dimensions["vocabulary"], dimensions["embedding"], dimensions["units"]
        self.source_embedding = keras.layers.Embedding(vocabulary, embedding, dtype=dtype)
        self.target_embedding = keras.layers.Embedding(vocabulary, embedding, dtype=dtype)
        # Without cuDNN's kernel: XLA compiles the loop, and cannot call that.
        options: dict[str, Any] = {"return_sequences": True, "return_state": True, "use_cudnn": False}
        gru = keras.layers.GRU(units, dtype=dtype, **options)
        self.encoder = keras.layers.Bidirectional(gru, dtype=dtype)
        self.bridge = keras.layers.Dense(units, activation="tanh", dtype=dtype)
        self.cell = AttentionCell(units, dimensions["attention"], dtype=dtype)
        self.decoder = keras.layers.RNN(self.cell, return_sequences=True, dtype=dtype)
        self.logits = keras.layers.Dense(vocabulary, dtype=dtype)

    def call(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """Source and target i32[batch, length] -> logits [batch, length, vocabulary]."""
        mask = source != _parallel_text.PAD
        memory, _, first_word = self.encoder(self.source_embedding(source), mask=mask)
        self.cell.setup_memory(memory, mask)
        states = self.decoder(self.target_embedding(target), initial_state=[self.bridge(first_word)])
        return self.logits(states)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/seq2seq.py: source [batch, length], target [batch, length + 1] -> logits."""
    translator = Translator(dimensions, dtype)
    words = tf.ones((1, dimensions["length"]), tf.int32)
    translator(words, words)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none", dtype=dtype)
    optimizer = keras.optimizers.Adam(seq2seq.LEARNING_RATE, global_clipnorm=seq2seq.CLIP_NORM, name="optimizer")
    optimizer.build(translator.trainable_variables)

    def forward(source: tf.Tensor, target: tf.Tensor) -> Any:
        return translator(source, target[:, :-1])

    def loss(source: tf.Tensor, target: tf.Tensor) -> Any:
        next_words = target[:, 1:]
        words: Any = tf.cast(next_words != _parallel_text.PAD, dtype)
        losses: Any = cross_entropy(next_words, forward(source, target))
        return tf.reduce_sum(losses * words) / tf.reduce_sum(words)

    def step(source: tf.Tensor, target: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = loss(source, target)
        gradients = tape.gradient(value, translator.trainable_variables)
        optimizer.apply_gradients(zip(densify(gradients), translator.trainable_variables, strict=True))
        return value

    return Model(
        forward=forward,
        loss=loss,
        step=step,
        weights=_weights(translator),
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
        replica_loss=lambda *inputs: share(loss(*inputs)),
    )


def _weights(translator: Translator) -> dict[str, keras.Variable]:
    cell = translator.cell
    return {
        "source/embedding": translator.source_embedding.embeddings,
        "target/embedding": translator.target_embedding.embeddings,
        **_gru("forward", translator.encoder.forward_layer.cell),
        **_gru("backward", translator.encoder.backward_layer.cell),
        "bridge/kernel": translator.bridge.kernel,
        "bridge/bias": translator.bridge.bias,
        "attention/memory/kernel": cell.memory_projection.kernel,
        "attention/memory/bias": cell.memory_projection.bias,
        "attention/query/kernel": cell.query_projection.kernel,
        "attention/score/kernel": cell.score.kernel,
        **_gru("decoder", cell.gru),
        "logits/kernel": translator.logits.kernel,
        "logits/bias": translator.logits.bias,
    }


def _gru(name: str, cell: Any) -> dict[str, keras.Variable]:
    return {
        f"{name}/kernel": cell.kernel,
        f"{name}/recurrent_kernel": cell.recurrent_kernel,
        f"{name}/bias": cell.bias,
    }
