"""Functions of entries that are one expression each; their code is in workloads/gotchas."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import optimizers
from keras.optimizers import schedules

from tf_reference.gotchas._steps import steps
from workloads.gotchas._catalogue import build_function
from workloads.gotchas._gotcha import TENSORFLOW

NAMES = {"keras": keras, "np": np, "optimizers": optimizers, "schedules": schedules, "steps": steps, "tf": tf}


def __getattr__(name: str) -> Callable[..., Any]:
    return build_function(TENSORFLOW, name, NAMES)
