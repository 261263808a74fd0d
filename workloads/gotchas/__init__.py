"""Differences of TensorFlow and JAX under similar names: one file a theme, its twins by the same name."""
