"""Whatever is wrong with a file from elsewhere is one line and exit code 2; damaged_all.py runs all of the files."""

from __future__ import annotations

import copy
import json
import socket
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged
import damaged_bundles
import damaged_files
import damaged_profiles
import numpy as np
import pytest
from damaged import Case
from places import DATA, ROOT

from compare import files
from compare.bundles import bundle
from compare.errors import RequestError
from compare.hlo import proto, read_module, whole
from compare.hlo.artifacts import hlo_of_file
from compare.hlo.bindings import UnreadableProgram
from compare.plain_json import write_json
from compare.record.results_file import RecordError, load_plain
from workloads.core import foreign
from workloads.core.foreign import Unusable

RECORD = json.loads((DATA / "record_full.json").read_text())
PROTO = next((DATA / "dumps/jax_proto").glob("*after*.pb")).read_bytes()


@pytest.mark.parametrize(
    ("cases", "most", "refused"),
    [
        (damaged_files.records, 20, 2),
        (damaged_files.histories, 6, 1),
        (damaged_files.arrays, 40, 33),
        (damaged_files.data_sets, 39, 30),
        (damaged_bundles.bundles, 40, 33),
        (damaged_profiles.profiles, 40, 8),
    ],
    ids=["records", "histories", "arrays", "data sets", "bug reports", "profiles"],
)
def test_a_damaged_file_is_refused_in_one_line_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: Callable[[], Any], most: int, refused: int
) -> None:
    monkeypatch.chdir(tmp_path)
    found = Counter()
    for number, case in enumerate(damaged.some(cases(), most)):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = damaged.in_process(case, folder)
        assert outcome.verdict in ("refused", "accepted"), (case.damage, outcome)
        found[outcome.verdict] += 1
    assert found["refused"] >= refused, found


@pytest.mark.parametrize("case", damaged.some(damaged_bundles.dumps(), 40), ids=lambda case: case.damage[:80])
def test_a_dump_with_a_damaged_file_is_read_without_it(tmp_path: Path, case: Case) -> None:
    outcome = damaged.in_process(case, tmp_path)
    assert (outcome.code, outcome.verdict) == (0, "accepted")


# Where


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (
            ("workloads", "mnist_mlp", "size"),
            3,
            "`int` where `str | null` is expected, at $.workloads['mnist_mlp'].size",
        ),
        (("environment", "sides", "tf"), [], "`array` where `object | null` is expected, at $.environment.sides['tf']"),
        (
            ("workloads", "mnist_mlp", "timing", "ratios", "jax/jit vs tf/jit", "ratio"),
            "fast",
            "invalid enum value 'fast', at $.workloads['mnist_mlp'].timing.ratios['jax/jit vs tf/jit'].ratio",
        ),
        (
            ("workloads", "mnist_mlp", "parity", "gates", "rounding", "verdict"),
            "fail",
            "verdict pass beside the gate rounding, which says fail, at $.workloads['mnist_mlp'].parity",
        ),
    ],
)
def test_a_refusal_names_the_place(tmp_path: Path, place: tuple[str, ...], value: Any, said: str) -> None:
    changed = copy.deepcopy(RECORD)
    *way, last = place
    at = changed
    for key in way:
        at = at[key]
    at[last] = value
    path = tmp_path / "r.json"
    path.write_text(json.dumps(changed))
    with pytest.raises(RecordError) as refused:
        load_plain(path)
    assert str(refused.value) == f"expected a results.json at {path}, found {said}: pass what `jaxport run` wrote"


def test_fields_that_are_not_declared_are_kept_and_half_characters_read(tmp_path: Path) -> None:
    changed = copy.deepcopy(RECORD) | {"later": [{"x": 10**19}]}
    changed["workloads"]["mnist_mlp"] |= {"summary": "\ud800", "also later": "inf"}
    write_json(tmp_path / "r.json", changed)
    assert load_plain(tmp_path / "r.json") == changed


# What is no regular file


def test_what_would_block_or_act_is_never_opened(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, found in ((tmp_path / "socket", "a socket"), (Path("/dev/tty"), "a device"), (tmp_path, "a folder")):
            with pytest.raises(Unusable, match=found):
                foreign.read(path, 9)


def test_a_file_may_be_as_long_as_allowed_and_no_longer(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"123456789")
    assert foreign.read(tmp_path / "x", 9) == b"123456789"
    with pytest.raises(Unusable, match="more than"):
        foreign.read(tmp_path / "x", 8)


# Zips


def test_what_a_zip_holds_beside_a_bug_report_is_not_unpacked(tmp_path: Path) -> None:
    damaged_bundles.bug_report(tmp_path / "b")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for each in (tmp_path / "b").rglob("*"):
            archive.write(each, f"top/{each.relative_to(tmp_path / 'b')}")
        for name in ("../../climbs", "/absolute", "top/other"):
            archive.writestr(name, "x")
    scratch = tmp_path / "s/c/r"
    scratch.mkdir(parents=True)
    (module,) = bundle.modules(tmp_path / "b.zip", scratch)
    np.testing.assert_array_equal(module.recorded["tf@tf"][0], [2, 4, 6, 8])
    unpacked = {each.relative_to(tmp_path / "s").as_posix() for each in (tmp_path / "s").rglob("*") if each.is_file()}
    names = ("bundle.json", "inputs/tf.safetensors", "outputs/tf@tf.safetensors", "programs/tf.mlirbc")
    assert unpacked == {f"c/r/bundle/{name}" for name in names}


def test_a_zip_that_says_it_holds_less_is_unpacked_no_further(tmp_path: Path) -> None:
    path = tmp_path / "z"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(1 << 20))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = (64).to_bytes(4, "little")
    path.write_bytes(data)
    with foreign.zip_opened(path) as archive, pytest.raises(Unusable, match="broken zip"):
        foreign.member_bytes(archive, "x", 1 << 10)


