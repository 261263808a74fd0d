"""A side replayed from a file stands for the live one, where its framework is not installed."""

from __future__ import annotations

import dataclasses
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hlo_programs
import numpy as np
import pytest
from safetensors.numpy import save_file

from compare.cli import main
from compare.inputs.at_size import Prepared, prepare
from compare.record.vocabulary import CELLS
from compare.sides import pool, requests
from compare.sides._side import Reply, Side, SideError, Unavailable
from compare.sides.client import LiveSide
from compare.sides.recorded import FORMAT, METADATA_KEY, RecordedSide, RecordedSideError, RecordingSide
from compare.sides.wire import load_arrays
from workloads.core import registry
from workloads.core.arrays import draw_cases
from workloads.core.device import GPU, HIGHEST, ON_CPU, TF32, Device


@pytest.fixture(scope="module")
def folder(recorded_sides: Path) -> Path:
    """Where tf.side and jax.side lie."""
    return recorded_sides


@pytest.fixture
def add(tmp_path: Path) -> Prepared:
    return prepare(registry.get("add"), "smoke", None, tmp_path)


class NoTensorFlow(LiveSide):
    """A live side, of any framework but TensorFlow."""

    def __init__(self, name: str, *arguments: Any):
        assert name != "tf", "TensorFlow was started"
        super().__init__(name, *arguments)


def run(folder: Path, *arguments: str, exits: int = 0) -> dict[str, Any]:
    """The record of a run with the recorded TensorFlow, in a process that cannot start a live one."""
    out = folder / "report"
    asked = ["run", "--tf-recorded", str(folder / "tf.side"), "--json", "-o", str(out), *arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "LiveSide", NoTensorFlow)
        assert main(asked) == exits
    record = json.loads((out / "results.json").read_text())
    shutil.rmtree(out)
    return record


@pytest.fixture(scope="module")
def with_live_jax(folder: Path) -> dict[str, Any]:
    return run(folder, "add", "--size", "smoke", "--pairs", "1", "--budget", "0.1")


@pytest.fixture(scope="module")
def judged(with_live_jax: dict[str, Any]) -> dict[str, Any]:
    return with_live_jax["workloads"]["add"]


# The run.


@pytest.mark.process
def test_parity_is_judged_on_the_recorded_side(judged: dict[str, Any]) -> None:
    assert judged["failures"] == []
    assert judged["parity"]["verdict"] == "pass"


@pytest.mark.process
def test_the_record_says_which_side_was_recorded(with_live_jax: dict[str, Any]) -> None:
    environments = with_live_jax["environment"]["sides"]
    assert environments["tf"]["recorded"] == "tf.side"
    assert environments["tf"]["tensorflow"]
    assert environments["jax"]["recorded"] is None


@pytest.mark.process
def test_recorded_programs_and_profiles_are_in_the_record(judged: dict[str, Any]) -> None:
    assert judged["profile"]["tf/eager"]["names"] == ["AddV2"]
    assert {"tf/eager", "tf/graph", "tf/autocluster", "tf/jit", "jax/eager", "jax/jit"} <= set(judged["profile"])
    assert judged["programs"]["tf"]["instructions"] > 0 < judged["alignment"]["matched"]
    assert "optimized_hlo" in judged["stages"]["tf"]


@pytest.mark.process
def test_the_recorded_compiler_takes_its_own_program_and_says_that_it_takes_no_other(judged: dict[str, Any]) -> None:
    assert tuple(judged["compiled"]) == CELLS
    for cell in ("tf@tf", "jax@jax", "tf@jax"):
        assert judged["compiled"][cell]["kernels"] == 1
        assert judged["compiled"][cell]["error"] == 0
    assert "the recorded side tf.side does not hold this request" in judged["compiled"]["jax@tf"]["reason"]


@pytest.mark.process
def test_no_ratio_is_drawn_between_what_did_not_run_side_by_side(judged: dict[str, Any]) -> None:
    timing = judged["timing"]
    assert {"jax/eager", "jax/jit"} <= set(timing["modes"])
    assert not any(mode.startswith("tf/") for mode in timing["modes"])
    for name, ratio in timing["ratios"].items():
        assert "tf/" not in name or (ratio["ratio"] is None and ratio["withheld"])
    assert judged["attribution"] is None


