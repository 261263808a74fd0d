"""Describes what stays in TensorFlow's input pipeline: a port of a model of strings starts behind its lookups."""

from __future__ import annotations

from collections.abc import Sequence

from compare.porting.identifiers import comment_text
from workloads.protocol.architecture import Piped


def pipeline_line(stage: Piped) -> str:
    """A line on the layers that stay in the input pipeline, and the input of the port that they produce."""
    layers, of = (", ".join(map(comment_text, names)) for names in (stage.layers, stage.of))
    stay = "stays" if len(stage.layers) == 1 else "stay"
    name, makes = comment_text(stage.name), "it makes" if len(stage.layers) == 1 else "they make"
    return f"{layers} {stay} in TensorFlow's input pipeline: the port takes as {name} what {makes} of {of}"


def pipeline_docstring(pipeline: Sequence[Piped]) -> str:
    """Lines of a docstring that say so; empty where nothing stays there."""
    lines = "".join(f"\n- {pipeline_line(stage)}." for stage in pipeline)
    return f"\n\nIt starts behind the lookups of the original:\n{lines}\n" if lines else ""
