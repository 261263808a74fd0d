"""`jaxport init --style linen`: the port holds at all gates, wrong ones fail, and a refusal writes nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compare.cli import main

ROOT = Path(__file__).parents[2]
QUICK = ("--parity-only", "--modes", "tf/jit", "jax/jit")

MODEL = """
import keras
import tensorflow as tf
L = keras.layers
def build():
    x = keras.Input((6,), name="x")
    y = L.Dense(5, activation="relu", name="first", kernel_regularizer=keras.regularizers.L2(0.02))(x)
    y = L.Dropout(0.25, name="drop")(L.BatchNormalization(name="norm")(y))
    model = keras.Model(x, L.Dense(3, activation="softmax", name="head")(y), name="small")
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    return model
class Clipped(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predictions = self(x, training=True)
            loss = self.compute_loss(x, y, predictions)
        gradients = tape.gradient(loss, self.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 0.5)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}
def clipped():
    x = keras.Input((6,))
    model = Clipped(x, L.Dense(3, name="head")(L.BatchNormalization(name="norm")(x)))
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return model
def recurrent():
    x = keras.Input((6, 4))
    return keras.Model(x, L.Dense(2, name="head")(L.GRU(3, name="steps")(x)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linen")
    (folder / "my_tf.py").write_text(MODEL)
    return folder


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def port(folder: Path) -> Path:
    """The port, all gates of which hold."""
    options = ["--style", "linen", "--steps", "3", "-o", str(folder / "port")]
    command = [sys.executable, "-m", "compare", "init", str(folder / "my_tf.py:build"), *options]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.splitlines()[-1].startswith("pass the port is written whole, and every gate holds")
    assert "training" in process.stderr and "model.apply(variables, *inputs)" in process.stdout
    return folder / "port"


def test_what_is_printed_loads_and_calls_the_port(port: Path) -> None:
    lines = (
        "import jax, jax.numpy as jnp, jaxport, sys; sys.path.insert(0, 'port')",
        "from model_jax import Small; model, inputs = Small(), (jnp.zeros((4, 6), 'float32'),)",
        "variables = jaxport.weights.load(jax.eval_shape(model.init, jax.random.key(0), *inputs), "
        f"{str(port / 'weights.safetensors')!r})",
        "print(model.apply(variables, *inputs).shape)",
    )
    process = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "(4, 3)"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("model_jax.py", "epsilon=0.001", "epsilon=0.0011"),
        ("model_jax.py", "deterministic=not train", "deterministic=True"),
        ("training_jax.py", "train=True", "train=False"),
        ("training_jax.py", ", **updates", ""),
    ],
)
def test_a_planted_error_fails(port: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    copied = port.parent / f"wrong_{tmp_path.name}"
    shutil.copytree(port, copied)
    text = (copied / file).read_text()
    assert text.count(old) == 1
    (copied / file).write_text(text.replace(old, new))
    assert main(["run", f"{copied / 'port.py'}", *QUICK, "-o", str(tmp_path)]) == 1


def test_what_an_optimizer_is_given_is_judged_and_a_wrong_clip_fails(tmp_path: Path) -> None:
    assert main(["init", "my_tf.py:clipped", "--style", "linen", "--steps", "3", "-o", "clipped", "--no-run"]) == 0
    training = Path("clipped/training_jax.py")
    assert main(["run", "clipped/port.py", *QUICK, "-o", str(tmp_path / "right")]) == 0
    text = training.read_text()
    assert text.count("clip_by_global_norm(0.5)") == 1
    training.write_text(text.replace("clip_by_global_norm(0.5)", "clip_by_global_norm(0.51)"))
    assert main(["run", "clipped/port.py", *QUICK, "-o", str(tmp_path / "wrong")]) == 1


def test_weights_go_back(port: Path, tmp_path: Path) -> None:
    back = ["--back", str(port / "weights.safetensors"), "-o", str(tmp_path / "back.weights.h5")]
    assert main(["weights", "my_tf.py:build", *back]) == 0


def test_a_layer_without_a_counterpart_is_one_line_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my_tf.py:recurrent", "--style", "linen", "-o", "refused"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("jaxport: expected layers that are written in Linen, found others: steps (GRU): ")
    assert not Path("refused").exists() or not [*Path("refused").iterdir()]


def test_a_function_has_no_modules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my_tf.py:build", "--input", "x=f32[3]", "--style", "linen", "-o", "function"]) == 2
    assert "expected --style linen with a Keras model" in capsys.readouterr().err