@pytest.mark.process
def test_the_recorded_program_is_timed_beside_the_live_one_under_the_live_compiler(judged: dict[str, Any]) -> None:
    (name,) = judged["timing"]["program_ratios"]
    assert name == "jax@jax vs tf@jax"
    assert set(judged["timing"]["cells"]) == {"jax@jax", "tf@jax"}


def lowered(folder: Path, **facts: str) -> RecordedSide:
    """A recorded side that says of itself what a worker would."""
    kept = RecordingSide(Told({"device": "cpu"} | facts))
    requests.environment(kept)
    kept.save(folder / "told.side")
    return RecordedSide("tf", folder / "told.side")


class Told(Side):
    name = "tf"

    def __init__(self, facts: dict[str, str]) -> None:
        self.facts = facts

    def call(self, method: str, parameters: Any, arrays: Any = None) -> Reply:
        return Reply(self.facts)

    def close(self) -> None:
        """Nothing is open."""


def test_programs_for_a_gpu_may_be_held_against_a_side_on_one(tmp_path: Path) -> None:
    lowered(tmp_path, lowered_for="gpu", matmul_precision="highest").require(Device(GPU, precision=HIGHEST))
    lowered(tmp_path, device="gpu nvidia h100", matmul_precision="tf32").require(Device(GPU, precision=TF32))
    lowered(tmp_path, lowered_for="gpu", matmul_precision="highest").require(ON_CPU)


def test_outputs_of_a_cpu_are_not_held_against_products_in_tensorfloat_32(tmp_path: Path) -> None:
    with pytest.raises(
        RecordedSideError, match=r"found outputs of a CPU, which rounds no .*--matmul-precision highest"
    ):
        lowered(tmp_path, lowered_for="gpu", matmul_precision="tf32").require(Device(GPU, precision=TF32))


@pytest.mark.parametrize(
    ("facts", "found"),
    [({}, "cpu"), ({"lowered_for": "gpu", "matmul_precision": "tf32"}, "gpu tf32")],
)
def test_programs_for_another_device_or_precision_are_refused(
    facts: dict[str, str], found: str, tmp_path: Path
) -> None:
    with pytest.raises(RecordedSideError, match=f"with programs for gpu highest, found {found}: record it again with"):
        lowered(tmp_path, **facts).require(Device(GPU, precision=HIGHEST))


@pytest.mark.process
def test_both_sides_recorded_tell_what_the_live_ones_told(folder: Path, judged: dict[str, Any]) -> None:
    replayed = run(folder, "add", "--size", "smoke", "--jax-recorded", str(folder / "jax.side"))["workloads"]["add"]
    for part in ("sha256", "inputs", "parity", "programs", "alignment", "stages"):
        assert replayed[part] == judged[part], part
    # Times are those of each profiled call: names are what both tell.
    told = [{mode: each["names"] for mode, each in found["profile"].items()} for found in (replayed, judged)]
    assert told[0] == told[1]
    assert replayed["compiled"]["jax@jax"]["text"] == judged["compiled"]["jax@jax"]["text"]
    assert replayed["compiled"]["tf@tf"] == judged["compiled"]["tf@tf"]


@pytest.mark.process
def test_parity_fails_where_the_recorded_numbers_are_others(folder: Path, tmp_path: Path) -> None:
    arrays, metadata = load_arrays(folder / "tf.side")
    changed = {name: array * 1.01 if name.endswith("/output") else array for name, array in arrays.items()}
    save_file(changed, tmp_path / "tf.side", metadata)
    record = run(tmp_path, "add", "--size", "smoke", "--jax-recorded", str(folder / "jax.side"), exits=1)
    gates = record["workloads"]["add"]["parity"]["gates"]
    assert (gates["semantics"]["verdict"], gates["rounding"]["verdict"]) == ("fail", "fail")


