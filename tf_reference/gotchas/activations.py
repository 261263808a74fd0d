"""Activations in TensorFlow and Keras."""

import keras

PRELU = keras.layers.PReLU()
PRELU.build((None, 8))
