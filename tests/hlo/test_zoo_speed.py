"""How long `jaxport hlo` takes on models that come with it: `pytest --benchmark-only tests/hlo/test_zoo_speed.py`.

Each in a process of its own, from the command line to the written pages. At size default all of them take half an hour.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MODELS = ("conv_mnist", "lstm", "seq2seq", "translation", "bert", "resnet50", "mask_rcnn", "focalnet_pipeline")
SCOPES = {"every level": (), "algebraic alone": ("--only-level",)}


@pytest.mark.parametrize("size", ["smoke", "default"])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("model", MODELS)
def test_speed(benchmark: Any, model: str, scope: str, size: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "compare", "hlo", model, "--size", size, *SCOPES[scope], "-o", str(tmp_path)]
    benchmark.pedantic(subprocess.run, (command,), {"check": True, "capture_output": True}, rounds=1)
    (pair,) = json.loads((tmp_path / "hlo.json").read_text())["pairs"]
    benchmark.extra_info["values"] = [pair["levels"]["algebraic"][side] for side in ("left", "right")]
    benchmark.extra_info["matched"] = pair["levels"]["algebraic"]["matched"]
    assert pair["levels"]["algebraic"]["matched"] > 0
