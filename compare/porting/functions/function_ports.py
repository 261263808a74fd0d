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
from compare.porting.port_builders import BUILD_JAX, BUILD_TF, Builder, builders_text
from compare.porting.port_facts import PortFacts
from compare.porting.port_folders import PORT, README, TEST_FILE, find_files_of_user, original_from, written_anew
from compare.porting.port_source import TEST
from compare.sides.model_worker import ModelWorker
from workloads.core.spec import ArraySpec
from workloads.protocol.function_graph import Captured, Result
from workloads.protocol.saved_graph import SavedGraph, plain

FILES = (MODULE, CONSTANTS, WEIGHTS_FILE, PORT, TEST_FILE, README)


@dataclass(frozen=True)
class FunctionPort:
    """The written port of a function.

    Attributes:
      folder: of it.
      facts: what its README says.
      written: the function.
      files_of_user: under names of the port's, which were not written.
    """

    folder: Path
    facts: PortFacts
    written: WrittenFunction
    files_of_user: tuple[str, ...] = ()

    @property
    def weights(self) -> int:
        """How many were carried."""
        return len(self.written.values)

    @property
    def file(self) -> Path:
        """The port file for `jaxport run`."""
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
    build = Builder(
        ("from tf_reference import function_port",),
        f"function_port(original, {list(sized_specs)!r}, dtype)",
        (f"original = str(Path(__file__).parent / {original!r})",),
    )
    contents = texts(function, specs, original, build if function.weights else None)
    return _write(function, contents, folder, _facts(function, specs, original))


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
    arguments = ", ".join(
        [f"str(here / {location!r})"]
        + [f"{name}={value!r}" for name in ("signature", "outputs") if (value := getattr(selection, name))]
    )
    sized_specs = of_known_sizes({key: specs[name] for name, key in function.keys.items()})
    weights_text = f"here / {WEIGHTS_FILE!r}" if function.values else None
    build = Builder(
        ("from tf_reference import SavedGraph, saved_graph_port",),
        f"saved_graph_port(original, {sized_specs!r}, dtype, {weights_text})",
        ("here = Path(__file__).parent", f"original = SavedGraph({arguments})"),
    )
    contents = texts(function, specs, f"{PORT}:{BUILD_TF}", build)
    return _write(function, contents, folder, _facts(function, specs, location))


def _named_sizes(result: Result) -> ArraySpec[int | str]:
    """The specification of an input; equal open axes of two inputs have one size."""
    sizes = [_AXES[min(axis, 4)] if size is None else size for axis, size in enumerate(result.shape or ())]
    return ArraySpec(tuple(sizes), result.dtype)


_AXES = ("batch", "length", "width", "depth", "height")
"""Names of axes that a file leaves open."""


def _facts(function: WrittenFunction, specs: Mapping[str, ArraySpec[int | str]], original: str) -> PortFacts:
    inputs = ", ".join(f"{name} {spec.dtype}[{', '.join(map(str, spec.shape))}]" for name, spec in specs.items())
    names = [function.name, *["load_weights"] * bool(function.values)]
    return PortFacts(
        name=function.name,
        what="A port in `jax.numpy`",
        original=original,
        subject=function.name,
        module=MODULE,
        inputs=inputs,
        outputs="",
        loading=(
            f"from {MODULE.removesuffix('.py')} import {', '.join(names)}",
            *["weights = load_weights()"] * bool(function.values),
        ),
        obstacle="a function has no training step",
    )


def _write(function: WrittenFunction, plain_texts: Mapping[str, str], folder: Path, facts: PortFacts) -> FunctionPort:
    contents: dict[str, str | bytes] = {file: format_source(text, file) for file, text in plain_texts.items()}
    for file, arrays in ((CONSTANTS, function.constants), (WEIGHTS_FILE, function.values)):
        if arrays:
            contents[file] = save({key: np.asarray(array, order="C") for key, array in arrays.items()})
    with written_anew(folder, FILES, contents):
        pass
    return FunctionPort(folder, facts, function, find_files_of_user(folder, FILES))


