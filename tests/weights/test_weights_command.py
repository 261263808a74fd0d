"""`jaxport weights`: carried, refused, loaded without TensorFlow, brought back; a hostile file costs a line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from flax import nnx
from places import ROOT
from safetensors.numpy import load_file, save_file
from saved_folders import saved

import jaxport
from compare.cli import main
from jaxport.weights import WeightsError

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("there")]

MODEL = """
import keras
import numpy as np
L = keras.layers
def build(operation=True):
    keras.utils.set_random_seed(1)
    x = keras.Input((8, 8, 4), name="x")
    y = L.Conv2D(4, 3, padding="same", name="conv")(x)
    y = L.BatchNormalization(name="norm")(y)
    y = L.Dropout(0.2, name="drop")(y)
    y = L.GlobalAveragePooling2D(name="pool")(y)
    y = keras.ops.tanh(y * 2) if operation else y
    shared = L.Dense(4, name="shared")
    model = keras.Model(x, shared(shared(y)))
    for number, each in enumerate(model.weights):
        each.assign(np.random.default_rng(number).uniform(0.5, 1.5, each.shape))
    return model
def save():
    build().save("model.keras")
    build(operation=False).save("model.h5")  # of an operation it says no module, and Keras does not read it again
    build().save_weights("model.weights.h5")
