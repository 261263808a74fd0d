"""The detector with one planted porting error each: the gate that can see it must fail.

The honest JAX twin stands for TensorFlow: `test_contract.py` holds it to that. What is judged here is the judge.
Nothing is compiled whole: operations run one by one, so that what one mutant compiled serves the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import pytest
from conftest import ROOT

from compare.parity import Evidence, judge
from compare.records import FAIL, PASS
from jaxport._framework import create
from workloads import _arrays, _registry
from workloads._framework import FORWARD, GRADIENTS, Twin

FILES = ("mask_rcnn", "_detection", "_mask_rcnn_losses")

Leaves = dict[str, dict[str, np.ndarray]]
"""Case -> leaves in float64."""


@dataclass(frozen=True)
class Mutant:
    """One error: the text that is replaced in the twin or in a file beside it, and by what."""

    name: str
    old: str
    new: str
    gate: str = "semantics"
    only_kinks: bool = False


MUTANTS = (
    Mutant("symmetric padding", "(stride, stride),", "(stride, stride), padding=size // 2,"),
    Mutant("tiled instead of repeated", "(batch, height, 2, width, 2, ", "(batch, 2, height, 2, width, "),
    Mutant("deconvolution's channels transposed", "nhwc,ijdc->nhiwjd", "nhwc,ijcd->nhiwjd"),
    Mutant("deconvolution's rows and columns swapped", "nhwc,ijdc->nhiwjd", "nhwc,jidc->nhiwjd"),
    Mutant("corners x first", "(centre_y - half_height, centre_x - half_width,", "(centre_x - half_width, centre_y - half_height,"),
    Mutant("box deltas not scaled", "deltas, rules.REGION_SCALES, image", "deltas, rules.ANCHOR_SCALES, image"),
    Mutant("RoIAlign without the half pixel", "(side / image) - 0.5", "(side / image)"),
    Mutant("one sample per bin", "rules.SAMPLES", "1"),
    Mutant("levels the other way round", ">= limits", "< limits"),
    Mutant("one suppression for all classes", "classes_of * 2 * image", "classes_of * 0"),
    Mutant("background dropped before the softmax", "softmax(logits, -1)[:, 1:]", "softmax(logits[:, 1:], -1)"),
    Mutant("classes counted from 0", "classes_of[places] + 1", "classes_of[places]"),
    Mutant("the last of a tie", "jnp.argsort(-keys, stable=True)[:count]", "jnp.argsort(keys, stable=True)[::-1][:count]", only_kinks=True),
    Mutant("gradient through the boxes", "map(jax.lax.stop_gradient, (logits, deltas))", "(logits, deltas)", "gradients"),
    Mutant("best anchor of an object forgotten", " | jnp.any(closest, 1)", "", "gradients"),
    Mutant("mask of the class before", "labels - 1, values", "labels - 2, values", "gradients"),
    Mutant("edge of the smooth loss", "regions.deltas, rules.REGION_EDGE", "regions.deltas, rules.ANCHOR_EDGE", "gradients"),
)  # fmt: skip


def planted(mutant: Mutant, folder: Path) -> str:
    """The target of a twin with the error, written to a folder."""
    texts = {name: (ROOT / "jaxport" / f"{name}.py").read_text() for name in FILES}
    broken = [name for name, text in texts.items() if mutant.old in text]
    assert len(broken) == 1, f"{mutant.name}: expected the text in one file, found it in {broken}"
    for name, text in texts.items():
        text = text.replace(mutant.old, mutant.new) if name in broken else text
        for line, copied in IMPORTS.items():
            text = text.replace(line, copied)
        (folder / f"{COPIES[name]}.py").write_text(text)
    return f"{folder / COPIES['mask_rcnn']}.py:build"


COPIES = {"mask_rcnn": "twin", "_detection": "choosing", "_mask_rcnn_losses": "losing"}
IMPORTS = {
    "from jaxport import Model, _detection, _optimizers\n": "from jaxport import Model, _optimizers\nimport choosing as _detection\n",
    "from jaxport import _mask_rcnn_losses as losses\n": "import losing as losses\n",
    "from jaxport import _detection\n": "import choosing as _detection\n",
}  # fmt: skip


def leaves_of(target: str, gate: str) -> Leaves:
    """What a JAX twin gives in float64 at size smoke, for a drawn scene and at the kinks."""
    spec = _registry.get("mask_rcnn")
    dimensions = spec.sizes["smoke"]
    assert spec.training is not None
    cases = _arrays.draw_cases(spec, dimensions, 1, spec.training.examples(None, dimensions))
    pass_ = GRADIENTS if gate == "gradients" else FORWARD
    side = create()
    side.load(Twin(target, True, dimensions, cases, _arrays.draw_weights(spec, dimensions)))
    with jax.disable_jit():
        return {case: side.outputs("eager", pass_, case, "float64") for case in cases}


@pytest.fixture(scope="module")
def honest() -> dict[str, Leaves]:
    """Gate -> the leaves that it looks at, of the twin as it is."""
    return {gate: leaves_of("jaxport.mask_rcnn:build", gate) for gate in ("semantics", "gradients")}


def held(gate: str, expected: Leaves, found: Leaves) -> dict[str, str]:
    """The judge's verdict on a gate, by case."""
    pass_ = GRADIENTS if gate == "gradients" else FORWARD
    doubles = {("tf", pass_, case): leaves for case, leaves in expected.items()}
    doubles |= {("jax", pass_, case): leaves for case, leaves in found.items()}
    judged = judge(Evidence("mask_rcnn", {}, doubles)).gates[gate]
    assert judged.comparisons
    failing = {each.case for each in judged.comparisons if each.verdict == FAIL}
    return {each.case: FAIL if each.case in failing else PASS for each in judged.comparisons}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_error_fails_at_its_gate(mutant: Mutant, honest: dict[str, Leaves], tmp_path: Path) -> None:
    found = leaves_of(planted(mutant, tmp_path), mutant.gate)
    verdicts = held(mutant.gate, honest[mutant.gate], found)
    assert verdicts["seed0"] == (PASS if mutant.only_kinks else FAIL)
    assert FAIL in verdicts.values()


@pytest.mark.parametrize("gate", ["semantics", "gradients"])
def test_the_same_files_without_an_error_pass(gate: str, honest: dict[str, Leaves], tmp_path: Path) -> None:
    unbroken = Mutant("none", "def build(", "def build(", gate)
    found = leaves_of(planted(unbroken, tmp_path), gate)
    assert set(held(gate, honest[gate], found).values()) == {PASS}
