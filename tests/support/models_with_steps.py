"""Models with a train_step of their own: what the tests of traced steps build, each with data that it is trained on."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow

tf: Any = tensorflow
"""Without types, which know no symbols of Keras."""

L: Any = keras.layers


def small(kind: Any, *, loss: Any = "mse", last: str | None = None, norm: bool = True) -> Any:
    x = keras.Input((3,))
    y = L.Dense(4, activation="tanh", name="first")(x)
    y = L.BatchNormalization(name="norm")(y) if norm else y
    model = kind(x, L.Dense(2, activation=last, name="head")(y), name="small")
    model.compile(keras.optimizers.SGD(0.1), loss)
    return model


class OwnFormula(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = tf.reduce_mean(tf.square(y - y_pred)) + 0.1 * tf.reduce_mean(tf.abs(y_pred))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class Scaled(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = [each * 2.0 for each in tape.gradient(loss, self.trainable_variables)]
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


class Decayed(keras.Model):
    """By a norm of all gradients, and a penalty of weights."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            loss += 0.01 * tf.add_n([tf.nn.l2_loss(w) for w in self.trainable_variables if "kernel" in w.name])
        gradients = tape.gradient(loss, self.trainable_variables)
        norm = tf.linalg.global_norm(gradients)
        gradients = [each / (norm + 1e-6) for each in gradients]
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class Still(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=False))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {}


class Half(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        variables = self.trainable_variables[:2]
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return {}


class Twice(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        loss = 0.0
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class Penalized(keras.Model):
    """A gradient of the inputs in the loss."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(x)
                error = tf.reduce_mean(tf.square(y - self(x, training=True)))
            slope = inner.gradient(error, x)
            loss = error + 0.5 * tf.reduce_sum(tf.square(slope))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class Averaged(keras.Model):
    """Keeps an average of the weights of a network."""

    def __init__(self) -> None:
        super().__init__(name="averaged")
        layers = [keras.Input((3,)), L.Dense(4, activation="tanh", name="inner"), L.Dense(2, name="head")]
        self.network = keras.Sequential(layers, name="network")
        self.average = keras.models.clone_model(self.network)
        self.average.trainable = False

    def call(self, x: Any, training: bool = False) -> Any:
        return self.network(x, training=training)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        for weight, average in zip(self.network.weights, self.average.weights, strict=True):
            average.assign(0.9 * average + 0.1 * weight)
        return {"loss": loss}


class Distiller(keras.Model):
    """A student that a teacher teaches, which is not frozen: the optimizer is not given its weights."""

    def __init__(self) -> None:
        super().__init__(name="distiller")
        self.student = keras.Sequential([keras.Input((3,)), L.Dense(4, "relu"), L.Dense(2)], name="student")
        self.teacher = keras.Sequential(
            [keras.Input((3,)), L.Dense(6, "relu"), L.BatchNormalization(), L.Dropout(0.5), L.Dense(2)], name="teacher"
        )
        self.student_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.distillation_loss = keras.losses.KLDivergence()

    def call(self, x: Any) -> Any:
        return self.student(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        taught = self.teacher(x, training=False)
        with tf.GradientTape() as tape:
            predicted = self.student(x, training=True)
            distilled = self.distillation_loss(tf.nn.softmax(taught / 3.0), tf.nn.softmax(predicted / 3.0)) * 3.0**2
            loss = 0.1 * self.student_loss(y, predicted) + 0.9 * distilled
        variables = self.student.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": loss}


class Adversarial(keras.Model):
    """Two optimizers, a penalty of the gradient, and draws; it has no call."""

    def __init__(self) -> None:
        super().__init__(name="adversarial")
        layers = [keras.Input((4,)), L.Dense(6, name="inner"), L.LeakyReLU(0.2), L.Dense(1, name="score")]
        self.critic = keras.Sequential(layers, name="critic")
        layers = [keras.Input((3,)), L.Dense(5), L.BatchNormalization(), L.ReLU(), L.Dense(4, "tanh", name="made")]
        self.maker = keras.Sequential(layers, name="maker")

    def compile(self, critic_optimizer: Any, maker_optimizer: Any) -> None:
        super().compile()
        self.critic_optimizer, self.maker_optimizer = critic_optimizer, maker_optimizer

    def penalty(self, real: Any, fake: Any) -> Any:
        share = tf.random.uniform((tf.shape(real)[0], 1))
        between = real + share * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(between)
            score = self.critic(between, training=True)
        slopes = tape.gradient(score, [between])[0]
        return tf.reduce_mean((tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=1)) - 1.0) ** 2)

    def train_step(self, data: Any) -> Any:
        size = tf.shape(data)[0]
        made = self.maker(tf.random.normal((size, 3)), training=True)
        with tf.GradientTape() as tape:
            critic_loss = tf.reduce_mean(self.critic(made, training=True))
            critic_loss -= tf.reduce_mean(self.critic(data, training=True))
            critic_loss += 10.0 * self.penalty(data, made)
        gradients = tape.gradient(critic_loss, self.critic.trainable_variables)
        self.critic_optimizer.apply_gradients(zip(gradients, self.critic.trainable_variables, strict=True))
        with tf.GradientTape() as tape:
            made = self.maker(tf.random.normal((size, 3)), training=True)
            maker_loss = -tf.reduce_mean(self.critic(made, training=True))
        gradients = tape.gradient(maker_loss, self.maker.trainable_variables)
        self.maker_optimizer.apply_gradients(zip(gradients, self.maker.trainable_variables, strict=True))
        return {"critic": critic_loss, "maker": maker_loss}


def averaged() -> Any:
    model = Averaged()
    model(np.zeros((2, 3), "float32"))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def distiller() -> Any:
    model = Distiller()
    model(np.zeros((2, 3), "float32"))
    model.compile(keras.optimizers.SGD(0.1))
    return model


def adversarial() -> Any:
    model = Adversarial()
    model.compile(keras.optimizers.SGD(0.05), keras.optimizers.SGD(0.1, momentum=0.9))
    return model
