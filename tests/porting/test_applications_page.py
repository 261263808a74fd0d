"""The pages of models that nobody here wrote say what the records beside them say, and count no failure as a pass."""

import json
from pathlib import Path

import keras_applications
import package_models
import pytest
from written_models import GATES, Page

PAGES = {"keras_applications": keras_applications.PAGE, "package_models": package_models.PAGE}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_that_of_its_records(name: str) -> None:
    page = PAGES[name]
    assert page.path.read_text() == page.text(), f"run `python docs/{name}.py`"
    assert {each.stem for each in page.records.iterdir()} <= page.sources.keys()


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(tmp_path / "page.md", "", {"VGG16": "", "ResNet50": ""}, {"VGG16": (), "ResNet50": ()}, "families")


@pytest.mark.parametrize(("verdict", "passing"), [("pass", 1), ("not_applicable", 1), ("fail", 0), ("not_judged", 0)])
def test_a_family_passes_by_all_gates_alone(page: Page, tmp_path: Path, verdict: str, passing: int) -> None:
    record = {
        "written": True,
        "weights": 32,
        "gates": {**dict.fromkeys(GATES, "pass"), "gradients": verdict},
    }
    (tmp_path / "VGG16.json").write_text(json.dumps(record))
    (last,) = page.text(tmp_path).splitlines()[-1:]
    assert f"1 were judged, and {passing} pass" in last and "2 families 1 are written" in last


def test_a_family_that_lacks_a_gate_does_not_pass(page: Page, tmp_path: Path) -> None:
    (tmp_path / "VGG16.json").write_text(json.dumps({"written": True, "gates": {"structure": "pass"}}))
    assert "1 were judged, and 0 pass" in page.text(tmp_path)
