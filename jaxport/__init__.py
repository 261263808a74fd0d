"""JAX with TensorFlow's behaviour, for ports; and how JAX computes each built-in workload.

Import what a port needs: `from jaxport import optimizers, recurrent`. Each public function gives what TensorFlow or
Keras gives where JAX, Flax and optax have nothing that is exactly it; docs/library/ lists them. `Model` hands a model
of your own to the judges.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jaxport._neighbours import neighbours

if TYPE_CHECKING:
    from jaxport import activations as activations
    from jaxport import convolution as convolution
    from jaxport import dtypes as dtypes
    from jaxport import elementwise as elementwise
    from jaxport import indexing as indexing
    from jaxport import initializers as initializers
    from jaxport import layers as layers
    from jaxport import linear_algebra as linear_algebra
    from jaxport import loss_scaling as loss_scaling
    from jaxport import losses as losses
    from jaxport import metrics as metrics
    from jaxport import noise as noise
    from jaxport import normalization as normalization
    from jaxport import optimizers as optimizers
    from jaxport import pooling as pooling
    from jaxport import ports as ports
    from jaxport import random as random
    from jaxport import recurrent as recurrent
    from jaxport import resizing as resizing
    from jaxport import schedules as schedules
    from jaxport import segments as segments
    from jaxport import sequences as sequences
    from jaxport import signal as signal
    from jaxport import weights as weights
    from jaxport._model import Model as Model
    from jaxport._model import Parts as Parts

LIBRARY = (
    "activations",
    "convolution",
    "dtypes",
    "elementwise",
    "indexing",
    "initializers",
    "layers",
    "linear_algebra",
    "loss_scaling",
    "losses",
    "metrics",
    "noise",
    "normalization",
    "optimizers",
    "pooling",
    "ports",
    "quantization",
    "random",
    "recurrent",
    "resizing",
    "schedules",
    "segments",
    "sequences",
    "signal",
    "weights",
)
"""Modules of the library, each imported once it is asked for."""


_HANDED_OVER = ("Model", "Parts")


def __getattr__(name: str) -> Any:
    """`jaxport.optimizers`, `jaxport.Model`: each is loaded once it is asked for, since pytest imports this everywhere.

    Raises:
      AttributeError: there is no such module.
    """
    with neighbours():
        if name in LIBRARY:
            return importlib.import_module(f"jaxport.{name}")
        if name in _HANDED_OVER:
            return getattr(importlib.import_module("jaxport._model"), name)
    raise AttributeError(f"expected a module of the library ({', '.join(LIBRARY)}), found jaxport.{name}")


def __dir__() -> list[str]:
    """The library, and `Model`."""
    return sorted((*globals(), *LIBRARY, *_HANDED_OVER))
