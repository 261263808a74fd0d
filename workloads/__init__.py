"""Framework-neutral workloads. Every module without an underscore is one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workloads._digits import DataError as DataError
    from workloads.core.examples import describe_examples as describe_examples
    from workloads.core.examples import read_examples as read_examples
    from workloads.core.spec import ArraySpec as ArraySpec
    from workloads.core.spec import Cost as Cost
    from workloads.core.spec import Deviation as Deviation
    from workloads.core.spec import Training as Training
    from workloads.core.spec import Workload as Workload
    from workloads.core.written_port import carried_weight as carried_weight
    from workloads.core.written_port import drawn_examples as drawn_examples
    from workloads.core.written_port import drawn_weights as drawn_weights

_HOMES = {
    **dict.fromkeys(("ArraySpec", "Cost", "Deviation", "Training", "Workload"), "workloads.core.spec"),
    **dict.fromkeys(("carried_weight", "drawn_examples", "drawn_weights"), "workloads.core.written_port"),
    **dict.fromkeys(("describe_examples", "read_examples"), "workloads.core.examples"),
    "DataError": "workloads._digits",
}


def __getattr__(name: str) -> Any:
    """`workloads.Workload`, loaded once it is asked for: an installation without NumPy can say what it lacks.

    Raises:
      AttributeError: there is no such name.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, only {', '.join(_HOMES)}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """All that workloads declare themselves with."""
    return sorted((*globals(), *_HOMES))
