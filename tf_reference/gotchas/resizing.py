"""Images in TensorFlow and Keras."""

import keras
import tensorflow as tf


def resize_bilinear_down(images: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(images, (4, 4))


def resize_bicubic(images: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(images, (9, 9), "bicubic")


def resize_bilinear_v1(images: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.image.resize_bilinear(images, (12, 12))


def resize_bilinear_align_corners(images: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.image.resize_bilinear(images, (11, 11), align_corners=True)


def resize_nearest_v1(images: tf.Tensor) -> tf.Tensor:
    return tf.compat.v1.image.resize_nearest_neighbor(images, (4, 4))


def crop_and_resize(images: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    boxes = tf.cast(tf.stop_gradient(boxes), tf.float32)  # the one type that it takes
    return tf.image.crop_and_resize(images, boxes, [1, 0], (3, 3))


def extract_patches(images: tf.Tensor) -> tf.Tensor:
    return tf.image.extract_patches(images, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")


def depth_to_space(images: tf.Tensor) -> tf.Tensor:
    return tf.nn.depth_to_space(images, 2)


def space_to_depth(images: tf.Tensor) -> tf.Tensor:
    return tf.nn.space_to_depth(images, 2)


def flip_left_right(images: tf.Tensor) -> tf.Tensor:
    return tf.image.flip_left_right(images)


def flip_up_down(images: tf.Tensor) -> tf.Tensor:
    return tf.image.flip_up_down(images)


def rot90(images: tf.Tensor) -> tf.Tensor:
    return tf.image.rot90(images)


def adjust_contrast(images: tf.Tensor) -> tf.Tensor:
    return tf.image.adjust_contrast(tf.stop_gradient(images), 2.0)


def rgb_to_grayscale(images: tf.Tensor) -> tf.Tensor:
    return tf.image.rgb_to_grayscale(images)


def convert_image_dtype(images: tf.Tensor) -> tf.Tensor:
    return tf.image.convert_image_dtype(images, tf.uint8)


def central_crop(images: tf.Tensor) -> tf.Tensor:
    return tf.image.central_crop(images, 0.5)


def image_gradients(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.image.image_gradients(images)


def resize_bilinear_up(images: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(images, (12, 12))


def resize_nearest(images: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(images, (4, 4), "nearest")


def upsampling2d(images: tf.Tensor) -> tf.Tensor:
    return keras.layers.UpSampling2D(2)(images)


def pad_to_bounding_box(images: tf.Tensor) -> tf.Tensor:
    return tf.image.pad_to_bounding_box(images, 1, 2, 9, 9)


def resize_with_crop_or_pad(images: tf.Tensor) -> tf.Tensor:
    return tf.image.resize_with_crop_or_pad(images, 4, 10)
