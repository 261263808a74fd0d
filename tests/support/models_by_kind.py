"""Keras models of the kinds that users port, each with something that a writer of ports may have to leave."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

layers: Any = keras.layers
ops: Any = keras.ops
optimizers: Any = keras.optimizers


class Sampling(layers.Layer):
    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.seeds = keras.random.SeedGenerator(1)

    def call(self, given):
        mean, spread = given
        return mean + ops.exp(0.5 * spread) * keras.random.normal(ops.shape(mean), seed=self.seeds)


class WithStepAlone(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        given, code = keras.Input((6,)), keras.Input((2,))
        mean, spread = layers.Dense(2, name="mean")(given), layers.Dense(2, name="spread")(given)
        self.encoder = keras.Model(given, [mean, spread, Sampling(name="sampling")([mean, spread])], name="encoder")
        self.decoder = keras.Model(code, layers.Dense(6, activation="sigmoid")(code), name="decoder")

    def train_step(self, data):
        with tf.GradientTape() as tape:
            _, _, code = self.encoder(data)
            loss = ops.mean(ops.square(self.decoder(code) - data))
        watched: Any = tape
        gradients = watched.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        return {"loss": loss}


def autoencoder() -> keras.Model:
    model = WithStepAlone()
    model.compile("adam")
    return model


class Cross(layers.Layer):
    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], shape[-1]), name="kernel")

    def call(self, first, x):
        return first * tf.matmul(x, self.kernel) + x


def preprocessing() -> keras.Model:
    age, job = keras.Input((1,), name="age"), keras.Input((1,), dtype="string", name="job")
    place = keras.Input((1,), dtype="int64", name="place")
    words = layers.StringLookup(vocabulary=["nurse", "cook"], name="job_lookup")(job)
    towns = layers.IntegerLookup(vocabulary=[10, 80, 20], output_mode="one_hot", name="town_lookup")(place)
    ages = layers.Discretization(bin_boundaries=[18.0, 30.0], output_mode="one_hot", name="ages")(age)
    x = layers.Concatenate()([ages, layers.Flatten()(layers.Embedding(3, 2, name="jobs")(words)), towns])
    model = keras.Model({"age": age, "job": job, "place": place}, layers.Dense(1)(Cross(name="cross")(x, x)))
    model.compile("adam", "mse", metrics=["AUC"])
    return model


class LowRank(layers.Layer):
    """A layer of which some weights are trained and some are not."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 4), name="kernel", trainable=False)
        self.low = self.add_weight(shape=(shape[-1], 2), name="low", initializer="he_uniform")
        self.high = self.add_weight(shape=(2, 4), name="high", initializer="zeros")

    def call(self, x):
        return x @ self.kernel + (x @ self.low) @ self.high


def partly_frozen() -> keras.Model:
    model = keras.Sequential([keras.Input((4,)), LowRank(name="low_rank"), layers.Dense(2)])
    model.compile("adamw", "mse")
    return model


class Segments(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.project = layers.Dense(3)

    def call(self, given):
        x, edges = given
        return tf.math.unsorted_segment_sum(tf.gather(self.project(x), edges[:, 0]), edges[:, 1], 4)


def over_edges() -> keras.Model:
    model = Segments()
    model([tf.zeros([4, 2]), tf.zeros([5, 2], tf.int32)])
    return model


class Mel(layers.Layer):
    def call(self, wave):
        spectrum = tf.abs(tf.signal.stft(wave, 16, 8))
        return tf.tensordot(spectrum, tf.signal.linear_to_mel_weight_matrix(4, 9, 16000, 80.0, 7600.0), 1)


def sound() -> keras.Model:
    wave = keras.Input((64,))
    return keras.Model(wave, layers.Dense(2)(Mel(name="mel")(wave)))


def stateful() -> keras.Model:
    given = keras.Input(batch_shape=(2, 5, 3))
    x = layers.GRU(4, stateful=True, return_sequences=True, name="first")(layers.Masking(0.0)(given))
    x = layers.LSTM(4, stateful=True, recurrent_dropout=0.1, name="second")(x)
    model = keras.Model(given, layers.Dense(1)(x))
    model.compile(optimizers.Nadam(1e-3), keras.losses.Huber())
    return model


class Distiller(keras.Model):
    def __init__(self, student, teacher) -> None:
        super().__init__()
        self.student, self.teacher = student, teacher

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **named):
        return ops.mean(ops.square(self.teacher(x, training=False) - y_pred)) + ops.mean(y)

    def call(self, x):
        return self.student(x)


