"""BERT in Keras, trained with a gradient tape: masked words and next sentences (Devlin et al. 2019)."""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model, share
from tf_reference._dropout import dropout
from tf_reference._gradients import densify
from tf_reference._precision import policy_of, scaled_for
from tf_reference._schedules import WarmUp
from tf_reference._transformer import EncoderBlock, activation_of, dense, norm
from workloads import _sentence_pairs, bert
from workloads.core.spec import Dimensions


class Embeddings(keras.layers.Layer):
    """Tokens, positions and segments, added, normalised and dropped: i32[batch, length] -> [batch, length, width]."""

    def __init__(self, dimensions: Dimensions, **options: Any) -> None:
        super().__init__(**options)
        self.block = bert.block_of(dimensions)
        width, policy = self.block.width, self.dtype_policy
        self.tokens = keras.layers.ReversibleEmbedding(dimensions["vocabulary"], width, dtype=policy, name="tokens")
        self.segments = keras.layers.Embedding(2, width, dtype=policy, name="segments")
        self.positions = self.add_weight(shape=(dimensions["length"], width), name="positions")
        self.norm = keras.layers.LayerNormalization(epsilon=self.block.epsilon, dtype=policy, name="norm")

    def build(self, input_shape: Any) -> None:
        """Create the variables for tokens [batch, length]."""
        self.tokens.build(input_shape)
        self.segments.build(input_shape)
        self.norm.build((*input_shape, self.block.width))

    def call(self, tokens: tf.Tensor, segments: tf.Tensor, draws: Any = None) -> Any:
        """The embedded words [batch, length, width].

        Args:
          tokens: i32[batch, length].
          segments: i32[batch, length], 0 or 1.
          draws: u8[batch, length, width]; None for no dropout.
        """
        states = self.norm(self.tokens(tokens) + self.positions + self.segments(segments))
        return states if draws is None else dropout(states, draws, self.block.rate)

    def canonical(self, prefix: str) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        tables = {
            "tokens": self.tokens.embeddings, "positions": self.positions, "segments": self.segments.embeddings,
        }  # fmt: skip
        return {f"{prefix}/{name}": table for name, table in tables.items()} | norm(f"{prefix}/norm", self.norm)


class Words(keras.layers.Layer):
    """Guesses words: states [batch, predictions, width] -> logits [batch, predictions, vocabulary]."""

    def __init__(self, dimensions: Dimensions, **options: Any) -> None:
        super().__init__(**options)
        block, policy = bert.block_of(dimensions), self.dtype_policy
        self.dense = keras.layers.Dense(block.width, activation=activation_of(block), dtype=policy, name="dense")
        self.norm = keras.layers.LayerNormalization(epsilon=block.epsilon, dtype=policy, name="norm")
        self.bias = self.add_weight(shape=(dimensions["vocabulary"],), name="bias", autocast=False)

    def build(self, input_shape: Any) -> None:
        """Create the variables for states [batch, predictions, width]."""
        self.dense.build(input_shape)
        self.norm.build(input_shape)

    def call(self, states: tf.Tensor, *, tokens: keras.layers.ReversibleEmbedding) -> Any:
        """The products are with the embedding of the tokens itself."""
        logits = tokens(self.norm(self.dense(states)), reverse=True)
        return tf.cast(logits, self.variable_dtype) + self.bias

    def canonical(self, prefix: str) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        return {
            **dense(f"{prefix}/dense", self.dense),
            **norm(f"{prefix}/norm", self.norm),
            f"{prefix}/bias": self.bias,
        }


