"""A port that is written: from a Keras model's layers and calls to a Flax module, its training, and its proof."""
