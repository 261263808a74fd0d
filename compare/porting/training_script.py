"""`train.py` of a port: a script that trains it on arrays of a file, with a checkpoint after each epoch."""

from __future__ import annotations

from compare.porting.drawn_arrays import Arrays, data_of_step, inputs_and_targets
from compare.porting.drawn_inputs import DrawnInput
from compare.porting.identifiers import comment_text
from compare.porting.port_builders import WEIGHTS
from compare.porting.port_folders import KEEPING, SCRIPT
from compare.porting.training_source import Training
from compare.porting.written_classes import Written
from workloads.protocol.architecture import Architecture, Tensor

CHECKPOINT = "checkpoint"


def data_of_training(architecture: Architecture, source: Written) -> tuple[Arrays, Arrays]:
    """The inputs and targets of a training step."""
    if any(not graph.model for graph in architecture.graphs):
        return inputs_and_targets(architecture, source, with_training=True)
    return data_of_step(architecture), {}


def find_obstacle(architecture: Architecture, source: Written, training: Training) -> str:
    """Why a loop over the examples of a file is not how a model is trained; "" where it is."""
    if not training.text:
        return "the original is not compiled" if architecture.compiled is None else "the training step is not written"
    if source.linen:
        return "it is written for NNX alone; training_jax.py has the state and the step"
    stateful = [layer for layer in architecture.source.layers if any(leaf.is_state for leaf in layer.leaves)]
    if stateful:
        return f"{comment_text(stateful[0].subject)} keeps a state from one batch to the next, so their order is yours"
    inputs, targets = data_of_training(architecture, source)
    tensors = {name: array.tensor for name, array in {**inputs, **targets}.items()}
    return next((f"{name} {reason}" for name, tensor in tensors.items() if (reason := _obstacle(tensor))), "")


def _obstacle(tensor: Tensor) -> str:
    if not tensor.shape:
        return "is one number for all examples"
    return "holds texts" if tensor.dtype == "string" else ""


def script_text(architecture: Architecture, source: Written, training: Training) -> str:
    """The script."""
    inputs, targets = data_of_training(architecture, source)
    names = ["make_optimizer", "train_step", *["TRAINED"] * training.is_filtered]
    optimizer = f"nnx.Optimizer(model, make_optimizer(), wrt={'TRAINED' if training.is_filtered else 'nnx.Param'})"
    if training.has_several_optimizers:
        one_text = "nnx.Optimizer(model, one, wrt=TRAINED[name])"
        optimizer = f"{{name: {one_text} for name, one in make_optimizer().items()}}"
    inputs_text = "".join(f"batch[{name!r}], " for name in inputs)
    targets_text = ", ".join(f"batch[{name!r}]" for name in targets)
    specs = " ".join(f"{name!r}: {_spec(name, array)}," for name, array in {**inputs, **targets}.items())
    return f'''"""Trains the port: `python {SCRIPT} --data FILE.npz`. It goes on from the last epoch in --checkpoint.

{KEEPING}
"""

{_IMPORTS}
from model_jax import {source.class_name}
from training_jax import {", ".join(names)}

EXAMPLES = {{{specs}}}
"""The arrays in --data. Each has n examples."""


def make(seed: int) -> tuple[Any, Any]:
    """A new model and its optimizer."""
    model = {source.class_name}(rngs=nnx.Rngs(seed))
    return model, {optimizer}


def step(model: Any, optimizer: Any, batch: dict[str, Any]) -> Any:
    """Train on a batch; its loss before that."""
    return train_step(model, optimizer, ({inputs_text}), {f"({targets_text})" if len(targets) != 1 else targets_text})

{_BODY}'''


def _spec(name: str, array: DrawnInput) -> str:
    """An array of n examples, whose open sizes are those of the file."""
    shape = ["n", *(size or f"{name}_{axis}" for axis, size in enumerate(array.tensor.shape[1:], 1))]
    dtype = array.tensor.dtype
    ends = "" if array.count is None else f", low=0, high={array.count}"
    return f"ArraySpec({tuple(shape)!r}{'' if dtype == 'float32' else f', {dtype!r}'}{ends})"


_IMPORTS = """\
import argparse
import tempfile
from pathlib import Path
from typing import Any

import jaxport
import numpy as np
import orbax.checkpoint as ocp
from flax import nnx
from rich.console import Console
from rich.progress import track
from workloads import ArraySpec, DataError, describe_examples, read_examples
"""

