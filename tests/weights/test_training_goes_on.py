"""`jaxport weights --optimizer`: a model that TensorFlow trained and saved trains on in JAX as it would have there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from safetensors.numpy import load_file
from saved_folders import saved
from test_weights_command import h5_arrays, port_of

import jaxport
from compare.cli import main
from jaxport.weights import WeightsError

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("there")]

MODEL = """
import keras
import numpy as np
def build():
    keras.utils.set_random_seed(1)
    x = keras.Input((6,), name="x")
    y = keras.layers.Dense(5, activation="tanh", name="first")(x)
    model = keras.Model(x, keras.layers.Dense(3, name="last")(y))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model
def data():
    numbers = np.random.default_rng(4)
    return numbers.normal(size=(8, 6)).astype("f4"), numbers.normal(size=(8, 3)).astype("f4")
def plain():
    model = build()
    return keras.Model(model.input, model.output)
if __name__ == "__main__":
    import tensorflow as tf
    model, (x, y) = build(), data()
    model.fit(x, y, epochs=6, batch_size=8, shuffle=False, verbose=0)
    model.save("trained.keras")
    model.save_weights("trained.weights.h5")
    more = {"ema": tf.Variable([1.0]), "step": tf.Variable(3)}
    kept = {"net": model, "opt": model.optimizer}
    for name, held in (("apart", kept), ("whole", {"net": model}), ("more", {**kept, **more})):
        tf.train.Checkpoint(**held).save(f"{name}/ckpt")
    model.fit(x, y, epochs=10, batch_size=8, shuffle=False, verbose=0)
    np.savez("later.npz", **{each.path.replace("/", "."): each.numpy() for each in model.trainable_variables}, x=x, y=y)
