"""Counterparts: operations of TensorFlow and layers of Keras, and what each is in JAX and Flax."""