def predict_port(reference: str, inputs: Sequence[str], worker: ModelWorker) -> PredictedPort:
    """The parts of a function's port that would be left unwritten.

    Args:
      reference: FILE.py:NAME.
      inputs: NAME=TYPE[SHAPE] of each argument.

    Raises:
      RequestError: it cannot be read.
    """
    function = function_source(*worker.function_graph(reference, of_known_sizes(parse_inputs(inputs))))
    return PredictedPort(tuple(place.description for place in function.unwritten))


def texts(
    function: WrittenFunction, specs: Mapping[str, ArraySpec[int | str]], original: str, build: Builder | None
) -> Mapping[str, str]:
    """The written texts by file name, not formatted.

    Args:
      original: FILE.py:NAME from the folder of the port.
      build: what builds the original; None where it is a function alone.
    """
    return {MODULE: function.text, PORT: _port(function, specs, original, build), TEST_FILE: TEST}


def _port(
    function: WrittenFunction, specs: Mapping[str, ArraySpec[int | str]], original: str, build: Builder | None
) -> str:
    inputs = " ".join(f"{name!r}: {_spec(spec)}," for name, spec in specs.items())
    weights = " ".join(f"{name!r}: {_weight(function, name)}," for name in function.weights)
    tf = f"{PORT}:{BUILD_TF}" if build else original
    jax = f"{PORT}:{BUILD_JAX}" if build else f"{MODULE}:{function.name}"
    return f'''"""{function.name}: what both sides compute. Judge it with `jaxport run {PORT}`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloads import ArraySpec, Workload, carried_weight

{builders_text(build, _port_builder(function)) if build else ""}


port = Workload(
    name={function.name!r},
    summary="written by jaxport init",
    inputs={{ {inputs} }},
    {f"weights={{ {weights} }}," if weights else ""}
    tf={tf!r},
    jax={jax!r},
    builds={build is not None},
)
'''


def _port_builder(function: WrittenFunction) -> Builder:
    """The builder of the function and its weights by their scopes."""
    # Of the module: the function may be called as anything here.
    imports, name = ("import function_jax", "import jaxport"), f"function_jax.{function.name}"
    if not function.weights:
        return Builder(imports, f"jaxport.Model(lambda weights, *inputs: {name}(*inputs))")
    return Builder(
        ("from functools import partial", "from flax import traverse_util", *imports),
        f'jaxport.Model({name}, partial(group, sep="/"), partial(flatten, sep="/"))',
        ("group, flatten = traverse_util.unflatten_dict, traverse_util.flatten_dict",),
    )


def _weight(function: WrittenFunction, name: str) -> str:
    """The values of a weight in the judgement: drawn floats, or the carried array of another type."""
    weight = function.weights[name]
    if name in function.values and np.dtype(weight.result.dtype).kind in "iub":
        return f"carried_weight(Path(__file__).parent / {WEIGHTS_FILE!r}, {name!r})"
    return f"ArraySpec({weight.result.shape!r}, {weight.result.dtype!r}{_spec_text(weight)})"


def _spec_text(weight: Captured) -> str:
    """The specification of a variable: as large as its values, and not negative if they are not."""
    if weight.ends is None:
        return f", scale={float(f'{weight.scale:.3g}')!r}" if weight.scale else ""
    low, high = (float(f"{end:.3g}") for end in weight.ends)
    low, high = (low, high) if low < high else (low / 2, high * 1.5)
    return f", low={low!r}, high={high!r}"


def _spec(spec: ArraySpec[int | str]) -> str:
    ends = "" if spec.low is None else f", low={spec.low!r}, high={spec.high!r}"
    return f"ArraySpec({tuple(spec.shape)!r}, {spec.dtype!r}{ends})"
