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
from compare.porting import port_source, rest_source, training_script
from compare.porting.formatting import format_source
from compare.porting.functions.function_source import CONSTANTS, LOADED
from compare.porting.identifiers import comment_text
from compare.porting.input_pipeline import pipeline_docstring
from compare.porting.model_source import model_source
from compare.porting.port_builders import RECEIPT, WEIGHTS, Original
from compare.porting.port_facts import PortFacts, facts_of_model
from compare.porting.port_folders import (
    PORT,
    README,
    SCRIPT,
    TEST_FILE,
    find_files_of_user,
    original_from,
    written_anew,
)
from compare.porting.port_source import Sizes
from compare.porting.styles import LINEN, NNX, Style
from compare.porting.training_source import Training, training_source
from compare.porting.uncalled_layers import UNCALLED
from compare.porting.written_classes import Written
from compare.sides.weight_workers import KerasModel, WeightWorkers
from compare.weights import carrying
from compare.weights.planning import without_misfits
from compare.writing import write_atomically
from workloads.protocol.architecture import Architecture

MODEL, TRAINING = "model_jax.py", "training_jax.py"
ORIGINAL = "original"
FILES = (MODEL, TRAINING, PORT, TEST_FILE, WEIGHTS, RECEIPT, CONSTANTS, rest_source.PORT, README, SCRIPT)

_IMPORTS = "from typing import Any\n\nimport jax\nimport jax.numpy as jnp\nimport optax\n"
_FLAX: Mapping[Style, str] = {
    NNX: "from flax import nnx\n",
    LINEN: "from flax import linen as nn\nfrom flax import traverse_util\nfrom flax.training import train_state\n",
}
_TITLES: Mapping[Style, str] = {NNX: "Flax NNX", LINEN: "Flax Linen"}


@dataclass(frozen=True)
class Port:
    """The written port of a model.

    Attributes:
      folder: of it.
      facts: what its README says.
      written: the module.
      training: that was written.
      weights: how many were carried.
      findings: why others were not.
      usage: lines of Python that load and call it.
      uncalled: layers that the call does not use, each with its weights, which are not carried.
      files_of_user: under names of the port's, which were not written.
    """

    folder: Path
    facts: PortFacts
    written: Written
    training: Training
    weights: int
    findings: tuple[str, ...]
    usage: tuple[str, ...] = ()
    uncalled: tuple[str, ...] = ()
    files_of_user: tuple[str, ...] = ()

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
        """The port file for the written part, while places are left; None if it cannot be judged."""
        file = self.folder / rest_source.PORT
        return file if file.exists() and not self.findings else None

    @property
    def computes(self) -> bool:
        """Whether all of it is written but its training."""
        return not (self.written.places or self.findings or self.training.text)

    @property
    def file(self) -> Path:
        """The port file for `jaxport run`."""
        return self.folder / PORT


def _left_places(source: Written, training: Training) -> tuple[str, ...]:
    return (*(place.description for place in source.places), *training.unwritten)


