"""Pooling: default strides, what padding counts, where gradients go, which axes stay."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

IMAGES = {"images": ArraySpec((2, 6, 6, 3))}
SQUARE = {"images": ArraySpec((2, 6, 6, 6))}
ODD = {"images": ArraySpec((2, 7, 7, 3))}
SEQUENCES = {"x": ArraySpec((2, 8, 3))}

GOTCHAS = (
    Gotcha(
        "avg_pool_same",
        "Where a window reaches into the padding TensorFlow divides by the places inside, flax.nnx.avg_pool by all: "
        "pass count_include_pad=False.",
        ("tf.nn.avg_pool2d", "keras.layers.AveragePooling2D", "flax.nnx.avg_pool"), IMAGES, "semantics",
        tf="tf.nn.avg_pool2d(images, 3, 2, 'SAME')",
        jax="nnx.avg_pool(images, (3, 3), (2, 2), 'SAME', count_include_pad=False)",
        naive="nnx.avg_pool(images, (3, 3), (2, 2), 'SAME')",
    ),
    Gotcha(
        "max_pool_default_strides",
        "Keras's default strides are the window, those of flax.nnx.max_pool are 1: pass strides.",
        ("keras.layers.MaxPooling2D", "flax.nnx.max_pool"), IMAGES, "structure",
        tf="keras.layers.MaxPooling2D(2)(images)",
        jax="nnx.max_pool(images, (2, 2), (2, 2))",
        naive="nnx.max_pool(images, (2, 2))",
    ),
    Gotcha(
        "average_pooling1d",
        "Keras's default strides are the window, those of flax.nnx.avg_pool are 1: pass strides.",
        ("keras.layers.AveragePooling1D", "flax.nnx.avg_pool"), SEQUENCES, "structure",
        tf="keras.layers.AveragePooling1D(2)(x)", jax="nnx.avg_pool(x, (2,), (2,))", naive="nnx.avg_pool(x, (2,))",
    ),
    Gotcha(
        "max_pool_tie",
        "Among equal values the first of a window gets the gradient; jnp.max over a reshape shares it among them, "
        "flax.nnx.max_pool does not.",
        ("tf.nn.max_pool2d", "flax.nnx.max_pool", "jax.numpy.max"), IMAGES, "gradients",
        tf="tf.nn.max_pool2d(images, 2, 2, 'VALID')",
        jax="pooling.max_pool(images)",
        naive="jnp.max(images.reshape(2, 3, 2, 3, 2, 3), axis=(2, 4))",
    ),
    Gotcha(
        "max_pool_padding",
        "The padding of a max pool is minus infinity; zeros padded by hand win where all values are negative.",
        ("tf.nn.max_pool2d", "flax.nnx.max_pool", "jax.numpy.pad"), ODD, "semantics",
    ),
    Gotcha(
        "max_pool_channels_first",
        "flax.nnx.max_pool pools the axes between the first and the last, whatever they hold: move the channels last.",
        ("keras.layers.MaxPooling2D", "flax.nnx.max_pool"), SQUARE, "structure",
        tf="keras.layers.MaxPooling2D(2, data_format='channels_first')(images)",
        jax="jnp.moveaxis(nnx.max_pool(jnp.moveaxis(images, 1, -1), (2, 2), (2, 2)), -1, 1)",
        naive="nnx.max_pool(images, (2, 2), (2, 2))",
    ),
    Gotcha(
        "global_average_pooling",
        "Keras's global pooling drops the axes that it pools unless keepdims=True; a window of the whole image keeps "
        "them.",
        ("keras.layers.GlobalAveragePooling2D", "flax.nnx.avg_pool"), IMAGES, "structure",
        tf="keras.layers.GlobalAveragePooling2D()(images)",
        jax="jnp.mean(images, axis=(1, 2))",
        naive="nnx.avg_pool(images, images.shape[1:3])",
    ),
    Gotcha(
        "global_average_pooling_masked",
        "With a mask Keras takes the mean of the steps that it leaves.",
        ("keras.layers.GlobalAveragePooling1D",),
        {**SEQUENCES, "lengths": ArraySpec((2,), "int32", low=1, high=9)}, "semantics",
        tf="keras.layers.GlobalAveragePooling1D()(x, mask=tf.sequence_mask(lengths, 8))",
    ),
    Gotcha(
        "adaptive_average_pooling",
        "Where the size is no multiple, windows of adaptive pooling overlap and differ in size; a pool of equal "
        "windows meets other places.",
        ("keras.layers.AdaptiveAveragePooling2D", "flax.nnx.avg_pool"), ODD, "semantics",
        tf="keras.layers.AdaptiveAveragePooling2D(3)(images)",
        jax="pooling.adaptive_average_pool(images, (3, 3))",
        naive="nnx.avg_pool(images, (2, 2), (2, 2))",
    ),
    Gotcha(
        "adaptive_max_pooling",
        "Where the size is no multiple, windows of adaptive pooling overlap and differ in size; a pool of equal "
        "windows meets other places.",
        ("keras.layers.AdaptiveMaxPooling2D", "flax.nnx.max_pool"), ODD, "semantics",
        tf="keras.layers.AdaptiveMaxPooling2D(3)(images)",
        jax="pooling.adaptive_max_pool(images, (3, 3))",
        naive="nnx.max_pool(images, (2, 2), (2, 2))",
    ),
    Gotcha("max_pool_same", "Pads alike, and the first of equal values gets the gradient in both.",
           ("tf.nn.max_pool2d", "flax.nnx.max_pool"), IMAGES,
           tf="tf.nn.max_pool2d(images, 3, 2, 'SAME')", jax="nnx.max_pool(images, (3, 3), (2, 2), 'SAME')"),
    Gotcha("max_pool_valid_odd", "Both drop the rows that fill no window.",
           ("keras.layers.MaxPooling2D", "flax.nnx.max_pool"), ODD,
           tf="keras.layers.MaxPooling2D(2)(images)", jax="nnx.max_pool(images, (2, 2), (2, 2))"),
    Gotcha("avg_pool_valid", "The same mean.", ("tf.nn.avg_pool2d", "flax.nnx.avg_pool"), IMAGES,
           tf="tf.nn.avg_pool2d(images, 3, 2, 'VALID')", jax="nnx.avg_pool(images, (3, 3), (2, 2))"),
    Gotcha("max_pool3d", "The same for three axes.", ("keras.layers.MaxPooling3D", "flax.nnx.max_pool"),
           {"x": ArraySpec((2, 4, 4, 4, 2))},
           tf="keras.layers.MaxPooling3D(2)(x)", jax="nnx.max_pool(x, (2, 2, 2), (2, 2, 2))"),
    Gotcha("global_max_pooling", "jnp.max over the axes; equal values share the gradient in both.",
           ("keras.layers.GlobalMaxPooling1D", "jax.numpy.max"), SEQUENCES,
           tf="keras.layers.GlobalMaxPooling1D()(x)", jax="jnp.max(x, axis=1)"),
)  # fmt: skip
