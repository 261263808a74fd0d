"""`jaxport init`, run: the same text every time, a port that passes, planted errors that fail, and what is refused."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from runs import IN_ZOO

from compare.cli import main

pytestmark = pytest.mark.process

MODEL = """
import keras
import tensorflow as tf
L = keras.layers
def build():
    x = keras.Input((6, 6, 3))
    y = L.Conv2D(4, 3, padding="same", activation="relu", name="conv")(x)
    y = L.BatchNormalization(name="norm")(y)
    y = L.Dropout(0.5, name="drop")(L.Flatten(name="flat")(y))
    y = L.Dense(3, activation="softmax", name="head")(y)
    model = keras.Model(x, y, name="small")
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
def scaled(x):
    return tf.numpy_function(lambda array: array * 2, [x], tf.float32)
def place():
    x = keras.Input((4,))
    y = L.BatchNormalization(name="norm")(L.Dense(3, "tanh", name="before")(x))
    y = L.Lambda(scaled, (3,), name="doubled")(y)
    return keras.Model(x, L.Dense(2, name="after")(y))
class Clipped(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self.trainable_variables), 0.5)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}
def clipped():
    x = keras.Input((3, 4))
    model = Clipped(x, L.Dense(2, name="head")(L.GRU(3, name="cell")(x)))
    model.compile(keras.optimizers.SGD(0.5), "mse")
    return model
def frozen():
    x = keras.Input((6, 6, 3))
    y = L.BatchNormalization(name="norm")(L.Conv2D(4, 3, name="conv")(x))
    y = L.GlobalAveragePooling2D(name="pool")(y)
    model = keras.Model(x, [L.Dense(2, name="one")(y), L.Dense(1, name="two")(y)])
    model.get_layer("conv").trainable = model.get_layer("norm").trainable = False
    model.compile(keras.optimizers.SGD(0.5), loss=["mse", "mae"], loss_weights=[1.0, 0.3])
    return model
