"""A recorded side whose replies are of other types than their requests have is refused in one line."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged
import damaged_files
import numpy as np
import pytest
from safetensors.numpy import save_file

from compare.progress import Silent
from compare.run import whole_run
from compare.sides import pool
from compare.sides._side import SideError
from compare.sides.recorded import FORMAT, METADATA_KEY, RecordedSide, RecordedSideError, _key
from compare.sides.wire import load_arrays
from workloads.core import registry


def test_a_damaged_recorded_side_is_refused_in_one_line_or_read(recorded_sides: Path, tmp_path: Path) -> None:
    found = Counter()
    for number, case in enumerate(damaged.some(damaged_files.sides(recorded_sides), 48)):
        place = tmp_path / str(number)
        place.mkdir()
        outcome = damaged.in_process(case, place)
        assert outcome.verdict in ("refused", "accepted"), (case.damage, outcome)
        found[outcome.verdict] += 1
    assert found["refused"] >= 20, found


def rewritten(recorded_sides: Path, path: Path, change: Callable[[dict[str, Any]], object], method: str) -> Path:
    """tf.side with every reply to one method changed."""
    arrays, metadata = load_arrays(recorded_sides / "tf.side")
    head = json.loads(metadata[METADATA_KEY])
    for kept in head["replies"].values():
        if kept.get("method") == method:
            change(kept)
    save_file(arrays, path, {METADATA_KEY: json.dumps(head)})
    return path


@pytest.mark.parametrize(
    ("method", "change", "found"),
    [
        ("load", lambda kept: kept.update(value=[]), "`array` where `object` is expected, in its reply to load"),
        ("load", lambda kept: kept.update(value={"modes": {"backward": []}}), "invalid enum value 'backward'"),
        ("load", lambda kept: kept.update(value={"modes": {}}), "no mode of a pass in its reply to load"),
        ("load", lambda kept: kept.update(value={"modes": {"forward": []}}), "no mode of a pass in its reply to load"),
        ("program", lambda kept: kept["value"]["parameters"][0].update(kind="guess"), "at $.parameters[0].kind"),
        ("program", lambda kept: kept["value"]["results"][0].update(dtype="float7"), "dtype 'float7'"),
        ("program", lambda kept: kept["value"]["results"][0].update(shape=[-1]), "at $.results[0].shape[0]"),
        ("program", lambda kept: kept.update(arrays={}), "no arrays in its reply to program"),
        ("program", lambda kept: kept.update(arrays={"artifact": "2/output"}), "float32 of 2 axes for 'artifact'"),
        ("outputs", lambda kept: kept.update(arrays={"output": "gone"}), "no array 'gone' of its reply to 'outputs'"),
        ("outputs", lambda kept: kept.update(arrays={}), "no arrays in its reply to outputs"),
        ("execute", lambda kept: kept.update(arrays={}), "no arrays in its reply to execute"),
        ("compile", lambda kept: kept.update(value={"handle": 0}), "missing required field `compile_s`"),
        (
            "profile",
            lambda kept: kept.update(value=["a", []]),
            "found `str` where `array` is expected, at $[0]",
        ),
        (
            "environment",
            lambda kept: kept.update(value=3),
            "`int` where `object` is expected, in its reply to environment",
        ),
    ],
)
def test_a_reply_of_another_shape_is_refused(
    recorded_sides: Path,
    tmp_path: Path,
    method: str,
    change: Callable[[dict[str, Any]], object],
    found: str,
) -> None:
    rewritten(recorded_sides, tmp_path / "tf.side", change, method)
    shutil.copy(recorded_sides / "jax.side", tmp_path)
    with pytest.raises(RecordedSideError, match=re.escape(found)):
        run_refused(tmp_path)


def test_a_refusal_of_a_million_characters_is_told_in_part(tmp_path: Path) -> None:
    refused = {"method": "environment", "error": "SideError", "reason": "x" * 10**6, "doing": "y" * 10**6}
    head = {"format": FORMAT, "side": "tf", "replies": {_key("", "environment", {}, None): refused}}
    save_file({"0/x": np.ones(3)}, tmp_path / "tf.side", {METADATA_KEY: json.dumps(head)})
    with pytest.raises(SideError, match="yyy: xxx") as told:
        RecordedSide("tf", tmp_path / "tf.side").call("environment", {})
    assert len(str(told.value)) < 5000


def run_refused(folder: Path) -> None:
    """A whole run on two recorded sides, one of which is refused."""
    sources = {name: pool.Source(recorded=folder / f"{name}.side") for name in ("tf", "jax")}
    whole_run.run(whole_run.Request([registry.get("add")], "smoke", plans=(), sources=sources), Silent())
