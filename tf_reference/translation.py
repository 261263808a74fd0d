"""The Transformer that translates in Keras, trained with a gradient tape (Vaswani et al. 2017)."""

from typing import Any

import keras
import tensorflow as tf

from tf_reference import Model, share
from tf_reference._dropout import dropout
from tf_reference._gradients import densify
from tf_reference._precision import policy_of, scaled_for
from tf_reference._schedules import InverseSquareRoot
from tf_reference._transformer import DecoderBlock, EncoderBlock, parts_of
from workloads import _parallel_text, translation
from workloads.core.spec import Dimensions


class Translator(keras.Model):
    """source and target words so far [batch, length] -> logits [batch, length, vocabulary], in the variables' type."""

    def __init__(self, dimensions: Dimensions, **options: Any) -> None:
        super().__init__(**options)
        self.block = translation.block_of(dimensions)
        vocabulary, length, width = dimensions["vocabulary"], dimensions["length"], self.block.width
        policy, layers = self.dtype_policy, range(dimensions["layers"])
        self.embedding = keras.layers.ReversibleEmbedding(vocabulary, width, dtype=policy, name="embedding")
        self.encoder = [EncoderBlock(self.block, dtype=policy, name=f"encoder{layer}") for layer in layers]
        self.decoder = [DecoderBlock(self.block, dtype=policy, name=f"decoder{layer}") for layer in layers]
        self.embedding.build((None, length))
        for block in (*self.encoder, *self.decoder):
            block.build((None, length, width))

    def call(
        self,
        source: tf.Tensor,
        target: tf.Tensor,
        embedding_draws: Any = None,
        encoder_attention_draws: Any = None,
        encoder_hidden_draws: Any = None,
        decoder_attention_draws: Any = None,
        decoder_hidden_draws: Any = None,
    ) -> Any:
        """Logits [batch, length, vocabulary]; without draws nothing is dropped.

        Args:
          source: i32[batch, length].
          target: i32[batch, length], the words so far.
          embedding_draws: u8[2, batch, length, width].
          encoder_attention_draws: u8[layers, batch, heads, length, length].
          encoder_hidden_draws: u8[layers, 2, batch, length, width].
          decoder_attention_draws: u8[layers, 2, batch, heads, length, length].
          decoder_hidden_draws: u8[layers, 3, batch, length, width].
        """
        words = (source != _parallel_text.PAD)[:, tf.newaxis, tf.newaxis]
        of_source, of_target = parts_of(embedding_draws, 2)
        memory = self.encode(source, of_source, encoder_attention_draws, encoder_hidden_draws)
        length = target.shape[1]
        earlier = tf.linalg.band_part(tf.ones((1, 1, length, length), tf.bool), -1, 0)
        states = self.embed(target, of_target)
        number = len(self.decoder)
        draws = zip(parts_of(decoder_attention_draws, number), parts_of(decoder_hidden_draws, number), strict=True)
        for block, (attention, hidden) in zip(self.decoder, draws, strict=True):
            states = block(states, memory, (earlier, words), attention, hidden)
        return tf.cast(self.embedding(states, reverse=True), self.variable_dtype)

    def encode(
        self, source: tf.Tensor, embedding_draws: Any = None, attention_draws: Any = None, hidden_draws: Any = None
    ) -> Any:
        """Encode the source: the memory [batch, length, width]; without draws no dropout.

        Args:
          source: i32[batch, length].
          embedding_draws: u8[batch, length, width].
          attention_draws: u8[layers, batch, heads, length, length].
          hidden_draws: u8[layers, 2, batch, length, width].
        """
        words = (source != _parallel_text.PAD)[:, tf.newaxis, tf.newaxis]
        memory = self.embed(source, embedding_draws)
        for layer, block in enumerate(self.encoder):
            draws = [None if by_layer is None else by_layer[layer] for by_layer in (attention_draws, hidden_draws)]
            memory = block(memory, words, *draws)
        return memory

    def embed(self, tokens: Any, draws: Any) -> Any:
        """Embed tokens at their positions, with dropout: [batch, length, width]."""
        values = self.embedding(tokens) * self.block.width**0.5 + self.sines(tokens.shape[1])
        return values if draws is None else dropout(values, draws, self.block.rate)

    def sines(self, length: int) -> tf.Tensor:
        """Sinusoids that encode positions: [length, width]."""
        return tf.constant(translation.positions(length, self.block.width), self.compute_dtype)

    def canonical(self) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        blocks = {f"encoder{layer}": block for layer, block in enumerate(self.encoder)}
        blocks |= {f"decoder{layer}": block for layer, block in enumerate(self.decoder)}
        variables = {"embedding": self.embedding.embeddings}
        for name, block in blocks.items():
            variables |= block.canonical(name)
        return variables


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/translation.py."""
    policy = policy_of(dimensions, dtype)
    model = Translator(dimensions, dtype=policy, name="translator")
    cross_entropy = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=translation.SMOOTHING, reduction="none", dtype=dtype
    )
    rate: Any = InverseSquareRoot(dimensions["width"], dimensions["warm_up"], dtype)
    adam = keras.optimizers.Adam(rate, beta_2=translation.BETA_2, epsilon=translation.EPSILON, name="optimizer")
    optimizer = scaled_for(policy, adam)
    optimizer.build(model.trainable_variables)

    def forward(source: tf.Tensor, target: tf.Tensor, *draws: tf.Tensor) -> Any:
        return model(source, target[:, :-1])

    def loss(source: tf.Tensor, target: tf.Tensor, *draws: tf.Tensor) -> Any:
        next_words = target[:, 1:]
        words: Any = tf.cast(next_words != _parallel_text.PAD, dtype)
        labels = tf.one_hot(next_words, dimensions["vocabulary"], dtype=dtype)
        losses: Any = cross_entropy(labels, model(source, target[:, :-1], *draws))
        return tf.reduce_sum(losses * words) / tf.reduce_sum(words)

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
