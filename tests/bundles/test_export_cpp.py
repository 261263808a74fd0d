"""What is exported runs in C++, without Python: by PJRT's C API, and by TensorFlow's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from compare import cli
from compare.bundles.exporting import RUNNERS_IN_CPP
from compare.bundles.run_exported import largest_difference

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not (shutil.which("c++") or os.environ.get("CXX")), reason="there is no compiler of C++"),
]

PROGRAMS = [
    pytest.param(
        "stablehlo",
        marks=pytest.mark.skipif(
            not (find_spec("xla_plugins") and find_spec("xla_plugins.xla_cpu_pjrt")),
            reason="the package xla-cpu-pjrt is not installed: pip install 'jaxport[pjrt]'",
        ),
    ),
    pytest.param("saved_model", marks=pytest.mark.skipif(not find_spec("tensorflow"), reason="without TensorFlow")),
]

FUNCTIONS = """
import jax.numpy as jnp, tensorflow as tf

def f(x, half, n):
    return {"turned": tf.transpose(x), "a/half": half * half, "count": n + 1, "sure": n > 4,
            "wave": tf.complex(x, x), "short": tf.cast(x, tf.float16),
            "edge": tf.math.log(tf.abs(x) * [-1.0, 0.0, 1.0])}

def g(x, half, n):
    return {"turned": x.T, "a/half": half * half, "count": n + 1, "sure": n > 4,
            "wave": x + 1j * x, "short": x.astype(jnp.float16),
            "edge": jnp.log(jnp.abs(x) * jnp.array([-1.0, 0.0, 1.0]))}
