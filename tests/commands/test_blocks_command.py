"""`jaxport crossing blocks` on a port of a user: kernels that are seen, an error planted in one size of the blocks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from owned_sides import OwnedBlocks
from places import ROOT

from compare import cli
from compare.measure import timed_sets

EXAMPLE = ROOT / "examples" / "blocks"


@pytest.mark.process
def test_blocks_that_compute_something_else_are_found_and_not_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    jax = tmp_path / "model_jax.py"
    # The last block lacks a layer where the blocks do not divide the layers.
    planted = jax.read_text().replace("range(0, len(layers), block)", "range(0, len(layers) - block + 1, block)")
    assert planted != jax.read_text()
    jax.write_text(planted)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(timed_sets, "LiveSide", OwnedBlocks)
    asked = [
        "crossing",
        "blocks",
        "port.py",
        "--blocks",
        "3,4",
        "--pairs",
        "5",
        "--budget",
        "0.01",
        "--threads",
        "1",
        "--json",
    ]
    assert cli.main(asked) == 1
    (series,) = json.loads(capsys.readouterr().out)["series"]
    runs: list[dict[str, Any]] = series["runs"]
    assert [(run["block"], run["parity"]) for run in runs] == [(0, "pass"), (3, "pass"), (4, "fail")]
    kernels = [run["kernels"] for run in runs[:2]]
    assert kernels[0]["tf/graph"] > kernels[1]["tf/graph"] >= kernels[1]["tf/jit"] > 0
    assert kernels[0]["jax/eager"] > kernels[1]["jax/eager"] > 0
    assert runs[1]["over_graph"]["tf/graph"]["ratio"] and not runs[2]["seconds"]
    assert set(runs[1]["bit_equal"]) == {"tf/eager", "tf/graph", "jax/eager"}
    assert max(runs[1]["error"].values()) < 1e-5
    assert json.loads((tmp_path / "jaxport-blocks/blocks.json").read_text())["series"] == [series]
    assert "tower" in (tmp_path / "jaxport-blocks/blocks.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["dense_chan"], "expected the name of a workload or a port file, found 'dense_chan'"),
        (["add"], "expected a dimension `block` of add"),
        (["mnist_mlp"], "expected a forward pass, found mnist_mlp"),
        (["dense_chain", "--blocks", "0,2"], "expected a positive integer, found '0'"),
        (["dense_chain", "--size", "huge"], "expected a size of dense_chain"),
    ],
)
def test_what_is_no_chain_is_refused_in_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["crossing", "blocks", *arguments, "-o", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line
