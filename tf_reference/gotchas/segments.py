"""Segments in TensorFlow and Keras."""

COUNT = 5