"""

ANOTHER_WEIGHT = """
import sys, tensorflow as tf
module = tf.saved_model.load(sys.argv[1])
module.held["0"].assign_add(tf.ones_like(module.held["0"]))
tf.saved_model.save(module, sys.argv[2], signatures=module.signatures)
"""


def python(code: str, *words: str) -> None:
    subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120, check=True)


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def build_and_run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    return run(["sh", str(folder / "run_cpp.sh"), program], PYTHON=sys.executable, PATH=os.environ["PATH"])


def export(folder: Path, *words: str) -> Path:
    assert cli.main(["export", *words, "-o", str(folder)]) == 0
    return folder


def run_built(folder: Path, built: Path, program: str) -> subprocess.CompletedProcess[str]:
    """A program, which the first call builds, with no path in its environment; the linker says what it loads."""
    if not (built / f"run_{program}").exists():
        assert build_and_run(built, program).returncode == 0
    plugin = []
    if program == "stablehlo" and (places := find_spec("xla_plugins.xla_cpu_pjrt")):
        plugin = [f"{(places.submodule_search_locations or [''])[0]}/xla_cpu_pjrt.so"]
    return run([str(built / f"run_{program}"), *plugin, str(folder)], LD_DEBUG="libs")


def refusal(folder: Path, built: Path, program: str) -> str:
    """The one line of a program that compares nothing."""
    found = run_built(folder, built, program)
    assert (found.returncode, found.stdout) == (1, ""), found.stdout
    return found.stderr.splitlines()[-1]


def executable(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("export") / "model", "mnist_mlp", "--size", "smoke")


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "both.py").write_text(FUNCTIONS)
    inputs = [part for spec in ("x=f32[2,3]", "half=bf16[3]", "n=i32[2]:0..9") for part in ("--input", spec)]
    return export(folder / "export", "--tf", f"{folder}/both.py:f", "--jax", f"{folder}/both.py:g", *inputs)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_model_runs_without_python_and_a_planted_error_is_noticed(model: Path, tmp_path: Path, program: str) -> None:
    done = build_and_run(model, program)
    assert done.returncode == 0 and re.fullmatch(r"result/output: differs by \S+ of its .*\n", done.stdout), done.stderr

    again = run_built(model, model, program)
    loaded = set(re.findall(r"calling init: \S*/([^/\s]+)", again.stderr))
    library, others = {
        "stablehlo": ("xla_cpu_pjrt.so", "python|jax|tensorflow"),
        "saved_model": ("libtensorflow_cc.so.2", "python|jax"),
    }[program]
    assert again.returncode == 0 and library in loaded, again.stderr[-2000:]
    assert not [name for name in loaded if re.search(others, name)], loaded

    planted = shutil.copytree(model, tmp_path / "result", dirs_exist_ok=True)
    arrays = dict(np.load(model / "example.npz"))
    arrays["result/output"][3, 2] += 1e-4 * np.abs(arrays["result/output"]).max()
    np.savez(planted / "example.npz", **arrays)
    found = run_built(planted, model, program)
    assert found.returncode == 1 and re.search(r"differs by (0\.0001|9\.\d+e-05) ", found.stdout), found.stdout
    arrays["result/output"][3, 2] = np.nan
    np.savez(planted / "example.npz", **arrays)
    assert run_built(planted, model, program).returncode == 1
    del arrays["result/output"]
    np.savez(planted / "example.npz", **arrays)
    found = run_built(planted, model, program)
    assert found.returncode == 1 and "expected" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_another_weight_is_noticed(model: Path, tmp_path: Path, program: str) -> None:
    planted = shutil.copytree(model, tmp_path / "weight", ignore=shutil.ignore_patterns("saved_model"))
    weights = dict(np.load(model / "weights.npz"))
    weights["weight/hidden/bias"] += 1
    np.savez(planted / "weights.npz", **weights)
    if program == "saved_model":
        python(ANOTHER_WEIGHT, str(model / "saved_model"), str(planted / "saved_model"))
    found = run_built(planted, model, program)
    assert found.returncode == 1 and "result/output: differs by" in found.stdout, found.stderr[-2000:]


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_of_several_types_are_compared_each_by_its_name(
    model: Path, functions: Path, tmp_path: Path, program: str
) -> None:
    done = run_built(functions, model, program)
    names = {"turned", "a/half", "count", "sure", "wave", "short", "edge"}
    assert done.returncode == 0 and set(re.findall("result/(.*):", done.stdout)) == names, done.stderr[-2000:]

    planted = shutil.copytree(functions, tmp_path / "planted")
    arrays = dict(np.load(functions / "example.npz"))
    for name in (name for name in arrays if name.startswith("result/")):
        changed = arrays[name].copy()
        changed.reshape(-1).view(np.uint8)[-1] ^= 0x10 if changed.dtype != bool else 1
        np.savez(planted / "example.npz", **{**arrays, name: changed})
        found = run_built(planted, model, program)
        differs = {name for name, by in re.findall(r"result/(.*): differs by (\S+)", found.stdout) if float(by) > 1e-5}
        assert (found.returncode, differs) == (1, {name.removeprefix("result/").partition("::")[0]}), found.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_example_does_not_name_or_names_in_vain_is_refused(
    model: Path, functions: Path, tmp_path: Path, program: str
) -> None:
    planted = shutil.copytree(functions, tmp_path / "planted")
    arrays = dict(np.load(functions / "example.npz"))
    for name in ("result/turned", "input/n"):
        np.savez(planted / "example.npz", **{other: array for other, array in arrays.items() if other != name})
        wanted, _, there = refusal(planted, model, program).partition(", found ")
        assert name in wanted and name not in there
        np.savez(planted / "example.npz", **arrays, **{f"{name}s": arrays[name]})
        wanted, _, there = refusal(planted, model, program).partition(", found ")
        assert f"{name}s" in there and f"{name}s" not in wanted


@pytest.mark.parametrize("program", PROGRAMS)
def test_infinities_and_nans_that_were_exported_are_no_difference_and_others_are(
    model: Path, functions: Path, tmp_path: Path, program: str
) -> None:
    planted = shutil.copytree(functions, tmp_path / "planted")
    arrays = dict(np.load(functions / "example.npz"))
    edge = arrays["result/edge"]
    assert np.isnan(edge[:, 0]).all() and np.isneginf(edge[:, 1]).all() and np.isfinite(edge[:, 2]).all()
    for place, value in ((0, 1), (0, np.inf), (1, 1), (1, np.inf), (1, np.nan), (2, np.inf), (2, np.nan)):
        changed = edge.copy()
        changed[0, place] = value
        np.savez(planted / "example.npz", **{**arrays, "result/edge": changed})
        found = run_built(planted, model, program)
        assert found.returncode == 1 and re.search("result/edge: differs by -?(nan|inf)", found.stdout), found.stdout


JUDGE = """
#include "arrays.h"
int main(int, char** words) {
  auto arrays = read_arrays(words[1]);
  for (int pair = 0; arrays.count("actual" + std::to_string(pair)); ++pair)
    is_close("", arrays["actual" + std::to_string(pair)], arrays["expected" + std::to_string(pair)]);
}
"""

NAN, INF = float("nan"), float("inf")
PAIRS = [
    ([-INF, 1], [-INF, 1], "<f4", 0), ([INF, 1], [-INF, 1], "<f4", INF), ([NAN, NAN], [NAN, NAN], "<f8", 0),
    ([NAN, 1], [2, 1], "<f4", NAN), ([2, 1], [NAN, 1], "<f2", NAN), ([INF, NAN], [1, 1], "<f4", NAN),
    ([INF, 5], [INF, 4], "<f4", 0.25), ([NAN, 5], [NAN, 4], "<f2", 0.25), ([1, 4], [INF, 4], "<f8", INF),
    ([0, 0], [0, 0], "<f4", 0), ([0, 1e-320], [0, 0], "<f8", INF), ([INF, 1], [INF, 0], "<f4", INF), ([], [], "<f4", 0),
    ([complex(INF, NAN), 4], [complex(INF, NAN), 4], "<c8", 0), ([complex(INF, 1)], [complex(INF, 2)], "<c16", INF),
    ([complex(NAN, 3), 4], [complex(NAN, 2), 4], "<c8", 0.25), ([complex(NAN, INF)], [complex(1, 1)], "<c8", NAN),
    ([3 + 4j, 5], [0, 5], "<c8", 1), ([3, 4], [3, 4], "<i4", 0), ([3, 4], [3, 5], "<i4", INF),
]  # fmt: skip


def test_both_runners_judge_by_one_rule(tmp_path: Path) -> None:
    arrays = {
        f"{side}{place}": np.array(pair[side == "expected"], pair[2])
        for place, pair in enumerate(PAIRS)
        for side in ("actual", "expected")
    }
    np.savez(tmp_path / "pairs.npz", allow_pickle=False, **arrays)
    (tmp_path / "judge.cc").write_text(JUDGE)
    build = [os.environ.get("CXX", "c++"), "-std=c++17", f"-I{RUNNERS_IN_CPP}", "judge.cc", "-o", "judge"]
    subprocess.run(build, cwd=tmp_path, check=True, timeout=120)
    found = re.findall(r"differs by (\S+)", run([str(tmp_path / "judge"), str(tmp_path / "pairs.npz")]).stdout)
    by_python = [
        largest_difference(arrays[f"actual{place}"], arrays[f"expected{place}"]) for place in range(len(PAIRS))
    ]
    for place, (*pair, wanted) in enumerate(PAIRS):
        np.testing.assert_array_equal([float(found[place]), by_python[place]], wanted, str(pair))


def test_the_script_stays_in_its_folder_and_takes_any_path(tmp_path: Path) -> None:
    package = tmp_path / "a,b" / "package"
    python = executable(tmp_path / "python", f"echo '{package}'")
    compiler = executable(tmp_path / "compiler", 'pwd -P; printf "%s\\n" "$@"; cp /bin/true run_saved_model')
    for folder in (tmp_path / "export", tmp_path / "-export", tmp_path / "elsewhere" / "export"):
        folder.mkdir(parents=True)
        shutil.copy(RUNNERS_IN_CPP / "run_cpp.sh", folder)
    for name in ("export", "-export"):
        command = f"cd '{tmp_path}'; sh -- {name}/run_cpp.sh saved_model"
        environment = {"PYTHON": python, "CXX": compiler, "PATH": os.environ["PATH"]}
        done = run(["sh", "-c", command], CDPATH=str(tmp_path / "elsewhere"), **environment)
        assert done.returncode == 0, done.stderr
        folder, *words = done.stdout.splitlines()
        assert folder == str((tmp_path / name).resolve())
        assert words[-4:] == ["-Xlinker", "-rpath", "-Xlinker", str(package)]


@pytest.mark.parametrize(
    ("program", "advice"), [("stablehlo", "pip install 'jaxport[pjrt]'"), ("saved_model", "pip install tensorflow")]
)
def test_a_package_that_is_missing_is_one_line(tmp_path: Path, program: str, advice: str) -> None:
    python = executable(tmp_path / "python", f"exec '{sys.executable}' -I -S \"$@\"")
    done = run(["sh", str(RUNNERS_IN_CPP / "run_cpp.sh"), program], PYTHON=python, PATH=os.environ["PATH"])
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(rf"expected the package \S+ for \S+, found none: {re.escape(advice)}\n", done.stderr)
