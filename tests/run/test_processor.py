"""What Linux says of the processor, on texts that are written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compare.run import record_parts

X86 = "processor\t: 0\nmodel name\t: Example CPU @ 2.50GHz\nflags\t\t: fpu f16c avx512_bf16 amx_bf16\nprocessor\t: 1\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd fphp asimdhp i8mm bf16\n"


@pytest.mark.parametrize(
    ("text", "narrow"),
    [(X86, "avx512_bf16, amx_bf16"), (ARM, "bf16, fphp, asimdhp"), ("flags: fpu f16c\n", ""), ("", "")],
)
def test_its_instructions_for_narrow_floats_are_told_and_conversions_are_none(
    text: str, narrow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda path: text)
    assert record_parts.narrow_floats() == narrow


def test_it_is_named_as_linux_names_it_and_elsewhere_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda path: X86)
    assert record_parts.cpu_name() == "Example CPU @ 2.50GHz"

    def missing(path: Any) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(record_parts.platform, "processor", lambda: "arm")
    assert record_parts.cpu_name() == "arm"
    assert record_parts.narrow_floats() == ""
