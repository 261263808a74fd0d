"""The page of keras.applications says what the records beside it say, and counts no failure as a pass."""

import json
from pathlib import Path

import keras_applications as pages
import pytest


def test_the_page_is_that_of_its_records() -> None:
    assert pages.PAGE.read_text() == pages.page(), "run `python docs/keras_applications.py`"


@pytest.mark.parametrize(
    ("verdict", "told"),
    [("pass", "1 were judged, and 1 pass"), ("not_applicable", "1 were judged, and 1 pass"),
     ("fail", "1 were judged, and 0 pass"), ("not_judged", "1 were judged, and 0 pass")],
)  # fmt: skip
def test_a_family_passes_by_all_gates_alone(tmp_path: Path, verdict: str, told: str) -> None:
    record = {"written": True, "weights": 32, "gates": {**dict.fromkeys(pages.GATES, "pass"), "gradients": verdict}}
    (tmp_path / "VGG16.json").write_text(json.dumps(record))
    (last,) = pages.page(tmp_path).splitlines()[-1:]
    assert told in last and "14 families 1 are written" in last


def test_a_family_that_lacks_a_gate_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "VGG16.json").write_text(json.dumps({"written": True, "gates": {"structure": "pass"}}))
    assert "1 were judged, and 0 pass" in pages.page(tmp_path)
