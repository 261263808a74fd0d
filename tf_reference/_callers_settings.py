"""TensorFlow's settings in a process that is not jaxport's own: what a check needs, and afterwards what was there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf


@contextmanager
def settings_for_check() -> Iterator[None]:
    """Let functions be traced, cluster none of them, and warn of none; afterwards all is as it was."""
    clusters, runs_eagerly = bool(tf.config.optimizer.get_jit()), tf.config.functions_run_eagerly()
    logger = tf.get_logger()
    level = logger.level
    tf.config.run_functions_eagerly(False)
    # What TensorFlow says of functions that are traced anew is said of the judges' functions.
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        tf.config.run_functions_eagerly(runs_eagerly)
        tf.config.optimizer.set_jit("autoclustering" if clusters else False)
