"""Activations: defaults of slopes and approximations, and gradients at kinks."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
WIDE = {"x": ArraySpec((4, 8), scale=4.0)}
ENDS = {"x": ArraySpec((4, 8), low=-3.0, high=3.0)}

GOTCHAS = (
    Gotcha(
        "gelu",
        "TensorFlow's is exact, JAX's approximates by tanh unless told otherwise: pass approximate=False.",
        ("tf.nn.gelu", "keras.activations.gelu", "jax.nn.gelu"), X, "semantics",
        tf="tf.nn.gelu(x)", jax="jax.nn.gelu(x, approximate=False)", naive="jax.nn.gelu(x)",
    ),
    Gotcha(
        "leaky_relu",
        "tf.nn.leaky_relu has slope 0.2 below zero, jax.nn.leaky_relu 0.01. At zero TensorFlow's gradient is the "
        "slope, JAX's is 1: use jaxport.activations.leaky_relu.",
        ("tf.nn.leaky_relu", "jax.nn.leaky_relu"), X, "semantics",
        tf="tf.nn.leaky_relu(x)", jax="activations.leaky_relu(x)", naive="jax.nn.leaky_relu(x)",
    ),
    Gotcha(
        "keras_leaky_relu",
        "keras.layers.LeakyReLU has slope 0.3, keras.activations.leaky_relu 0.2, jax.nn.leaky_relu 0.01: pass it.",
        ("keras.layers.LeakyReLU", "jax.nn.leaky_relu"), X, "semantics",
        tf="keras.layers.LeakyReLU()(x)",
        jax="activations.leaky_relu(x, negative_slope=0.3)",
        naive="jax.nn.leaky_relu(x)",
    ),
    Gotcha(
        "relu_as_maximum",
        "jnp.maximum(x, 0) gives both arguments half of the gradient where they are equal; tf.nn.relu and jax.nn.relu "
        "have gradient 0 at zero.",
        ("tf.nn.relu", "jax.nn.relu", "jax.numpy.maximum"), X, "gradients",
        tf="tf.nn.relu(x)", jax="jax.nn.relu(x)", naive="jnp.maximum(x, 0)",
    ),
    Gotcha(
        "softmax_over_two_axes",
        "Over several axes keras.layers.Softmax is exp(x - logsumexp(x)): beside an infinity all others are 0, where "
        "jax.nn.softmax gives NaN. Write that formula.",
        ("keras.layers.Softmax", "jax.nn.softmax", "jax.nn.logsumexp"), X, "semantics",
        tf="keras.layers.Softmax(axis=(0, 1))(x)",
        jax="jnp.exp(x - jax.nn.logsumexp(x, axis=(0, 1), keepdims=True))",
        naive="jax.nn.softmax(x, axis=(0, 1))",
    ),
    Gotcha(
        "prelu_at_zero",
        "Keras computes relu(x) - alpha * relu(-x), whose gradient at zero is 0; nnx.PReLU selects x where x >= 0 and "
        "has gradient 1 there.",
        ("keras.layers.PReLU", "flax.nnx.PReLU"), {**X, "alpha": ArraySpec((8,))}, "gradients",
        tf="PRELU.stateless_call([alpha], [], x)[0]",
    ),
    Gotcha(
        "celu_at_zero",
        "keras.activations.celu adds a half for positive and one for negative x, each with gradient 1 at zero: "
        "together 2. JAX's is 1: use jaxport.activations.celu.",
        ("keras.activations.celu", "jax.nn.celu"), X, "gradients",
        tf="keras.activations.celu(x)", jax="activations.celu(x)", naive="jax.nn.celu(x)",
    ),
    Gotcha(
        "keras_ops_gelu",
        "keras.ops.gelu approximates by tanh unless told otherwise, unlike keras.activations.gelu and tf.nn.gelu.",
        ("keras.ops.gelu", "jax.nn.gelu"), X, "semantics",
        tf="keras.ops.gelu(x)", jax="jax.nn.gelu(x)", naive="jax.nn.gelu(x, approximate=False)",
    ),
    Gotcha(
        "hard_sigmoid",
        "Since Keras 3 hard_sigmoid is relu6(x + 3) / 6, as jax.nn.hard_sigmoid; that of Keras 2 was 0.2 x + 0.5, "
        "clipped.",
        ("keras.activations.hard_sigmoid", "jax.nn.hard_sigmoid"), ENDS, "semantics",
        tf="keras.activations.hard_sigmoid(x)", jax="jax.nn.hard_sigmoid(x)", naive="jnp.clip(0.2 * x + 0.5, 0, 1)",
    ),
    Gotcha(
        "keras_relu_max_value",
        "keras.layers.ReLU passes the whole gradient on at max_value and none at zero; jnp.clip halves it at both: "
        "use jaxport.activations.relu.",
        ("keras.layers.ReLU", "jax.numpy.clip"), X, "gradients",
        tf="keras.layers.ReLU(max_value=1.0)(x)", jax="activations.relu(x, max_value=1.0)", naive="jnp.clip(x, 0, 1)",
    ),
    Gotcha(
        "keras_relu_threshold",
        "With a threshold keras.layers.ReLU is x above it and 0 elsewhere; it does not subtract the threshold.",
        ("keras.layers.ReLU", "jax.nn.relu"), X, "semantics",
        tf="keras.layers.ReLU(threshold=0.5)(x)",
        jax="activations.relu(x, threshold=0.5)",
        naive="jax.nn.relu(x - 0.5)",
    ),
    Gotcha(
        "keras_relu_slope_below_threshold",
        "Below its threshold keras.layers.ReLU is negative_slope * (x - threshold), not negative_slope * x.",
        ("keras.layers.ReLU",), X, "semantics",
        tf="keras.layers.ReLU(negative_slope=0.25, threshold=0.5)(x)",
        jax="activations.relu(x, negative_slope=0.25, threshold=0.5)",
        naive="jnp.where(x > 0.5, x, 0.25 * x)",
    ),
    Gotcha(
        "threshold",
        "keras.activations.threshold replaces x where it equals the threshold too: compare by x > threshold.",
        ("keras.activations.threshold",), X, "semantics",
        tf="keras.activations.threshold(x, 0.5, 0.0)", jax="jnp.where(x > 0.5, x, 0)", naive="jnp.where(x < 0.5, 0, x)",
    ),
    Gotcha(
        "sparse_sigmoid",
        "At -1 and 1 Keras' gradient is 0, that of jax.nn.sparse_sigmoid half of the slope: select by x <= -1, x >= "
        "1.",
        ("keras.activations.sparse_sigmoid", "jax.nn.sparse_sigmoid"), X, "gradients",
        tf="keras.activations.sparse_sigmoid(x)",
        jax="jnp.where(x <= -1, 0, jnp.where(x >= 1, 1, 0.5 * (x + 1)))",
        naive="jax.nn.sparse_sigmoid(x)",
    ),
    Gotcha(
        "silu_beta",
        "tf.nn.silu's beta scales what the sigmoid takes, not the factor before it: jax.nn.silu(beta * x) is beta "
        "times too large.",
        ("tf.nn.silu", "jax.nn.silu"), X, "semantics",
        tf="tf.nn.silu(x, beta=1.5)", jax="x * jax.nn.sigmoid(1.5 * x)", naive="jax.nn.silu(1.5 * x)",
    ),
    Gotcha(
        "softmax_masked_row",
        "Where its whole row is masked keras.layers.Softmax gives 0; adding -1e9 gives the softmax without a mask: "
        "use jaxport.activations.masked_softmax.",
        ("keras.layers.Softmax", "jax.nn.softmax"), {**X, "mask": ArraySpec((4, 8), "bool")}, "semantics",
        tf="keras.layers.Softmax()(x, mask=mask)",
        jax="activations.masked_softmax(x, mask)",
        naive="jax.nn.softmax(jnp.where(mask, x, x - 1e9))",
    ),
    Gotcha(
        "log_of_softmax",
        "The logarithm of a softmax is minus infinity where the softmax vanishes: use jax.nn.log_softmax.",
        ("tf.nn.log_softmax", "jax.nn.log_softmax"), X, "stability",
        tf="tf.nn.log_softmax(x)", jax="jax.nn.log_softmax(x)", naive="jnp.log(jax.nn.softmax(x))",
    ),
    Gotcha(
        "softplus_by_log1p",
        "log(1 + exp(x)) overflows where softplus is x: use jax.nn.softplus.",
        ("tf.nn.softplus", "jax.nn.softplus"), X, "stability",
        tf="tf.nn.softplus(x)", jax="jax.nn.softplus(x)", naive="jnp.log1p(jnp.exp(x))",
    ),
    Gotcha(
        "log_of_sigmoid",
        "The logarithm of a sigmoid has lost its digits near 0, and is minus infinity where the sigmoid vanishes: use "
        "jax.nn.log_sigmoid.",
        ("tf.math.log_sigmoid", "jax.nn.log_sigmoid"), X, "semantics",
        tf="tf.math.log_sigmoid(x)", jax="jax.nn.log_sigmoid(x)", naive="jnp.log(jax.nn.sigmoid(x))",
    ),
    Gotcha("gelu_by_tanh", "With approximate=True in TensorFlow, JAX's default is right.",
           ("tf.nn.gelu", "jax.nn.gelu"), X,
           tf="tf.nn.gelu(x, approximate=True)", jax="jax.nn.gelu(x)"),
    Gotcha("relu", "jax.nn.relu has gradient 0 at zero, as tf.nn.relu.", ("tf.nn.relu", "jax.nn.relu"), X,
           tf="tf.nn.relu(x)", jax="jax.nn.relu(x)"),
    Gotcha("elu", "The same formula and, at zero, the same gradient.", ("tf.nn.elu", "jax.nn.elu"), X,
           tf="tf.nn.elu(x)", jax="jax.nn.elu(x)"),
    Gotcha("softplus", "The same formula.", ("tf.nn.softplus", "jax.nn.softplus"), WIDE,
           tf="tf.nn.softplus(x)", jax="jax.nn.softplus(x)"),
    Gotcha("softsign", "The same formula.", ("tf.nn.softsign", "jax.nn.soft_sign"), X,
           tf="tf.nn.softsign(x)", jax="jax.nn.soft_sign(x)"),
    Gotcha("silu", "The same formula; tf.nn.silu takes a beta more.", ("tf.nn.silu", "tf.nn.swish", "jax.nn.silu"), X,
           tf="tf.nn.silu(x)", jax="jax.nn.silu(x)"),
    Gotcha("mish", "The same formula.", ("keras.activations.mish", "jax.nn.mish"), X,
           tf="keras.activations.mish(x)", jax="jax.nn.mish(x)"),
    Gotcha("glu", "Both halve the last axis.", ("keras.activations.glu", "jax.nn.glu"), X,
           tf="keras.activations.glu(x)", jax="jax.nn.glu(x)"),
    Gotcha("log_sigmoid", "The same formula.", ("tf.math.log_sigmoid", "jax.nn.log_sigmoid"), WIDE,
           tf="tf.math.log_sigmoid(x)", jax="jax.nn.log_sigmoid(x)"),
    Gotcha("softmax", "Both over the last axis.", ("tf.nn.softmax", "jax.nn.softmax"), WIDE,
           tf="tf.nn.softmax(x)", jax="jax.nn.softmax(x)"),
    Gotcha("log_softmax", "Both over the last axis.", ("tf.nn.log_softmax", "jax.nn.log_softmax"), WIDE,
           tf="tf.nn.log_softmax(x)", jax="jax.nn.log_softmax(x)"),
    Gotcha("squareplus", "Both have b = 4.", ("keras.activations.squareplus", "jax.nn.squareplus"), X,
           tf="keras.activations.squareplus(x)", jax="jax.nn.squareplus(x)"),
    Gotcha("relu6", "Both have gradient 0 at zero and at six.", ("tf.nn.relu6", "keras.layers.ReLU", "jax.nn.relu6"),
           {"x": ArraySpec((4, 8), low=0.0, high=6.0)},
           tf="tf.nn.relu6(x)", jax="jax.nn.relu6(x)"),
    Gotcha("hard_silu", "The same formula.", ("keras.activations.hard_silu", "jax.nn.hard_silu"), ENDS,
           tf="keras.activations.hard_silu(x)", jax="jax.nn.hard_silu(x)"),
    Gotcha("hard_tanh", "Both have gradient 1 at the ends.", ("keras.activations.hard_tanh", "jax.nn.hard_tanh"), X,
           tf="keras.activations.hard_tanh(x)", jax="jax.nn.hard_tanh(x)"),
    Gotcha("elu_alpha", "The same formula and, at zero, the same gradient.", ("keras.activations.elu", "jax.nn.elu"),
           X,
           tf="keras.activations.elu(x, alpha=0.5)", jax="jax.nn.elu(x, alpha=0.5)"),
    Gotcha(
        "selu_at_zero",
        "At zero the gradient is scale times alpha, 1.7581, in JAX and in TensorFlow compiled by XLA; TensorFlow's own "
        "kernel has the scale, 1.0507, as jaxport.activations.selu.",
        ("tf.nn.selu", "keras.activations.selu", "jax.nn.selu"), X,
        tf="tf.nn.selu(x)", jax="jax.nn.selu(x)",
    ),
    Gotcha("crelu", "relu of x and of -x side by side along the last axis.", ("tf.nn.crelu", "jax.nn.relu"), X,
           tf="tf.nn.crelu(x)", jax="jax.nn.relu(jnp.concatenate([x, -x], axis=-1))"),
    Gotcha("soft_shrink", "The same function by sign and relu.", ("keras.activations.soft_shrink",), X,
           tf="keras.activations.soft_shrink(x)", jax="jnp.sign(x) * jax.nn.relu(jnp.abs(x) - 0.5)"),
    Gotcha("sparse_plus", "The same formula.", ("keras.activations.sparse_plus", "jax.nn.sparse_plus"), X,
           tf="keras.activations.sparse_plus(x)", jax="jax.nn.sparse_plus(x)"),
)  # fmt: skip
