"""Originals that compute with integers alone: their ports are judged as they are written, not by a float64 twin."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from compare.hlo.bindings import UnreadableProgram
from compare.parity.evidence import PORT, TF_REFERENCE
from compare.prove.collect import FLOAT32, Collected
from compare.prove.oracle import Doubles
from compare.prove.subjects import Readable
from compare.sides._side import SIDES
from workloads.core.modes import JAX, TF
from workloads.protocol.framework import FORWARD, Program

_REFERENCES = {TF: TF_REFERENCE, JAX: PORT}


def replace_doubles_of_integers(doubles: Doubles, evidence: Mapping[str, Collected]) -> Doubles:
    """The evidence, of the programs as they are written where the original has no float.

    Integers have no float64 reference: a twin in float64 would hide how a port rounds that adds them in float32, and
    JAX's would add in 64 bits what wraps in 32.

    Args:
      doubles: the float64 evidence.
      evidence: what each side delivered, by side.
    """
    by_side = {side: of.programs.get((FORWARD, FLOAT32)) for side, of in evidence.items()}
    programs = {(side, FORWARD): program for side, program in by_side.items() if program is not None}
    original = by_side.get(TF)
    if original is None or len(programs) < len(SIDES) or not _has_integers_alone(original):
        return doubles
    outputs = {
        (side, FORWARD, case): arrays
        for side, mode in _REFERENCES.items()
        for (ran, pass_, case), arrays in evidence[side].outputs.items()
        if (ran, pass_) == (mode, FORWARD)
    }
    return dataclasses.replace(doubles, arrays=doubles.arrays | outputs, programs=doubles.programs | programs)


def _has_integers_alone(original: Program) -> bool:
    # A model's weights are floats: its graph, which takes seconds to read, is not asked.
    if not all(np.dtype(value.dtype).kind in "biu" for value in (*original.parameters, *original.results)):
        return False
    try:
        nodes = list(Readable(TF, original).graph.walk())
    except UnreadableProgram:
        return False
    return all(node.shape.dtype.startswith(("pred", "s", "u")) for node in nodes if node.shape.is_array)