class Bert(keras.Model):
    """Encoder with both heads, whose biases are added in the type of the variables: losses are not narrowed."""

    def __init__(self, dimensions: Dimensions, **options: Any) -> None:
        super().__init__(**options)
        block, policy = bert.block_of(dimensions), self.dtype_policy
        shape = (None, dimensions["length"])
        self.embeddings = Embeddings(dimensions, dtype=policy, name="embeddings")
        self.blocks = [EncoderBlock(block, dtype=policy, name=f"layer{layer}") for layer in range(dimensions["layers"])]
        self.words = Words(dimensions, dtype=policy, name="words")
        self.pooler = keras.layers.Dense(block.width, activation="tanh", dtype=policy, name="pooler")
        self.follows = keras.layers.Dense(2, dtype=self.variable_dtype, name="follows")
        self.embeddings.build(shape)
        for layer in (*self.blocks, self.words):
            layer.build((*shape, block.width))
        for layer in (self.pooler, self.follows):
            layer.build((None, block.width))

    def call(
        self,
        tokens: tf.Tensor,
        segments: tf.Tensor,
        positions: tf.Tensor,
        embedding_draws: Any = None,
        attention_draws: Any = None,
        hidden_draws: Any = None,
    ) -> dict[str, Any]:
        """Logits of the words at the positions [batch, predictions, vocabulary] and of the pairs [batch, 2].

        Without draws nothing is dropped.

        Args:
          tokens: i32[batch, length].
          segments: i32[batch, length], 0 or 1.
          positions: i32[batch, predictions], of the words to guess.
          embedding_draws: u8[batch, length, width].
          attention_draws: u8[layers, batch, heads, length, length].
          hidden_draws: u8[layers, 2, batch, length, width].
        """
        mask = (tokens != _sentence_pairs.PADDING)[:, tf.newaxis, tf.newaxis]
        states = self.embeddings(tokens, segments, embedding_draws)
        for layer, block in enumerate(self.blocks):
            draws = [None if by_layer is None else by_layer[layer] for by_layer in (attention_draws, hidden_draws)]
            states = block(states, mask, *draws)
        word_logits = self.words(tf.gather(states, positions, batch_dims=1), tokens=self.embeddings.tokens)
        pairs = self.follows(self.pooler(states[:, 0]))
        return {"words": word_logits, "follows": pairs}

    def canonical(self) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        blocks = (block.canonical(f"layer{layer}").items() for layer, block in enumerate(self.blocks))
        return {
            **self.embeddings.canonical("embeddings"),
            **{path: variable for block in blocks for path, variable in block},
            **self.words.canonical("words"),
            **dense("follows/pooler", self.pooler),
            **dense("follows/logits", self.follows),
        }


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/bert.py."""
    model = Bert(dimensions, dtype=policy_of(dimensions, dtype), name="bert")
    optimizer = _optimizer(dimensions, dtype)
    optimizer.build(model.trainable_variables)

    def forward(tokens: Any, segments: Any, positions: Any, words: Any, weights: Any, follows: Any, *draws: Any) -> Any:
        return model(tokens, segments, positions)

    def loss(*inputs: tf.Tensor) -> Any:
        tokens, segments, positions, words, weights, follows, *draws = inputs
        logits = model(tokens, segments, positions, *draws)
        word_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(words, logits["words"])
        pairs = tf.nn.sparse_softmax_cross_entropy_with_logits(follows, logits["follows"])
        # The small constant is BERT's own: a batch in which nothing is masked has no loss.
        return tf.reduce_sum(weights * word_losses) / (tf.reduce_sum(weights) + 1e-5) + tf.reduce_mean(pairs)

    def step(*inputs: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            value = loss(*inputs)
            scaled_loss = optimizer.scale_loss(value)
        gradients = tape.gradient(scaled_loss, model.trainable_variables)
        optimizer.apply_gradients(zip(densify(gradients), model.trainable_variables, strict=True))
        return value

    return Model(
        forward=forward,
        loss=loss,
        step=step,
        weights=model.canonical(),
        state={variable.path: variable for variable in optimizer.variables},
        optimizer=optimizer,
        replica_loss=lambda *inputs: share(loss(*inputs)),
    )


def _optimizer(dimensions: Dimensions, dtype: str) -> keras.optimizers.Optimizer:
    rate = WarmUp(bert.peak_rate(dimensions), bert.WARM_UP_STEPS, bert.TOTAL_STEPS, dtype)
    kind = keras.optimizers.Lamb if dimensions.get("lamb") else keras.optimizers.AdamW
    optimizer = kind(rate, weight_decay=bert.WEIGHT_DECAY, epsilon=bert.EPSILON, name="optimizer")
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return scaled_for(policy_of(dimensions, dtype), optimizer)
