"""A dense classifier of handwritten digits, one training step compiled whole."""

from workloads import _digits
from workloads.core.spec import ArraySpec, Cost, Dimensions, Training, Workload


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs images: f32[batch, features] in [0, 1); labels: i32[batch] in [0, 10)."""
    batch = dimensions["batch"]
    return {
        "images": ArraySpec((batch, dimensions["features"]), low=0, high=1),
        "labels": ArraySpec((batch,), "int32", low=0, high=_digits.CLASSES),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Kernels [in, out] of variance 2 / in (He et al. 2015, arXiv:1502.01852), small random biases."""
    features, hidden, classes = dimensions["features"], dimensions["hidden"], _digits.CLASSES
    return {
        "hidden/kernel": ArraySpec((features, hidden), scale=(2 / features) ** 0.5),
        "hidden/bias": ArraySpec((hidden,), scale=0.1),
        "logits/kernel": ArraySpec((hidden, classes), scale=(2 / hidden) ** 0.5),
        "logits/bias": ArraySpec((classes,), scale=0.1),
    }


def cost(dimensions: Dimensions) -> Cost:
    """Three products per dense layer (forward, both gradients) less one, and Adam's update.

    The gradient with respect to the images is not needed. Adam's ten operations per weight are those
    of Kingma and Ba 2015, algorithm 1, in the efficient order of their section 2.
    """
    batch, features, hidden = dimensions["batch"], dimensions["features"], dimensions["hidden"]
    classes = _digits.CLASSES
    first, second = features * hidden, hidden * classes
    parameters = first + second + hidden + classes
    products = 2 * batch * (2 * first + 3 * second)
    traffic = 4 * (batch * features + batch + 6 * parameters)
    return Cost(
        products + 10 * parameters, traffic, "matrix products 2mnk each; weights and both moments read and written"
    )


_SMOKE = {"batch": 32, "hidden": 32, "features": 64}

WORKLOAD = Workload(
    name="mnist_mlp",
    summary="dense classifier of digits: forward, loss, gradients and Adam update as one program",
    source="S6: the MNIST training step of the lecture, the talk and the TF/XLA documentation",
    tf="tf_reference.mnist_mlp:build",
    jax="jaxport.mnist_mlp:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": _SMOKE,
        "default": {"batch": 128, "hidden": 512, "features": 64},
        "paper": {"batch": 128, "hidden": 512, "features": 784},
        "keras": _SMOKE | {"keras": 1},
    },
    training=Training(dataset=_digits.load, dimensions_of=_digits.dimensions_of),
)
