"""A judgement that is kept comes back whole, and is not taken where anything changed or its file is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from places import DATA

from compare.bench.roofline import Work
from compare.inputs.at_size import Prepared, prepare_both
from compare.inputs.request import Request
from compare.measure.timed_sets import Timed
from compare.record.results_file import load
from compare.record.workload_part import Failure
from compare.run import kept_judgements
from compare.run.kept_judgements import Judgement, Judgements
from compare.sides._side import Reply, Side
from compare.writing import PARTIAL
from workloads.core import registry
from workloads.protocol.framework import Parameter, Program, Result


class Told(Side):
    """A side that says which files it has imported."""

    def __init__(self, imported: list[str]) -> None:
        self._imports = imported

    def call(self, method: str, parameters: object, arrays: object = None) -> Reply:
        assert method == "imported"
        return Reply(self._imports)

    def close(self) -> None:
        """Nothing is held."""


class Both:
    """Two sides of these versions."""

    def __init__(self, imported: list[str]) -> None:
        self.version = "0.10.2"
        self._side = Told(imported)

    def environments(self) -> dict[str, dict[str, str]]:
        return {"tf": {"tensorflow": "2.21.0"}, "jax": {"jax": self.version}}

    def get(self, name: str) -> Side:
        return self._side


class Kept:
    """One workload that is judged in a folder; counts how often."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said, self.times = folder / "out" / kept_judgements.FOLDER, [], 0
        self.module = folder / "helper.py"
        self.module.write_text("")
        self.both = Both([str(self.module)])
        self.prepared = prepare_both(registry.get("add"), "smoke", None, folder)
        self.found = judgement(self.prepared[1])

    def judge(self) -> Judgement:
        self.times += 1
        return self.found

    def again(self) -> Judgement:
        self.said.clear()
        judgements = Judgements(self.folder, Request([]))
        return judgements.judge(self.both, self.prepared, self.judge, self.said.append)  # pyright: ignore

    @property
    def file(self) -> Path:
        return next(self.folder.glob("*.safetensors"))


def judgement(large: Prepared) -> Judgement:
    part = load(DATA / "record_full.json").workloads["mnist_mlp"]
    program = Program(
        b"artifact", (Parameter("input", "x", (2, 3), "float32"),), (Result("y", (2,), "float32"),),
        {"step": np.int64(3)}, {"a": "port.py:3"},
    )  # fmt: skip
    timed = Timed(
        large, {"tf": ["jit"], "jax": ["jit"]}, {"tf": program}, Work(1.0, 2.0, 3.0, "float32"), "", "forward"
    )
    return Judgement(replace(part, failures=()), {"values": [1, "inf"]}, timed)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_a_kept_judgement_is_the_one_that_was_made(kept: Kept) -> None:
    kept.again()
    found = kept.again()
    assert kept.times == 1
    assert kept.said == ["add: judged before, and nothing changed"]
    assert found.part == kept.found.part
    assert found.view == kept.found.view
    assert found.timed is not None
    assert kept.found.timed is not None
    for name in ("prepared", "modes", "work", "why_no_work", "main_pass", "steps"):
        assert getattr(found.timed, name) == getattr(kept.found.timed, name)
    program, made = found.timed.programs["tf"], kept.found.timed.programs["tf"]
    assert (program.artifact, program.parameters, program.results) == (made.artifact, made.parameters, made.results)
    assert (dict(program.states), program.sources) == ({"step": 3}, made.sources)


def test_another_version_is_judged_again(kept: Kept) -> None:
    kept.again()
    kept.both.version = "0.11.0"
    kept.again()
    assert kept.times == 2
    assert kept.said == ["add: judged before, but something changed since: judged again"]


def test_a_module_that_was_imported_and_changed_is_judged_again(kept: Kept) -> None:
    kept.again()
    kept.module.write_text("changed = True")
    kept.again()
    assert kept.times == 2
    kept.module.unlink()
    kept.again()
    assert kept.times == 3


def test_a_module_that_changes_while_it_is_judged_is_not_kept(kept: Kept) -> None:
    judge = kept.judge
    kept.judge = lambda: (kept.module.write_text("changed = True"), judge())[1]
    kept.again()
    assert "was changed while it was judged" in kept.said[0]
    assert not kept.folder.exists()


@pytest.mark.parametrize("at", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_judged_again(kept: Kept, at: float) -> None:
    kept.again()
    whole = kept.file.read_bytes()
    kept.file.write_bytes(whole[: int(len(whole) * at)])
    kept.again()
    assert kept.times == 2
    assert "it is made again" in kept.said[0]
    assert kept.file.read_bytes() == whole


def test_what_failed_to_be_judged_is_not_kept(kept: Kept) -> None:
    kept.found = Judgement(replace(kept.found.part, failures=(Failure("jax", "load", "it was killed"),)))
    kept.again()
    kept.again()
    assert kept.times == 2


def test_what_a_killed_writer_left_is_swept(kept: Kept) -> None:
    kept.again()
    for folder in (kept.folder, kept.folder.parent):
        (folder / f"{PARTIAL}half").write_text("half")
    Judgements(kept.folder, Request([])).sweep()
    assert [path.name for path in kept.folder.parent.iterdir()] == [kept_judgements.FOLDER]
    assert [path for path in kept.folder.iterdir()] == [kept.file]


def test_a_judgement_that_cannot_be_kept_is_still_the_judgement(kept: Kept) -> None:
    kept.folder.parent.mkdir()
    kept.folder.write_text("a file where the folder would be, as a full disk would have none")
    assert kept.again() is kept.found
    assert "add: cannot be resumed: expected to write" in kept.said[0]
