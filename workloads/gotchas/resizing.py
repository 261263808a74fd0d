"""Images: resized, cropped, cut, turned, their colors changed."""

from workloads.core.spec import ArraySpec, Deviation
from workloads.gotchas._gotcha import Gotcha

IMAGES = {"images": ArraySpec((2, 6, 6, 3))}
COLORS = {"images": ArraySpec((2, 6, 6, 3), low=0.0, high=1.0)}
SQUARE = {"images": ArraySpec((2, 6, 6, 8))}
ODD = {"images": ArraySpec((2, 7, 7, 3))}
SINGLE = "TensorFlow computes and returns float32, whatever it is given"
IN_SINGLE = (Deviation("semantics", 1e-6, SINGLE), Deviation("gradients", 1e-6, SINGLE))

GOTCHAS = (
    Gotcha(
        "resize_bilinear_down",
        "jax.image.resize smooths before it makes an image smaller, tf.image.resize does not: pass antialias=False.",
        ("tf.image.resize", "keras.layers.Resizing", "jax.image.resize"), IMAGES, "semantics",
        tf="tf.image.resize(images, (4, 4))",
        jax="jax.image.resize(images, (2, 4, 4, 3), 'bilinear', antialias=False)",
        naive="jax.image.resize(images, (2, 4, 4, 3), 'bilinear')",
    ),
    Gotcha(
        "resize_bicubic",
        "TensorFlow looks the cubic kernel up at steps of 1/1024, jax.image.resize computes it: use "
        "jaxport.resizing.resize_bicubic.",
        ("tf.image.resize", "jax.image.resize"), IMAGES, "semantics", deviations=IN_SINGLE,
        tf="tf.image.resize(images, (9, 9), 'bicubic')",
        jax="resizing.resize_bicubic(images, (9, 9))",
        naive="jax.image.resize(images, (2, 9, 9, 3), 'bicubic', antialias=False)",
    ),
    Gotcha(
        "resize_bilinear_v1",
        "TensorFlow 1 puts pixel i at i * scale, TensorFlow 2 and JAX put its center at (i + 1/2) * scale: use "
        "jaxport.resizing.resize_bilinear.",
        ("tf.compat.v1.image.resize_bilinear", "jax.image.resize"), IMAGES, "semantics",
        tf="tf.compat.v1.image.resize_bilinear(images, (12, 12))",
        jax="resizing.resize_bilinear(images, (12, 12))",
        naive="jax.image.resize(images, (2, 12, 12, 3), 'bilinear')",
    ),
    Gotcha(
        "resize_bilinear_align_corners",
        "align_corners puts the last pixels of both images at the same place, which jax.image.resize never does: use "
        "jaxport.resizing.resize_bilinear.",
        ("tf.compat.v1.image.resize_bilinear", "jax.image.resize"), IMAGES, "semantics",
        tf="tf.compat.v1.image.resize_bilinear(images, (11, 11), align_corners=True)",
        jax="resizing.resize_bilinear(images, (11, 11), align_corners=True)",
        naive="jax.image.resize(images, (2, 11, 11, 3), 'bilinear')",
    ),
    Gotcha(
        "resize_nearest_v1",
        "TensorFlow 1 takes the pixel at floor(i * scale), TensorFlow 2 and JAX that at floor((i + 1/2) * scale): use "
        "jaxport.resizing.resize_nearest.",
        ("tf.compat.v1.image.resize_nearest_neighbor", "jax.image.resize"), IMAGES, "semantics",
        tf="tf.compat.v1.image.resize_nearest_neighbor(images, (4, 4))",
        jax="resizing.resize_nearest(images, (4, 4))",
        naive="jax.image.resize(images, (2, 4, 4, 3), 'nearest')",
    ),
    Gotcha(
        "crop_and_resize",
        "The corners of a box are those of its crop; jax.image.scale_and_translate has half a pixel between: use "
        "jaxport.resizing.crop_and_resize.",
        ("tf.image.crop_and_resize", "jax.image.scale_and_translate"),
        {**IMAGES, "boxes": ArraySpec((2, 4), low=0.0, high=1.0)}, "semantics", deviations=IN_SINGLE,
    ),
    Gotcha(
        "extract_patches",
        "A patch of TensorFlow has the channels of a pixel side by side, one of jax.lax the pixels of a channel: use "
        "jaxport.resizing.extract_patches.",
        ("tf.image.extract_patches", "jax.lax.conv_general_dilated_patches"), IMAGES, "semantics",
        tf="tf.image.extract_patches(images, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')",
    ),
    Gotcha(
        "depth_to_space",
        "The channels of TensorFlow's block are [block, block, channels]; those of a pixel shuffle elsewhere are "
        "[channels, block, block].",
        ("tf.nn.depth_to_space", "tf.nn.space_to_depth"), SQUARE, "semantics",
        tf="tf.nn.depth_to_space(images, 2)",
        jax="images.reshape(2, 6, 6, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(2, 12, 12, 2)",
        naive="images.reshape(2, 6, 6, 2, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 12, 12, 2)",
    ),
    Gotcha(
        "space_to_depth",
        "A pixel's place in its block comes before its channel.",
        ("tf.nn.space_to_depth",), IMAGES, "semantics",
        tf="tf.nn.space_to_depth(images, 2)",
        jax="images.reshape(2, 3, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 3, 3, 12)",
        naive="images.reshape(2, 3, 2, 3, 2, 3).transpose(0, 1, 3, 5, 2, 4).reshape(2, 3, 3, 12)",
    ),
    Gotcha(
        "flip_left_right",
        "jnp.fliplr turns axis 1, which of a batch of images is the height: use jnp.flip(images, 2).",
        ("tf.image.flip_left_right", "keras.layers.RandomFlip", "jax.numpy.fliplr"), IMAGES, "semantics",
        tf="tf.image.flip_left_right(images)", jax="jnp.flip(images, 2)", naive="jnp.fliplr(images)",
    ),
    Gotcha(
        "flip_up_down",
        "jnp.flipud turns axis 0, which of a batch of images is the batch: use jnp.flip(images, 1).",
        ("tf.image.flip_up_down", "keras.layers.RandomFlip", "jax.numpy.flipud"), IMAGES, "semantics",
        tf="tf.image.flip_up_down(images)", jax="jnp.flip(images, 1)", naive="jnp.flipud(images)",
    ),
    Gotcha(
        "rot90",
        "tf.image.rot90 turns the images of a batch, jnp.rot90 the first two axes: pass axes=(1, 2).",
        ("tf.image.rot90", "jax.numpy.rot90"), IMAGES, "structure",
        tf="tf.image.rot90(images)", jax="jnp.rot90(images, axes=(1, 2))", naive="jnp.rot90(images)",
    ),
    Gotcha(
        "adjust_contrast",
        "TensorFlow scales the distance from the mean of each channel of each image, not from that of all of them.",
        ("tf.image.adjust_contrast", "keras.layers.RandomContrast"), COLORS, "semantics",
        tf="tf.image.adjust_contrast(tf.stop_gradient(images), 2.0)",
    ),
    Gotcha(
        "rgb_to_grayscale",
        "TensorFlow's weights are 0.2989, 0.5870 and 0.1140; the usual first one is 0.299.",
        ("tf.image.rgb_to_grayscale", "keras.layers.RandomGrayscale"), COLORS, "semantics",
        tf="tf.image.rgb_to_grayscale(images)",
        jax="(images @ jnp.array([0.2989, 0.5870, 0.1140]))[..., None]",
        naive="(images @ jnp.array([0.299, 0.587, 0.114]))[..., None]",
    ),
    Gotcha(
        "convert_image_dtype",
        "From floats to bytes TensorFlow multiplies by 255.5 and cuts off, which is not 255 rounded to even.",
        ("tf.image.convert_image_dtype",), {"images": ArraySpec((2, 6, 6, 3), low=0.0, high=1.0)}, "structure",
        tf="tf.image.convert_image_dtype(images, tf.uint8)",
        jax="(images * 255.5).astype(jnp.uint8)",
        naive="jnp.round(images * 255).astype(jnp.uint8)",
    ),
    Gotcha(
        "central_crop",
        "tf.image.central_crop cuts a whole number of pixels off in front and as many behind: what is left is larger "
        "than the share of the size.",
        ("tf.image.central_crop",), ODD, "structure",
        tf="tf.image.central_crop(images, 0.5)",
    ),
    Gotcha(
        "image_gradients",
        "tf.image.image_gradients takes the next pixel less this one, and 0 at the end; jnp.gradient takes central "
        "differences.",
        ("tf.image.image_gradients", "jax.numpy.gradient"), IMAGES, "semantics",
        tf="tf.image.image_gradients(images)",
    ),
    Gotcha("resize_bilinear_up", "Made larger, both put half a pixel between.",
           ("tf.image.resize", "keras.layers.UpSampling2D", "jax.image.resize"), IMAGES,
           tf="tf.image.resize(images, (12, 12))", jax="jax.image.resize(images, (2, 12, 12, 3), 'bilinear')"),
    Gotcha("resize_nearest", "Both take the pixel at floor((i + 1/2) * scale).",
           ("tf.image.resize", "jax.image.resize"), IMAGES,
           tf="tf.image.resize(images, (4, 4), 'nearest')", jax="jax.image.resize(images, (2, 4, 4, 3), 'nearest')"),
    Gotcha("upsampling2d", "Keras repeats pixels by default: jnp.repeat along both axes.",
           ("keras.layers.UpSampling2D", "jax.numpy.repeat"), IMAGES,
           tf="keras.layers.UpSampling2D(2)(images)", jax="jnp.repeat(jnp.repeat(images, 2, axis=1), 2, axis=2)"),
    Gotcha("pad_to_bounding_box", "Zeros around: jnp.pad.", ("tf.image.pad_to_bounding_box", "jax.numpy.pad"), IMAGES,
           tf="tf.image.pad_to_bounding_box(images, 1, 2, 9, 9)",
           jax="jnp.pad(images, ((0, 0), (1, 2), (2, 1), (0, 0)))"),
    Gotcha("resize_with_crop_or_pad", "The offset is half of what is too much, rounded down.",
           ("tf.image.resize_with_crop_or_pad",), ODD,
           tf="tf.image.resize_with_crop_or_pad(images, 4, 10)",
           jax="jnp.pad(images[:, 1:5], ((0, 0), (0, 0), (1, 2), (0, 0)))"),
)  # fmt: skip