@pytest.mark.process
def test_a_recorded_program_that_ends_its_reader_costs_the_workload_alone(folder: Path, tmp_path: Path) -> None:
    arrays, metadata = load_arrays(folder / "tf.side")
    deadly = np.frombuffer(hlo_programs.flipped(*hlo_programs.DEADLY), np.uint8)
    changed = {name: deadly if name.endswith("/artifact") else array for name, array in arrays.items()}
    save_file(changed, tmp_path / "tf.side", metadata)
    record = run(tmp_path, "add", "--size", "smoke", "--jax-recorded", str(folder / "jax.side"), exits=1)
    reasons = [failure["reason"] for failure in record["workloads"]["add"]["failures"]]
    assert reasons and all("in the recorded side tf.side" in reason for reason in reasons)
    assert "ended by signal" in reasons[0]


@pytest.mark.process
@pytest.mark.parametrize("name", ["tf", "jax"])
def test_recorded_outputs_are_those_of_the_workload(folder: Path, add: Prepared, name: str) -> None:
    side = RecordedSide(name, folder / f"{name}.side")
    cases = draw_cases(add.workload, add.dimensions, seeds=3, data=None)
    assert tuple(cases) == add.loading.cases
    for mode in requests.load(side, add.loading)["forward"]:
        for case, given in cases.items():
            found = requests.outputs(side, mode, "forward", case, "float32")["output"]
            np.testing.assert_array_equal(found, given["x"] + given["y"])
    assert [each.name for each in requests.program(side, "forward", "float32").parameters] == ["x", "y"]


# What a recorded side does not hold.


@pytest.mark.process
def test_a_request_that_was_not_recorded_is_answered_with_the_reason(folder: Path, add: Prepared) -> None:
    side = RecordedSide("tf", folder / "tf.side")
    with pytest.raises(SideError, match=r"tf: load: the recorded side tf.side does not hold this workload with these"):
        requests.load(side, dataclasses.replace(add.loading, sha256="other"))
    requests.load(side, add.loading)
    with pytest.raises(SideError, match=r"tf: profile: the recorded side tf.side does not hold this request"):
        requests.profile(side, "of another mode")


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("add", "--size", "default"), "this workload with these inputs, weights and size"),
        (("scale_and_add", "--size", "smoke"), "scale_and_add, found add"),
    ],
)
def test_a_record_of_another_workload_or_size_is_one_clear_line(
    folder: Path, arguments: tuple[str, ...], reason: str
) -> None:
    found = run(folder, *arguments, "--jax-recorded", str(folder / "jax.side"), exits=1)["workloads"][arguments[0]]
    expected = f"the recorded side {{}}.side does not hold {reason}"
    assert [each["reason"] for each in found["failures"]] == [expected.format("tf"), expected.format("jax")]
    assert found["parity"]["verdict"] == "not_judged"


class Scripted(Side):
    """Cannot do what is asked for, or fails at it."""

    name = "tf"

    def call(self, method: str, parameters: Any, arrays: Any = None) -> Reply:
        if method == "program":
            raise Unavailable(self.name, method, "no such pass")
        if method == "profile":
            raise SideError(self.name, method, "went wrong")
        return Reply({"plain": 1, "nothing": None}, {"output": np.asarray(2.5)[()], "t": np.ones((2, 3)).T})

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def scripted(tmp_path: Path) -> Path:
    side = RecordingSide(Scripted())
    side.call("environment", {})
    for method in ("program", "profile"):
        with pytest.raises(SideError):
            side.call(method, {})
    side.save(tmp_path / "tf.side")
    return tmp_path / "tf.side"


@pytest.mark.parametrize(
    ("method", "kind", "reason"), [("program", Unavailable, "no such pass"), ("profile", SideError, "went wrong")]
)
def test_a_refusal_is_replayed_as_the_kind_that_it_was(
    scripted: Path, method: str, kind: type[SideError], reason: str
) -> None:
    with pytest.raises(SideError, match=reason) as caught:
        RecordedSide("tf", scripted).call(method, {})
    assert type(caught.value) is kind
    assert not caught.value.lost


