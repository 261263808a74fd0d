"""Sessions of pytest with the plugin, each in a folder of its own and in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from places import ROOT

PASSED = "passed"
WRITTEN = "--benchmark-json=benchmarks.json"


@dataclass(frozen=True)
class Session:
    """What a session of pytest left behind: its exit code, all that it printed, and what became of each test."""

    code: int
    printed: str
    tests: dict[str, str]
    """"passed", "skipped", or the failure's text."""
    benchmarks: dict[str, Any]
    """By the test's name; empty where nothing was written."""
    machine: dict[str, Any]


def session(folder: Path, *options: str, plugin: Sequence[str] = ("-p", "jaxport._pytest_plugin")) -> Session:
    """Runs pytest in the folder, with warnings as errors and jaxport importable."""
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-W", "error", "--junitxml=junit.xml"]
    # A session of its own: that the one around it is one of several is none of its business.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = inherited | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    ran = subprocess.run([*command, *options], cwd=folder, env=environment, capture_output=True, text=True)
    cases = ElementTree.parse(folder / "junit.xml").iter("testcase") if (folder / "junit.xml").exists() else ()
    text = (folder / "benchmarks.json").read_text() if (folder / "benchmarks.json").exists() else ""
    written = json.loads(text) if text else {"benchmarks": [], "machine_info": {}}
    return Session(
        ran.returncode,
        ran.stdout + ran.stderr,
        {case.attrib["name"]: outcome(case) for case in cases},
        {each["name"]: each for each in written["benchmarks"]},
        written["machine_info"],
    )


def outcome(case: ElementTree.Element) -> str:
    said = [child.text or "" if child.tag in ("failure", "error") else child.tag for child in case]
    return "\n".join(said) or PASSED
