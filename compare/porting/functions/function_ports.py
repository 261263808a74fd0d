"""A written function in a folder of its own: the module, what hands both sides to the judges, and a test."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from compare.doctor.predicted_port import PredictedPort
from compare.inputs.functions import of_known_sizes, parse_inputs
from compare.porting.formatting import format_source
from compare.porting.functions.function_source import (
    CONSTANTS,
    MODULE,
    WEIGHTS_FILE,
    WrittenFunction,
    function_source,
)
from compare.porting.port_folders import BUILDS, PORT, TEST_FILE, original_from, written_anew
from compare.porting.port_source import TEST
from compare.sides.model_worker import ModelWorker
from workloads._function_graph import Captured, Result
from workloads._saved_graph import SavedGraph, plain
from workloads._spec import ArraySpec

FILES = (MODULE, CONSTANTS, WEIGHTS_FILE, PORT, TEST_FILE, *BUILDS.values())


@dataclass(frozen=True)
class FunctionPort:
    """What was written.

    Attributes:
      folder: of it.
      written: the function.
    """

    folder: Path
    written: WrittenFunction

    @property
    def file(self) -> Path:
        """That `jaxport run` takes."""
        return self.folder / PORT

    @property
    def coverage(self) -> str:
        """How many operations were written, of how many, and how many weights were carried."""
        count, unwritten_count = self.written.operations.total(), self.written.left.total()
        carried_text = f", {len(self.written.values)} weights carried" if self.written.values else ""
        return f"{count} of {count + unwritten_count} operations written{carried_text}"


def write(reference: str, inputs: Sequence[str], folder: Path, worker: ModelWorker) -> FunctionPort:
    """Write a port of a function of TensorFlow.

    Args:
      reference: FILE.py:NAME.
      inputs: NAME=TYPE[SHAPE] of each argument.

    Raises:
      RequestError: it cannot be read.
    """
    specs = parse_inputs(inputs)
    sized_specs = of_known_sizes(specs)
    function = function_source(*worker.function_graph(reference, sized_specs))
    original = original_from(folder, reference)
    build = _BUILD_TF.format(original=original, given=list(sized_specs))
    return _write(function, texts(function, specs, original, build if function.weights else ""), folder)


def write_saved(selection: SavedGraph, inputs: Sequence[str], folder: Path, worker: ModelWorker) -> FunctionPort:
    """Write a port of a part of a SavedModel or of a frozen graph, with what its variables hold.

    Args:
      inputs: NAME=TYPE[SHAPE] of arguments that the file does not say enough of.

    Raises:
      RequestError: it cannot be read.
    """
    specs_given = parse_inputs(inputs)
    function = function_source(*worker.saved_graph(selection, of_known_sizes(specs_given)))
    specs = {
        name: specs_given.get(key) or specs_given.get(plain(key)) or _named_sizes(function.inputs[name])
        for name, key in function.keys.items()
    }
    location = Path(os.path.relpath(Path(selection.path).resolve(), folder.resolve())).as_posix()
    build = _BUILD_SAVED.format(
        arguments=", ".join(
            [f"str(HERE / {location!r})"]
            + [f"{name}={value!r}" for name in ("signature", "outputs") if (value := getattr(selection, name))]
        ),
        given=of_known_sizes({key: specs[name] for name, key in function.keys.items()}),
        carried=f"HERE / {WEIGHTS_FILE!r}" if function.values else None,
    )
    return _write(function, texts(function, specs, f"{BUILDS['tf']}:build", build), folder)


def _named_sizes(result: Result) -> ArraySpec[int | str]:
    """What is drawn for an input: equal axes of two that are not fixed are of one size."""
    sizes = [_AXES[min(axis, 4)] if size is None else size for axis, size in enumerate(result.shape or ())]
    return ArraySpec(tuple(sizes), result.dtype)


_AXES = ("batch", "length", "width", "depth", "height")
"""Names of axes that a file leaves open."""


def _write(function: WrittenFunction, plain_texts: Mapping[str, str], folder: Path) -> FunctionPort:
    contents: dict[str, str | bytes] = {file: format_source(text, file) for file, text in plain_texts.items()}
    for file, arrays in ((CONSTANTS, function.constants), (WEIGHTS_FILE, function.values)):
        if arrays:
            contents[file] = save({key: np.asarray(array, order="C") for key, array in arrays.items()})
    with written_anew(folder, FILES, contents):
        return FunctionPort(folder, function)


def predict_port(reference: str, inputs: Sequence[str], worker: ModelWorker) -> PredictedPort:
    """What a port of a function would leave to be written.

    Args:
      reference: FILE.py:NAME.
      inputs: NAME=TYPE[SHAPE] of each argument.

    Raises:
      RequestError: it cannot be read.
    """
    function = function_source(*worker.function_graph(reference, of_known_sizes(parse_inputs(inputs))))
    return PredictedPort(tuple(place.description for place in function.unwritten))


def texts(
    function: WrittenFunction, specs: Mapping[str, ArraySpec[int | str]], original: str, build: str
) -> Mapping[str, str]:
    """What is written, by the name of the file, not formatted.

    Args:
      original: FILE.py:NAME from the folder of the port.
      build: the file that builds the original; "" where it is a function alone.
    """
    contents = {MODULE: function.text, PORT: _port(function, specs, original, bool(build)), TEST_FILE: TEST}
    if build:
        form = _BUILD_JAX if function.weights else _BUILD_PLAIN_JAX
        contents |= {BUILDS["tf"]: build, BUILDS["jax"]: form.format(name=function.name)}
    return contents


def _port(function: WrittenFunction, specs: Mapping[str, ArraySpec[int | str]], original: str, builds: bool) -> str:
    inputs = " ".join(f"{name!r}: {_spec(spec)}," for name, spec in specs.items())
    weights = " ".join(f"{name!r}: {_weight(function, name)}," for name in function.weights)
    tf = f"{BUILDS['tf']}:build" if builds else original
    jax = f"{BUILDS['jax']}:build" if builds else f"{MODULE}:{function.name}"
    return f'''"""{function.name}: what both sides compute. Judge it with `jaxport run port.py`."""

from pathlib import Path

from workloads import ArraySpec, Workload, carried_weight

port = Workload(
    name={function.name!r},
    summary="written by jaxport init",
    inputs={{ {inputs} }},
    {f"weights={{ {weights} }}," if weights else ""}
    tf={tf!r},
    jax={jax!r},
    builds={builds},
)
'''


def _weight(function: WrittenFunction, name: str) -> str:
    """What a weight is judged with: numbers that are drawn, or what was carried of what is no float."""
    weight = function.weights[name]
    if name in function.values and np.dtype(weight.result.dtype).kind in "iub":
        return f"carried_weight(Path(__file__).parent / {WEIGHTS_FILE!r}, {name!r})"
    return f"ArraySpec({weight.result.shape!r}, {weight.result.dtype!r}{_spec_text(weight)})"


def _spec_text(weight: Captured) -> str:
    """What is drawn for a variable is as large as what it holds, and not below 0 where none of that is."""
    if weight.ends is None:
        return f", scale={float(f'{weight.scale:.3g}')!r}" if weight.scale else ""
    low, high = (float(f"{end:.3g}") for end in weight.ends)
    low, high = (low, high) if low < high else (low / 2, high * 1.5)
    return f", low={low!r}, high={high!r}"


def _spec(spec: ArraySpec[int | str]) -> str:
    ends = "" if spec.low is None else f", low={spec.low!r}, high={spec.high!r}"
    return f"ArraySpec({tuple(spec.shape)!r}, {spec.dtype!r}{ends})"


_BUILD_TF = '''"""The original as `jaxport run` takes it."""

from collections.abc import Mapping
from pathlib import Path

from tf_reference import Model, function_port

ORIGINAL = str(Path(__file__).parent / {original!r})


def build(dimensions: Mapping[str, int], dtype: str) -> Model:
    """The function, and the variables that it reads."""
    return function_port(ORIGINAL, {given!r}, dtype)
'''

_BUILD_SAVED = '''"""The original as `jaxport run` takes it."""

from collections.abc import Mapping
from pathlib import Path

from tf_reference import Model, SavedGraph, saved_graph_port

HERE = Path(__file__).parent
ORIGINAL = SavedGraph({arguments})


def build(dimensions: Mapping[str, int], dtype: str) -> Model:
    """What is computed of the file, and the variables that it reads."""
    return saved_graph_port(ORIGINAL, {given!r}, dtype, {carried})
'''

_BUILD_JAX = '''"""The port as `jaxport run` takes it."""

from collections.abc import Mapping
from functools import partial

from flax import traverse_util
from function_jax import {name}
import jaxport


def build(dimensions: Mapping[str, int], dtype: str) -> jaxport.Model:
    """The function, and the weights that it takes, by their scopes."""
    group, flatten = traverse_util.unflatten_dict, traverse_util.flatten_dict
    return jaxport.Model({name}, partial(group, sep="/"), partial(flatten, sep="/"))
'''

_BUILD_PLAIN_JAX = '''"""The port as `jaxport run` takes it."""

from collections.abc import Mapping

from function_jax import {name}
import jaxport


def build(dimensions: Mapping[str, int], dtype: str) -> jaxport.Model:
    """The function, which takes no weights."""
    return jaxport.Model(lambda weights, *inputs: {name}(*inputs))
'''
