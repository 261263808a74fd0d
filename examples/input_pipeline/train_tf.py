"""tf.data, MirroredStrategy, mixed precision and XLA in one training, on two logical CPUs.

usage: python train_tf.py

XLA compiles the gradient on each device; all-reduce and update stay outside: with the whole step compiled, TensorFlow
2.21 fails on logical CPUs ("Trying to access resource ... located in device").
"""

import classifier
import tensorflow as tf
import tf_data_batches

CPU = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


with strategy.scope():
    variables = [tf.Variable(value, aggregation=tf.VariableAggregation.MEAN) for value in classifier.weights()]


@tf.function(jit_compile=True)
def gradients(values, pixels, labels):
    """Products in bfloat16, weights and the loss in float32; of a mean over all devices' examples."""
    with tf.GradientTape() as tape:
        tape.watch(values)
        hidden = tf.nn.relu(tf.cast(pixels, tf.bfloat16) @ tf.cast(values[0], tf.bfloat16))
        logits = tf.cast(hidden @ tf.cast(values[1], tf.bfloat16), tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_sum(losses) / classifier.BATCH
    return loss, tape.gradient(loss, values)


def of_replica(pixels, labels):
    loss, found = gradients([tf.convert_to_tensor(each) for each in variables], pixels, labels)
    context = tf.distribute.get_replica_context()
    for variable, summed in zip(variables, context.all_reduce(tf.distribute.ReduceOp.SUM, found), strict=True):
        variable.assign_sub(classifier.RATE * summed)
    return loss


@tf.function
def step(batch):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(of_replica, batch), axis=None)


def main():
    batches = strategy.experimental_distribute_dataset(tf_data_batches.pipeline())
    losses = [step(batch) for batch in batches]
    same = next(iter(batches))
    classifier.report(
        losses,
        batches=classifier.digest(tf_data_batches.batches()),
        batch_s=classifier.seconds_each(batches),
        step_s=classifier.seconds_each(step(same).numpy() for _ in range(classifier.STEPS)),
        loop_s=classifier.seconds_each(step(batch).numpy() for batch in batches),
    )


if __name__ == "__main__":
    main()