def distilled() -> keras.Model:
    nets = [keras.Sequential([keras.Input((3,)), layers.Dense(2)], name=name) for name in ("student", "teacher")]
    model = Distiller(*nets)
    model.teacher.trainable = False
    model(np.zeros((2, 3), "float32"))
    model.compile("adam")
    return model


def dropping_always() -> keras.Model:
    x = keras.Input((3,))
    model = keras.Model(x, layers.Dense(2)(layers.Dropout(0.5, name="always")(x, training=True)))
    model.compile("adam", "mse")
    return model


class Warming(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return tf.minimum(tf.math.rsqrt(step), step * 0.1)


def masked_loss(label, predicted):
    loss: Any = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")(label, predicted)
    counts = tf.cast(label != 0, loss.dtype)
    return tf.reduce_sum(loss * counts) / tf.reduce_sum(counts)


def own_schedule() -> keras.Model:
    tokens = keras.Input((4,), dtype="int32")
    model = keras.Model(tokens, layers.Dense(6)(layers.Embedding(6, 3)(tokens)))
    model.compile(optimizers.Adam(Warming()), masked_loss)
    return model


def own_loss_of_python() -> keras.Model:
    def loss(label, predicted):
        return tf.numpy_function(lambda one, two: np.mean((one - two) ** 2).astype("float32"), [label, predicted], "f4")

    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    model.compile("sgd", loss)
    return model


def noisy() -> keras.Model:
    noise = [layers.GaussianNoise(0.5), layers.AlphaDropout(0.2), layers.GaussianDropout(0.2)]
    model = keras.Sequential([keras.Input((3,)), *noise, layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def averaged() -> keras.Model:
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation="elu")])
    rate = keras.optimizers.schedules.CosineDecay(0.0, 100, warmup_target=1e-3, warmup_steps=50)
    model.compile(optimizers.Adam(rate, use_ema=True, ema_overwrite_frequency=5), keras.losses.Huber(0.5))
    return model


class Quantized(layers.Layer):
    def call(self, x):
        return tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, num_bits=4)


def quantized() -> keras.Model:
    x = keras.Input((3,))
    return keras.Model(x, layers.Dense(2)(Quantized(name="quantized")(x)))


def shared_in_wrappers() -> keras.Model:
    one, two = keras.Input((6, 5), name="a"), keras.Input((4, 5), name="b")
    layer, pool = layers.Dense(3, name="layer"), layers.GlobalAveragePooling1D()
    left = layers.TimeDistributed(layer, name="each")(one)
    right = layers.TimeDistributed(layer, name="other")(two)
    model = keras.Model([one, two], layers.Concatenate()([pool(left), pool(right)]))
    model.compile("sgd", "mse")
    return model


class Holding(layers.Layer):
    """A layer of which the call is left, and the layers in it are not."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.inner, self.first = layers.Dense(3), Cross()

    def call(self, x):
        return self.inner(self.first(x, x) + tf.random.gamma([3], 1.0))


def holding() -> keras.Model:
    x = keras.Input((3,))
    around = layers.TimeDistributed(layers.Lambda(lambda y: tf.random.shuffle(y)), name="around")
    return keras.Model(x, layers.Flatten()(around(layers.Reshape((3, 1))(Holding(name="holding")(x)))))


def whole() -> keras.Model:
    x = keras.Input((3,))
    model = keras.Model(x, layers.Dense(2)(Cross(name="cross")(x, x)))
    model.compile("sgd", "mse")
    return model


def never_called() -> keras.Model:
    return Segments()
