"""A module run alone gives what was recorded, on every compiler, or the difference is found, named and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from compare.bundles import bundle
from compare.commands import replay as command
from compare.commands._conclusion import conclude
from compare.commands._parser import Parser
from compare.errors import RequestError
from compare.hlo import bindings

pytestmark = pytest.mark.process

SCALED = """
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %two : tensor<4xf32>
  %1 = stablehlo.add %n, %n : tensor<4xi32>
  return %0, %1 : tensor<4xf32>, tensor<4xi32>
}
"""
UNKNOWN = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @no_such_target(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
ELIDED = "HloModule m\nENTRY e { ROOT c = f32[9]{0} constant({...}) }"

X, N = np.array([1, 2, 3, 4], np.float32), np.array([1, 2, 3, 4], np.int32)


def replay(*arguments: object) -> int:
    """The exit code of `jaxport replay`."""
    parser = Parser(prog="jaxport replay")
    command.add_arguments(parser)
    options = parser.parse_args(list(map(str, arguments)))
    return conclude(command.main(options), quiet=options.json)


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the JSON that was printed."""
    code = replay(*arguments, "--json")
    return code, json.loads(capsys.readouterr().out)


def written(folder: Path, text: str = SCALED) -> Path:
    path = folder / "module.mlirbc"
    path.write_bytes(bindings.artifact(text))
    return path


def bundled(folder: Path, *results: np.ndarray) -> Path:
    """A bug report of SCALED as TensorFlow's program, with these as recorded results."""
    for name in ("programs", "inputs", "outputs"):
        (folder / name).mkdir(parents=True)
    (folder / "programs" / "tf.mlirbc").write_bytes(bindings.artifact(SCALED))
    bundle.save_arrays([X, N], folder / "inputs" / "tf.safetensors")
    bundle.save_arrays(results, folder / "outputs" / "tf@tf.safetensors")
    entry = {
        "name": "tf", "kind": "program", "file": "programs/tf.mlirbc", "inputs": "inputs/tf.safetensors",
        "parameters": [{"name": "x"}, {"name": "n"}], "results": [{"name": "scaled"}, {"name": "doubled"}],
        "outputs": {"tf@tf": "outputs/tf@tf.safetensors"},
    }  # fmt: skip
    bundle.save_index({"schema": bundle.SCHEMA, "modules": [entry]}, folder)
    return folder


def test_a_module_alone_is_held_against_the_interpreter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (found,) = told(capsys, written(tmp_path))
    assert (code, found["reference"], found["inputs"]) == (0, "interpreter", "random, seed 0")
    assert [(each["name"], each["dtype"]) for each in found["results"]] == [("0", "float32"), ("1", "int32")]
    assert found["results"][0]["differences"]["here"]["ulp"] == 0


def test_a_bug_report_is_held_against_what_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (found,) = told(capsys, bundled(tmp_path / "b", X * 2, N * 2))
    assert (code, found["reference"], found["inputs"]) == (0, "recorded tf@tf", "as recorded")
    assert [each["name"] for each in found["results"]] == ["scaled", "doubled"]
    assert set(found["results"][0]["differences"]) == {"here", "interpreter"}


@pytest.mark.parametrize(
    ("scaled", "doubled", "wrong"),
    [
        (X * 2.01, N * 2, "scaled"),
        (np.array([2, np.nan, 6, 8], np.float32), N * 2, "scaled"),
        (X * 2, N * 2 + np.array([0, 0, 0, 1], np.int32), "doubled"),
        ((X * 2).astype(np.float64), N * 2, "scaled"),
        ((X * 2)[:3], N * 2, "scaled"),
    ],
    ids=["a value", "a NaN", "a whole number", "a dtype", "a shape"],
)
def test_a_wrong_recorded_result_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scaled: np.ndarray, doubled: np.ndarray, wrong: str
) -> None:
    path = bundled(tmp_path / "b", scaled, doubled)
    code, (found,) = told(capsys, path)
    bound = {each["name"]: each["differences"]["here"] for each in found["results"]}
    assert code == 1 and not found["agrees"]
    assert [
        name for name, each in bound.items() if not each["alike"] or float(each["relative"]) > each["tolerance"]
    ] == [wrong]
    assert replay(path) == 1
    assert "differs" in capsys.readouterr().out


def test_a_tolerance_admits_what_it_says_and_no_whole_numbers(tmp_path: Path) -> None:
    assert replay(bundled(tmp_path / "a", X * 2.01, N * 2), "--tolerance", "0.02") == 0
    assert replay(bundled(tmp_path / "b", X * 2.01, N * 2), "--tolerance", "0.001") == 1
    assert replay(bundled(tmp_path / "c", X * 2, N * 2 + 1), "--tolerance", "0.5") == 1


def test_a_file_inside_a_bug_report_comes_with_its_inputs_and_results(tmp_path: Path) -> None:
    assert replay(bundled(tmp_path / "a", X * 2, N * 2) / "programs/tf.mlirbc") == 0
    assert replay(bundled(tmp_path / "b", X * 3, N * 2) / "programs/tf.mlirbc") == 1