def predict_port(architecture: Architecture) -> PredictedPort:
    """The parts of a model's port that would be left unwritten, as in `Port.unwritten`.

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


def texts(
    architecture: Architecture, original: Original, sizes: Sizes, style: Style = NNX
) -> tuple[Written, Training, Mapping[str, str]]:
    """The written texts by file name.

    Raises:
      RequestError: it cannot be written at all.
    """
    source = model_source(architecture, style)
    training = training_source(architecture, source)
    with_training = bool(training.text)
    name, says = port_source.port_name(architecture), pipeline_docstring(architecture.pipeline)
    model = f'"""{name} in {_TITLES[style]}.{says}"""\n\n{_head(source, style)}\n\n{source.text}\n'
    parts = rest_source.judged_parts(architecture, source)
    # What is judged of a port of which a part raises is the rest; without a training that is the port itself.
    needs_rest = parts and (source.places or (with_training and training.unwritten))
    rest = {}
    if needs_rest:
        rest[rest_source.PORT] = rest_source.rest_source(architecture, source, original, sizes, parts)
    has_call = any(not graph.model for graph in architecture.graphs)
    if not has_call and not (with_training and not source.places):
        return source, training, {file: format_source(text, file) for file, text in {MODEL: model, **rest}.items()}
    sources = {MODEL: model, **rest, TEST_FILE: port_source.TEST}
    if has_call:
        sources[PORT] = port_source.port_source(architecture, source, training, original, sizes)
    else:
        sources[PORT] = rest_source.source_without_call(architecture, source, training, original, sizes)
    if with_training:
        imports = f"{_IMPORTS}{_FLAX[style]}\nfrom model_jax import {source.class_name}\nimport jaxport\n"
        if not training_script.find_obstacle(architecture, source, training):
            sources[SCRIPT] = training_script.script_text(architecture, source, training)
        sources[TRAINING] = f'"""The training of {name}, as it was compiled."""\n\n{imports}\n\n{training.text}\n'
    return source, training, {file: format_source(text, file) for file, text in sources.items()}


def _head(source: Written, style: Style) -> str:
    """Imports, and the arrays that the module reads from a file."""
    imports = f"{_IMPORTS}{_FLAX[style]}"
    if not source.constants:
        return f"{imports}\nimport jaxport\n"
    first, _, rest = imports.partition("\n")
    loading = "from safetensors.numpy import load_file\n\nimport jaxport\n"
    return f"from pathlib import Path\n{first}\n{rest}{loading}\n{LOADED}"


def write(model: KerasModel, folder: Path, sizes: Sizes, workers: WeightWorkers, style: Style = NNX) -> Port:
    """Write a port of a Keras model, its weights included.

    Args:
      folder: that it is written to, empty or of a port that is written anew.

    Raises:
      RequestError: the model cannot be read, or has no counterpart in that style.
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
        port_filled = _fill(staging, architecture, original, sizes, style)
        carriage = _plan(model, port_filled, folder, staging, workers)
        misfits = _misfits(carriage, port_filled)
        if misfits:
            # A layer whose weights do not fit its module is left to be written, and they are carried apart.
            reasons = {**architecture.reasons, **misfits}
            port_filled = _fill(staging, replace(architecture, reasons=reasons), original, sizes, style)
            carriage = _plan(model, port_filled, folder, staging, workers)
        findings = tuple(finding.line for finding in carriage.plan.findings)
        carriage = replace(carriage, plan=without_misfits(carriage.plan))
        carrying.write(carriage, staging / WEIGHTS)
    whole = not (findings or port_filled.written.places)
    usage = port_source.usage(folder, architecture, port_filled.written, sizes) if whole else ()
    return Port(
        folder,
        facts_of_model(architecture, *port_filled, original, sizes),
        *port_filled,
        len(carriage.plan.moves),
        findings,
        usage,
        _find_uncalled(carriage),
        find_files_of_user(folder, FILES),
    )


def _find_uncalled(carriage: carrying.Carriage) -> tuple[str, ...]:
    """The layers whose weights no port of the call needs, each with their names."""
    return tuple(
        f"{comment_text(layer.subject)}: {', '.join(comment_text(leaf.name) for leaf in layer.leaves)}"
        for layer in carriage.source.layers
        if layer.path in carriage.request.unused and layer.leaves
    )


class _Filled(NamedTuple):
    """The files written into a folder."""

    written: Written
    training: Training


def _fill(folder: Path, architecture: Architecture, original: Original, sizes: Sizes, style: Style) -> _Filled:
    """Write all texts of a port, in place of those that are there."""
    source, training, sources = texts(architecture, original, sizes, style)
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
    """The plan for the module in its temporary folder; the receipt names its final folder."""
    source = port_filled.written
    request = carrying.Request(
        model,
        f"{staging / MODEL}:{source.class_name}",
        source.names,
        unused=dict.fromkeys(source.uncalled, UNCALLED),
    )
    carriage = carrying.plan_carriage(request, workers)
    return replace(carriage, request=replace(request, module=f"{folder / MODEL}:{source.class_name}"))
