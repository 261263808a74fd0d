"""A port file: what both sides compute, weights included. Run it with `jaxport run examples/feed_forward/port.py`."""

from workloads import ArraySpec, Workload

port = Workload(
    name="feed_forward",
    summary="a Transformer's feed-forward block: layer norm, dense, gelu, dense, residual",
    inputs={"x": ArraySpec((8, 32, 64))},
    weights={
        "norm/gamma": ArraySpec((64,), low=0.5, high=1.5),
        "norm/beta": ArraySpec((64,), scale=0.1),
        "expand/kernel": ArraySpec((64, 256), scale=0.125),
        "expand/bias": ArraySpec((256,), scale=0.1),
        "contract/kernel": ArraySpec((256, 64), scale=0.0625),
        "contract/bias": ArraySpec((64,), scale=0.1),
    },
    tf="model_tf.py:feed_forward",
    jax="model_jax.py:feed_forward",
    builds=False,
)
