"""A port that can be compiled in blocks of layers. Run it with `jaxport crossing blocks examples/blocks/port.py`."""

from workloads import ArraySpec, Workload


def weights(dimensions):
    width = dimensions["width"]
    specs = {}
    for number in range(dimensions["layers"]):
        specs[f"{number}/kernel"] = ArraySpec((width, width), scale=0.5 * width**-0.5)
        specs[f"{number}/bias"] = ArraySpec((width,), scale=0.1)
    return specs


port = Workload(
    name="tower",
    summary="six residual dense layers with gelu",
    inputs=lambda dimensions: {"x": ArraySpec((dimensions["batch"], dimensions["width"]))},
    weights=weights,
    # `block` is the number of layers in a compiled function; 0 compiles none.
    sizes={"default": {"batch": 16, "width": 32, "layers": 6, "block": 0}},
    tf="model_tf.py:build",
    jax="model_jax.py:build",
)
