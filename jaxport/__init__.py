"""JAX with TensorFlow's behaviour, for ports; the judges of a port; and how JAX computes each built-in workload.

Import what a port needs: `from jaxport import optimizers, recurrent`. Each public function gives what TensorFlow or
Keras gives where JAX, Flax and optax have nothing that is exactly it; docs/library/ lists them. `check` judges a port
of functions and models of this process, as `testing.assert_ports_match` does in a test. `ArraySpec`, `Deviation`,
`Training` and `Workload` declare a workload in a port file, and `Model` hands a model of your own to the judges.
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
    from jaxport import testing as testing
    from jaxport import weights as weights
    from jaxport._checking import CarriedWeights as CarriedWeights
    from jaxport._checking import CheckReport as CheckReport
    from jaxport._checking import RequestError as RequestError
    from jaxport._checking import WeightPairs as WeightPairs
    from jaxport._checking import carry_weights as carry_weights
    from jaxport._checking import check as check
    from jaxport._doors import DoctorReport as DoctorReport
    from jaxport._doors import LocateReport as LocateReport
    from jaxport._doors import WrittenPort as WrittenPort
    from jaxport._doors import doctor as doctor
    from jaxport._doors import locate as locate
    from jaxport._doors import write_port as write_port
    from jaxport._measuring import BenchReport as BenchReport
    from jaxport._measuring import ProgramsReport as ProgramsReport
    from jaxport._measuring import bench as bench
    from jaxport._measuring import compare_programs as compare_programs
    from jaxport._model import Model as Model
    from jaxport._model import Parts as Parts
    from workloads.core.spec import ArraySpec as ArraySpec
    from workloads.core.spec import Deviation as Deviation
    from workloads.core.spec import Training as Training
    from workloads.core.spec import Workload as Workload

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
    "recurrent_dropout",
    "resizing",
    "schedules",
    "segments",
    "sequences",
    "signal",
    "stateful",
    "weights",
)
"""Modules of the library, each imported once it is asked for."""


_HOMES = (
    dict.fromkeys(("Model", "Parts"), "jaxport._model")
    | {"CarriedWeights": "compare.api.carried_weights", "CheckReport": "compare.api.check_report"}
    | {"LocateReport": "compare.api.locate_report", "WeightPairs": "compare.api.live_weights"}
    | {"DoctorReport": "compare.api.diagnosis", "WrittenPort": "compare.api.port_writing"}
    | {"BenchReport": "compare.api.bench_report", "ProgramsReport": "compare.api.programs_report"}
    | dict.fromkeys(("doctor", "locate", "write_port"), "jaxport._doors")
    | dict.fromkeys(("bench", "compare_programs"), "jaxport._measuring")
    | dict.fromkeys(("RequestError", "carry_weights", "check"), "jaxport._checking")
    | dict.fromkeys(("ArraySpec", "Deviation", "Training", "Workload"), "workloads.core.spec")
)
"""By public name that is no module, the module that has it."""

_MODULES = (*LIBRARY, "testing")


def __getattr__(name: str) -> Any:
    """`jaxport.optimizers`, `jaxport.check`: each is loaded once it is asked for, since pytest imports this everywhere.

    Raises:
      AttributeError: there is no such name.
    """
    with neighbours():
        if name in _MODULES:
            return importlib.import_module(f"jaxport.{name}")
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"expected a public name of jaxport ({', '.join((*_MODULES, *_HOMES))}), found jaxport.{name}")


def __dir__() -> list[str]:
    """The library, and all other public names."""
    return sorted((*globals(), *_MODULES, *_HOMES))
