"""`jaxport weights --orbax`: a checkpoint that Orbax and Flax restore without jaxport, and the way back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from saved_folders import saved
from test_weights_command import h5_arrays

from compare.cli import main

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("there")]

MODEL = """
import keras
import numpy as np
def build():
    keras.utils.set_random_seed(1)
    x = keras.Input((6,), name="x")
    y = keras.layers.Dense(5, name="first")(x)
    y = keras.layers.BatchNormalization(name="norm")(y)
    y = keras.layers.Dropout(0.1, seed=1, name="drop")(y)
    model = keras.Model(x, keras.layers.Dense(3, name="last")(y))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    numbers = np.random.default_rng(4)
    model.fit(numbers.normal(size=(8, 6)), numbers.normal(size=(8, 3)), epochs=3, verbose=0)
    return model
if __name__ == "__main__":
    build().save("model.keras")
    build().save_weights("model.weights.h5")
"""

PORT = """
import jaxport
import optax
from flax import linen as nn
from flax import nnx
class Port(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(6, 5, rngs=rngs)
        self.norm = nnx.BatchNorm(5, epsilon=1e-3, use_fast_variance=False, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.List([nnx.Linear(5, 3, rngs=rngs)])
    def __call__(self, x):
        return self.last[0](self.drop(self.norm(self.first(x))))
class Linen(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(5, name="first")(x)
        x = nn.BatchNorm(use_running_average=True, epsilon=1e-3, use_fast_variance=False, name="norm")(x)
        return nn.Dense(3, name="last")(nn.Dropout(0.1, deterministic=True)(x))
def adam():
    return jaxport.optimizers.adam(0.01)
"""

STOCK = """
import sys
import jax
import numpy as np
import orbax.checkpoint as ocp
from flax import nnx
sys.modules["jaxport"] = type("Optimizers", (), {"optimizers": None})
sys.path.insert(0, "")
import port
x = np.load("x.npy")
read = ocp.StandardCheckpointer().restore
model = port.Port(nnx.Rngs(7))
model.eval()
graph, random, variables = nnx.split(model, nnx.RngState, ...)
nnx.replace_by_pure_dict(variables, read(sys.argv[1] + "/weights", nnx.to_pure_dict(variables)))
np.save("nnx.npy", nnx.merge(graph, random, variables)(x))
module = port.Linen()
shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), x))
np.save("linen.npy", module.apply(read(sys.argv[2] + "/weights", shapes), x))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model in a file, its ports, and a program that knows no jaxport."""
    folder = tmp_path_factory.mktemp("orbax")
    np.save(folder / "x.npy", np.random.default_rng(1).normal(size=(4, 6)).astype("float32"))
    names = 'last = "last.0"\n'
    return saved(folder, {"tf_model.py": MODEL, "port.py": PORT, "stock.py": STOCK, "names.toml": names})


OF_NNX = ["model.keras", "port.py:Port", "--map", "names.toml"]


def test_orbax_and_flax_alone_restore_it(folder: Path, tmp_path: Path) -> None:
    import keras

    of_nnx, of_linen = tmp_path / "nnx.orbax", tmp_path / "linen.orbax"
    assert main(["weights", *OF_NNX, "--orbax", "-o", str(of_nnx)]) == 0
    assert main(["weights", "model.keras", "port.py:Linen", "--orbax", "-o", str(of_linen)]) == 0
    subprocess.run([sys.executable, "stock.py", str(of_nnx), str(of_linen)], cwd=folder, check=True)
    wanted = keras.saving.load_model(folder / "model.keras")(np.load(folder / "x.npy"), training=False).numpy()
    for name in ("nnx", "linen"):
        assert np.abs(np.load(folder / f"{name}.npy") - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_it_has_what_the_file_has_and_comes_back(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file, back = tmp_path / "out.orbax", tmp_path / "out.safetensors", tmp_path / "back.weights.h5"
    given = ["weights", *OF_NNX, "--optimizer", "port.py:adam"]
    assert main([*given, "--orbax", "-o", str(out)]) == 0 and main([*given, "-o", str(file)]) == 0
    assert sorted(each.name for each in out.iterdir()) == ["optimizer", "weights"]
    ours = json.loads((tmp_path / "out.orbax.receipt.json").read_text())
    assert ours | {"sha256": ""} == json.loads((tmp_path / "out.receipt.json").read_text()) | {"sha256": ""}
    capsys.readouterr()
    assert main(["weights", "model.keras", "--back", str(out), "-o", str(back)]) == 0
    assert "21 of 21 weights and variables of the optimizer are bit-equal" in capsys.readouterr().out
    assert h5_arrays(back) == h5_arrays(folder / "model.weights.h5")


def test_linen_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, back = tmp_path / "out.orbax", tmp_path / "back.weights.h5"
    assert main(["weights", "model.keras", "port.py:Linen", "--orbax", "-o", str(out)]) == 0
    assert main(["weights", "model.keras", "--back", str(out), "-o", str(back)]) == 0
    assert "8 of 8 weights are bit-equal" in capsys.readouterr().out


def test_what_was_changed_or_is_no_checkpoint_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, back = tmp_path / "out.orbax", tmp_path / "back.weights.h5"
    assert main(["weights", *OF_NNX, "--orbax", "-o", str(out)]) == 0
    assert main(["weights", *OF_NNX, "--orbax", "-o", str(out)]) == 2
    assert "expected a new folder for --orbax, found that" in capsys.readouterr().err
    other = tmp_path / "other.orbax"
    (other / "weights").mkdir(parents=True)
    (tmp_path / "other.orbax.receipt.json").write_bytes((tmp_path / "out.orbax.receipt.json").read_bytes())
    assert main(["weights", "model.keras", "--back", str(other), "-o", str(back)]) == 2
    assert "expected a checkpoint of Orbax that jaxport wrote at" in capsys.readouterr().err
    file = tmp_path / "out.safetensors"
    assert main(["weights", *OF_NNX, "-o", str(file)]) == 0
    arrays = load_file(file)
    save_file(arrays | {"norm.mean": arrays["norm.mean"] + 1}, file)
    assert main(["weights", "model.keras", "--back", str(file), "-o", str(back)]) == 1
