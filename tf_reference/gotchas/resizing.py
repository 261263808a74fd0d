"""Images in TensorFlow and Keras."""

import tensorflow as tf


def crop_and_resize(images: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    boxes = tf.cast(tf.stop_gradient(boxes), tf.float32)  # the one type that it takes
    return tf.image.crop_and_resize(images, boxes, [1, 0], (3, 3))


def extract_patches(images: tf.Tensor) -> tf.Tensor:
    return tf.image.extract_patches(images, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")


def adjust_contrast(images: tf.Tensor) -> tf.Tensor:
    return tf.image.adjust_contrast(tf.stop_gradient(images), 2.0)


def central_crop(images: tf.Tensor) -> tf.Tensor:
    return tf.image.central_crop(images, 0.5)


def image_gradients(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.image.image_gradients(images)
