"""Sets TensorFlow for a check in a process that jaxport does not own, and restores its settings afterwards."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf


@contextmanager
def settings_for_check() -> Iterator[None]:
    """Traces functions without clustering or warnings inside; restores the settings afterwards."""
    clusters, runs_eagerly = bool(tf.config.optimizer.get_jit()), tf.config.functions_run_eagerly()
    logger = tf.get_logger()
    level = logger.level
    tf.config.run_functions_eagerly(False)
    # TensorFlow would warn that functions are retraced, but these are the functions of the judges.
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        tf.config.run_functions_eagerly(runs_eagerly)
        tf.config.optimizer.set_jit("autoclustering" if clusters else False)
