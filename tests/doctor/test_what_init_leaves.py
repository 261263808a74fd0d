"""What doctor says that `jaxport init` leaves is what `jaxport init` leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from compare.cli import main

pytestmark = pytest.mark.process

MODELS = """
import keras
import tensorflow as tf
L = keras.layers
class Scale(L.Layer):
    def build(self, shape):
        self.g = self.add_weight(shape=(shape[-1],), initializer="ones", name="g")
    def call(self, x):
        return x * self.g
class Draws(L.Layer):
    def call(self, x):
        return x + tf.random.gamma(tf.shape(x), 1.0)
def build():
    x = keras.Input((4,))
    model = keras.Model(x, L.Dense(2)(Draws(name="draws")(Scale(name="scale")(x))))
    model.compile("sgd", "mse")
    return model
def whole():
    x = keras.Input((4,))
    model = keras.Model(x, L.Dense(2, name="head")(Scale(name="scale")(x)))
    model.compile("sgd", "mse")
    return model
"""


def test_doctor_predicts_the_places_of_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models.py").write_text(MODELS)
    for name, code in (("build", 1), ("whole", 0)):
        assert main(["doctor", f"models.py:{name}", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert main(["init", f"models.py:{name}", "-o", name, "--no-run"]) == code
        lines = capsys.readouterr().out.splitlines()
        left = [line.removeprefix("to be written: ") for line in lines if line.startswith("to be written: ")]
        assert said["places"] == left and len(left) == code
        custom = {finding["subject"]: finding for finding in said["findings"] if finding["kind"] == "custom"}
        assert "`jaxport init` writes its call" in custom["Scale"]["what"]
        assert name == "whole" or "yours to write" in custom["Draws"]["what"]
    usage = lines[lines.index("load and call it in Python:") + 1 :]
    assert len(usage) == 3
    command = [sys.executable, "-c", "\n".join([*(line.strip() for line in usage), "print(model.scale.g[...])"])]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[0. 0.]") == 4 and done.stdout.endswith("[1. 1. 1. 1.]\n")