def test_other_inputs_leave_recorded_results_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bundled(tmp_path / "b", X * 3, N * 2)
    code, (found,) = told(capsys, path, "--seed", 4)
    assert (code, found["inputs"], found["reference"]) == (0, "random, seed 4", "interpreter")
    save_file({"n": N, "x": X}, tmp_path / "given")
    code, (found,) = told(capsys, path, "--inputs", tmp_path / "given")
    assert (code, found["inputs"]) == (0, "as given")


def test_changed_options_compile_once_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--without-pass", "fusion", "--xla", "xla_backend_optimization_level=0"]
    code, (found,) = told(capsys, written(tmp_path), "--compilers", "here", *options)
    assert (code, found["reference"]) == (0, "here")
    assert set(found["results"][0]["differences"]) == {"here, other options"}


def test_options_reach_the_compiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "dump"
    told(capsys, written(tmp_path), "--xla", f"xla_dump_to={dump}")
    assert any("f32[4]" in each.read_text() for each in dump.glob("*before_optimizations.txt"))


def test_both_workers_run_it_as_this_process_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (found,) = told(capsys, bundled(tmp_path / "b", X * 2, N * 2), "--compilers", "tf,jax")
    assert (code, set(found["results"][0]["differences"])) == (0, {"tf", "jax"})
    assert found["refused"] == {}


def test_what_the_interpreter_cannot_run_is_said_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> { return %x : tensor<2xbf16> }"
    code, (found,) = told(capsys, written(tmp_path, text), "--xla", "xla_backend_optimization_level=0")
    assert (code, found["reference"]) == (0, "here")
    assert "found bf16" in found["refused"]["interpreter"]


def test_what_a_compiler_refuses_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (found,) = told(capsys, written(tmp_path, UNKNOWN))
    assert code == 1 and "no_such_target" in found["refused"]["here"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent"], "expected a module or a bug report at .*absent, found no such file"),
        (["text"], r"expected HLO text with all constants spelled out, found constant\(\{...\}\)"),
        (["noise"], "expected a serialized HloModuleProto or HloProto, found 5 other bytes.*, in .*noise"),
        (["folder"], "expected bundle.json of a bug report at .*folder.*, found no such file"),
        (["module.mlirbc", "--compilers", "here"], "expected two results of module.mlirbc to compare, found only"),
        (["module.mlirbc", "--compilers", "gcc"], "expected names of here, interpreter, tf, jax, found 'gcc'"),
        (["module.mlirbc", "--xla", "xla_no_such=1"], "expected an XLA option .*, found xla_no_such=1"),
        (["module.mlirbc", "--xla", "xla_backend_optimization_level=high"], "found .*=high"),
        (["module.mlirbc", "--xla", "xla_dump_to"], "expected --xla NAME=VALUE, found 'xla_dump_to'"),
        (["module.mlirbc", "--inputs", "short"], "expected 2 inputs of module.mlirbc, found 1"),
        (["module.mlirbc", "--inputs", "other"], r"expected input '1' .* int32\[4\], found float32\[4\]"),
        (["module.mlirbc", "--inputs", "named"], "expected arrays named by position, 0 to 1, in .*, found x, y"),
        (["module.mlirbc", "--inputs", "noise"], "expected a safetensors file at .*noise, found"),
        (["module.mlirbc", "--inputs", "short", "--seed", "1"], "expected --inputs or --seed, found both"),
        (["module.mlirbc", "--tolerance", "-1"], "expected a number of at least 0, found '-1'"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    written(tmp_path)
    (tmp_path / "text").write_text(ELIDED)
    (tmp_path / "noise").write_bytes(b"noise")
    (tmp_path / "folder").mkdir()
    save_file({"0": X}, tmp_path / "short")
    save_file({"0": X, "1": X}, tmp_path / "other")
    save_file({"x": X, "y": X}, tmp_path / "named")
    named = [str(tmp_path / each) if (tmp_path / each).exists() or each == "absent" else each for each in arguments]
    with pytest.raises(RequestError, match=message):
        replay(*named)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "expected bundle.json of a bug report at .*, found invalid JSON"),
        ("[]", "found `array` where `object` is expected"),
        ('{"schema": 99, "modules": []}', "expected a bug report of schema 1 or older, found 99: upgrade"),
        ('{"schema": 1, "modules": []}', "expected a program in .*, found none"),
    ],
)
def test_a_broken_bug_report_is_one_line(tmp_path: Path, index: str, message: str) -> None:
    (tmp_path / "bundle.json").write_text(index)
    with pytest.raises(RequestError, match=message):
        replay(tmp_path)


def test_a_bug_report_without_one_of_its_files_is_one_line(tmp_path: Path) -> None:
    path = bundled(tmp_path / "b", X * 2, N * 2)
    (path / "programs/tf.mlirbc").unlink()
    with pytest.raises(RequestError, match=r"expected a file that the bug report lists at .*tf\.mlirbc, found no such"):
        replay(path)


def test_recorded_results_of_another_program_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="expected 2 results of tf, found 1 from recorded tf@tf"):
        replay(bundled(tmp_path / "b", X * 2))