class Jitter(L.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(1)
    def call(self, x):
        return x + keras.random.normal(keras.ops.shape(x), seed=self.seed)
class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        layers = [keras.Input((3,)), L.BatchNormalization(), L.Dense(4, activation="tanh"), Jitter(), L.Dense(4)]
        self.maker = keras.Sequential(layers, name="maker")
        self.judge = keras.Sequential([keras.Input((4,)), L.Dense(1)], name="judge")
    def train_step(self, data):
        return {"loss": tf.reduce_mean(self.judge(self.maker(data + tf.random.normal(tf.shape(data)))))}
def pair():
    model = Pair()
    model.compile("sgd")
    return model
def untrained():
    x = keras.Input((4,))
    y = L.BatchNormalization(name="norm")(L.Dense(3, name="first")(x))
    return keras.Model(x, L.Dense(2, name="head")(y))
class Rows(L.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(9, 6), name="table")
        self.index = self.add_weight(shape=(1, 5), dtype="int64", name="index")
        self.index.assign([[4, 2, 8, 0, 1]])
        self.kept = self.add_weight(shape=(5,), dtype="bool", trainable=False, initializer="zeros", name="kept")
    def call(self, x):
        rows = keras.ops.take(self.table, self.index, axis=0)
        return x + keras.ops.where(self.kept[:, None], rows, keras.ops.zeros_like(rows))
def indexed():
    x = keras.Input((5, 6))
    model = keras.Model(x, L.Dense(3, name="head")(Rows(name="rows")(x)))
    model.compile("adam", "mse")
    return model
if __name__ == "__main__":
    build().save("model.keras")
    place().save("code.keras")
"""
TEXTS = ("model_jax.py", "training_jax.py", "train.py", "port.py", "test_port.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in a file and saved, and the port that was written of it, with the exit code beside."""
    folder = tmp_path_factory.mktemp("init")
    (folder / "my_tf.py").write_text(MODEL)
    subprocess.run([sys.executable, "my_tf.py"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    return


@pytest.fixture(scope="module")
def port(folder: Path) -> Path:
    command = [sys.executable, "-m", "compare", "init", str(folder / "my_tf.py:build"), "-o", str(folder / "port")]
    done = subprocess.run([*command, "--steps", "3"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("pass the port is written whole, and every gate holds")
    assert (
        "**Verdict: pass** at batch 4, 3 steps of training (tensorflow " in (folder / "port" / "README.md").read_text()
    )
    return folder / "port"


def test_the_same_input_gives_the_same_text_in_a_process_of_its_own(port: Path) -> None:
    assert main(["init", "my_tf.py:build", "-o", "again", "--steps", "3", "--no-run"]) == 0
    assert all((port / name).read_bytes() == (Path("again") / name).read_bytes() for name in TEXTS)


def test_the_script_trains_from_the_weights_that_were_carried(port: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=np.ones((9, 6, 6, 3)), targets=np.arange(9) % 3)
    script = (sys.executable, port / "train.py", "--data", tmp_path / "data.npz", "--epochs", "1", "--batch", "4")
    losses = [
        subprocess.run(
            [*script, "--checkpoint", str(tmp_path / name), *more], capture_output=True, text=True, check=True
        ).stdout
        for name, more in {"carried": [], "again": [], "new": ["--from-scratch"]}.items()
    ]
    assert losses[0] == losses[1] != losses[2] and losses[0].startswith("epoch 1 of 1: loss ")


def test_a_file_is_written_and_kept_beside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "model.keras", "-o", "of_file", "--no-run"]) == 0
    assert "8 weights carried" in capsys.readouterr().out
    assert (Path("of_file") / "original.keras").read_bytes() == Path("model.keras").read_bytes()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("model_jax.py", "self.drop(x)", "x"),
        ("training_jax.py", "    model.train()\n", ""),
        pytest.param("model_jax.py", "epsilon=0.001", "epsilon=0.0011", marks=IN_ZOO),
        pytest.param("training_jax.py", "learning_rate=0.01", "learning_rate=0.0101", marks=IN_ZOO),
    ],
)
def test_a_planted_error_fails(port: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    copied = port.parent / f"wrong_{tmp_path.name}"
    shutil.copytree(port, copied)
    text = (copied / file).read_text()
    assert text.count(old) == 1
    (copied / file).write_text(text.replace(old, new))
    given = ["run", f"{copied / 'port.py'}", "--parity-only", "--modes", "tf/jit", "jax/jit", "-o", str(tmp_path)]
    assert main(given) == 1


def test_the_rest_is_judged_where_a_place_is_left_and_the_whole_never_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my_tf.py:place", "-o", "with_place"]) == 1
    told = capsys.readouterr()
    assert "to be written: doubled (Lambda, my_tf.py:" in told.out and "Parity holds in 1 of 1 workload" in told.err
    assert "rest.py was judged, and not the port" in told.err
    assert "raise NotImplementedError" in (Path("with_place") / "model_jax.py").read_text()


def test_the_whole_fails_at_the_place_and_an_error_in_the_rest_fails(tmp_path: Path) -> None:
    quick = ("--parity-only", "--modes", "tf/jit", "jax/jit")
    assert main(["init", "my_tf.py:place", "-o", "wrong_rest", "--no-run"]) == 1
    assert main(["run", "wrong_rest/port.py", *quick, "-o", str(tmp_path / "whole")]) == 1
    model = Path("wrong_rest/model_jax.py")
    model.write_text(model.read_text().replace("jnp.tanh(", "jnp.sin("))
    assert main(["run", "wrong_rest/rest.py", *quick, "-o", str(tmp_path / "rest")]) == 1


def test_the_models_of_one_without_a_call_are_judged_and_an_error_before_a_place_in_one_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "my_tf.py:pair", "-o", "pair"]) == 1
    told = capsys.readouterr()
    assert "left to write in model_jax.py and training_jax.py" in told.out
    assert "Pair has no call of its own" in told.out and "Parity holds in 1 of 1 workload" in told.err
    assert "10 weights carried" in told.out and "rest.py was judged" in told.err
    model = Path("pair/model_jax.py")
    model.write_text(model.read_text().replace("jnp.tanh(", "jnp.sin("))
    quick = ("--parity-only", "--modes", "tf/jit", "jax/jit")
    assert main(["run", "pair/rest.py", *quick, "-o", str(tmp_path / "wrong")]) == 1


