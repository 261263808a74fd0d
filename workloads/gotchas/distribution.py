"""Replicas: what each computes of its own part of the batch, and how the parts are put together.

TensorFlow's replicas are parts of the batch one after another here, and JAX's an axis of jax.vmap.
"""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((8, 6))}
LINEAR = {**X, "y": ArraySpec((8,)), "weights": ArraySpec((6,))}
STATISTICS = {"mean": ArraySpec((6,)), "variance": ArraySpec((6,), low=0.5, high=2.0)}
STRATEGY = "tf.distribute.Strategy"
BATCH_NORM = (STRATEGY, "keras.layers.BatchNormalization", "flax.nnx.BatchNorm")

GOTCHAS = (
    Gotcha(
        "average_loss_of_unequal_replicas",
        "tf.nn.compute_average_loss divides a replica's sum by the global batch, and replicas add up; a mean of "
        "their means weighs the examples of a smaller one more.",
        (STRATEGY, "tf.nn.compute_average_loss", "jax.lax.pmean"), {"x": ArraySpec((8,))}, "semantics",
        jax="jnp.mean(jnp.square(x))",
        naive="(jnp.mean(jnp.square(x[:FIRST])) + jnp.mean(jnp.square(x[FIRST:]))) / REPLICAS",
    ),
    Gotcha(
        "keras_loss_of_unequal_replicas",
        "In fit Keras divides each replica's mean by the number of replicas, and they add up: where replicas are "
        "unequal that is no mean over the batch, which jax.jit over a mesh has.",
        (STRATEGY, "keras.losses.Loss", "jax.jit"), LINEAR, "semantics",
    ),
    Gotcha(
        "average_loss_of_padding",
        "tf.nn.compute_average_loss with sample_weight divides by the global batch all the same, examples of weight 0 "
        "included; a division by the sum of weights is a habit of JAX.",
        (STRATEGY, "tf.nn.compute_average_loss"),
        {"x": ArraySpec((8,)), "weights": ArraySpec((8,), low=0.0, high=1.0)}, "semantics",
        jax="jnp.sum(weights * jnp.square(x)) / BATCH",
        naive="jnp.sum(weights * jnp.square(x)) / jnp.maximum(jnp.sum(weights), 1e-7)",
    ),
    Gotcha(
        "gradients_add_up",
        "A Keras optimizer adds up the gradients of replicas: where each takes the mean of its own examples, the step "
        "is as many times that of jax.lax.pmean.",
        (STRATEGY, "keras.Optimizer", "jax.lax.psum", "jax.lax.pmean"), LINEAR, "semantics",
    ),
    Gotcha(
        "regularization_once",
        "tf.nn.scale_regularization_loss divides by the number of replicas, so that the penalty counts once in their "
        "sum; added in each before jax.lax.psum it counts as often as there are replicas.",
        (STRATEGY, "tf.nn.scale_regularization_loss", "jax.lax.psum"), LINEAR, "semantics",
    ),
    Gotcha(
        "clipnorm_of_replica",
        "A Keras optimizer clips the gradients of each replica before it adds them up; clipping the sum gives another "
        "step: clip inside the function that jax.lax.psum follows.",
        (STRATEGY, "keras.Optimizer", "jax.lax.psum"), LINEAR, "semantics",
        tf="tf.add_n(_over(lambda x, y: tf.clip_by_norm(_gradient(x, y, weights, BATCH), 0.5), x, y))",
    ),
    Gotcha(
        "batch_norm_of_replica",
        "Each replica normalises by its own examples unless synchronized=True; jax.jit over a mesh normalises by the "
        "whole batch: map over replicas.",
        BATCH_NORM, X, "semantics",
        jax="_over(_batch_norm, x).reshape(x.shape)", naive="_batch_norm(x)",
    ),
    Gotcha(
        "batch_norm_moves_by_replicas",
        "The moving averages are means over replicas, the variance that of the replicas' own variances: what differs "
        "between replicas is not in it.",
        BATCH_NORM, {**X, **STATISTICS}, "semantics",
    ),
    Gotcha(
        "contrast_within_replica",
        "What is compared within a batch, such as the negatives of a contrastive loss, is compared within a replica "
        "in TensorFlow; jax.jit over a mesh compares the whole batch.",
        (STRATEGY, "keras.losses.SparseCategoricalCrossentropy", "jax.jit"), {**X, "y": ArraySpec((8, 6))}, "semantics",
    ),
    Gotcha(
        "metric_of_replicas",
        "The sums and counts of a metric's replicas add up, and are divided then; jax.lax.pmean of each replica's "
        "metric is another number where the weights differ.",
        (STRATEGY, "keras.metrics.Mean", "jax.lax.pmean"),
        {"x": ArraySpec((8,)), "weights": ArraySpec((8,), low=0.5, high=1.5)}, "semantics",
    ),
    Gotcha("average_loss_of_equal_replicas", "Of equal replicas the sum of average losses is the mean.",
           (STRATEGY, "tf.nn.compute_average_loss", "jax.numpy.mean"), {"x": ArraySpec((8,))},
           tf="tf.add_n(_over(lambda x: tf.nn.compute_average_loss(x * x, global_batch_size=BATCH), x))",
           jax="jnp.mean(jnp.square(x))"),
    Gotcha("gradients_of_global_mean", "Divided by the global batch, the gradients of replicas add up to that of the "
           "mean.", (STRATEGY, "keras.Optimizer", "jax.lax.psum"), LINEAR,
           tf="weights - 0.1 * tf.add_n(_over(lambda x, y: _gradient(x, y, weights, BATCH), x, y))",
           jax="weights - 0.1 * jax.grad(lambda weights: jnp.mean(_errors(x, y, weights)))(weights)"),
    Gotcha("batch_norm_synchronized", "With synchronized=True the whole batch counts, as in jax.jit over a mesh.",
           BATCH_NORM, X,
           tf="SYNCHRONIZED.stateless_call([], [tf.zeros(6, x.dtype), tf.ones(6, x.dtype)], x, training=True)[0]",
           jax="_batch_norm(x)"),
    Gotcha("gathered_replicas", "Strategy.gather puts replicas one after another, as jax.lax.all_gather with "
           "tiled=True.", (STRATEGY, "jax.lax.all_gather"), X,
           tf="tf.concat(_over(tf.nn.softmax, x), 0)",
           jax="_over(lambda x: jax.lax.all_gather(jax.nn.softmax(x), AXIS, tiled=True), x)[0]"),
)  # fmt: skip
