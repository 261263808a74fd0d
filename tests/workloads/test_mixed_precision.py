"""Models that compute in a narrow type: every size named mixed_ passes the gates, in the type's own roundings."""

from __future__ import annotations

import pytest
from runs import IN_ZOO, LEAN_MODES, record_of

from workloads.core import registry

pytestmark = pytest.mark.process

SIZES = [(name, size) for name in registry.names() for size in registry.get(name).sizes if size.startswith("mixed_")]


@IN_ZOO
@pytest.mark.parametrize(("name", "size"), SIZES)
def test_a_mixed_size_passes_every_gate(name: str, size: str) -> None:
    judged = record_of(name, size=size, plans=(), modes=LEAN_MODES, parity_only=True)["workloads"][name]
    messages = [each["message"] for gate in judged["parity"]["gates"].values() for each in gate["comparisons"]]
    assert judged["parity"]["verdict"] == "pass", [message for message in messages if message]
    assert any(abs(each["error"]) > 1e-4 for each in judged["parity"]["gates"]["rounding"]["comparisons"]), (
        "nothing was rounded to a narrow type"
    )


def test_the_four_models_of_the_documents_have_one() -> None:
    assert {name for name, _ in SIZES} == {"bert", "translation", "resnet50", "mask_rcnn"}