def test_a_model_that_is_not_compiled_is_judged_in_inference_and_a_wrong_epsilon_fails(tmp_path: Path) -> None:
    """TensorFlow has no gradients to the statistics that its batch norm computes with then."""
    assert main(["init", "my_tf.py:untrained", "-o", "untrained"]) == 0
    model = Path("untrained/model_jax.py")
    assert model.read_text().count("epsilon=0.001") == 1
    model.write_text(model.read_text().replace("epsilon=0.001", "epsilon=0.0011"))
    quick = ("--parity-only", "--modes", "tf/jit", "jax/jit")
    assert main(["run", "untrained/port.py", *quick, "-o", str(tmp_path / "wrong")]) == 1


def test_a_train_step_of_its_own_is_written_and_a_wrong_clip_fails(tmp_path: Path) -> None:
    assert main(["init", "my_tf.py:clipped", "-o", "clipped", "--no-run"]) == 0
    training = Path("clipped/training_jax.py")
    quick = ("--parity-only", "--modes", "tf/jit", "jax/jit")
    assert main(["run", "clipped/port.py", *quick, "-o", str(tmp_path / "right")]) == 0
    training.write_text(training.read_text().replace("clip_by_global_norm(0.5)", "clip_by_global_norm(0.51)"))
    assert main(["run", "clipped/port.py", *quick, "-o", str(tmp_path / "wrong")]) == 1


def test_frozen_layers_and_weights_of_losses_are_written_and_others_fail(tmp_path: Path) -> None:
    assert main(["init", "my_tf.py:frozen", "-o", "frozen", "--steps", "3", "--no-run"]) == 0
    training = Path("frozen/training_jax.py")
    text, quick = training.read_text(), ("--parity-only", "--modes", "tf/jit", "jax/jit")
    assert main(["run", "frozen/port.py", *quick, "-o", str(tmp_path / "right")]) == 0
    for number, (old, new) in enumerate({'("conv",), ': "", "0.3 * (": "0.31 * ("}.items()):
        assert text.count(old) == 1
        training.write_text(text.replace(old, new))
        assert main(["run", "frozen/port.py", *quick, "-o", str(tmp_path / f"wrong{number}")]) == 1


def test_integers_among_weights_are_carried_and_trained_beside_and_others_fail(tmp_path: Path) -> None:
    assert main(["init", "my_tf.py:indexed", "-o", "indexed", "--steps", "3", "--no-run"]) == 0
    model, training = Path("indexed/model_jax.py"), Path("indexed/training_jax.py")
    quick = ("--parity-only", "--modes", "tf/jit", "jax/jit")
    assert "nnx.BatchStat(jnp.zeros((1, 5), jnp.int32))" in model.read_text()
    assert "nnx.BatchStat(jnp.zeros((5,), bool))" in model.read_text()
    assert main(["run", "indexed/port.py", *quick, "-o", str(tmp_path / "right")]) == 0
    counted = "    model.rows.index[...] += 1\n    return value"
    for number, (file, old, new) in enumerate(
        [(model, "self.kept[...]", "~self.kept[...]"), (training, "    return value", counted)]
    ):
        text = file.read_text()
        assert text.count(old) == 1
        file.write_text(text.replace(old, new))
        assert main(["run", "indexed/port.py", *quick, "-o", str(tmp_path / f"wrong{number}")]) == 1
        file.write_text(text)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (lambda: ["code.keras", "-o", "code"], "Lambda"),
        (lambda: ["my_tf.py:build", "-o", "full"], "or an empty one, found files in it"),
        (lambda: ["my_tf.py:build", "-o", "my_tf.py"], "found a file or a link"),
        (lambda: ["my_tf.py:missing", "-o", "missing"], "expected a function 'missing'"),
    ],
)
def test_a_wrong_request_is_one_line(
    given: Callable[[], list[str]], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("full").mkdir(exist_ok=True)
    (Path("full") / "mine.txt").write_text("mine")
    assert main(["init", *given()]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert line in told[-1] and told[-1].startswith("jaxport: expected")
    assert [each.name for each in Path("full").iterdir()] == ["mine.txt"]
