"""Judges whether a layout computes the same as one device: both run on CPU devices at a small size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.portable import portable
from compare.planning.mesh_layouts import LayoutName, Unfit, layout, sharding
from compare.planning.sized_steps import SizedStep, SizedSteps
from compare.prove import cells
from compare.record.plan_part import JudgedLayout
from compare.sides._side import SideError
from compare.sides.device_worker import DeviceWorker
from workloads.core.spec import Arrays

DEVICES = (4, 2)
"""The first that a layout fits."""
BATCH = 8


def judge_all(names: Sequence[LayoutName], steps: SizedSteps, worker: DeviceWorker) -> tuple[JudgedLayout, ...]:
    """Each layout on CPU devices: the result of the partitioned program against that of one device.

    Raises:
      RequestError: the workload refuses the batch.
      SideError: JAX does not deliver the step.
    """
    step, arguments, expected = steps.run_on_one(BATCH)

    def one(name: LayoutName) -> JudgedLayout:
        return _judge(name, step, arguments, expected, worker)

    return tuple(map(one, names))


def _judge(
    name: LayoutName, step: SizedStep, arguments: Sequence[np.ndarray], expected: Arrays, worker: DeviceWorker
) -> JudgedLayout:
    reason = ""
    for devices in DEVICES:
        try:
            mesh_layout = layout(name, devices, 2, step.program)
            split = sharding(mesh_layout, step.program, step.batch_axes)
            results = worker.run_sharded(portable(step.program.artifact), split, arguments)
        except Unfit as error:
            reason = str(error)
            continue
        except (SideError, UnreadableProgram) as error:
            return JudgedLayout(layout=name, reason=error.reason if isinstance(error, SideError) else str(error))
        return against(name, mesh_layout.axes, step.program.name_results(results), expected)
    return JudgedLayout(layout=name, reason=reason)


def against(name: str, axes: Mapping[str, int], results: Arrays, expected: Arrays) -> JudgedLayout:
    """Compares results with those of one device, by the gate for the four cells of program and compiler.

    Args:
      results: by name, of the layout.
      expected: by name, of one device.

    Raises:
      RequestError: there is nothing to compare.
    """
    errors = cells.errors(results, expected)
    if not errors:
        raise RequestError("expected results of one name on one device and on several, found none: report it")
    error = max(errors)
    return JudgedLayout(layout=name, axes=dict(axes), error=error, agrees=cells.agrees(error, cells.usual(errors)))