_OTHER_MODEL = "expected this model in {manager.directory}, found another: name a new folder"
_NO_FOLDER = "expected a folder to write to, found {folder} ({error.strerror}): name another"

_BODY = f'''
def checkpoints(folder: str | Path) -> ocp.CheckpointManager:
    """The last two epochs in a folder."""
    options = ocp.CheckpointManagerOptions(max_to_keep=2, create=False, enable_async_checkpointing=False)
    return ocp.CheckpointManager(Path(folder).absolute(), options=options)


def restore(manager: ocp.CheckpointManager, model: Any, optimizer: Any) -> int:
    """Set model and optimizer to the last epoch; its number, 0 where there is none."""
    epoch = manager.latest_step() or 0
    if epoch:
        try:
            state = manager.restore(epoch, args=ocp.args.StandardRestore(nnx.state((model, optimizer))))
        except (KeyError, ValueError) as error:
            raise DataError(f"{_OTHER_MODEL}") from error
        nnx.update((model, optimizer), state)
    return epoch


def check_folder(folder: Path) -> None:
    """Refuse a checkpoint that cannot be written, before an epoch is lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise DataError(f"{_NO_FOLDER}") from error


def train(options: argparse.Namespace) -> None:
    """Train from the last epoch in the checkpoint to the last of all."""
    data = read_examples(options.data, EXAMPLES)
    model, optimizer = make(options.seed)
    if not options.from_scratch:
        jaxport.weights.load(model, Path(__file__).with_name({WEIGHTS!r}))
    check_folder(options.checkpoint)
    count, console = len(next(iter(data.values()))), Console(stderr=True)
    with checkpoints(options.checkpoint) as manager:
        start = restore(manager, model, optimizer)
        if start:
            print(f"epoch {{start}} of {{options.epochs}} is in {{options.checkpoint}}", flush=True)
        for epoch in range(start + 1, options.epochs + 1):
            # By the epoch alone: training that goes on has the batches that it would have had.
            order = np.random.default_rng((options.seed, epoch)).permutation(count)
            batches = [order[first : first + options.batch] for first in range(0, count, options.batch)]
            bar = track(batches, f"epoch {{epoch}}", console=console, transient=True, disable=not console.is_terminal)
            losses = [step(model, optimizer, {{name: array[batch] for name, array in data.items()}}) for batch in bar]
            loss = np.average(losses, weights=[len(batch) for batch in batches])
            print(f"epoch {{epoch}} of {{options.epochs}}: loss {{loss:.6g}}", flush=True)
            if not np.isfinite(loss):
                # The last step of an epoch may leave weights whose loss is none: the next epoch finds it.
                back = f", or remove {{options.checkpoint / str(start)}}" * (0 < start == epoch - 1)
                raise SystemExit(f"{SCRIPT}: expected a finite loss, found {{loss}}: lower the learning rate{{back}}")
            manager.save(epoch, args=ocp.args.StandardSave(nnx.state((model, optimizer))))


def main() -> None:
    """Read the arguments, and train."""
    parser = argparse.ArgumentParser(description="Train the port.")
    parser.add_argument("--data", type=Path, metavar="FILE.npz", help=describe_examples(EXAMPLES))
    parser.add_argument("--epochs", type=int, default=10, help="the last epoch (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="examples of a step (default: %(default)s)")
    parser.add_argument("--checkpoint", type=Path, default={CHECKPOINT!r}, help="folder (default: %(default)s)")
    parser.add_argument("--from-scratch", action="store_true", help="start from new weights, not the original's")
    parser.add_argument("--seed", type=int, default=0, help="of batches, dropout, new weights (default: %(default)s)")
    options = parser.parse_args()
    if options.data is None:
        raise SystemExit(f"{SCRIPT}: expected --data FILE.npz with {{describe_examples(EXAMPLES)}}: see numpy.savez")
    if min(options.epochs, options.batch) < 1 or not 0 <= options.seed < 1 << 32:
        raise SystemExit("{SCRIPT}: expected --epochs and --batch above 0 and --seed from 0 to 2**32 - 1: give others")
    try:
        train(options)
    except (DataError, jaxport.weights.WeightsError, OSError) as error:
        raise SystemExit(f"{SCRIPT}: {{error}}") from None
    except KeyboardInterrupt:
        raise SystemExit("{SCRIPT}: interrupted: the same command goes on from the last epoch") from None


if __name__ == "__main__":
    main()
'''
