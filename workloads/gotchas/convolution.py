"""Convolutions and paddings: defaults, sides that are padded, layouts of kernels."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

IMAGES = ArraySpec((2, 6, 6, 3))
SQUARE = ArraySpec((2, 6, 6, 6))
SEQUENCES = ArraySpec((2, 8, 3))
KERNEL = ArraySpec((3, 3, 3, 4))
KERNEL_1D = ArraySpec((3, 3, 4))
DEPTHWISE = ArraySpec((3, 3, 3, 2))
TRANSPOSED = ArraySpec((3, 3, 4, 3))

GOTCHAS = (
    Gotcha(
        "conv_same_stride",
        "With stride 2 over an even size, TensorFlow's SAME pads nothing in front and one place behind: write 'SAME', "
        "not the padding of 1 on both sides that other frameworks have.",
        ("tf.nn.conv2d", "flax.nnx.Conv"), {"images": IMAGES, "kernel": KERNEL}, "semantics",
        tf="tf.nn.conv2d(images, kernel, 2, 'SAME')",
        jax="_conv(images, kernel, strides=2, padding='SAME')",
        naive="_conv(images, kernel, strides=2, padding=1)",
    ),
    Gotcha(
        "conv_default_padding",
        "Keras pads nothing by default, flax.nnx.Conv pads to the same size: pass padding='VALID'.",
        ("keras.layers.Conv2D", "flax.nnx.Conv"),
        {"images": IMAGES, "kernel": KERNEL, "bias": ArraySpec((4,))}, "structure",
        tf="BIASED.stateless_call([kernel, bias], [], images)[0]",
        jax="_conv(images, kernel, bias, padding='VALID')",
        naive="_conv(images, kernel, bias)",
    ),
    Gotcha(
        "conv1d_causal",
        "A causal convolution pads in front only: flax.nnx.Conv has padding='CAUSAL', and 'SAME' sees the future.",
        ("keras.layers.Conv1D", "flax.nnx.Conv"), {"x": SEQUENCES, "kernel": KERNEL_1D}, "semantics",
        tf="CAUSAL.stateless_call([kernel], [], x)[0]",
        jax="_conv(x, kernel, padding='CAUSAL')",
        naive="_conv(x, kernel, padding='SAME')",
    ),
    Gotcha(
        "conv1d_causal_dilated",
        "The padding in front is the dilation times the kernel's size less one; padding='CAUSAL' counts that in.",
        ("keras.layers.Conv1D", "flax.nnx.Conv"), {"x": SEQUENCES, "kernel": KERNEL_1D}, "structure",
        tf="CAUSAL_DILATED.stateless_call([kernel], [], x)[0]",
    ),
    Gotcha(
        "depthwise_kernel",
        "A depthwise kernel is [height, width, channels, multiplier]: reshape it to [height, width, 1, channels * "
        "multiplier] without a transpose, for the outputs of a channel lie side by side.",
        ("tf.nn.depthwise_conv2d", "keras.layers.DepthwiseConv2D", "flax.nnx.Conv"),
        {"images": IMAGES, "kernel": DEPTHWISE}, "semantics",
        tf="tf.nn.depthwise_conv2d(images, kernel, [1, 1, 1, 1], 'SAME')",
        jax="_conv(images, kernel.reshape(3, 3, 1, 6), feature_group_count=3)",
        naive="_conv(images, kernel.transpose(0, 1, 3, 2).reshape(3, 3, 1, 6), feature_group_count=3)",
    ),
    Gotcha(
        "depthwise_conv1d",
        "The kernel is [size, channels, multiplier], and flax.nnx.Conv with a group for each channel wants [size, 1, "
        "channels * multiplier]: reshape, do not transpose.",
        ("keras.layers.DepthwiseConv1D", "flax.nnx.Conv"),
        {"x": SEQUENCES, "kernel": ArraySpec((3, 3, 2))}, "semantics",
        tf="DEPTHWISE_1D.stateless_call([kernel], [], x)[0]",
        jax="_conv(x, kernel.reshape(3, 1, 6), padding='VALID', feature_group_count=3)",
        naive="_conv(x, kernel.transpose(0, 2, 1).reshape(3, 1, 6), padding='VALID', feature_group_count=3)",
    ),
    Gotcha(
        "separable_conv_stride",
        "The stride of a separable convolution is that of its depthwise half, whose padding depends on it; given to "
        "the pointwise half it takes other places.",
        ("tf.nn.separable_conv2d", "keras.layers.SeparableConv2D", "flax.nnx.Conv"),
        {"images": IMAGES, "depthwise": DEPTHWISE, "pointwise": ArraySpec((1, 1, 6, 4))}, "semantics",
        tf="tf.nn.separable_conv2d(images, depthwise, pointwise, [1, 2, 2, 1], 'SAME')",
        jax="_conv(_conv(images, depthwise.reshape(3, 3, 1, 6), strides=2, feature_group_count=3), pointwise)",
        naive="_conv(_conv(images, depthwise.reshape(3, 3, 1, 6), feature_group_count=3), pointwise, strides=2)",
    ),
    Gotcha(
        "conv2d_transpose_kernel",
        "The kernel of a transposed convolution is [height, width, outputs, inputs] and that of the forward one: pass "
        "transpose_kernel=True and the kernel as it is; swapping its last axes leaves it unturned.",
        ("keras.layers.Conv2DTranspose", "tf.nn.conv2d_transpose", "flax.nnx.ConvTranspose"),
        {"images": IMAGES, "kernel": TRANSPOSED}, "semantics",
        tf="SAME_TRANSPOSE.stateless_call([kernel], [], images)[0]",
        jax="_conv_transpose(images, kernel)",
        naive="_swapped_conv_transpose(images, kernel)",
    ),
    Gotcha(
        "conv2d_transpose_padding",
        "Keras's default is 'valid', that of flax.nnx.ConvTranspose is 'SAME'.",
        ("keras.layers.Conv2DTranspose", "flax.nnx.ConvTranspose"),
        {"images": IMAGES, "kernel": TRANSPOSED}, "structure",
        tf="VALID_TRANSPOSE.stateless_call([kernel], [], images)[0]",
        jax="_conv_transpose(images, kernel, padding='VALID')",
        naive="_conv_transpose(images, kernel)",
    ),
    Gotcha(
        "conv2d_transpose_output_padding",
        "Flax has no output_padding: with it Keras's output has another size, and other places are cut off.",
        ("keras.layers.Conv2DTranspose", "flax.nnx.ConvTranspose"),
        {"images": IMAGES, "kernel": TRANSPOSED}, "structure",
        tf="PADDED_TRANSPOSE.stateless_call([kernel], [], images)[0]",
    ),
    Gotcha(
        "conv2d_transpose_output_shape",
        "tf.nn.conv2d_transpose is the gradient of a convolution over the size that it is given; two sizes fit stride "
        "2, and flax.nnx.ConvTranspose always makes the even one.",
        ("tf.nn.conv2d_transpose", "flax.nnx.ConvTranspose"),
        {"images": IMAGES, "kernel": TRANSPOSED}, "structure",
        tf="tf.nn.conv2d_transpose(images, kernel, [2, 11, 11, 4], 2, 'SAME')",
        jax="convolution.conv_transpose(images, kernel, (11, 11), 2, 'SAME')",
        naive="_conv_transpose(images, kernel)",
    ),
    Gotcha(
        "conv1d_transpose",
        "The kernel is [size, outputs, inputs]: transpose_kernel=True takes it as it is.",
        ("keras.layers.Conv1DTranspose", "flax.nnx.ConvTranspose"),
        {"x": SEQUENCES, "kernel": ArraySpec((3, 4, 3))}, "semantics",
        tf="TRANSPOSE_1D.stateless_call([kernel], [], x)[0]",
        jax="_conv_transpose(x, kernel)",
        naive="_swapped_conv_transpose(x, kernel)",
    ),
    Gotcha(
        "conv3d_transpose",
        "The kernel is [depth, height, width, outputs, inputs]: transpose_kernel=True takes it as it is.",
        ("keras.layers.Conv3DTranspose", "flax.nnx.ConvTranspose"),
        {"x": ArraySpec((2, 3, 3, 3, 2)), "kernel": ArraySpec((2, 3, 3, 2, 2))}, "semantics",
        tf="TRANSPOSE_3D.stateless_call([kernel], [], x)[0]",
        jax="_conv_transpose(x, kernel)",
        naive="_swapped_conv_transpose(x, kernel)",
    ),
    Gotcha(
        "flatten_channels_first",
        "keras.layers.Flatten of channels first moves the channels last before it flattens, so that weights of the "
        "next layer fit both formats; a reshape does not.",
        ("keras.layers.Flatten",), {"images": SQUARE}, "semantics",
        tf="keras.layers.Flatten(data_format='channels_first')(images)",
        jax="jnp.moveaxis(images, 1, -1).reshape(images.shape[0], -1)",
        naive="images.reshape(images.shape[0], -1)",
    ),
    Gotcha(
        "zero_padding_before_conv",
        "keras.applications pads ResNet's images by 3 on every side before a valid convolution; 'SAME' pads 2 in front "
        "and 3 behind.",
        ("keras.layers.ZeroPadding2D", "keras.applications.ResNet50", "flax.nnx.Conv"),
        {"images": IMAGES, "kernel": ArraySpec((7, 7, 3, 4))}, "semantics",
        tf="tf.nn.conv2d(keras.layers.ZeroPadding2D(3)(images), kernel, 2, 'VALID')",
        jax="_conv(images, kernel, strides=2, padding=3)",
        naive="_conv(images, kernel, strides=2, padding='SAME')",
    ),
    Gotcha(
        "conv_same_even_kernel",
        "Of an odd padding SAME puts the larger half behind, NumPy's and SciPy's mode 'same' in front.",
        ("tf.nn.conv1d", "jax.numpy.correlate", "jax.lax.conv_general_dilated"),
        {"x": ArraySpec((12,)), "kernel": ArraySpec((4,))}, "semantics",
        tf="tf.nn.conv1d(x[None, :, None], kernel[:, None, None], 1, 'SAME')[0, :, 0]",
        jax="_conv(x[None, :, None], kernel[:, None, None], padding='SAME')[0, :, 0]",
        naive="jnp.correlate(x, kernel, mode='same')",
    ),
    Gotcha(
        "conv_is_correlation",
        "TensorFlow's convolution does not turn the kernel, jnp.convolve does: use jnp.correlate.",
        ("tf.nn.conv1d", "jax.numpy.convolve", "jax.numpy.correlate"),
        {"x": ArraySpec((12,)), "kernel": ArraySpec((3,))}, "semantics",
        tf="tf.nn.conv1d(x[None, :, None], kernel[:, None, None], 1, 'SAME')[0, :, 0]",
        jax="jnp.correlate(x, kernel, mode='same')",
        naive="jnp.convolve(x, kernel, mode='same')",
    ),
    Gotcha(
        "cropping_nothing_behind",
        "Where nothing is cropped behind, a slice that ends at minus zero is empty: end it at the size less the crop.",
        ("keras.layers.Cropping1D",), {"x": SEQUENCES}, "structure",
        tf="keras.layers.Cropping1D((2, 0))(x)",
    ),
    Gotcha(
        "pad_symmetric",
        "SYMMETRIC repeats the value at the edge, REFLECT does not: they are 'symmetric' and 'reflect' of jnp.pad.",
        ("tf.pad", "jax.numpy.pad"), {"x": ArraySpec((4, 8))}, "semantics",
        tf="tf.pad(x, [[1, 1], [2, 2]], 'SYMMETRIC')",
        jax="jnp.pad(x, ((1, 1), (2, 2)), 'symmetric')",
        naive="jnp.pad(x, ((1, 1), (2, 2)), 'reflect')",
    ),
    Gotcha("conv_same", "With stride 1 and an odd kernel both pad alike.", ("tf.nn.conv2d", "flax.nnx.Conv"),
           {"images": IMAGES, "kernel": KERNEL},
           tf="tf.nn.conv2d(images, kernel, 1, 'SAME')", jax="_conv(images, kernel)"),
    Gotcha("conv_groups", "Kernels of groups have the same layout.", ("keras.layers.Conv2D", "flax.nnx.Conv"),
           {"images": SQUARE, "kernel": ArraySpec((3, 3, 2, 6))},
           tf="GROUPED.stateless_call([kernel], [], images)[0]", jax="_conv(images, kernel, feature_group_count=3)"),
    Gotcha("conv_dilation", "dilation_rate is kernel_dilation, and 'SAME' counts it in.",
           ("keras.layers.Conv2D", "tf.nn.atrous_conv2d", "flax.nnx.Conv"), {"images": IMAGES, "kernel": KERNEL},
           tf="DILATED.stateless_call([kernel], [], images)[0]", jax="_conv(images, kernel, kernel_dilation=2)"),
    Gotcha("conv_explicit_padding", "Pairs of places in front and behind mean the same.",
           ("tf.nn.conv2d", "flax.nnx.Conv"), {"images": IMAGES, "kernel": KERNEL},
           tf="tf.nn.conv2d(images, kernel, 2, [[0, 0], [2, 1], [0, 3], [0, 0]])",
           jax="_conv(images, kernel, strides=2, padding=((2, 1), (0, 3)))"),
    Gotcha("conv_padded_behind", "What keras.applications pads before strides over even sizes is what 'SAME' pads.",
           ("keras.layers.ZeroPadding2D", "keras.applications.MobileNetV2", "flax.nnx.Conv"),
           {"images": IMAGES, "kernel": KERNEL},
           tf="tf.nn.conv2d(keras.layers.ZeroPadding2D(((0, 1), (0, 1)))(images), kernel, 2, 'VALID')",
           jax="_conv(images, kernel, strides=2, padding='SAME')"),
    Gotcha("conv3d", "The same layouts.", ("keras.layers.Conv3D", "flax.nnx.Conv"),
           {"x": ArraySpec((2, 4, 4, 4, 2)), "kernel": ArraySpec((3, 3, 3, 2, 2))},
           tf="VOLUMES.stateless_call([kernel], [], x)[0]", jax="_conv(x, kernel)"),
    Gotcha("pad_reflect", "Neither repeats the value at the edge.", ("tf.pad", "jax.numpy.pad"),
           {"x": ArraySpec((4, 8))},
           tf="tf.pad(x, [[1, 1], [2, 2]], 'REFLECT')", jax="jnp.pad(x, ((1, 1), (2, 2)), 'reflect')"),
)  # fmt: skip