class Late(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = L.Dense(4)
def late():
    return Late()
def scaled():
    model = build()
    for each in model.weights:
        each.assign(each * 0)
    return model
if __name__ == "__main__":
    save()
    import tensorflow as tf
    tf.train.Checkpoint(net=build()).save("checkpoints/ckpt")
"""

PORT = """
from flax import nnx
class Port(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(4, 4, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(4, epsilon=1e-3, use_fast_variance=False, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.shared = nnx.Linear(4, 4, rngs=rngs)
class Other(Port):
    def __init__(self, rngs):
        super().__init__(rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gate = nnx.Linear(4, 4, rngs=rngs)
class Renamed(nnx.Module):
    def __init__(self, rngs):
        self.stem = nnx.Dict(conv=nnx.Conv(4, 4, (3, 3), rngs=rngs))
        self.norm = nnx.BatchNorm(4, epsilon=1e-3, rngs=rngs)
        self.shared = nnx.Linear(4, 4, rngs=rngs)
        self.new = nnx.Param(rngs.params.normal((2,)))
def port():
    return Port(nnx.Rngs(0))
def number():
    return 7
def of_size(size):
    return Port(nnx.Rngs(size))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in a file, saved in every form, and its port."""
    return saved(tmp_path_factory.mktemp("weights"), {"tf_model.py": MODEL, "port.py": PORT})


def test_weights_are_carried_loaded_and_brought_back(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "carried.safetensors"
    assert main(["weights", "model.keras", "port.py:port", "-o", str(out)]) == 0
    assert "8 weights of 3 layers became 8 variables" in capsys.readouterr().out
    receipt = json.loads((tmp_path / "carried.receipt.json").read_text())
    arrays = load_file(out)
    assert receipt["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert {
        name for leaf in receipt["leaves"] for name in (each["path"] for each in leaf["variables"])
    } == arrays.keys()
    assert [(each["path"], each["rule"]) for each in receipt["layers"]] == [
        ("conv", "convolution"), ("norm", "batch_normalization"), ("drop", "dropout"),
        ("pool", "function_of_globalaveragepooling2d"), ("shared", "dense"),
    ]  # fmt: skip
    kernel = next(each for each in receipt["leaves"] if each["key"] == "conv/kernel")
    assert kernel["sha256"] == hashlib.sha256(arrays["conv.kernel"].tobytes()).hexdigest()
    assert any("seed" in path for path in receipt["excluded"])

    port: Any = port_of(folder)
    loaded = jaxport.weights.load(port.port(), out)
    assert np.array_equal(loaded.norm.var[...], arrays["norm.var"])
    with pytest.raises(
        WeightsError, match=r"^expected the weights of this module at .*, found none for the variable gate"
    ):
        jaxport.weights.load(port.Other(nnx.Rngs(0)), out)

    back = tmp_path / "back.weights.h5"
    assert main(["weights", "tf_model.py:scaled", "--back", str(out), "-o", str(back)]) == 0
    assert "8 of 8 weights are bit-equal" in capsys.readouterr().out
    assert h5_arrays(back) == h5_arrays(folder / "model.weights.h5")

    changed = dict(arrays) | {"norm.mean": arrays["norm.mean"] + 1}
    save_file(changed, out)
    assert main(["weights", "model.keras", "--back", str(out), "-o", str(back)]) == 1
    assert capsys.readouterr().out.startswith(
        "7 of 8 weights are bit-equal to what was carried\nnorm/moving_mean: changed since it was carried\n"
    )


def port_of(folder: Path) -> Any:
    scope: dict[str, Any] = {"__name__": "port"}
    exec((folder / "port.py").read_text(), scope)
    return type("Scope", (), {name: staticmethod(value) for name, value in scope.items() if callable(value)})


def h5_arrays(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and "seed" not in name:
            found[name] = item[()].tobytes()

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


@pytest.mark.parametrize(
    "source",
    [
        ["tf_model.py:build"],
        ["model.h5"],
        ["tf_model.py:scaled", "--weights", "model.weights.h5"],
        ["tf_model.py:scaled", "--checkpoint", "checkpoints"],
        ["tf_model.py:scaled", "--checkpoint", "checkpoints/ckpt-1"],
    ],
    ids=" ".join,
)
def test_every_source_gives_the_same(source: list[str], tmp_path: Path) -> None:
    expected, out = tmp_path / "expected.safetensors", tmp_path / "out.safetensors"
    assert main(["weights", "model.keras", "port.py:Port", "-o", str(expected)]) == 0
    assert main(["weights", source[0], "port.py:Port", *source[1:], "-o", str(out)]) == 0
    assert out.read_bytes() == expected.read_bytes()


def test_what_does_not_fit_is_a_line_each_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.safetensors"
    assert main(["weights", "model.keras", "port.py:Other", "-o", str(out)]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "norm (BatchNormalization) -> norm (nnx.BatchNorm): expected epsilon=0.001, found epsilon=1e-05 "
        "(rule batch_normalization)",
        "drop (Dropout) -> drop (nnx.Dropout): expected rate=0.2, found rate=0.5 (rule dropout)",
        "gate.bias (Param, float32[4]): expected a leaf of the source, found none",
        "gate.kernel (Param, float32[4,4]): expected a leaf of the source, found none",
        "fail nothing was written: 4 findings, listed above",
    ]
    assert said.err == "jaxport: 4 things do not fit; nothing was written\n"
    assert list(tmp_path.iterdir()) == []
    assert main(["weights", "model.keras", "port.py:Other", "-o", str(out), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["kind"] for each in found] == ["attribute", "attribute", "variable", "variable"]


def test_names_are_mapped_and_new_variables_allowed(tmp_path: Path, folder: Path) -> None:
    out, names = tmp_path / "out.safetensors", tmp_path / "names.toml"
    names.write_text('conv = "stem.conv"\n')
    given = ["weights", "model.keras", "port.py:Renamed", "-o", str(out)]
    assert main(given) == 1
    assert main([*given, "--map", str(names)]) == 1
    assert main([*given, "--map", str(names), "--allow", "new=of the port alone"]) == 0
    assert "stem.conv.kernel" in load_file(out)
    assert json.loads((tmp_path / "out.receipt.json").read_text())["allowed"] == {"new": "of the port alone"}
    module = port_of(folder).Renamed(nnx.Rngs(0))
    before = np.asarray(module.new[...])
    jaxport.weights.load(module, out)
    assert np.array_equal(module.new[...], before)
    assert np.array_equal(module.stem.conv.bias[...], load_file(out)["stem.conv.bias"])


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["model.keras"], "expected the Flax module behind SRC, found none"),
        (["absent.keras", "port.py:Port"], "expected a model of Keras at absent.keras, found no such file"),
        (["absent.py:build", "port.py:Port"], "expected a Python file at absent.py, found nothing"),
        (["model.keras", "port.py"], "expected FILE.py:FUNCTION, found 'port.py'"),
        (["model.keras", "port.py:Absent"], "expected a function 'Absent' in port.py, found"),
        (["model.keras", "port.py:number"], "flax.nnx.Module or flax.linen.Module at port.py:number, found int"),
        (["model.keras", "port.py:of_size"], "or of rngs, found one that takes size"),
        (["port.py:number", "port.py:Port"], "expected a model of Keras 3 at port.py:number, found int"),
        (["tf_model.py:late", "port.py:Port"], "found one that was never called and has not all of its weights"),
        (["model.keras", "port.py:Port", "--allow", "gone=x"], "a variable of the target in --allow, found 'gone'"),
        (["model.keras", "port.py:Port", "--allow", "norm.mean"], "VARIABLE=REASON for --allow, found 'norm.mean'"),
        (["model.keras", "port.py:Port", "--map", "absent.toml"], "found no such file or directory"),
        (["model.keras", "port.py:Port", "--map", "port.py"], 'expected TOML with lines like "encoder/dense"'),
        (["model.keras", "port.py:Port", "-o", "out.npz"], "expected a file that ends with .safetensors for --out"),
        (["model.keras", "port.py:Port", "--weights", "x.h5"], "expected a file that ends with .weights.h5"),
        (["model.keras", "port.py:Port", "--back", "x"], "expected SRC and --back alone, found DST too"),
        (["model.keras", "--back", "absent.safetensors"], "expected the receipt of jaxport weights at"),
        (["tf_model.py:build", "port.py:Port", "--checkpoint", "absent"], "expected a tf.train.Checkpoint at absent"),
    ],
)  # fmt: skip
def test_a_careless_request_is_refused_in_one_line(
    given: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(Path().iterdir())
    assert main(["weights", *given]) == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("file", ["checkpoint", "ckpt-1.index", "ckpt-1.data-00000-of-00001"])
def test_a_pipe_among_the_files_of_a_checkpoint_is_never_opened(
    folder: Path, tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = shutil.copytree(folder / "checkpoints", tmp_path / "checkpoints")
    (given / file).unlink()
    os.mkfifo(given / file)
    assert main(["weights", "tf_model.py:build", "port.py:Port", "--checkpoint", str(given)]) == 2
    line = f"expected a tf.train.Checkpoint at {given}, found a named pipe: name its prefix or folder"
    assert capsys.readouterr().err == f"jaxport: {line}\n"


def hostile(folder: Path, name: str) -> list[str]:
    """A file that leads elsewhere, fills memory or is another's, as the arguments that name it."""
    path = folder / f"{name}.weights.h5"
    path.write_bytes((folder / "model.weights.h5").read_bytes())
    with h5py.File(path, "a") as file:
        kernel = "layers/conv2d/vars/0"
        if name == "link":
            del file[kernel]
            file[kernel] = h5py.ExternalLink("/etc/passwd", "x")
        elif name == "soft":
            del file[kernel]
            file[kernel] = h5py.SoftLink("/layers/dense/vars/0")
        elif name == "elsewhere":
            del file[kernel]
            file.create_dataset(kernel, (3, 3, 4, 4), "f4", external=[("/etc/hostname", 0, 576)])
        elif name == "virtual":
            del file[kernel]
            layout = h5py.VirtualLayout((3, 3, 4, 4), "f4")
            layout[:] = h5py.VirtualSource("/etc/hostname", "x", (3, 3, 4, 4))
            file.create_virtual_dataset(kernel, layout)
        elif name == "bomb":
            file.create_dataset("layers/conv2d/vars/2", (1 << 40,), "f4", chunks=(1 << 20,), compression="gzip")
        elif name == "text":
            del file[kernel]
            file[kernel] = "text"
        elif name == "cycle":
            file["layers/again"] = file["layers"]
        elif name == "missing":
            del file[kernel]
        elif name == "extra":
            file["layers/other/vars/0"] = np.zeros(3)
            file["layers/other/vars/1"] = np.zeros(3)
    return ["tf_model.py:build", "port.py:Port", "--weights", path.name]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("link", "a link at layers/conv2d/vars/0 that leads out of its place"),
        ("soft", "a link at layers/conv2d/vars/0 that leads out of its place"),
        ("elsewhere", "layers/conv2d/vars/0, whose values lie in another file"),
        ("virtual", "layers/conv2d/vars/0, whose values lie in another file"),
        ("bomb", "of which the file has next to nothing"),
        ("text", "which is no number"),
        ("cycle", "layers/again under two names"),
        ("missing", "none of this model"),
        ("extra", "more than the"),
    ],
)
def test_a_hostile_file_of_weights_costs_one_line(
    folder: Path, name: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weights", *hostile(folder, name)]) == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1
    assert not Path("weights.safetensors").exists()


def test_a_damaged_archive_costs_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile("model.keras") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, damage in (("lacking", None), ("broken", b"\x89HDF\r\n\x1a\n" + bytes(100)), ("pickle", b"\x80\x04.")):
        with zipfile.ZipFile(f"{name}.keras", "w") as archive:
            for part, data in parts.items():
                data = damage if part == "model.weights.h5" else data
                if data is not None:
                    archive.writestr(part, data)
        assert main(["weights", f"{name}.keras", "port.py:Port"]) == 2
        said = capsys.readouterr().err
        assert f"expected weights of Keras at {name}.keras, found" in said and said.count("\n") == 1


def test_damaged_carried_weights_cost_one_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.safetensors"
    assert main(["weights", "model.keras", "port.py:Port", "-o", str(out)]) == 0
    arrays, good, receipt = load_file(out), out.read_bytes(), (tmp_path / "out.receipt.json").read_text()
    module = port_of(folder).port()
    for data in (b"", b"\x80\x04.", good[:50], good[:-3], b"\xff" * 16):
        out.write_bytes(data)
        with pytest.raises(WeightsError, match=r"^expected the weights of this module at"):
            jaxport.weights.load(module, out)
    for changed in (
        {"conv.kernel": arrays["conv.kernel"].astype(np.float16)},
        {"conv.kernel": arrays["conv.kernel"][None]},
        {"other": arrays["conv.kernel"]},
    ):
        save_file({**arrays, **changed}, out)
        with pytest.raises(WeightsError):
            jaxport.weights.load(module, out)
        assert main(["weights", "model.keras", "--back", str(out)]) == 2
    out.write_bytes(good)
    for damage in ("{}", receipt.replace('"format": 1', '"format": 2'), receipt.replace("identity", "eval"), "[" * 90):
        (tmp_path / "out.receipt.json").write_text(damage)
        capsys.readouterr()
        assert main(["weights", "model.keras", "--back", str(out)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_loading_needs_neither_tensorflow_nor_the_judges(folder: Path) -> None:
    code = "import jaxport, sys; jaxport.weights; print({n.partition('.')[0] for n in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"tensorflow", "keras", "compare"} & eval(done.stdout)


LINEN = """
from flax import linen as nn
class Port(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3), name="conv")(x)
        x = nn.BatchNorm(not train, epsilon=1e-3, use_fast_variance=False, name="norm")(x)
        x = nn.Dropout(0.2, deterministic=not train, name="drop")(x).mean((1, 2))
        shared = nn.Dense(4, name="shared")
        return shared(shared(nn.tanh(x * 2)))
"""


def test_weights_are_carried_into_linen(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "linen_port.py").write_text(LINEN)
    out = tmp_path / "carried.safetensors"
    assert main(["weights", "model.keras", "linen_port.py:Port", "-o", str(out)]) == 0
    assert "8 weights of 3 layers became 8 variables" in capsys.readouterr().out
    assert {"conv.kernel", "norm.mean", "shared.bias"} <= load_file(out).keys()


def test_a_linen_module_that_fails_when_it_is_called_costs_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "failing.py").write_text(LINEN.replace("x = nn.Conv", "x = x @ x[:3]; x = nn.Conv"))
    assert main(["weights", "model.keras", "failing.py:Port"]) == 2
    said = capsys.readouterr().err.strip()
    assert "failing.py:Port" in said and "TypeError" in said and "\n" not in said
