"""Errors planted in JAX twins, one at a time, in their own text or in that of a module that they are made of."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

import pytest
from places import ROOT

from compare.parity import Evidence, judge
from compare.record.vocabulary import FAIL, PASS
from jaxport._framework import create
from workloads.core import arrays, registry
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, GRADIENTS, Twin

MODULES = {
    "conv_mnist": ("pooling", "conv_mnist"),
    "lstm": ("_lstm", "lstm"),
    "lstm_cell": ("_lstm", "lstm_cell"),
    "seq2seq": ("recurrent", "seq2seq"),
    "translation": ("_dropout", "schedules", "_transformer", "translation"),
    "translation_decode": ("_transformer", "translation", "translation_decode"),
    "bert": ("_dropout", "schedules", "_transformer", "_adam_family", "optimizers", "bert"),
    "resnet50": ("_batch_norm", "_sgd_and_muon", "optimizers", "pooling", "resnet50"),
    "focalnet_pipeline": ("convolution", "focalnet_pipeline"),
    "mask_rcnn": ("_detection", "_mask_rcnn_losses", "mask_rcnn"),
}
"""By workload, the modules of jaxport that errors are planted in, each after those that it imports."""


PASSES = {"semantics": FORWARD, "gradients": GRADIENTS}
"""By gate, the pass whose leaves in float64 it compares."""

TRAJECTORY = "trajectory"
STEPS = 2

Cases = Mapping[str, Arrays]
"""In float64, the leaves of a pass by case; under TRAJECTORY a run of STEPS training steps."""


@dataclass(frozen=True)
class Mutant:
    """One error: the text that is replaced, by what, and the gate that can see it.

    Attributes:
      only_kinks: whether it shows at ties and edges alone.
      part: of the twin, where parts are judged one by one.
    """

    name: str
    workload: str
    old: str
    new: str
    gate: str = "semantics"
    only_kinks: bool = False
    part: str = ""


def holding(workload: str, old: str) -> list[str]:
    """The modules of a workload in which a text stands."""
    return [name for name in MODULES[workload] if old in _text(name)]


def plant(patch: pytest.MonkeyPatch, mutant: Mutant) -> ModuleType:
    """The twin, made anew with all its modules while the patch holds, and one text in them replaced by another."""
    broken = holding(mutant.workload, mutant.old)
    assert len(broken) == 1, f"expected {mutant.old!r} in one module of {mutant.workload}, found it in {broken}"
    return _made(patch, mutant.workload, {broken[0]: _text(broken[0]).replace(mutant.old, mutant.new)})


def remake(patch: pytest.MonkeyPatch, workload: str) -> ModuleType:
    """The same without an error."""
    return _made(patch, workload, {})


def found_by(workload: str, gate: str, *, kinks: bool = False, **smaller: int) -> Cases:
    """What a gate looks at in a JAX twin at size smoke, by case: a pass, or two steps of training.

    Operation by operation: what was compiled for one error is there for the next. `smaller` replaces dimensions.
    """
    spec = registry.get(workload)
    dimensions = {**spec.sizes["smoke"], **smaller}
    data = spec.training.examples(None, dimensions) if spec.training else None
    cases = arrays.draw_cases(spec, dimensions, 1, data, kinks=kinks)
    batches = arrays.draw_batches(spec, dimensions, data) if data else {}
    few = {name: array[:STEPS] for name, array in batches.items()}
    side = create()
    side.load(Twin(f"jaxport.{workload}:build", True, dimensions, cases, arrays.draw_weights(spec, dimensions), few))
    if gate == "training":
        return {TRAJECTORY: side.trajectory("eager", "float64", (STEPS,))}
    return {case: side.outputs("eager", PASSES[gate], case, "float64") for case in cases}


def verdicts(workload: str, gate: str, expected: Cases, found: Cases) -> dict[str, str]:
    """What the judge says at a gate of runs in float64, by case."""
    judged = judge(_evidence(workload, gate, expected, found)).gates[gate]
    assert judged.comparisons
    failing = {each.case for each in judged.comparisons if each.verdict == FAIL}
    return {each.case: FAIL if each.case in failing else PASS for each in judged.comparisons}


def _evidence(workload: str, gate: str, expected: Cases, found: Cases) -> Evidence:
    if gate == "training":
        runs = {"tf/eager": expected, "jax/jit": found}
        return Evidence(
            workload, {}, {}, trajectories={(mode, "float64"): run[TRAJECTORY] for mode, run in runs.items()}
        )
    sides = (("tf", expected), ("jax", found))
    return Evidence(workload, {}, {(side, PASSES[gate], case): run[case] for side, run in sides for case in run})


def _made(patch: pytest.MonkeyPatch, workload: str, changed: Mapping[str, str]) -> ModuleType:
    return [_imported(patch, name, changed.get(name) or _text(name)) for name in MODULES[workload]][-1]


def _imported(patch: pytest.MonkeyPatch, name: str, text: str) -> ModuleType:
    path = ROOT / "jaxport" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"jaxport.{name}", path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, module.__name__, module)
    patch.setattr(f"jaxport.{name}", module, raising=False)
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def _text(name: str) -> str:
    return (ROOT / "jaxport" / f"{name}.py").read_text()
