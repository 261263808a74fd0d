"""A folder of files, of which tf_model.py has saved a model into it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def saved(folder: Path, texts: Mapping[str, str]) -> Path:
    """The folder, once its files are written and tf_model.py, which is among them, was run in it."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    subprocess.run([sys.executable, "tf_model.py"], cwd=folder, check=True, capture_output=True)
    return folder
