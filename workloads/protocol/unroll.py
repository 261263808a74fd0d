"""A training run made of calls of one compiled step program, whichever framework runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from workloads.core.spec import Arrays
from workloads.protocol.framework import WEIGHTS, Parameter, Program, Twin, Unsupported
from workloads.protocol.trajectory import Guide, trajectory

STATE = "state/"


def unroll(
    run: Callable[[list[np.ndarray]], Sequence[np.ndarray]],
    program: Program,
    twin: Twin,
    checkpoints: Sequence[int],
    guide: Arrays | None = None,
) -> dict[str, np.ndarray]:
    """A training run of a step program, as `workloads.protocol.trajectory.trajectory` records it.

    What a step returns under the name of a weight or a state is what the next step is given.

    Args:
      run: takes one array for each parameter of the program, in its shape and dtype and in order; gives its results
        in order.
      twin: gives batches for its inputs, and the weights and states to start from.
      checkpoints: after how many steps the weights are kept.
      guide: "weights@STEP/PATH" of another run, which this one goes on from; None lets it go on from its own.

    Raises:
      Unsupported: the program returns no loss.
    """
    if "loss" not in {result.name for result in program.results}:
        raise Unsupported("the step program returns no loss")
    final_values: dict[str, np.ndarray] = {}

    def argument(parameter: Parameter, batch: Arrays) -> np.ndarray:
        if parameter.kind == "input":
            return batch[parameter.name].astype(parameter.dtype, copy=False)
        final_value = final_values.get((WEIGHTS if parameter.kind == "weight" else STATE) + parameter.name)
        return twin.argument(parameter, twin.first_case, program.states) if final_value is None else final_value

    def step(batch: Arrays) -> np.ndarray:
        results = program.name_results(run([argument(parameter, batch) for parameter in program.parameters]))
        final_values.clear()
        final_values.update(results)
        return final_values["loss"]

    # One that no loss reaches is no result of TensorFlow's step: it stays as it is, in the type of those that change.
    weight_dtypes = {parameter.dtype for parameter in program.parameters if parameter.kind == "weight"}
    weights_unreached = {
        path: array.astype(np.float64) if weight_dtypes == {"float64"} and "float" in array.dtype.name else array
        for path, array in twin.weights_of(twin.first_case).items()
    }

    def weights() -> Arrays:
        return {path: final_values.get(WEIGHTS + path, array) for path, array in weights_unreached.items()}

    types = {parameter.name: parameter.dtype for parameter in program.parameters if parameter.kind == "weight"}

    def start_from(weights: Arrays) -> None:
        final_values.update(
            {WEIGHTS + path: array.astype(types[path]) for path, array in weights.items() if path in types}
        )

    return trajectory(twin, checkpoints, step, weights, Guide(guide, start_from) if guide else None)
