"""The documentation builds without a warning, and its notebooks, which run meanwhile, say what their text says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pages import Page
from places import ROOT

NOTEBOOKS = sorted(path.stem for path in (ROOT / "docs/guide/notebooks").glob("*.md"))


@dataclass(frozen=True)
class Built:
    """The pages, what the build wrote beside them, and how it ended."""

    pages: Path
    beside: Path
    returncode: int
    stderr: str

    def cells(self, notebook: str) -> Sequence[dict[str, Any]]:
        """The cells with code, with what they gave."""
        written = json.loads((self.beside / f"notebooks/guide/notebooks/{notebook}.ipynb").read_text())
        return [cell for cell in written["cells"] if cell["cell_type"] == "code"]

    def said(self, notebook: str, code: str) -> list[str]:
        """What each cell with this code showed, as a reader sees it."""
        return [shown(cell) for cell in self.cells(notebook) if code in "".join(cell["source"])]


def shown(cell: dict[str, Any]) -> str:
    """The text of a cell's outputs, of its page of HTML where it has one; a bar that is gone is no text."""
    text = ""
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        html = "".join(data.get("text/html", ""))
        text += Page(html).text if html else "".join(data["text/plain"])
    return text


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "beside")]
    done = subprocess.run([*command, str(ROOT / "docs"), str(folder / "html")], capture_output=True, text=True)
    return Built(folder / "html", folder / "beside", done.returncode, done.stderr)


def test_the_documentation_builds_without_a_warning(built: Built) -> None:
    assert built.returncode == 0, built.stderr
    assert (built.pages / "gotchas/activations.html").exists()


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_is_rendered_with_its_outputs_and_can_be_downloaded(built: Built, notebook: str) -> None:
    page = (built.pages / f"guide/notebooks/{notebook}.html").read_text()
    assert page.count('class="jaxport-check"') >= 3 and "<progress" not in page
    assert not [said for said in ("absl::InitializeLog", "AutoGraph", "ipykernel_launcher") if said in page]
    (download,) = built.pages.glob(f"_downloads/*/{notebook}.ipynb")
    assert f"{download.parent.name}/{notebook}.ipynb" in page
    assert json.loads(download.read_text())["cells"] and built.cells(notebook)[-1]["execution_count"]


def test_the_port_of_a_model_is_refused_fails_is_located_and_passes_once_it_is_right(built: Built) -> None:
    notebook = "port-a-keras-model"
    (doctor,) = built.said(notebook, "jaxport.doctor(")
    assert "epsilon" in doctor and "gelu" in doctor
    (written,) = built.said(notebook, "jaxport.write_port(")
    assert "pass" in written and "fail" not in written
    (refused,) = built.said(notebook, "except jaxport.RequestError")
    assert "expected epsilon=0.001, found epsilon=1e-05" in refused
    failed, repaired = built.said(notebook, "jaxport.check(")
    assert "First place that fails: forward output" in failed
    assert "pass" in repaired and "fail" not in repaired
    (located,) = built.said(notebook, "jaxport.locate(")
    assert "gelu" in located


def test_the_port_that_is_slower_multiplies_where_the_original_and_the_repair_look_up(built: Built) -> None:
    notebook = "why-slower"
    timed = built.said(notebook, "jaxport.bench(")
    assert len(timed) == 2
    for said in timed:
        assert "pass" in said and "fail" not in said and "jax/jit" in said and "tf/jit" in said
    (programs,) = built.said(notebook, "jaxport.compare_programs(")
    assert "not equal" in programs and "one-hot" in programs and "my_jax.py:5" in programs
    (times,) = built.said(notebook, "after.times")
    assert "times as fast" in times
