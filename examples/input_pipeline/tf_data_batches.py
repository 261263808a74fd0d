"""Batches by tf.data: it feeds TensorFlow's training and JAX's alike."""

import classifier
import tensorflow as tf


def pipeline():
    """(f32[batch, features], i32[batch]), normalised a batch at a time."""
    examples = tuple(map(tf.constant, classifier.examples()))
    made = tf.data.Dataset.from_tensor_slices(classifier.order())
    made = made.batch(classifier.BATCH, drop_remainder=True)
    made = made.map(lambda chosen: tuple(tf.gather(each, chosen) for each in examples), tf.data.AUTOTUNE)
    made = made.map(lambda pixels, label: (tf.cast(pixels, tf.float32) / 255 - 0.5, label), tf.data.AUTOTUNE)
    return made.prefetch(tf.data.AUTOTUNE)


def batches():
    """The same as NumPy arrays."""
    return pipeline().as_numpy_iterator()
