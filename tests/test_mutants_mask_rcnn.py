"""The parts of the detector with one planted porting error each: the gate that can see it must fail.

The honest JAX parts stand for TensorFlow's: `test_contract.py` holds the whole twin to that. What is judged here is
the judge. Each part runs alone, on its own inputs, so that a mutant costs the compilation of one part.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import IN_ZOO, ROOT

from compare.parity import Evidence, judge
from compare.records import FAIL, PASS
from jaxport._nnx import WeightMap
from workloads import _anchors, _arrays, _registry
from workloads._framework import FORWARD, GRADIENTS

pytestmark = IN_ZOO

SPEC = _registry.get("mask_rcnn")
SIZES = dict(SPEC.sizes["smoke"]) | {"mask_layers": 1}
IMAGE, REGIONS, OBJECTS, CLASSES = SIZES["image"], 24, SIZES["objects"], SIZES["classes"]
ANCHORS = _anchors.boxes(SIZES)

COPIES = {"mask_rcnn": "twin", "_detection": "choosing", "_mask_rcnn_losses": "losing"}
IMPORTS = (
    (
        "from jaxport import Model, _detection, _optimizers\n",
        "import choosing as _detection\nfrom jaxport import Model, _optimizers\n",
    ),
    ("from jaxport import _mask_rcnn_losses as losses\n", "import losing as losses\n"),
    ("from jaxport import _detection\n", "import choosing as _detection\n"),
)

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Mutant:
    """One error: the text that is replaced in one of the twin's files, by what, and the part that shows it."""

    name: str
    part: str
    old: str
    new: str
    only_kinks: bool = False


MUTANTS = (
    Mutant("symmetric padding", "backbone", "(stride, stride),", "(stride, stride), padding=size // 2,"),
    Mutant(
        "tiled instead of repeated",
        "doubled",
        ":, :, None, :, None], (batch, height, 2, width, 2",
        ":, None, :, None, :], (batch, 2, height, 2, width",
    ),
    Mutant("deconvolution's channels transposed", "masks", "nhwc,ijdc->nhiwjd", "nhwc,ijcd->nhiwjd"),
    Mutant("deconvolution's rows and columns swapped", "masks", "nhwc,ijdc->nhiwjd", "nhwc,jidc->nhiwjd"),
    Mutant(
        "corners x first",
        "propose",
        "corners = (centre_y - half_height, centre_x - half_width,",
        "corners = (centre_x - half_width, centre_y - half_height,",
    ),
    Mutant("every overlap drops, kept or not", "surviving", "dropping & kept[:, None]", "dropping & usable[:, None]"),
    Mutant(
        "the last of a tie",
        "propose",
        "jnp.argsort(-keys, stable=True)[:count]",
        "jnp.argsort(keys, stable=True)[::-1][:count]",
        only_kinks=True,
    ),
    Mutant("RoIAlign without the half pixel", "pool", "(side / image) - 0.5", "(side / image)"),
    Mutant("one sample per bin", "pool", "rules.SAMPLES", "1"),
    Mutant("levels the other way round", "pool", ">= limits", "< limits"),
    Mutant("deltas not scaled", "detect", "deltas, rules.REGION_SCALES, image", "deltas, rules.ANCHOR_SCALES, image"),
    Mutant("one suppression for all classes", "detect", "classes_of * 2 * image", "classes_of * 0"),
    Mutant(
        "background dropped before the softmax", "detect", "softmax(logits, -1)[:, 1:]", "softmax(logits[:, 1:], -1)"
    ),
    Mutant("classes counted from 0", "detect", "classes_of[places] + 1", "classes_of[places]"),
    Mutant("best anchor of an object forgotten", "anchor_losses", " | jnp.any(closest, 1)", ""),
    Mutant("logits of both losses alike", "anchor_losses", "_mean(errors, negative)) / 2", "_mean(errors, negative))"),
    Mutant(
        "edge of the smooth loss",
        "region_losses",
        "regions.deltas, rules.REGION_EDGE",
        "regions.deltas, rules.ANCHOR_EDGE",
    ),
    Mutant(
        "deltas of the class before",
        "region_losses",
        "one_hot(labels - 1, values.shape[2]",
        "one_hot(labels - 2, values.shape[2]",
    ),
    Mutant(
        "mask averaged over all regions",
        "mask_loss",
        "_mean(errors, regions.labels > 0)",
        "_mean(errors, regions.valid)",
    ),
)

