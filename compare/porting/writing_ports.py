"""A port written whole: the module, its training, its proof and its weights, in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import save

from compare.doctor.predicted_port import PredictedPort
from compare.porting import port_source, rest_source
from compare.porting.formatting import format_source
from compare.porting.functions.function_source import CONSTANTS, LOADED
from compare.porting.identifiers import comment_text
from compare.porting.input_pipeline import pipeline_docstring
from compare.porting.model_source import model_source
from compare.porting.port_folders import BUILDS, PORT, TEST_FILE, original_from, written_anew
from compare.porting.port_source import RECEIPT, WEIGHTS, Original, Sizes
from compare.porting.training_source import Training, training_source
from compare.porting.uncalled_layers import UNCALLED
from compare.porting.written_classes import Written
from compare.sides.weight_workers import KerasModel, WeightWorkers
from compare.weights import carrying
from compare.weights.planning import without_misfits
from compare.writing import write_atomically
from workloads._architecture import Architecture

MODEL, TRAINING = "model_jax.py", "training_jax.py"
ORIGINAL = "original"
FILES = (
    *(MODEL, TRAINING, PORT, TEST_FILE, *BUILDS.values(), WEIGHTS, RECEIPT, CONSTANTS),
    *(rest_source.PORT, *rest_source.BUILDS.values()),
)

_IMPORTS = "from typing import Any\n\nimport jax\nimport jax.numpy as jnp\nimport optax\nfrom flax import nnx\n"


@dataclass(frozen=True)
class Port:
    """What was written.

    Attributes:
      folder: of it.
      written: the module.
      training: that was written.
      weights: how many were carried.
      findings: why others were not.
      usage: lines of Python that load and call it.
      uncalled: layers that the call does not use, each with its weights, which are not carried.
    """

    folder: Path
    written: Written
    training: Training
    weights: int
    findings: tuple[str, ...]
    usage: tuple[str, ...] = ()
    uncalled: tuple[str, ...] = ()

    @property
    def unwritten(self) -> tuple[str, ...]:
        """Every place that is left to be written."""
        return _left_places(self.written, self.training)

    @property
    def unwritten_files(self) -> tuple[str, ...]:
        """The names of the files in which something is left to be written."""
        of_model = bool(self.written.places or self.findings)
        return tuple(name for name, is_left in ((MODEL, of_model), (TRAINING, self.training.unwritten)) if is_left)

    @property
    def rest(self) -> Path | None:
        """That `jaxport run` takes of what is written, while places are left; None where that cannot be judged."""
        file = self.folder / rest_source.PORT
        return file if file.exists() and not self.findings else None

    @property
    def computes(self) -> bool:
        """Whether all of it is written but its training."""
        return not (self.written.places or self.findings or self.training.text)

    @property
    def file(self) -> Path:
        """That `jaxport run` takes."""
        return self.folder / PORT


def _left_places(source: Written, training: Training) -> tuple[str, ...]:
    return (*(place.description for place in source.places), *training.unwritten)


def predict_port(architecture: Architecture) -> PredictedPort:
    """What a port of a model would leave to be written, as `Port.unwritten` lists it.

    Raises:
      RequestError: it cannot be written at all.
    """
    source = model_source(architecture)
    layers = {place.layer: place.description for place in source.places}
    for place in source.places:
        # A place that is the call of a class alone has what is inside of it as modules.
        if not place.is_call:
            inside = (layer.path for layer in architecture.source.layers if layer.path.startswith(f"{place.layer}/"))
            layers |= dict.fromkeys(inside, place.description)
    places = _left_places(source, training_source(architecture, source))
    read = frozenset(layer.path for layer in architecture.source.layers)
    return PredictedPort(places, layers, read, architecture.pipeline)


def texts(architecture: Architecture, original: Original, sizes: Sizes) -> tuple[Written, Training, Mapping[str, str]]:
    """What is written, by the name of the file.

    Raises:
      RequestError: it cannot be written at all.
    """
    source = model_source(architecture)
    training = training_source(architecture, source)
    with_training = bool(training.text)
    name, says = port_source.port_name(architecture), pipeline_docstring(architecture.pipeline)
    model = f'"""{name} in Flax NNX.{says}"""\n\n{_head(source)}\n\n{source.text}\n'
    parts = rest_source.judged_parts(architecture, source)
    # What is judged of a port of which a part raises is the rest; without a training that is the port itself.
    needs_rest = parts and (source.places or (with_training and training.unwritten))
    rest = rest_source.rest_texts(architecture, source, original, sizes, parts) if needs_rest else {}
    has_call = any(not graph.model for graph in architecture.graphs)
    if not has_call and not (with_training and not source.places):
        return source, training, {file: format_source(text, file) for file, text in {MODEL: model, **rest}.items()}
    sources = {MODEL: model, **rest, TEST_FILE: port_source.TEST}
    if has_call:
        sources |= {
            BUILDS["jax"]: port_source.jax_source(source, training),
            BUILDS["tf"]: port_source.tf_source(original, source, with_training, says),
            PORT: port_source.port_source(architecture, source, with_training, sizes),
        }
    else:
        sources |= rest_source.texts_without_call(architecture, source, training, original, sizes)
    if with_training:
        imports = f"{_IMPORTS}\nfrom model_jax import {source.class_name}\nimport jaxport\n"
        sources[TRAINING] = f'"""The training of {name}, as it was compiled."""\n\n{imports}\n\n{training.text}\n'
    return source, training, {file: format_source(text, file) for file, text in sources.items()}


def _head(source: Written) -> str:
    """Imports, and the arrays that the module reads from a file."""
    if not source.constants:
        return f"{_IMPORTS}\nimport jaxport\n"
    first, _, rest = _IMPORTS.partition("\n")
    loading = "from safetensors.numpy import load_file\n\nimport jaxport\n"
    return f"from pathlib import Path\n{first}\n{rest}{loading}\n{LOADED}"


def write(model: KerasModel, folder: Path, sizes: Sizes, workers: WeightWorkers) -> Port:
    """Write a port of a Keras model, its weights included.

    Args:
      folder: that it is written to, empty or of a port that is written anew.

    Raises:
      RequestError: the model cannot be read.
      UnwrittenError: a file cannot be written.
    """
    workers.start()
    architecture = workers.architecture(model)
    of_code = model.reference.rpartition(":")[0].endswith(".py")
    archive = "" if of_code else f"{ORIGINAL}{Path(model.reference).suffix.lower()}"
    original = Original(
        archive or original_from(folder, model.reference),
        tuple(original_from(folder, reference) for reference in model.custom),
    )
    with written_anew(folder, FILES, {}) as staging:
        if archive:
            shutil.copyfile(model.reference, staging / archive)
        port_filled = _fill(staging, architecture, original, sizes)
        carriage = _plan(model, port_filled, folder, staging, workers)
        misfits = _misfits(carriage, port_filled)
        if misfits:
            # A layer whose weights do not fit its module is left to be written, and they are carried apart.
            reasons = {**architecture.reasons, **misfits}
            port_filled = _fill(staging, replace(architecture, reasons=reasons), original, sizes)
            carriage = _plan(model, port_filled, folder, staging, workers)
        findings = tuple(finding.line for finding in carriage.plan.findings)
        carriage = replace(carriage, plan=without_misfits(carriage.plan))
        carrying.write(carriage, staging / WEIGHTS)
    whole = not (findings or port_filled.written.places)
    usage = port_source.usage(folder, architecture, port_filled.written, sizes) if whole else ()
    return Port(folder, *port_filled, len(carriage.plan.moves), findings, usage, _find_uncalled(carriage))


def _find_uncalled(carriage: carrying.Carriage) -> tuple[str, ...]:
    """The layers whose weights no port of the call needs, each with their names."""
    return tuple(
        f"{comment_text(layer.subject)}: {', '.join(comment_text(leaf.name) for leaf in layer.leaves)}"
        for layer in carriage.source.layers
        if layer.path in carriage.request.unused and layer.leaves
    )


class _Filled(NamedTuple):
    """What was written into a folder."""

    written: Written
    training: Training


def _fill(folder: Path, architecture: Architecture, original: Original, sizes: Sizes) -> _Filled:
    """Write all texts of a port, in place of those that are there."""
    source, training, sources = texts(architecture, original, sizes)
    contents: dict[str, str | bytes] = dict(sources)
    if source.constants:
        contents[CONSTANTS] = save({key: np.ascontiguousarray(constant) for key, constant in source.constants.items()})
    for file in FILES:
        (folder / file).unlink(missing_ok=True)
    for file, content in contents.items():
        write_atomically(folder / file, content)
    return _Filled(source, training)


def _misfits(carriage: carrying.Carriage, port_filled: _Filled) -> dict[str, str]:
    """The layers of Keras that are written and whose weights do not fit -> the first reason."""
    unwritten_layers = {place.layer for place in port_filled.written.places}
    own = {layer.path for layer in carriage.source.layers if layer.container}
    names = {layer.path: layer.subject for layer in carriage.source.layers}
    misfits: dict[str, str] = {}
    for finding in carriage.plan.findings:
        if finding.layer is not None and finding.layer not in unwritten_layers | own:
            misfits.setdefault(finding.layer, finding.line.removeprefix(f"{names[finding.layer]}: "))
    return misfits


def _plan(
    model: KerasModel, port_filled: _Filled, folder: Path, staging: Path, workers: WeightWorkers
) -> carrying.Carriage:
    """What is carried into the module where it stands now; the receipt names it where it will stand."""
    source = port_filled.written
    request = carrying.Request(
        model,
        f"{staging / MODEL}:{source.class_name}",
        source.names,
        unused=dict.fromkeys(source.uncalled, UNCALLED),
    )
    carriage = carrying.plan_carriage(request, workers)
    return replace(carriage, request=replace(request, module=f"{folder / MODEL}:{source.class_name}"))
