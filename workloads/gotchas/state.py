"""State: variables that are read and written, layers that keep something, and what training leaves alone."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
VECTOR = {"x": ArraySpec((4,))}
BATCHES = {"x": ArraySpec((4, 8)), "y": ArraySpec((4, 8))}
STATISTICS = {"mean": ArraySpec((8,)), "variance": ArraySpec((8,), low=0.5, high=2.0)}
RNN = {"kernel": ArraySpec((3, 4)), "recurrent": ArraySpec((4, 4)), "bias": ArraySpec((4,))}
SEQUENCE = {"x": ArraySpec((2, 6, 3)), **RNN}
ONE = {"weights": ArraySpec((4,)), "gradients": ArraySpec((4, 4))}
AVERAGE = ("tf.train.ExponentialMovingAverage", "optax.ema", "optax.incremental_update")
BATCH_NORM = ("keras.layers.BatchNormalization", "flax.nnx.BatchNorm", "flax.linen.BatchNorm")

GOTCHAS = (
    Gotcha(
        "variable_alias",
        "Another name for a tf.Variable is the same variable, and has its new value after an assign; one for an array "
        "keeps the old value.",
        ("tf.Variable", "flax.nnx.Variable"), VECTOR, "semantics",
    ),
    Gotcha(
        "variable_in_function",
        "A tf.function reads a variable at every call; what jax.jit closes over stays as it was when traced: pass it "
        "as an argument, or use nnx.jit.",
        ("tf.function", "tf.Variable", "jax.jit", "flax.nnx.jit"), VECTOR, "semantics",
    ),
    Gotcha(
        "python_counter",
        "A tf.function runs its Python once for each signature: a Python counter in it stands still after the first "
        "call, and so does what is computed with it.",
        ("tf.function",), VECTOR, "semantics",
        jax="x + x + x", naive="1 * x + 2 * x + 3 * x",
    ),
    Gotcha(
        "assign_cuts_gradient",
        "No gradient passes through an assign: what is read from the variable is a constant. Where JAX passes the "
        "value on, write jax.lax.stop_gradient.",
        ("tf.Variable", "tf.GradientTape", "jax.lax.stop_gradient"), VECTOR, "gradients",
        jax="jax.lax.stop_gradient(jnp.tanh(x)) * x", naive="jnp.tanh(x) * x",
    ),
    Gotcha(
        "batch_norm_moves_at_once",
        "A call in training moves the averages that the next call in inference normalises by; the variables given to "
        "flax.linen's apply stay as they were: take its mutated ones.",
        BATCH_NORM, {**BATCHES, **STATISTICS}, "semantics",
    ),
    Gotcha(
        "batch_norm_called_twice",
        "A layer that is called twice in a step moves its averages twice, the second time from where the first left "
        "them.",
        BATCH_NORM, {**BATCHES, **STATISTICS}, "semantics",
    ),
    Gotcha(
        "batch_norm_default_mode",
        "Called by itself without training, a Keras layer is in inference; nnx.BatchNorm normalises by the batch "
        "unless told use_running_average=True, or after eval().",
        BATCH_NORM, {**X, **STATISTICS}, "semantics",
        tf="BATCH_NORM.stateless_call([], [mean, variance], x)[0]",
        jax="_batch_norm(mean, variance)(x, use_running_average=True)",
        naive="_batch_norm(mean, variance)(x)",
    ),
    Gotcha(
        "dropout_default_mode",
        "Called by itself without training, keras.layers.Dropout does nothing; nnx.Dropout drops unless told "
        "deterministic=True, or after eval().",
        ("keras.layers.Dropout", "flax.nnx.Dropout"), X, "semantics",
        tf="DROPOUT(x)",
        jax="nnx.Dropout(0.5, deterministic=True, rngs=nnx.Rngs(0))(x)",
        naive="nnx.Dropout(0.5, rngs=nnx.Rngs(0))(x)",
    ),
    Gotcha(
        "spectral_norm_inference",
        "keras.layers.SpectralNormalization divides in training only, and writes the kernel it has divided back to the "
        "layer; in inference it takes the kernel as it stands, without a division.",
        ("keras.layers.SpectralNormalization", "flax.linen.SpectralNorm"),
        {**X, "kernel": ArraySpec((8, 4)), "vector": ArraySpec((1, 4))}, "semantics",
        tf="SPECTRAL.stateless_call([kernel], [vector], x, training=False)[0]",
    ),
    Gotcha(
        "stateful_rnn_carries",
        "With stateful=True the state at the end of a call is that at the start of the next, until reset_state(); "
        "nnx.RNN starts at 0 unless given initial_carry.",
        ("keras.layers.SimpleRNN", "keras.layers.LSTM", "flax.nnx.RNN"), SEQUENCE, "semantics",
    ),
    Gotcha(
        "stateful_rnn_cuts_gradient",
        "No gradient goes from one call of a stateful layer to the call before it: stop it where the carry is passed "
        "on.",
        ("keras.layers.SimpleRNN", "keras.layers.LSTM", "flax.nnx.RNN", "jax.lax.stop_gradient"), SEQUENCE, "gradients",
    ),
    Gotcha(
        "ema_num_updates",
        "With num_updates the decay is at most (1 + n) / (10 + n): early averages follow the weights much faster than "
        "those of a constant decay.",
        AVERAGE, ONE, "semantics",
        tf="_averages(AVERAGE_BY_STEP, weights, gradients)",
    ),
    Gotcha(
        "ema_starts_with_variable",
        "The average of a variable starts as the variable does, and is not corrected; optax.ema starts at 0 and is: "
        "use optax.incremental_update.",
        AVERAGE, ONE, "semantics",
        tf="_averages(AVERAGE, weights, gradients)",
    ),
    Gotcha(
        "learning_rate_assigned",
        "optimizer.learning_rate is a variable: an assign, as by ReduceLROnPlateau, holds from the next step on. A "
        "rate given to optax stays: use optax.inject_hyperparams.",
        ("keras.Optimizer", "keras.callbacks.ReduceLROnPlateau", "optax.inject_hyperparams"), ONE, "semantics",
    ),
    Gotcha(
        "shared_layer_step",
        "A layer that is called twice has one kernel, whose gradients add up; two layers that start alike take a part "
        "each, and are no longer alike after a step.",
        ("keras.layers.Dense", "flax.nnx.Linear"), {"x": ArraySpec((4, 6)), "kernel": ArraySpec((6, 6))}, "semantics",
    ),
    Gotcha(
        "frozen_layer_gradient",
        "trainable=False keeps a layer's weights, and lets the gradient through to the layers before it; "
        "jax.lax.stop_gradient of what the layer returns does not: stop that of its weights.",
        ("keras.layers.Dense", "jax.lax.stop_gradient"),
        {**X, "first": ArraySpec((8, 6)), "frozen": ArraySpec((6, 4))}, "semantics",
    ),
    Gotcha(
        "frozen_layer_decay",
        "A Keras optimizer does not touch weights that are not trainable; AdamW given a gradient of 0 decays "
        "them all the same: leave them out with optax.partition, or nnx.Optimizer's wrt.",
        ("keras.optimizers.AdamW", "optax.adamw", "optax.partition"),
        {**ONE, "frozen": ArraySpec((4,))}, "semantics",
    ),
    Gotcha("variable_read_before", "A value computed before an assign, in the order of the program, stays.",
           ("tf.Variable", "tf.function"), VECTOR),
    Gotcha("assign_in_cond", "Only the branch that is taken assigns: return the new value of each from jax.lax.cond.",
           ("tf.Variable", "tf.cond", "jax.lax.cond"), VECTOR,
           jax="jax.lax.cond(jnp.sum(x) > 0, lambda x: x + x, jnp.zeros_like, jax.lax.stop_gradient(x))"),
    Gotcha("metric_reset", "After a reset a metric has forgotten the batches before it, in both.",
           ("keras.metrics.Mean", "flax.nnx.metrics.Average"), BATCHES),
    Gotcha("shared_layer", "The gradient of a kernel that is used twice is the sum, in both.",
           ("keras.layers.Dense", "flax.nnx.Linear"), {"x": ArraySpec((4, 6)), "kernel": ArraySpec((6, 6))}),
)  # fmt: skip