GATES = {"anchor_losses": "gradients", "region_losses": "gradients", "mask_loss": "gradients"}


def drawn(case: str, name: str, *shape: int) -> jax.Array:
    """Normal values, at the kinks halves between -1 and 1."""
    spec = _arrays.ArraySpec(shape)
    draw = _arrays.draw_kinks if case == "kinks" else _arrays.draw
    return jnp.asarray(draw(spec, name, 0).astype(np.float64))


def boxes_of(case: str, name: str, count: int) -> jax.Array:
    """Boxes of one image and of a second one, some of them empty: [2, count, 4] in pixels."""
    corners = jnp.clip(drawn(case, name, 2, count, 2, 2) / 4 + 0.5, 0, 1) * IMAGE
    return jnp.sort(corners, 2).reshape(2, count, 4)


def levels_of(case: str) -> list[jax.Array]:
    """Features of every level: [2, grid, grid, 3]."""
    return [drawn(case, f"level{grid}", 2, grid, grid, 3) for grid in _anchors.grids(SIZES)]


def learned(twin: Any, name: str, case: str, *inputs: Any) -> Any:
    """One part of the detector with weights of the workload."""
    arrays = {path: drawn(case, path, *spec.shape) for path, spec in SPEC.weight_specs(SIZES).items()}
    parameters = WeightMap(twin._places(SIZES)).from_weights(arrays)
    return twin.run_part(twin.Finder(SIZES, "float64").parts[name], parameters[name], *inputs)


def objects_of(losing: Any, case: str) -> Any:
    """The objects of two images."""
    spec = SPEC.input_specs(SIZES)
    classes, masks = (jnp.asarray(_arrays.draw(spec[name], name, 0)) for name in ("classes", "masks"))
    return losing.objects_of(boxes_of(case, "objects", OBJECTS) / IMAGE, classes, masks, IMAGE)