def test_zeros_beyond_the_ratio_are_a_bomb_and_random_numbers_are_not(tmp_path: Path) -> None:
    path = tmp_path / "z"
    path.write_bytes(b"")
    assert bundle._most_unpacked(path) == bundle.LEAST_UNPACKED_BYTES
    path.write_bytes(bytes(8 << 20))
    assert bundle._most_unpacked(path) == bundle.MOST_RATIO * (8 << 20)


def test_a_link_within_a_bug_report_is_followed_and_one_out_of_it_refused(tmp_path: Path) -> None:
    damaged_bundles.bug_report(tmp_path / "b")
    inside, outside = tmp_path / "b/outputs/tf@tf.safetensors", tmp_path / "outside"
    kept = inside.rename(tmp_path / "b/outputs/kept")
    inside.symlink_to(kept)
    assert bundle.modules(tmp_path / "b", tmp_path)
    kept.rename(outside)
    inside.unlink()
    inside.symlink_to(outside)
    with pytest.raises(RequestError, match="found a link out of the bug report: copy it whole"):
        bundle.modules(tmp_path / "b", tmp_path)


# Programs


def test_an_operation_with_other_operands_than_its_kind_has_is_refused() -> None:
    with pytest.raises(UnreadableProgram, match="expected a serialized HloModuleProto"):
        hlo_of_file(changed_proto(lambda module: setattr(entry(module).instructions[0], "opcode", "add")))


def changed_proto(change: Callable[[Any], object]) -> bytes:
    """A good optimized module with something changed."""
    module = proto.read_module(PROTO)
    change(module)
    return module.SerializeToString()


def entry(module: Any) -> Any:
    (found,) = [each for each in module.computations if each.id == module.entry_computation_id]
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda module: setattr(module, "entry_computation_id", 99),
        lambda module: setattr(entry(module), "root_id", 99),
        lambda module: setattr(entry(module), "id", 99),
        lambda module: entry(module).instructions[-1].operand_ids.append(99),
        lambda module: entry(module).instructions[0].operand_ids.append(entry(module).instructions[-1].id),
        lambda module: setattr(entry(module).instructions[0], "id", entry(module).instructions[-1].id),
        lambda module: entry(module).instructions[-1].called_computation_ids.append(99),
        lambda module: setattr(module.computations[0].instructions[0], "parameter_number", 7),
    ],
    ids=["entry", "root", "computation", "operand", "order", "twice", "callee", "parameter"],
)
def test_a_module_that_refers_to_what_is_not_there_is_refused(change: Callable[[Any], object]) -> None:
    with pytest.raises(UnreadableProgram, match="expected a whole HLO module"):
        proto.read_module(changed_proto(change))


def test_a_module_that_calls_itself_or_grows_without_end_is_refused() -> None:
    with pytest.raises(UnreadableProgram, match="a computation that calls itself"):
        proto.read_module(
            changed_proto(lambda module: entry(module).instructions[0].called_computation_ids.append(entry(module).id))
        )
    with pytest.raises(UnreadableProgram, match=f"up to {whole.MOST_INSTRUCTIONS:,} instructions"):
        proto.read_module(changed_proto(calling_twice))


def calling_twice(module: Any) -> None:
    """Forty computations, each with two loops around the next."""
    last = module.computations[0].id
    for number in range(40):
        added = module.computations.add(id=1000 + number, root_id=2)
        for key in (1, 2):
            added.instructions.add(id=key, opcode="while", called_computation_ids=[last])
        last = added.id


def test_a_place_that_is_not_in_the_index_is_no_place() -> None:
    def elsewhere(module: Any) -> None:
        for frame in module.stack_frame_index.stack_frames:
            frame.file_location_id = 99

    assert all(not node.source for node in read_module.read(changed_proto(elsewhere)).walk())


def test_a_constant_of_another_size_than_its_shape_is_refused() -> None:
    def longer(module: Any) -> None:
        constant = next(
            each for every in module.computations for each in every.instructions if each.opcode == "constant"
        )
        constant.literal.shape.dimensions.append(7)

    with pytest.raises(UnreadableProgram, match=r"expected a constant .* as large as its shape"):
        read_module.read(changed_proto(longer))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 65 + "]" * 65, "nested 65 levels deep"),
        ("1e999", "beyond the range of float64"),
        ("9" * 21, "an integer of 21 digits"),
        ("-Infinity", "not a JSON number"),
        ('{"a": 1, "a": 1}', "'a' twice"),
    ],
)
def test_every_limit_of_json_is_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(files.FileError, match=said):
        files.parse(text, tmp_path, files.Expected("JSON", "correct it"))


def test_brackets_in_strings_are_no_nesting(tmp_path: Path) -> None:
    text = json.dumps({"x": '"[' * 99})
    assert files.parse(text, tmp_path, files.Expected("JSON", "correct it")) == json.loads(text)


TOGETHER = """
import msgspec, pathlib, sys, threading
from compare import files

sys.setswitchinterval(1e-6)
for _ in range(100):
    inner = msgspec.defstruct("Inner", [(f"a{number}", int, 0) for number in range(20)])
    outer = msgspec.defstruct("Outer", [(f"b{number}", list[inner], []) for number in range(20)])
    start = threading.Barrier(4)

    def ask():
        start.wait()
        files.convert({"b0": [{"a0": 1}]}, outer, pathlib.Path("file"), files.Expected("JSON", "correct it"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_meet_a_type_together_do_not_end_the_process() -> None:
    ended = subprocess.run([sys.executable, "-c", TOGETHER], cwd=ROOT, check=False)
    assert ended.returncode == 0
