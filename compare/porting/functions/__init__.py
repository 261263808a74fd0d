"""Functions of TensorFlow as source in jax.numpy, written from their graphs."""