def regions_of(losing: Any, case: str) -> Any:
    """Regions of two images, of which some lie near an object."""
    objects = objects_of(losing, case)
    count = REGIONS - OBJECTS
    near = jnp.tile(objects.boxes, (1, count // OBJECTS, 1)) + drawn(case, "near", 2, count, 4)
    return losing.assign(near, jnp.ones((2, count), bool), objects)


def backbone(twin: Any, losing: Any, case: str) -> Any:
    return learned(twin, "backbone", case, drawn(case, "images", 2, IMAGE, IMAGE, 3))


def doubled(twin: Any, losing: Any, case: str) -> Any:
    return twin._doubled(levels_of(case)[0])


def masks(twin: Any, losing: Any, case: str) -> Any:
    return learned(twin, "masks", case, drawn(case, "pooled", 2, 3, 4, 4, SIZES["pyramid"]))


def propose(twin: Any, losing: Any, case: str) -> Any:
    logits, deltas = drawn(case, "logits", 2, len(ANCHORS)), drawn(case, "deltas", 2, len(ANCHORS), 4)
    return twin.propose(logits, deltas, ANCHORS, image=IMAGE, candidates=64, count=32)


def surviving(twin: Any, losing: Any, case: str) -> Any:
    # A row of boxes, each of which overlaps its neighbours only.
    boxes = (
        drawn(case, "row", 9, 4) / 100 + np.array([0, 0, 10, 10]) + 3 * np.arange(9)[:, None] * np.array([0, 1, 0, 1])
    )
    return twin._detection.surviving(boxes, jnp.ones(9, bool), 0.5).astype(boxes.dtype)


def pool(twin: Any, losing: Any, case: str) -> Any:
    areas = _anchors.level_areas(SIZES)
    return twin.pool(levels_of(case), boxes_of(case, "boxes", 9), level_areas=areas, image=IMAGE, size=3)


def detect(twin: Any, losing: Any, case: str) -> Any:
    proposals = boxes_of(case, "boxes", REGIONS), jnp.ones((2, REGIONS), bool)
    logits, deltas = drawn(case, "logits", 2, REGIONS, CLASSES + 1), drawn(case, "deltas", 2, REGIONS, CLASSES, 4)
    return twin.detect(logits, deltas, proposals, image=IMAGE, count=12)


def anchor_losses(twin: Any, losing: Any, case: str) -> Any:
    objects = objects_of(losing, case)
    logits, deltas = drawn(case, "logits", 2, len(ANCHORS)), drawn(case, "deltas", 2, len(ANCHORS), 4)
    return jax.grad(losing.anchor_losses, (0, 1))(logits, deltas, jnp.asarray(ANCHORS), objects)


def region_losses(twin: Any, losing: Any, case: str) -> Any:
    logits, deltas = drawn(case, "logits", 2, REGIONS, CLASSES + 1), drawn(case, "deltas", 2, REGIONS, CLASSES, 4)
    return jax.grad(losing.region_losses, (0, 1))(logits, deltas, regions_of(losing, case))


def mask_loss(twin: Any, losing: Any, case: str) -> Any:
    objects, regions = objects_of(losing, case), regions_of(losing, case)
    logits = drawn(case, "logits", 2, REGIONS, 4, 4, CLASSES)
    return jax.grad(losing.mask_loss)(logits, regions, objects.masks, image=IMAGE)


RUNS: dict[str, Callable[[Any, Any, str], Any]] = {
    run.__name__: run
    for run in (backbone, doubled, masks, propose, surviving, pool, detect, anchor_losses, region_losses, mask_loss)
}


def leaves_of(part: str, twin: ModuleType, losing: ModuleType) -> dict[str, Arrays]:
    """What a part gives in float64: case -> leaves."""
    with jax.enable_x64(True):
        found = {case: jax.tree.leaves(RUNS[part](twin, losing, case)) for case in ("seed0", "kinks")}
    return {case: {str(at): np.asarray(leaf) for at, leaf in enumerate(leaves)} for case, leaves in found.items()}


@cache
def honest(part: str) -> dict[str, Arrays]:
    """The same of the twin as it is."""
    return leaves_of(part, *map(importlib.import_module, ("jaxport.mask_rcnn", "jaxport._mask_rcnn_losses")))


def planted(old: str, new: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    """The twin and its losses, with the error, imported from a folder."""
    texts = {name: (ROOT / "jaxport" / f"{name}.py").read_text() for name in COPIES}
    assert sum(old in text for text in texts.values()) == 1, f"expected {old!r} in one file"
    for name, text in texts.items():
        for line, copied in (*IMPORTS, (old, new)):
            text = text.replace(line, copied)
        (folder / f"{COPIES[name]}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    for name in COPIES.values():
        monkeypatch.delitem(sys.modules, name, raising=False)
    modules = [importlib.import_module(name) for name in ("twin", "losing")]
    for name in COPIES.values():
        monkeypatch.setitem(sys.modules, name, sys.modules[name])
    return modules


def held(part: str, found: dict[str, Arrays]) -> dict[str, str]:
    """The judge's verdict on a part, by case."""
    gate = GATES.get(part, "semantics")
    pass_ = GRADIENTS if gate == "gradients" else FORWARD
    doubles = {("tf", pass_, case): leaves for case, leaves in honest(part).items()}
    doubles |= {("jax", pass_, case): leaves for case, leaves in found.items()}
    judged = judge(Evidence("mask_rcnn", {}, doubles)).gates[gate]
    failing = {each.case for each in judged.comparisons if each.verdict == FAIL}
    return {each.case: FAIL if each.case in failing else PASS for each in judged.comparisons}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_error_fails_at_its_gate(mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = planted(mutant.old, mutant.new, tmp_path, monkeypatch)
    verdicts = held(mutant.part, leaves_of(mutant.part, *modules))
    assert verdicts["seed0"] == (PASS if mutant.only_kinks else FAIL)
    assert FAIL in verdicts.values()


def test_the_same_files_without_an_error_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = planted("def build(", "def build(", tmp_path, monkeypatch)
    for part in {mutant.part for mutant in MUTANTS}:
        assert held(part, leaves_of(part, *modules)) == {"seed0": PASS, "kinks": PASS}
