"""A SavedModel as a source: its variables by their names, or for the code of its model; a hostile one costs a line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from saved_folders import saved

from compare.cli import main

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("there")]

MODEL = """
import keras
import numpy as np
def build():
    keras.utils.set_random_seed(1)
    x = keras.Input((6,), name="x")
    y = keras.layers.Dense(5, name="first")(x)
    y = keras.layers.Dropout(0.1, name="drop")(keras.layers.BatchNormalization(name="norm")(y))
    return keras.Model(x, keras.layers.Dense(5, name="last")(y))
def other():
    model = build()
    keras.utils.set_random_seed(2)
    for each in model.weights:
        each.assign(np.random.default_rng(3).normal(size=each.shape))
    return model
def swapped():
    x = keras.Input((6,), name="x")
    y = keras.layers.Dense(5, name="last")(x)
    y = keras.layers.Dropout(0.1, name="drop")(keras.layers.BatchNormalization(name="norm")(y))
    return keras.Model(x, keras.layers.Dense(5, name="first")(y))
if __name__ == "__main__":
    import tensorflow as tf
    model = other()
    model.save("model.keras")
    model.export("exported", verbose=False)
    tf.saved_model.save(model, "saved")
    class Plain(tf.Module):
        def __init__(self):
            super().__init__()
            self.first = tf.Module()
            self.first.w = tf.Variable(tf.ones((2, 3)))
            self.words = tf.Variable("text")
    tf.saved_model.save(Plain(), "plain")
"""

PORT = """
from flax import nnx
class Port(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(6, 5, rngs=rngs)
        self.norm = nnx.BatchNorm(5, epsilon=1e-3, use_fast_variance=False, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.Linear(5, 5, rngs=rngs)
class Plain(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Dict(w=nnx.Param(rngs.params.normal((2, 3))))
"""

NAMES = """
"norm/gamma" = "norm.scale"
"norm/beta" = "norm.bias"
"norm/moving_mean" = "norm.mean"
"norm/moving_variance" = "norm.var"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, saved in every form, and its port."""
    texts = {"tf_model.py": MODEL, "port.py": PORT, "names.toml": NAMES, "gone.toml": 'norm = "x"'}
    return saved(tmp_path_factory.mktemp("saved"), texts)


@pytest.mark.parametrize(
    "source",
    [
        ["exported", "--map", "names.toml"],
        ["saved", "--map", "names.toml"],
        ["tf_model.py:build", "--checkpoint", "exported"],
        ["tf_model.py:build", "--checkpoint", "saved"],
    ],
    ids=" ".join,
)
def test_it_gives_what_the_model_gives(source: list[str], tmp_path: Path) -> None:
    expected, out = tmp_path / "expected.safetensors", tmp_path / "out.safetensors"
    assert main(["weights", "model.keras", "port.py:Port", "-o", str(expected)]) == 0
    assert main(["weights", source[0], "port.py:Port", *source[1:], "-o", str(out)]) == 0
    assert out.read_bytes() == expected.read_bytes()
    excluded = json.loads((tmp_path / "out.receipt.json").read_text())["excluded"]
    copies = [each for each in excluded if each.startswith("_all_variables/")]
    assert len(copies) == (8 if "exported" in source else 0)
    assert all("is a copy of" in excluded[each] for each in copies)


def test_names_alone_check_no_attributes_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.safetensors"
    assert main(["weights", "exported", "port.py:Port", "--map", "names.toml", "-o", str(out)]) == 0
    assert "not checked" in capsys.readouterr().out
    assert main(["weights", "exported", "port.py:Port", "-o", str(out)]) == 1
    assert "norm (SavedModel): gamma: expected a variable norm.gamma, found none" in capsys.readouterr().out
    assert main(["weights", "exported", "--back", str(out), "-o", str(tmp_path / "x.weights.h5")]) == 2
    assert "has only variables: name the code" in capsys.readouterr().err


def test_variables_that_are_no_numbers_are_left_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.safetensors"
    given = ["weights", "plain", "port.py:Plain", "-o", str(out)]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert "words of string, which is no number" in said and said.count("\n") == 1
    assert main([*given, "--leave", "words=the vocabulary"]) == 0
    assert sorted(load_file(out)) == ["first.w"]


def damaged(folder: Path, where: Path, name: str) -> None:
    shutil.copytree(folder / "exported", where)
    index, data = where / "variables/variables.index", next((where / "variables").glob("variables.data*"))
    if name == "a link":
        data.unlink()
        data.symlink_to("/etc/hostname")
    elif name == "no variables":
        shutil.rmtree(where / "variables")
    elif name == "cut short":
        data.write_bytes(data.read_bytes()[:40])
    elif name == "no index":
        index.write_bytes(b"no index at all")
    else:
        index.unlink()
        os.mkfifo(index)


@pytest.mark.parametrize("name", ["a link", "no variables", "cut short", "no index", "a pipe"])
@pytest.mark.parametrize("code", [False, True])
def test_a_hostile_one_costs_a_line(
    name: str, code: bool, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, out = tmp_path / "there", tmp_path / "out.safetensors"
    damaged(folder, where, name)
    source = ["tf_model.py:build", "--checkpoint", str(where)] if code else [str(where), "--map", "names.toml"]
    assert main(["weights", source[0], "port.py:Port", *source[1:], "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("jaxport: expected ") and said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["tf_model.py:swapped", "port.py:Port", "--checkpoint", "exported"], "first/kernel in place of last/kernel"),
        (["exported", "port.py:Port", "--map", "gone.toml"], "expected a module of the target for norm in the map"),
        (["exported", "port.py:Port", "--checkpoint", "saved"], "expected a SavedModel alone, found a file of weights"),
        (["exported", "port.py:Port", "--optimizer", "port.py:Port"], "name the code, with --checkpoint exported"),
        (["model.keras", "port.py:Port", "--leave", "x=y"], "--leave with --checkpoint or a SavedModel, found neither"),
        (["saved", "port.py:Port", "--leave", "gone=x"], "expected a variable for --leave gone in the SavedModel"),
        ([".", "port.py:Port"], "expected"),
    ],
)
def test_a_careless_request_is_refused_in_one_line(
    given: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weights", *given]) == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1
