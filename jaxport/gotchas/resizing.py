"""Images in JAX."""

import jax
import jax.numpy as jnp

from jaxport import resizing


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


def adjust_contrast(images: jax.Array) -> jax.Array:
    images = jax.lax.stop_gradient(images)  # TensorFlow's operation has none
    mean = jnp.mean(images, axis=(1, 2), keepdims=True)
    return (images - mean) * 2 + mean


def naive_adjust_contrast(images: jax.Array) -> jax.Array:
    mean = jnp.mean(images, axis=(1, 2, 3), keepdims=True)
    return (images - mean) * 2 + mean


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
