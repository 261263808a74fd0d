"""Images in JAX."""

import jax
import jax.numpy as jnp

from jaxport import resizing


def resize_bilinear_down(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 4, 4, 3), "bilinear", antialias=False)


def naive_resize_bilinear_down(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 4, 4, 3), "bilinear")


def resize_bicubic(images: jax.Array) -> jax.Array:
    return resizing.resize_bicubic(images, (9, 9))


def naive_resize_bicubic(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 9, 9, 3), "bicubic", antialias=False)


def resize_bilinear_v1(images: jax.Array) -> jax.Array:
    return resizing.resize_bilinear(images, (12, 12))


def naive_resize_bilinear_v1(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 12, 12, 3), "bilinear")


def resize_bilinear_align_corners(images: jax.Array) -> jax.Array:
    return resizing.resize_bilinear(images, (11, 11), align_corners=True)


def naive_resize_bilinear_align_corners(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 11, 11, 3), "bilinear")


def resize_nearest_v1(images: jax.Array) -> jax.Array:
    return resizing.resize_nearest(images, (4, 4))


def naive_resize_nearest_v1(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 4, 4, 3), "nearest")


def crop_and_resize(images: jax.Array, boxes: jax.Array) -> jax.Array:
    return resizing.crop_and_resize(images, jax.lax.stop_gradient(boxes), jnp.array([1, 0]), (3, 3))


def naive_crop_and_resize(images: jax.Array, boxes: jax.Array) -> jax.Array:
    def crop(image: jax.Array, box: jax.Array) -> jax.Array:
        scale = 3 / (6 * (box[2:] - box[:2]))
        shift = -6 * box[:2] * scale
        return jax.image.scale_and_translate(image, (3, 3, 3), (0, 1), scale, shift, "linear", antialias=False)

    return jax.vmap(crop)(images[::-1], jax.lax.stop_gradient(boxes))


def extract_patches(images: jax.Array) -> jax.Array:
    return resizing.extract_patches(images, (3, 3), (2, 2), "SAME")


def naive_extract_patches(images: jax.Array) -> jax.Array:
    layouts = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated_patches(images, (3, 3), (2, 2), "SAME", dimension_numbers=layouts)


def depth_to_space(images: jax.Array) -> jax.Array:
    return images.reshape(2, 6, 6, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(2, 12, 12, 2)


def naive_depth_to_space(images: jax.Array) -> jax.Array:
    return images.reshape(2, 6, 6, 2, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 12, 12, 2)


def space_to_depth(images: jax.Array) -> jax.Array:
    return images.reshape(2, 3, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 3, 3, 12)


def naive_space_to_depth(images: jax.Array) -> jax.Array:
    return images.reshape(2, 3, 2, 3, 2, 3).transpose(0, 1, 3, 5, 2, 4).reshape(2, 3, 3, 12)


def flip_left_right(images: jax.Array) -> jax.Array:
    return jnp.flip(images, 2)


def naive_flip_left_right(images: jax.Array) -> jax.Array:
    return jnp.fliplr(images)


def flip_up_down(images: jax.Array) -> jax.Array:
    return jnp.flip(images, 1)


def naive_flip_up_down(images: jax.Array) -> jax.Array:
    return jnp.flipud(images)


def rot90(images: jax.Array) -> jax.Array:
    return jnp.rot90(images, axes=(1, 2))


def naive_rot90(images: jax.Array) -> jax.Array:
    return jnp.rot90(images)


def adjust_contrast(images: jax.Array) -> jax.Array:
    images = jax.lax.stop_gradient(images)  # TensorFlow's operation has none
    mean = jnp.mean(images, axis=(1, 2), keepdims=True)
    return (images - mean) * 2 + mean


def naive_adjust_contrast(images: jax.Array) -> jax.Array:
    mean = jnp.mean(images, axis=(1, 2, 3), keepdims=True)
    return (images - mean) * 2 + mean


def rgb_to_grayscale(images: jax.Array) -> jax.Array:
    return (images @ jnp.array([0.2989, 0.5870, 0.1140]))[..., None]


def naive_rgb_to_grayscale(images: jax.Array) -> jax.Array:
    return (images @ jnp.array([0.299, 0.587, 0.114]))[..., None]


def convert_image_dtype(images: jax.Array) -> jax.Array:
    return (images * 255.5).astype(jnp.uint8)


def naive_convert_image_dtype(images: jax.Array) -> jax.Array:
    return jnp.round(images * 255).astype(jnp.uint8)


def central_crop(images: jax.Array) -> jax.Array:
    start = int((7 - 7 * 0.5) / 2)
    return images[:, start : 7 - start, start : 7 - start]


def naive_central_crop(images: jax.Array) -> jax.Array:
    size = int(7 * 0.5)
    start = (7 - size) // 2
    return images[:, start : start + size, start : start + size]


def image_gradients(images: jax.Array) -> tuple[jax.Array, jax.Array]:
    down = jnp.diff(images, axis=1, append=images[:, -1:])
    across = jnp.diff(images, axis=2, append=images[:, :, -1:])
    return down, across


def naive_image_gradients(images: jax.Array) -> tuple[jax.Array, jax.Array]:
    down, across = jnp.gradient(images, axis=(1, 2))
    return down, across


def resize_bilinear_up(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 12, 12, 3), "bilinear")


def resize_nearest(images: jax.Array) -> jax.Array:
    return jax.image.resize(images, (2, 4, 4, 3), "nearest")


def upsampling2d(images: jax.Array) -> jax.Array:
    return jnp.repeat(jnp.repeat(images, 2, axis=1), 2, axis=2)


def pad_to_bounding_box(images: jax.Array) -> jax.Array:
    return jnp.pad(images, ((0, 0), (1, 2), (2, 1), (0, 0)))


def resize_with_crop_or_pad(images: jax.Array) -> jax.Array:
    return jnp.pad(images[:, 1:5], ((0, 0), (0, 0), (1, 2), (0, 0)))