def test_a_reply_is_replayed_whole(scripted: Path) -> None:
    reply = RecordedSide("tf", scripted).call("environment", {})
    assert reply.value == {"plain": 1, "nothing": None}
    assert reply.arrays["output"].shape == ()
    np.testing.assert_array_equal(reply.arrays["t"], np.ones((3, 2)))


# The file.


@pytest.mark.process
def test_the_file_is_safetensors_with_a_json_head_and_no_pickle(folder: Path) -> None:
    data = (folder / "tf.side").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = json.loads(data[8 : 8 + size])
    head = json.loads(tensors.pop("__metadata__")[METADATA_KEY])
    assert (head["format"], head["side"]) == (FORMAT, "tf")
    assert len(data) == 8 + size + max(each["data_offsets"][1] for each in tensors.values())
    assert {each["dtype"] for each in tensors.values()} <= {"F32", "F64", "U8"}
    assert b"pickle" not in data


class Torn(Exception):
    """Stands for a full disk."""


@pytest.mark.parametrize("before", [None, b"an older record"])
def test_the_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None
) -> None:
    path = tmp_path / "tf.side"
    if before:
        path.write_bytes(before)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(Torn()))
    with pytest.raises(Torn):
        RecordingSide(Scripted()).save(path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([before] if before else [])


def test_a_side_that_cannot_be_started_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compare.commands.record.LiveSide", lambda name, *_: Scripted())
    monkeypatch.setattr(Scripted, "call", lambda *_: (_ for _ in ()).throw(SideError("tf", "import", "not here")))
    assert main(["record", "add", "--side", "tf", "--size", "smoke", "-o", str(tmp_path / "new" / "tf.side")]) == 2
    assert capsys.readouterr().err == "jaxport: tf: import: not here\n"
    assert list(tmp_path.iterdir()) == []


def headed(path: Path, head: Any) -> None:
    """A safetensors file with that head, or with none."""
    save_file({"0/output": np.ones(2)}, path, {} if head is None else {METADATA_KEY: json.dumps(head)})


GOOD = {"format": FORMAT, "side": "tf", "replies": {}}


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (None, "found a safetensors file of something else"),
        ({"format": FORMAT}, "found object missing required field `side`"),
        ([], "found `array` where `object` is expected"),
        (GOOD | {"side": "jax"}, "found a recorded jax side: write it with `jaxport record --side tf"),
        (GOOD | {"format": FORMAT - 1}, f"found one of format {FORMAT - 1}, from an older jaxport: write it with"),
        (GOOD | {"format": FORMAT + 1}, f"of format {FORMAT}, found format {FORMAT + 1}: upgrade jaxport"),
        (GOOD | {"format": FORMAT + 1, "side": "jax"}, "upgrade jaxport"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, head: Any, found: str) -> None:
    headed(tmp_path / "good", GOOD)
    RecordedSide("tf", tmp_path / "good")
    headed(tmp_path / "file", head)
    with pytest.raises(RecordedSideError, match=r"^expected a recorded tf side at .*file.*, found") as caught:
        RecordedSide("tf", tmp_path / "file")
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.process
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda whole: whole[:0], id="empty"),
        pytest.param(lambda whole: whole[:7], id="cut in its size"),
        pytest.param(lambda whole: whole[:100], id="cut in its head"),
        pytest.param(lambda whole: whole[:-1], id="cut in its arrays"),
        pytest.param(lambda whole: b"\x00" * 64, id="zeros"),
        pytest.param(lambda whole: b"PK\x03\x04" + whole, id="another format"),
    ],
)
def test_a_broken_file_is_refused(folder: Path, tmp_path: Path, content: Callable[[bytes], bytes]) -> None:
    (tmp_path / "file").write_bytes(content((folder / "tf.side").read_bytes()))
    with pytest.raises(RecordedSideError, match=r"^expected a recorded tf side at .*: write it with") as caught:
        RecordedSide("tf", tmp_path / "file")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [".", "absent"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordedSideError, match=r"^expected a recorded tf side at "):
        RecordedSide("tf", tmp_path / name)
