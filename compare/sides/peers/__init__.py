"""Peers: other ways to run a TensorFlow twin in JAX, each hosted by a worker of its own.

Every module but this one imports frameworks, and is imported by a worker only.
"""

from __future__ import annotations

PEERS = ("tf2jax", "call_tf", "keras_jax")
"""Automatic conversion, TensorFlow called from JAX, and Keras on its JAX backend; each is a module of this folder."""
