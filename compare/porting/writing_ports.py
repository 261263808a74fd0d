"""A port written whole: the module, its training, its proof and its weights, in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from compare.doctor.predicted_port import PredictedPort
from compare.porting import parts_source, port_source, rest_source
from compare.porting.formatting import formatted
from compare.porting.functions.function_source import CONSTANTS, LOADED
from compare.porting.input_pipeline import pipeline_docstring
from compare.porting.model_source import model_source
from compare.porting.port_folders import BUILDS, PORT, TEST_FILE, original_from, written_anew
from compare.porting.port_source import RECEIPT, WEIGHTS, Original, Sizes
from compare.porting.training_source import Training, frozen_places, training_source
from compare.porting.written_classes import Written
from compare.sides.weight_workers import KerasModel, WeightWorkers
from compare.weights import carrying
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
      weights: how many were carried; 0 where they were not.
      findings: why they were not.
      usage: lines of Python that load and call it.
    """

    folder: Path
    written: Written
    training: Training
    weights: int
    findings: tuple[str, ...]
    usage: tuple[str, ...] = ()

    @property
    def unwritten(self) -> tuple[str, ...]:
        """Every place that is left to be written."""
        return _left_places(self.written, self.training)

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


def _left_places(written: Written, training: Training) -> tuple[str, ...]:
    return (*(place.told for place in written.places), *training.unwritten)


def predict_port(architecture: Architecture) -> PredictedPort:
    """What a port of a model would leave to be written, as `Port.unwritten` lists it.

    Args:
      architecture: of a Keras model.

    Raises:
      RequestError: it cannot be written at all.
    """
    written = model_source(architecture)
    layers = {place.layer: place.told for place in written.places}
    for place in written.places:
        # A place that is the call of a class alone has what is inside of it as modules.
        if not place.is_call:
            inside = (layer.path for layer in architecture.source.layers if layer.path.startswith(f"{place.layer}/"))
            layers |= dict.fromkeys(inside, place.told)
    places = _left_places(written, training_source(architecture, written))
    read = frozenset(layer.path for layer in architecture.source.layers)
    return PredictedPort(places, layers, read, architecture.pipeline)


def texts(architecture: Architecture, original: Original, sizes: Sizes) -> tuple[Written, Training, Mapping[str, str]]:
    """What is written, by the name of the file.

    Args:
      architecture: of a Keras model.
      original: where the port finds it.
      sizes: that it is judged at.

    Raises:
      RequestError: it cannot be written at all.
    """
    written = model_source(architecture)
    training = training_source(architecture, written)
    trained = bool(training.text)
    name, says = port_source.port_name(architecture), pipeline_docstring(architecture.pipeline)
    model = f'"""{name} in Flax NNX.{says}"""\n\n{_head(written)}\n\n{written.text}\n'
    if not any(not graph.model for graph in architecture.graphs):
        judged = parts_source.parts(architecture, written)
        rest = parts_source.parts_texts(architecture, written, original, sizes, judged) if judged else {}
        return written, training, {file: formatted(text, file) for file, text in {MODEL: model, **rest}.items()}
    sources = {
        MODEL: model,
        BUILDS["jax"]: port_source.jax_source(written, trained, bool(frozen_places(architecture, written))),
        BUILDS["tf"]: port_source.tf_source(original, written, trained, says),
        PORT: port_source.port_source(architecture, written, trained, sizes),
        TEST_FILE: port_source.TEST,
    }
    if trained:
        imports = f"{_IMPORTS}\nfrom model_jax import {written.class_name}\nimport jaxport\n"
        sources[TRAINING] = f'"""The training of {name}, as it was compiled."""\n\n{imports}\n\n{training.text}\n'
    stands = rest_source.stand_ins(architecture, written)
    # What is judged of a port of which a part raises is the rest; without a training that is the port itself.
    if stands is not None and (stands or (trained and training.unwritten)):
        sources |= rest_source.rest_texts(architecture, written, original, sizes, stands)
    return written, training, {file: formatted(text, file) for file, text in sources.items()}


def _head(written: Written) -> str:
    """Imports, and the arrays that the module reads from a file."""
    if not written.constants:
        return f"{_IMPORTS}\nimport jaxport\n"
    first, _, rest = _IMPORTS.partition("\n")
    loading = "from safetensors.numpy import load_file\n\nimport jaxport\n"
    return f"from pathlib import Path\n{first}\n{rest}{loading}\n{LOADED}"


def write(model: KerasModel, folder: Path, sizes: Sizes, workers: WeightWorkers) -> Port:
    """Write a port of a Keras model, its weights included.

    Args:
      model: of Keras.
      folder: that it is written to, empty or of a port that is written anew.
      sizes: that it is judged at.
      workers: that read the model and the module.

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
    written, training, sources = texts(architecture, original, sizes)
    contents: dict[str, str | bytes] = dict(sources)
    if written.constants:
        contents[CONSTANTS] = save({key: np.ascontiguousarray(constant) for key, constant in written.constants.items()})
    with written_anew(folder, FILES, contents) as staged:
        if archive:
            shutil.copyfile(model.reference, staged / archive)
        carriage = _planned(model, written, folder, staged, workers)
        findings = tuple(finding.line for finding in carriage.plan.findings)
        if not findings:
            carrying.write(carriage, staged / WEIGHTS)
    whole = not (findings or written.places)
    usage = port_source.usage(folder, architecture, written, sizes) if whole else ()
    return Port(folder, written, training, 0 if findings else len(carriage.plan.moves), findings, usage)


def _planned(
    model: KerasModel, written: Written, folder: Path, staged: Path, workers: WeightWorkers
) -> carrying.Carriage:
    """What is carried into the module where it stands now; the receipt names it where it will stand."""
    request = carrying.Request(model, f"{staged / MODEL}:{written.class_name}", written.names)
    carriage = carrying.planned(request, workers)
    return replace(carriage, request=replace(request, module=f"{folder / MODEL}:{written.class_name}"))
