"""A convolutional classifier of handwritten digits: two blocks of convolution and pooling, dropout, a dense layer."""

from workloads import _digits, _dropout
from workloads.core.spec import Arrays, ArraySpec, Cost, Dimensions, Training, Workload

KERNEL = 3
"""Height and width of every convolution's kernel."""

POOL = 2
"""Height and width of every pooling window, and its stride; what does not fill a window is dropped."""

DROPOUT_RATE = 0.5

LEARNING_RATE = 5e-3


def channels(dimensions: Dimensions) -> tuple[int, int]:
    """Output channels of both convolutions: the second has twice as many."""
    return dimensions["filters"], 2 * dimensions["filters"]


def features(dimensions: Dimensions) -> int:
    """Values per image that are left for the dense layer.

    Raises:
      ValueError: the images do not survive two poolings.
    """
    height, width = dimensions["height"], dimensions["width"]
    least = POOL**2
    if min(height, width) < least:
        raise ValueError(
            f"expected images of at least {least} x {least}, found {height} x {width}: "
            "two poolings halve each side, so give larger images"
        )
    return height // least * (width // least) * channels(dimensions)[1]


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs of one training step.

    images: f32[batch, height, width, 1] in [0, 1); draws: u8[batch, features]; labels: i32[batch] in [0, 10).

    Raises:
      ValueError: images that do not survive two poolings.
    """
    batch = dimensions["batch"]
    return {
        "images": ArraySpec((batch, dimensions["height"], dimensions["width"], 1), low=0, high=1),
        "draws": _dropout.draws(batch, features(dimensions)),
        "labels": ArraySpec((batch,), "int32", low=0, high=_digits.CLASSES),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Kernels [height, width, in, out] and [in, out] of variance 2 / fan-in (arXiv:1502.01852), small random biases."""
    first, second = channels(dimensions)
    dense = features(dimensions)
    return {
        "conv1/kernel": ArraySpec((KERNEL, KERNEL, 1, first), scale=(2 / KERNEL**2) ** 0.5),
        "conv1/bias": ArraySpec((first,), scale=0.1),
        "conv2/kernel": ArraySpec((KERNEL, KERNEL, first, second), scale=(2 / (KERNEL**2 * first)) ** 0.5),
        "conv2/bias": ArraySpec((second,), scale=0.1),
        "logits/kernel": ArraySpec((dense, _digits.CLASSES), scale=dense**-0.5),
        "logits/bias": ArraySpec((_digits.CLASSES,), scale=0.1),
    }


def cost(dimensions: Dimensions) -> Cost:
    """Three products per layer (forward, both gradients) less the first layer's with respect to the images, and Adam.

    A convolution of stride 1 that keeps height and width takes 2 k^2 C_in C_out operations per place, padding
    counted; Adam takes ten per weight (Kingma and Ba 2015, algorithm 1, in the efficient order of section 2).
    """
    batch, places = dimensions["batch"], dimensions["height"] * dimensions["width"]
    first, second = channels(dimensions)
    dense = features(dimensions) * _digits.CLASSES
    kernels = KERNEL**2 * first, KERNEL**2 * first * second
    pooled_places = dimensions["height"] // POOL * (dimensions["width"] // POOL)
    products = 2 * batch * (2 * places * kernels[0] + 3 * pooled_places * kernels[1] + 3 * dense)
    parameters = sum(kernels) + first + second + dense + _digits.CLASSES
    traffic = 4 * (batch * places + batch + 6 * parameters) + batch * features(dimensions)
    return Cost(
        products + 10 * parameters, traffic, "convolutions 2 k^2 C_in C_out a place; weights and moments read, written"
    )


def dimensions_of(data: Arrays) -> Dimensions:
    """Height and width of the images, f32[examples, height, width, 1].

    Raises:
      DataError: images too small to be pooled twice.
    """
    dimensions = _digits.image_dimensions_of(data)
    try:
        features({**dimensions, "filters": 1})
    except ValueError as error:
        raise _digits.DataError(str(error)) from error
    return dimensions


WORKLOAD = Workload(
    name="conv_mnist",
    summary="convolutional classifier of digits with dropout: forward, loss, gradients and Adam update as one program",
    source="S7: the convolutional MNIST model of the TF/XLA documentation and of Keras' simple_mnist_convnet",
    tf="tf_reference.conv_mnist:build",
    jax="jaxport.conv_mnist:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": {"batch": 16, "filters": 8, "height": 8, "width": 8},
        "default": {"batch": 512, "filters": 32, "height": 8, "width": 8},
        "paper": {"batch": 128, "filters": 32, "height": 28, "width": 28},
    },
    training=Training(dataset=_digits.load_images, dimensions_of=dimensions_of),
)
