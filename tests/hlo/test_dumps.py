"""Dump directories: every file name divided, every file in its place."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from compare import cli
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import AFTER, BEFORE, grammar, modules
from compare.hlo.dumps.directory import listing
from compare.hlo.dumps.summary import summarize

DUMPS = DATA / "dumps"
TRAIN_STEP = "a_inference_train_step_15__XlaMustCompile_true_config_proto_1_executor_type_2_.2"
CLUSTER = "cluster_0__XlaCompiledKernel_true__XlaHasReferenceVars_false__XlaNumConstantArgs_0__XlaNumResourceArgs_0_.2"


def copied(folder: str, tmp_path: Path) -> Path:
    """A copy of one sample, to be broken."""
    return Path(shutil.copytree(DUMPS / folder, tmp_path / "dump"))


# File names

NAMES = ["jit_f", "jit__lambda", TRAIN_STEP, CLUSTER, "pmap_step.7"]
TAILS = {
    "before_optimizations.txt": (grammar.STAGE, {"stage": BEFORE, "format": "txt"}),
    "before_optimizations.hlo.pb": (grammar.STAGE, {"stage": BEFORE, "format": "hlo.pb"}),
    "cpu_after_optimizations.hlo.pb.gz": (grammar.STAGE, {"stage": AFTER, "platform": "cpu", "format": "hlo.pb.gz"}),
    "sm_9.0a_gpu_after_optimizations.txt": (
        grammar.STAGE,
        {"stage": AFTER, "platform": "sm_9.0a_gpu", "format": "txt"},
    ),
    "sm_8.9_gpu_after_optimizations.txt": (
        grammar.STAGE,
        {"stage": AFTER, "platform": "sm_8.9_gpu", "format": "txt"},
    ),
    "0005.simplification.after_algsimp.before_simplify-sorts.txt": (
        grammar.PASS,
        {
            "order": "0005",
            "pipeline": "simplification",
            "after": "algsimp",
            "before": "simplify-sorts",
            "format": "txt",
        },
    ),
    "0020.copy-insertion.after_adding_special-case_copies.hlo.pb": (
        grammar.PASS,
        {"order": "0020", "pipeline": "copy-insertion", "after": "adding_special-case_copies", "format": "hlo.pb"},
    ),
    "gpu_after_optimizations-buffer-assignment.txt": (
        grammar.REPORT,
        {"stage": AFTER, "platform": "gpu", "detail": "buffer-assignment", "format": "txt"},
    ),
    "add_fusion_kernel_module.ir-with-opt.ll": (
        grammar.LLVM,
        {"kernel": "add_fusion_kernel_module", "detail": "with-opt"},
    ),
    "ir-no-opt.ll": (grammar.LLVM, {"detail": "no-opt"}),
    "wrapped_reduce-window_kernel_module-post-lowering.mlir": (
        grammar.MLIR,
        {"kernel": "wrapped_reduce-window_kernel_module", "detail": "post-lowering"},
    ),
    "ptx": (grammar.PTX, {}),
    "obj-file.wrapped_add.o": (grammar.OBJECT, {"kernel": "wrapped_add"}),
    "thunk_sequence.txt": (grammar.THUNKS, {"detail": "thunk_sequence"}),
    "debug_options": (grammar.OPTIONS, {}),
    "snapshot.-746227899.pb": (grammar.SNAPSHOT, {}),
    "execution_0000.hlo_unoptimized_snapshot.pb": (grammar.SNAPSHOT, {}),
    "add_fusion_kernel_module.mlir-passes.log": (grammar.LOG, {"kernel": "add_fusion_kernel_module"}),
    "thunk_schedule": (grammar.THUNKS, {"detail": "thunk_schedule"}),
    "after_spmd_partitioner.txt": (grammar.PARTITIONED, {}),
    "config.pbtxt": (grammar.CONFIG, {}),
    "gpu_target_config.pbtxt": (grammar.GPU, {}),
    "autotune_results.pbtxt": (grammar.TUNED, {}),
    "something_new.bin": (grammar.OTHER, {}),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tail", TAILS)
def test_a_file_name_is_divided_into_module_kind_and_details(name: str, tail: str) -> None:
    keys = grammar.find_modules([f"module_0003.{name}.before_optimizations.txt", f"module_0003.{name}.{tail}"])
    found = grammar.parse(f"module_0003.{name}.{tail}", keys)
    assert keys == {(3, name)}
    assert found is not None
    kind, details = TAILS[tail]
    assert (found.number, found.name, found.kind, found.details) == (3, name, kind, details)


def test_a_timestamp_before_the_name_divides_nothing() -> None:
    found = grammar.parse("1795235448852311.module_0002.jit_f.before_optimizations.hlo.pb.gz")
    assert found is not None
    assert (found.timestamp, found.number, found.name) == ("1795235448852311", 2, "jit_f")


def test_the_longest_of_two_names_that_fit_owns_the_file() -> None:
    keys = grammar.find_modules(["module_0001.jit_f.debug_options", "module_0001.jit_f.kernel.debug_options"])
    found = grammar.parse("module_0001.jit_f.kernel.x.ir-no-opt.ll", keys)
    assert found is not None
    assert (found.name, found.details["kernel"]) == ("jit_f.kernel", "x")


@pytest.mark.parametrize("name", ["main.1._fusion.html", "README.md", "module_1.f.txt", ""])
def test_other_names_are_no_modules(name: str) -> None:
    assert grammar.parse(name) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_of_fusions_belongs_to_the_module_that_its_name_ends_in(name: str) -> None:
    found = grammar.parse(f"main.1.module_0004.{name}._fusion.html")
    assert found is not None and (found.number, found.name, found.kind) == (4, name, grammar.PICTURE)


@given(st.text(alphabet="module_0123.abc-txtpb", max_size=60))
def test_every_name_is_read_or_refused_and_nothing_is_lost(rest: str) -> None:
    found = grammar.parse(f"module_0001.{rest}")
    assert found is None or f"{found.name}.{found.tail}".rstrip(".") == rest.rstrip(".")


@pytest.mark.parametrize(
    ("name", "framework", "function", "direction"),
    [
        ("jit_train", "JAX", "train", ""),
        ("jit__lambda", "JAX", "<lambda>", ""),
        (TRAIN_STEP, "TensorFlow", "train_step", ""),
        ("a_inference__lambda__25__XlaMustCompile_true_config_proto_1_.1", "TensorFlow", "<lambda>", ""),
        ("a_inference___call___50__XlaMustCompile_true_config_proto_1_.1", "TensorFlow", "__call__", ""),
        ("a_inference_one_step_on_data_973__.8", "TensorFlow", "one_step_on_data", ""),
        ("a_forward_loss_33__XlaMustCompile_true_config_proto_1_.2", "TensorFlow", "loss", "forward"),
        ("a_inference___backward_loss_19_34__XlaMustCompile_true_.1", "TensorFlow", "loss", "backward"),
        (CLUSTER, "TensorFlow", "", ""),
        ("main", "", "", ""),
    ],
)
def test_the_name_tells_framework_function_and_direction(
    name: str, framework: str, function: str, direction: str
) -> None:
    found = grammar.origin(name)
    assert (found.framework, found.function, found.direction) == (framework, function, direction)


def test_the_name_of_an_autocluster_tells_its_number() -> None:
    assert grammar.origin(CLUSTER).cluster == 0
    assert grammar.origin("cluster_12__XlaCompiledKernel_true_.4").cluster == 12
    assert grammar.origin(TRAIN_STEP).cluster is None


# Directories


def test_a_module_in_a_folder_of_its_name_is_read(tmp_path: Path) -> None:
    for file in (DUMPS / "jax_proto").iterdir():
        inside = tmp_path / "jit__lambda" / "host_12" / file.name
        inside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, inside)
    (module,) = modules(tmp_path)
    assert module.function == "<lambda>" and len(module.of(grammar.STAGE)) == 2
    assert str(summarize(tmp_path).modules[0].files[0].path).startswith("jit__lambda/host_12/")
    other = tmp_path / "older"
    shutil.copytree(DUMPS / "jax", other)
    assert [path.name for path, _ in listing(tmp_path).unknown] == ["older"]


def test_modules_come_by_number_with_their_files_by_kind() -> None:
    found = modules(DUMPS / "jax")
    assert [(each.number, each.name, each.function) for each in found] == [
        (0, "jit_steps", "steps"),
        (2, "jit_table", "table"),
    ]
    assert {kind: len(files) for kind, files in found[0].files.items()} == {
        "stage": 2,
        "pass": 3,
        "report": 4,
        "llvm": 2,
        "options": 1,
        "input": 1,
    }


def test_no_file_is_passed_over(tmp_path: Path) -> None:
    folder = copied("jax", tmp_path)
    (folder / "notes.txt").write_text("12345")
    (folder / "traces").mkdir()
    (folder / "traces" / "one").write_text("1234567")
    found = listing(folder)
    assert [(path.name, size) for path, size in found.unknown] == [("notes.txt", 5), ("traces", 7)]
    named = {file.path for each in found.modules for files in each.files.values() for file in files}
    assert named | {folder / "notes.txt", folder / "traces" / "one"} == {p for p in folder.rglob("*") if p.is_file()}


def test_two_programs_that_share_a_directory_keep_their_modules_apart(tmp_path: Path) -> None:
    for folder in ("jax", "tf_autocluster"):
        shutil.copytree(DUMPS / folder, tmp_path, dirs_exist_ok=True)
    assert [(each.number, each.function) for each in modules(tmp_path)] == [
        (0, "cluster_0"),
        (0, "steps"),
        (2, "table"),
    ]


@pytest.mark.parametrize(
    ("made", "found"),
    [("nothing", "no such directory"), ("file", "a file"), ("empty", "nothing"), ("other", "1 other")],
)
def test_a_directory_without_modules_is_refused_with_the_flag_to_set(tmp_path: Path, made: str, found: str) -> None:
    path = tmp_path / "dump"
    if made == "file":
        path.write_text("")
    elif made != "nothing":
        path.mkdir()
    if made == "other":
        (path / "x").write_text("")
    with pytest.raises(UnreadableProgram, match=rf"^expected .*found {found}.*: set XLA_FLAGS=--xla_dump_to="):
        modules(path)


def test_links_that_lead_in_a_circle_cost_only_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loop.pb").symlink_to("loop.pb")
    given = (["dump", str(tmp_path / "loop.pb")], ["dump", str(DUMPS / "jax"), "-o", str(tmp_path / "loop.pb")])
    for asked in given:
        assert cli.main(asked) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("jaxport: expected ") and "internal error" not in line
    dump = copied("jax", tmp_path)
    whole = len(modules(dump))
    (dump / "loop.html").symlink_to("loop.html")
    assert len(listing(dump, besides=tmp_path / "out").modules) == whole > 0


# The whole


def test_a_summary_has_every_module_file_and_option(tmp_path: Path) -> None:
    folder = copied("jax", tmp_path)
    (folder / "notes.txt").write_text("12345")
    found = summarize(folder)
    assert [each.function for each in found.modules] == ["steps", "table"]
    assert 'xla_dump_hlo_pass_re: ".*"' in found.modules[0].options
    assert [(each.path, each.bytes) for each in found.unknown] == [("notes.txt", 5)]
    paths = {each.path for entry in found.modules for each in entry.files}
    assert {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} == paths | {"notes.txt"}


def test_a_broken_proto_does_not_take_the_other_modules_with_it(tmp_path: Path) -> None:
    for folder in ("jax", "jax_proto"):
        shutil.copytree(DUMPS / folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "module_0000.jit__lambda.cpu_after_optimizations.hlo.pb").write_bytes(b"\xff\xff\xff")
    found: dict[str, Any] = {each.function: each for each in summarize(tmp_path).modules}
    assert [each.problems for each in (found["steps"], found["table"])] == [(), ()]
    assert {each.file for each in found["<lambda>"].problems} == {
        "module_0000.jit__lambda.cpu_after_optimizations.hlo.pb",
        "buffer assignment",
    }
