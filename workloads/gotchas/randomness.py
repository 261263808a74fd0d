"""Random numbers: the same seed, other numbers, until they are drawn as TensorFlow draws them."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

SEED = {"seed": ArraySpec((2,), "int32", low=0, high=1000)}
X = {"x": ArraySpec((4, 8))}
KERNEL = {"x": ArraySpec((4, 6))}
INITIALIZERS = "keras.initializers."

GOTCHAS = (
    Gotcha(
        "stateless_uniform",
        "TensorFlow draws by Philox, JAX by Threefry: use jaxport.random.uniform for the same numbers.",
        ("tf.random.stateless_uniform", "keras.random.uniform", "jax.random.uniform"), KERNEL, "semantics",
    ),
    Gotcha(
        "stateless_uniform_mantissa",
        "Of the same bits TensorFlow's kernels make a float of the lowest 23, XLA of the highest: numbers of a "
        "function that is not compiled differ from those of one that is.",
        ("tf.random.stateless_uniform", "tf.function"), SEED, "semantics",
        jax="random.uniform(seed, SHAPE)", naive="random.uniform(seed, SHAPE, kernels=True)",
    ),
    Gotcha(
        "stateless_integers",
        "TensorFlow takes its bits modulo the range: use jaxport.random.integers for the same integers.",
        ("tf.random.stateless_uniform", "keras.random.randint", "jax.random.randint"), SEED, "structure",
        jax="random.integers(seed, SHAPE, -3, 20)", naive="jax.random.randint(_key(seed), SHAPE, -3, 20)",
    ),
    Gotcha(
        "stateless_bits",
        "Without a range an integer is all of its bits: use jaxport.random.bits for the same ones.",
        ("tf.random.stateless_uniform", "jax.random.bits"), SEED, "structure",
        jax="random.bits(seed, SHAPE)", naive="jax.random.bits(_key(seed), SHAPE)",
    ),
    Gotcha(
        "stateless_normal",
        "TensorFlow makes normal numbers by Box and Muller, JAX by the inverse of the error function: use "
        "jaxport.random.normal.",
        ("tf.random.stateless_normal", "keras.random.normal", "jax.random.normal"), KERNEL, "semantics",
    ),
    Gotcha(
        "stateless_truncated_normal",
        "TensorFlow cuts off at two deviations: use jaxport.random.truncated_normal for the same numbers.",
        ("tf.random.stateless_truncated_normal", "jax.random.truncated_normal"), KERNEL, "semantics",
    ),
    Gotcha(
        "random_split",
        "tf.random.split draws its seeds by Philox, jax.random.split by Threefry: use jaxport.random.split.",
        ("tf.random.split", "jax.random.split"), SEED, "structure",
    ),
    Gotcha(
        "random_fold_in",
        "tf.random.fold_in keeps the number itself beside one draw, jax.random.fold_in mixes it: use "
        "jaxport.random.fold_in.",
        ("tf.random.fold_in", "jax.random.fold_in"), SEED, "structure",
        jax="random.fold_in(seed, 3)", naive="jax.random.key_data(jax.random.fold_in(_key(seed), 3)).astype(jnp.int32)",
    ),
    Gotcha(
        "random_shuffle",
        "keras.random.shuffle sorts uniform numbers: jaxport.random.shuffle gives the same order.",
        ("keras.random.shuffle", "jax.random.permutation"), X, "semantics",
        jax="random.shuffle(x, (42, 0))", naive="jax.random.permutation(jax.random.key(42), x)",
    ),
    Gotcha(
        "glorot_uniform_seed",
        "A kernel of Keras starts as GlorotUniform by Philox, one of Flax as lecun_normal: use "
        "jaxport.initializers.glorot_uniform for the same weights.",
        (INITIALIZERS + "GlorotUniform", "keras.layers.Dense", "flax.nnx.Linear"), KERNEL, "semantics",
    ),
    Gotcha(
        "he_normal_seed",
        "Both cut off at two deviations and correct the variance, but draw other numbers: use "
        "jaxport.initializers.he_normal.",
        (INITIALIZERS + "HeNormal", "jax.nn.initializers.he_normal"), KERNEL, "semantics",
    ),
    Gotcha(
        "embedding_initializer_seed",
        "keras.layers.Embedding starts as uniform numbers within 0.05, nnx.Embed as normal ones of variance 1 / "
        "features: use jaxport.initializers.random_uniform.",
        (INITIALIZERS + "RandomUniform", "keras.layers.Embedding", "flax.nnx.Embed"), KERNEL, "semantics",
    ),
    Gotcha(
        "random_normal_seed",
        "RandomNormal has deviation 0.05, jax.nn.initializers.normal 0.01, and they draw other numbers: use "
        "jaxport.initializers.random_normal.",
        (INITIALIZERS + "RandomNormal", "jax.nn.initializers.normal"), KERNEL, "semantics",
    ),
    Gotcha(
        "truncated_normal_seed",
        "TruncatedNormal has deviation 0.05 before the cut, jax.nn.initializers.truncated_normal 0.01: use "
        "jaxport.initializers.truncated_normal.",
        (INITIALIZERS + "TruncatedNormal", "jax.nn.initializers.truncated_normal"), KERNEL, "semantics",
    ),
    Gotcha("dropout_inference", "Without training dropout does nothing in both.",
           ("keras.layers.Dropout", "flax.nnx.Dropout"), X,
           tf="DROPOUT(x, training=False)", jax="nnx.Dropout(0.3, deterministic=True, rngs=nnx.Rngs(0))(x)"),
    Gotcha("dropout_given_mask", "With the same mask both scale up by 1 / (1 - rate).",
           ("keras.layers.Dropout", "flax.nnx.Dropout"), {**X, "mask": ArraySpec((4, 8), "bool")},
           tf="tf.where(mask, x * (1 / (1 - 0.3)), 0.0)", jax="jnp.where(mask, x / (1 - 0.3), 0)"),
    Gotcha("zeros_initializer", "Biases start at 0 in both.",
           (INITIALIZERS + "Zeros", "jax.nn.initializers.zeros"), KERNEL,
           tf="x + keras.initializers.Zeros()(SHAPE)", jax="x + jax.nn.initializers.zeros(jax.random.key(0), SHAPE)"),
    Gotcha("constant_initializer", "The same constant.",
           (INITIALIZERS + "Constant", "jax.nn.initializers.constant"), KERNEL,
           tf="x + keras.initializers.Constant(0.1)(SHAPE)",
           jax="x + jax.nn.initializers.constant(0.1)(jax.random.key(0), SHAPE)"),
    Gotcha("identity_initializer", "Its gain scales the unit matrix.",
           (INITIALIZERS + "Identity", "jax.numpy.eye"), KERNEL,
           tf="x + keras.initializers.Identity(gain=2.0)(SHAPE)", jax="x + 2 * jnp.eye(*SHAPE)"),
)  # fmt: skip
