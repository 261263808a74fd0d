"""Programs of a dump directory: both ends of the optimization, every pass between, what runs."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from places import DATA

from compare.hlo import bindings, proto
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import AFTER, BEFORE, DumpedModule, modules, stage_bytes, stages
from compare.hlo.dumps.dumped_programs import DumpedProgram

DUMPS = DATA / "dumps"


def module(folder: str, function: str) -> DumpedModule:
    """One module of the samples."""
    (found,) = [each for each in modules(DUMPS / folder) if each.function == function]
    return found


def copied(folder: str, tmp_path: Path) -> Path:
    """A copy of one sample, to be broken."""
    return Path(shutil.copytree(DUMPS / folder, tmp_path / "dump"))


def opcodes(data: bytes) -> list[str]:
    """Opcodes of a serialized module, in its order."""
    found = proto.read_module(data)
    return [each.opcode for computation in found.computations for each in computation.instructions]


def test_a_stage_of_a_text_dump_is_a_module_that_xla_reads() -> None:
    data, left_out = stage_bytes(module("jax", "steps"), BEFORE)
    assert left_out == frozenset()
    assert sorted(opcodes(data)).count("sine") == 1
    assert "sine" in bindings.hlo_text(data)


def test_a_stage_names_the_constants_whose_values_the_text_left_out() -> None:
    for stage in (BEFORE, AFTER):
        data, left_out = stage_bytes(module("jax", "table"), stage)
        names = {
            each.name
            for computation in proto.read_module(data).computations
            for each in computation.instructions
            if each.opcode == "constant"
        }
        assert left_out and left_out <= names


def test_a_proto_leaves_nothing_out_and_is_taken_before_text(tmp_path: Path) -> None:
    folder = copied("jax_proto", tmp_path)
    (folder / "module_0000.jit__lambda.before_optimizations.txt").write_text("no HLO at all")
    data, left_out = stage_bytes(modules(folder)[0], BEFORE)
    assert (sorted(opcodes(data)), left_out) == (["add", "broadcast", "constant", "parameter"], frozenset())


def test_a_compressed_proto_is_the_same_module(tmp_path: Path) -> None:
    name = "module_0000.jit__lambda.before_optimizations.hlo.pb"
    data = (DUMPS / "jax_proto" / name).read_bytes()
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    assert stage_bytes(modules(tmp_path)[0], BEFORE) == stage_bytes(modules(DUMPS / "jax_proto")[0], BEFORE)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data)[:-20])
    with pytest.raises(UnreadableProgram, match="expected a gzip file"):
        stage_bytes(modules(tmp_path)[0], BEFORE)


def test_of_two_timestamps_the_newest_counts(tmp_path: Path) -> None:
    for timestamp, stage in (("2000", "before_optimizations"), ("1000", "cpu_after_optimizations")):
        source = DUMPS / "jax" / f"module_0002.jit_table.{stage}.txt"
        shutil.copy(source, tmp_path / f"{timestamp}.module_0002.jit_table.before_optimizations.txt")
    data, _ = stage_bytes(modules(tmp_path)[0], BEFORE)
    assert "fusion" not in opcodes(data)


def test_a_stage_that_was_not_dumped_is_refused() -> None:
    (bare,) = [
        DumpedModule(each.number, each.name, each.origin, {}) for each in modules(DUMPS / "jax") if each.number == 2
    ]
    with pytest.raises(UnreadableProgram, match="expected after_optimizations of jit_table, found no such file"):
        stage_bytes(bare, AFTER)


@pytest.mark.parametrize("kept", [0.5, 0.8, 0.95])
def test_half_a_proto_is_refused(tmp_path: Path, kept: float) -> None:
    folder = copied("jax_proto", tmp_path)
    path = folder / "module_0000.jit__lambda.cpu_after_optimizations.hlo.pb"
    data = stage_bytes(modules(folder)[0], AFTER)[0]
    path.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(UnreadableProgram, match=r"^expected"):
        stage_bytes(modules(folder)[0], AFTER)


def test_a_module_that_refers_to_what_is_not_in_it_is_refused(tmp_path: Path) -> None:
    folder = copied("jax_proto", tmp_path)
    changed = proto.read_module(stage_bytes(modules(folder)[0], AFTER)[0])
    del changed.computations[0].instructions[0]
    (folder / "module_0000.jit__lambda.cpu_after_optimizations.hlo.pb").write_bytes(changed.SerializeToString())
    with pytest.raises(UnreadableProgram, match="expected a whole HLO module"):
        stage_bytes(modules(folder)[0], AFTER)


def test_text_that_xla_does_not_take_is_a_problem_with_its_reason_and_the_rest_is_read(tmp_path: Path) -> None:
    folder = copied("jax", tmp_path)
    path = folder / "module_0000.jit_steps.before_optimizations.txt"
    path.write_text(path.read_text().replace(" sine(", " opcode-of-tomorrow("))
    found = stages.read_stages(modules(folder)[0])
    (problem,) = found.problems
    assert problem.file == path.name
    assert "opcode-of-tomorrow" in problem.reason
    assert found.before is None
    assert found.after is not None
    assert found.passes[0].changed == "unknown"
    assert found.passes[1].changed == "structure"


def test_before_and_after_are_counted_with_all_their_computations() -> None:
    found = stages.read_stages(module("jax", "steps"))
    assert found.before is not None
    assert found.after is not None
    assert (found.before.instructions, found.before.computations, found.before.fusions) == (21, 3, 0)
    assert (found.after.instructions, found.after.computations, found.after.fusions) == (29, 6, 3)
    assert sum(found.after.opcodes.values()) == 29
    assert stages.difference(found.before.opcodes, found.after.opcodes) == {
        "parameter": 5,
        "fusion": 3,
        "copy": 2,
        "get-tuple-element": -2,
    }


def test_each_pass_says_what_it_changed_and_by_how_much() -> None:
    found = stages.read_stages(module("jax", "steps")).passes
    assert [(each.after, each.changed, each.instructions) for each in found] == [
        ("dce", "instructions", 19),
        ("while-loop-trip-count-annotator", "structure", 19),
        ("fusion", "instructions", 21),
        ("", "instructions", 29),
    ]
    assert found[0].opcodes == {"get-tuple-element": -2}
    assert found[1].opcodes == {}
    assert found[2].opcodes == {"fusion": 1, "parameter": 1}


def test_a_pass_that_only_renames_changed_nothing(tmp_path: Path) -> None:
    folder = copied("jax", tmp_path)
    before = (folder / "module_0002.jit_table.before_optimizations.txt").read_text()
    renamed = before.replace("tanh.1", "another.1").replace('op_name="jit(table)/tanh"', 'op_name="else"')
    assert renamed != before
    (folder / "module_0002.jit_table.0000.p.after_renaming.txt").write_text(renamed)
    (folder / "module_0002.jit_table.0001.p.after_typing.txt").write_text(renamed.replace("tanh(", "cosine("))
    (folder / "module_0002.jit_table.0002.p.after_layout.txt").write_text(
        renamed.replace("tanh(", "cosine(").replace("{1,0}", "{0,1}")
    )
    found = stages.read_stages(modules(folder)[1]).passes
    assert [each.changed for each in found] == ["nothing", "instructions", "structure", "instructions"]
    assert found[1].opcodes == {"cosine": 1, "tanh": -1}


def structure(changed: Any) -> str:
    """What the passes are compared by."""
    return stages.count("file", DumpedProgram(changed)).structure


def test_numbers_of_instructions_are_no_structure_and_operands_are() -> None:
    first, renumbered, rewired = (
        proto.read_module(stage_bytes(module("jax_proto", "<lambda>"), BEFORE)[0]) for _ in range(3)
    )
    for computation in renumbered.computations:
        computation.root_id += 100
        for each in computation.instructions:
            each.id += 100
            each.operand_ids[:] = [key + 100 for key in each.operand_ids]
    (add,) = [each for each in rewired.computations[0].instructions if each.opcode == "add"]
    add.operand_ids[:] = list(add.operand_ids)[::-1]
    assert structure(first) == structure(renumbered)
    assert structure(first) != structure(rewired)


def test_what_runs_comes_in_order_with_the_loop_around_it() -> None:
    steps = stages.read_stages(module("jax", "steps")).steps
    assert [(each.name, each.depth) for each in steps] == [
        ("copy.7", 0),
        ("copy.6", 0),
        ("while.5", 0),
        ("wrapped_add", 1),
        ("broadcast_multiply_fusion", 1),
        ("wrapped_compare", 1),
    ]
    fusion = steps[4]
    assert (fusion.kind, fusion.shape, fusion.source) == ("kLoop", "f32[64,64]", "model.py:4")
    assert fusion.within == {"sine": 1, "constant": 1, "broadcast": 1, "multiply": 1}


def test_a_line_that_tensorflow_made_up_is_no_source() -> None:
    assert "dummy_file_name" in next((DUMPS / "tf_autocluster").glob("*before_optimizations.txt")).read_text()
    for folder, function in (("tf_autocluster", "cluster_0"), ("tf_jit", "train_step")):
        assert {each.source for each in stages.read_stages(module(folder, function)).steps} == {""}
