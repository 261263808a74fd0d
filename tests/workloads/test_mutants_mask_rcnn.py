"""The parts of the detector with one planted porting error each: the gate that can see it must fail.

The honest JAX parts stand for TensorFlow's: `test_contract.py` holds the whole twin to that. What is judged here is
the judge. Each part runs alone, on its own inputs, so that a mutant costs the compilation of one part.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mutants import Cases, Mutant, plant, remake, verdicts
from mutants_mask_rcnn import MUTANTS
from runs import IN_ZOO

from compare.record.vocabulary import FAIL, PASS
from jaxport._nnx import WeightMap
from workloads import _anchors
from workloads.core import registry
from workloads.core.arrays import ArraySpec, draw, draw_kinks

pytestmark = [IN_ZOO, pytest.mark.process]

SPEC = registry.get("mask_rcnn")
SIZES = dict(SPEC.sizes["smoke"]) | {"mask_layers": 1}
IMAGE, REGIONS, OBJECTS, CLASSES = SIZES["image"], 24, SIZES["objects"], SIZES["classes"]
ANCHORS = _anchors.boxes(SIZES)

Arrays = Mapping[str, np.ndarray]


def drawn(case: str, name: str, *shape: int) -> jax.Array:
    """Normal values, at the kinks halves between -1 and 1."""
    spec = ArraySpec(shape)
    draw_case = draw_kinks if case == "kinks" else draw
    return jnp.asarray(draw_case(spec, name, 0).astype(np.float64))


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
    classes, masks = (jnp.asarray(draw(spec[name], name, 0)) for name in ("classes", "masks"))
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
    return twin._double(levels_of(case)[0])


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


def leaves_of(part: str, twin: ModuleType) -> Cases:
    """What a part gives in float64: case -> leaves."""
    with jax.enable_x64(True):
        found = {case: jax.tree.leaves(RUNS[part](twin, twin.losses, case)) for case in ("seed0", "kinks")}
    return {case: {str(at): np.asarray(leaf) for at, leaf in enumerate(leaves)} for case, leaves in found.items()}


@cache
def honest(part: str) -> Cases:
    """The same of the twin as it is."""
    return leaves_of(part, importlib.import_module("jaxport.mask_rcnn"))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_error_fails_at_its_gate(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    honest(mutant.part)  # before the error is planted
    twin = plant(monkeypatch, mutant)
    found = verdicts("mask_rcnn", mutant.gate, honest(mutant.part), leaves_of(mutant.part, twin))
    assert found["seed0"] == (PASS if mutant.only_kinks else FAIL)
    assert FAIL in found.values()


@pytest.mark.parametrize(("part", "gate"), sorted({(mutant.part, mutant.gate) for mutant in MUTANTS}))
def test_the_same_modules_without_an_error_pass(part: str, gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = honest(part)
    found = leaves_of(part, remake(monkeypatch, "mask_rcnn"))
    assert verdicts("mask_rcnn", gate, expected, found) == {"seed0": PASS, "kinks": PASS}
