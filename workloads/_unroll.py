"""A training run made of calls of one compiled step program, whichever framework runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from workloads._framework import WEIGHTS, Program, Twin, Unsupported

STATE = "state/"


def unroll(
    run: Callable[[list[np.ndarray]], Sequence[np.ndarray]], program: Program, twin: Twin, checkpoints: Sequence[int]
) -> dict[str, np.ndarray]:
    """loss: [steps]; "weights@STEP/PATH" after each checkpoint. `run` takes arguments and gives results, in order.

    What a step returns under the name of a weight or a state is what the next step is given.

    Raises:
      Unsupported: the program returns no loss.
    """
    if "loss" not in {result.name for result in program.results}:
        raise Unsupported("the step program returns no loss")
    case = next(iter(twin.cases))
    held: dict[str, np.ndarray] = {}
    losses, kept = [], {}
    for step in range(len(next(iter(twin.batches.values())))):
        arguments = []
        for parameter in program.parameters:
            if parameter.kind == "input":
                value = twin.batches[parameter.name][step].astype(parameter.dtype, copy=False)
            else:
                prefix = WEIGHTS if parameter.kind == "weight" else STATE
                value = held.get(prefix + parameter.name)
            arguments.append(twin.argument(parameter, case, program.states) if value is None else value)
        results = zip(program.results, run(arguments), strict=True)
        held = {result.name: np.asarray(value) for result, value in results}
        losses.append(held["loss"])
        if step + 1 in checkpoints:
            weights = {path: held.get(WEIGHTS + path) for path in twin.weights}
            kept |= {f"weights@{step + 1}/{path}": value for path, value in weights.items() if value is not None}
    return {"loss": np.array(losses)} | kept
