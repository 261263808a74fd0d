"""What a TensorFlow lacks of the compiler's stages is left out, and nothing else that it says is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tf_reference import _compiler_stages
from workloads.protocol.framework import MemoryAnalysis

OLDER = ("hlo", "hlo_serialized", "optimized_hlo", "optimized_hlo_serialized", "optimized_hlo_dot")
"""The stages of TensorFlow 2.16 to 2.18."""


def lowering(stages: tuple[str, ...]) -> Callable[..., object]:
    def lower(stage: str) -> object:
        if stage not in stages:
            raise ValueError(f"Invalid stage selected: '{stage}'. Valid values are: {stages}")
        return stage.encode() if stage.endswith("serialized") else stage

    return lower


def test_an_older_tensorflow_gives_hlo() -> None:
    older = lowering(OLDER)
    assert _compiler_stages.program(older) == b"hlo_serialized"
    assert _compiler_stages.texts(older, _compiler_stages.STAGES) == {"hlo": "hlo", "optimized_hlo": "optimized_hlo"}
    assert _compiler_stages.memory(older) == MemoryAnalysis()


def test_a_newer_one_gives_stablehlo() -> None:
    newer = lowering((*OLDER, "stablehlo", "stablehlo_serialized"))
    assert _compiler_stages.program(newer) == b"stablehlo_serialized"
    assert set(_compiler_stages.texts(newer, _compiler_stages.STAGES)) == set(_compiler_stages.STAGES)


def test_what_the_compiler_refuses_is_not_taken_for_a_missing_stage() -> None:
    def refuses(stage: str) -> object:
        raise ValueError("Detected unsupported operations")

    with pytest.raises(ValueError, match="unsupported operations"):
        _compiler_stages.program(refuses)