"""

PORT = """
import jax
import jaxport
import optax
from flax import nnx
class Port(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(6, 5, rngs=rngs)
        self.last = nnx.Linear(5, 3, rngs=rngs)
    def __call__(self, x):
        return self.last(jax.nn.tanh(self.first(x)))
def adam():
    return jaxport.optimizers.adam(0.01)
def stock():
    return optax.adam(0.01, eps=1e-7)
def injected():
    made = lambda learning_rate: jaxport.optimizers.adam(lambda step, dtype: learning_rate)
    return optax.inject_hyperparams(made)(learning_rate=0.5)
def rate():
    return jaxport.optimizers.adam(0.02)
def module():
    return Port(nnx.Rngs(0))
"""

GIVEN = ["port.py:Port", "--optimizer", "port.py:adam"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained, saved, and trained on; and its port."""
    return saved(tmp_path_factory.mktemp("training"), {"tf_model.py": MODEL, "port.py": PORT})


def carried(tmp_path: Path, *source: str) -> Path:
    out = tmp_path / "out.safetensors"
    assert main(["weights", source[0], *GIVEN, *source[1:], "-o", str(out)]) == 0
    return out


def trained_on(folder: Path, trainer: nnx.Optimizer[Any], model: nnx.Module) -> float:
    """The largest difference of a weight after ten steps from what TensorFlow's ten steps made."""
    later = np.load(folder / "later.npz")

    @nnx.jit
    def step(model: Any, trainer: Any) -> None:
        gradients = nnx.grad(lambda model: jnp.mean((model(later["x"]) - later["y"]) ** 2))(model)
        trainer.update(model, gradients)

    for _ in range(10):
        step(model, trainer)
    found = jax.tree_util.tree_leaves_with_path(nnx.to_pure_dict(nnx.state(model, nnx.Param)))
    return max(
        float(np.abs(each - later[jax.tree_util.keystr(path, simple=True, separator=".")]).max())
        for path, each in found
    )


def test_a_saved_model_trains_on_as_it_would_have(folder: Path, tmp_path: Path) -> None:
    out, port = carried(tmp_path, "trained.keras"), port_of(folder)
    model = jaxport.weights.load(port.module(), out)
    trainer = jaxport.weights.load_optimizer(nnx.Optimizer(model, port.adam(), wrt=nnx.Param), out)
    assert int(trainer.step[...]) == 6
    assert trained_on(folder, trainer, model) < 2e-6

    # Without the state the same steps lead elsewhere: the test could fail.
    model = jaxport.weights.load(port.module(), out)
    assert trained_on(folder, nnx.Optimizer(model, port.adam(), wrt=nnx.Param), model) > 1e-3


def test_a_plain_state_takes_the_same(folder: Path, tmp_path: Path) -> None:
    out, port = carried(tmp_path, "trained.keras"), port_of(folder)
    parameters = nnx.to_pure_dict(nnx.state(port.module(), nnx.Param))
    state = jaxport.weights.load_optimizer(port.adam().init(parameters), out)
    trainer = jaxport.weights.load_optimizer(nnx.Optimizer(port.module(), port.adam(), wrt=nnx.Param), out)
    ours, theirs = jax.tree.leaves(state), jax.tree.leaves(trainer.opt_state)
    assert len(ours) == len(theirs) == 9
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    with pytest.raises(WeightsError, match=r"found none for the variable 0\.count \(and 8 more\)"):
        jaxport.weights.load_optimizer(port.stock().init(parameters), out)


@pytest.mark.parametrize(
    "source",
    [
        ["tf_model.py:build", "--weights", "trained.weights.h5"],
        ["tf_model.py:build", "--checkpoint", "apart"],
        ["tf_model.py:build", "--checkpoint", "whole"],
    ],
    ids=" ".join,
)
def test_every_source_gives_the_same(source: list[str], tmp_path: Path) -> None:
    expected = carried(tmp_path, "trained.keras").read_bytes()
    assert carried(tmp_path, *source).read_bytes() == expected


def test_what_else_a_checkpoint_has_is_accounted_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.safetensors"
    given = ["weights", "tf_model.py:plain", "port.py:Port", "--checkpoint", "more", "-o", str(out)]
    assert main(given) == 2
    assert capsys.readouterr().err == (
        "jaxport: expected the variables of the model alone in more, found ema (and 1 more): carry what has them, or "
        "--leave ema=REASON\n"
    )
    assert main([*given, "--leave", "ema=an average", "--leave", "step=a count"]) == 0
    excluded = json.loads((tmp_path / "out.receipt.json").read_text())["excluded"]
    assert excluded["ema"] == "an average" and excluded["step"] == "a count"
    assert excluded["opt/_iterations"] == "it is the optimizer's, which --optimizer carries"
    assert len([each for each in excluded if each.startswith("opt/")]) == 10
    assert main(["weights", "trained.keras", "port.py:Port", "-o", str(out)]) == 0
    excluded = json.loads((tmp_path / "out.receipt.json").read_text())["excluded"]
    assert len([each for each in excluded if each.startswith("optimizer/vars/")]) == 10
    assert main(["weights", "trained.keras", "port.py:Port", "--leave", "ema=x", "-o", str(out)]) == 2


def test_slots_come_back_and_what_trained_on_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, back = carried(tmp_path, "trained.keras"), tmp_path / "back.weights.h5"
    receipt = json.loads((tmp_path / "out.receipt.json").read_text())
    assert receipt["optimizer"]["class_name"] == "Adam" and receipt["optimizer"]["config"]["beta_1"] == 0.9
    steps = next(each for each in receipt["optimizer"]["leaves"] if each["leaf"] == "iterations")
    assert steps["transform"] == {"name": "copies", "before": "int64", "after": ["int32"]}
    capsys.readouterr()
    assert main(["weights", "trained.keras", "--back", str(out), "-o", str(back)]) == 0
    assert "13 of 13 weights and variables of the optimizer are bit-equal" in capsys.readouterr().out
    assert h5_arrays(back) == h5_arrays(folder / "trained.weights.h5")


@pytest.mark.parametrize(
    ("source", "optimizer", "code", "line"),
    [
        ("trained.keras", "port.py:rate", 1, "after step 1 from the carried state: expected"),
        ("trained.keras", "port.py:stock", 1, "jaxport.optimizers.adam has Keras'"),
        ("tf_model.py:plain", "port.py:adam", 2, "expected a compiled model for its optimizer, found one without"),
        ("trained.keras", "port.py:module", 2, "that makes an optax.GradientTransformation at port.py:module"),
        ("trained.keras", "port.py", 2, "expected FILE.py:FUNCTION, found 'port.py'"),
    ],
)
def test_what_trains_otherwise_is_refused(
    source: str, optimizer: str, code: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.safetensors"
    assert main(["weights", source, "port.py:Port", "--optimizer", optimizer, "-o", str(out)]) == code
    said = capsys.readouterr()
    assert line in said.out + said.err and not out.exists()


def test_one_that_only_goes_on_is_allowed(tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    given = ["weights", "trained.keras", "port.py:Port", "--optimizer", "port.py:injected", "-o", str(out)]
    assert main(given) == 1
    assert main([*given, "--allow", "optimizer:fresh=it only goes on"]) == 0
    assert load_file(out)["optimizer:hyperparams.learning_rate"] == np.float32(0.01)
