"""`train.py` of a written port, run: training that goes on is that which never stopped, and errors are one line."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import keras
import numpy as np
import pytest
from flax import nnx

from compare.porting import training_script
from compare.porting.port_builders import Original
from compare.porting.port_source import Sizes
from compare.porting.writing_ports import texts
from tf_reference import _keras_compiled

L = keras.layers
Files = Mapping[str, str]


def classifier() -> keras.Model:
    """With statistics, dropout and an optimizer that remembers: whatever a checkpoint may forget."""
    x = keras.Input((3,))
    y = L.Dropout(0.5, name="drop")(L.BatchNormalization(name="norm")(L.Dense(4, "tanh", name="first")(x)))
    model = keras.Model(x, L.Dense(3, "softmax", name="head")(y), name="small")
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    return model


@pytest.fixture(scope="module")
def files() -> Files:
    return texts(_keras_compiled.of_model(classifier()), Original("my_tf.py:build"), Sizes())[2]


class Script:
    """A script in a folder of its own, called in this process.

    Attributes:
      module: the script.
    """

    def __init__(self, folder: Path, files: Files, patch: pytest.MonkeyPatch) -> None:
        for name, text in files.items():
            (folder / name).write_text(text)
        for name in ("model_jax", "training_jax"):
            patch.delitem(sys.modules, name, raising=False)
        patch.syspath_prepend(str(folder))
        self._patch = patch
        self.module = _imported(folder / training_script.SCRIPT)

    def __call__(self, *arguments: object) -> None:
        self._patch.setattr(sys, "argv", ["train.py", *map(str, arguments)])
        self.module.main()

    def leaves(self, folder: Path, epoch: int) -> list[np.ndarray]:
        """All that a checkpoint has: weights, statistics, states of the optimizer and of the generators."""
        model, optimizer = self.module.make(1)
        with self.module.checkpoints(folder) as manager:
            assert self.module.restore(manager, model, optimizer) == epoch
        leaves = jax.tree.leaves(nnx.to_pure_dict(nnx.state((model, optimizer))))
        is_key = [jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
        return [np.asarray(jax.random.key_data(x) if key else x) for x, key in zip(leaves, is_key, strict=True)]


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_of_port", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """21 examples: the last of three batches is smaller."""
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=generator.standard_normal((21, 3)), targets=generator.integers(0, 3, 21))
    return tmp_path / "data.npz"


def goes_on(script: Script, data: Path, folder: Path) -> bool:
    """Whether training that is interrupted within its third epoch, and goes on, is that which never stopped."""
    common = ("--data", data, "--batch", 8, "--from-scratch")
    script(*common, "--epochs", 4, "--checkpoint", folder / "whole")
    step, calls = script.module.step, 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return step(*arguments)

    script.module.step = interrupted
    with pytest.raises(SystemExit, match="interrupted: the same command goes on from the last epoch"):
        script(*common, "--epochs", 4, "--checkpoint", folder / "parts")
    script.module.step = step
    script(*common, "--epochs", 4, "--checkpoint", folder / "parts")
    pairs = zip(script.leaves(folder / "whole", 4), script.leaves(folder / "parts", 4), strict=True)
    return all(np.array_equal(whole, parts) for whole, parts in pairs)


def test_training_that_goes_on_is_that_which_never_stopped(
    files: Files, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert goes_on(Script(tmp_path, files, monkeypatch), data, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[6] == f"epoch 2 of 4 is in {tmp_path / 'parts'}"
    assert lines[:4] == [*lines[4:6], *lines[7:]] and lines[3].startswith("epoch 4 of 4: loss ")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nnx.update((model, optimizer), state)", "nnx.update(model, state[0])"),
        ("nnx.update((model, optimizer), state)", "nnx.update(optimizer, state[1])"),
        ("rng((options.seed, epoch))", "rng((options.seed, epoch - start))"),
    ],
)
def test_a_script_that_forgets_does_not_go_on(
    old: str, new: str, files: Files, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = files[training_script.SCRIPT]
    assert text.count(old) == 1
    script = Script(tmp_path, {**files, training_script.SCRIPT: text.replace(old, new)}, monkeypatch)
    right = Script(tmp_path, files, monkeypatch)
    script.leaves = right.leaves  # type: ignore[method-assign]
    assert not goes_on(script, data, tmp_path)


def test_what_cannot_be_trained_is_one_line(
    files: Files, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(tmp_path, files, monkeypatch)
    np.savez(tmp_path / "short.npz", x=np.ones((3, 3)))
    common = ("--from-scratch", "--checkpoint", tmp_path / "checkpoint", "--data")
    (tmp_path / "file").touch()
    monkeypatch.setattr(script.module, "step", lambda *_: pytest.fail("trained before it refused"))
    for arguments, line in (
        ((), "expected --data FILE.npz with x float32[n, 3], targets int32[n] from 0 to 2: see numpy.savez"),
        ((*common, tmp_path / "short.npz"), "found the arrays ['x']: write it with numpy.savez"),
        ((*common, data, "--batch", 0), "expected --epochs and --batch above 0 and --seed from 0"),
        ((*common, data, "--seed", 1 << 32), "--seed from 0 to 2**32 - 1"),
        (
            (*common, data, "--checkpoint", tmp_path / "file"),
            f"expected a folder to write to, found {tmp_path / 'file'}",
        ),
        ((*common, data, "--checkpoint", tmp_path / "file" / "under"), "(Not a directory): name another"),
        (("--data", data), "expected the weights of this module at "),
    ):
        with pytest.raises(SystemExit) as error:
            script(*arguments)
        assert str(error.value).startswith("train.py: expected ") and line in str(error.value)
        assert "\n" not in str(error.value)
    assert not (tmp_path / "checkpoint").exists()


def test_a_loss_that_is_not_finite_ends_training_and_is_not_saved(
    files: Files, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(tmp_path, files, monkeypatch)
    script("--data", data, "--from-scratch", "--epochs", 1, "--checkpoint", tmp_path / "checkpoint")
    script.module.step = lambda *_: np.float32("nan")
    with pytest.raises(SystemExit, match="expected a finite loss, found nan"):
        script("--data", data, "--from-scratch", "--epochs", 3, "--checkpoint", tmp_path / "checkpoint")
    script.leaves(tmp_path / "checkpoint", 1)


def test_an_epoch_whose_weights_have_no_finite_loss_is_named_when_training_goes_on(
    files: Files, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, folder = Script(tmp_path, files, monkeypatch), tmp_path / "checkpoint"
    common = ("--data", data, "--from-scratch", "--checkpoint", folder)
    losses = iter((1.0, np.nan, np.nan, 1.0, np.nan))
    monkeypatch.setattr(script.module, "step", lambda *_: np.float32(next(losses)))
    for epochs, cure in (
        (2, "rate"),
        (2, f"rate, or remove {folder / '1'}"),
        (3, "rate"),
    ):
        with pytest.raises(SystemExit, match=f"found nan: lower the learning {cure}$"):
            script(*common, "--epochs", epochs, "--batch", 21)


def test_looking_for_a_checkpoint_makes_none(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(tmp_path, files, monkeypatch)
    script.leaves(tmp_path / "other", 0)
    assert not (tmp_path / "other").exists()


def test_a_checkpoint_of_another_model_is_one_line(
    files: Files, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(tmp_path, files, monkeypatch)
    common = ("--data", data, "--from-scratch", "--checkpoint", tmp_path / "checkpoint")
    script(*common, "--epochs", 1)
    make = script.module.make

    def without_optimizer(seed: int) -> tuple[Any, Any]:
        return make(seed)[0], {}

    script.module.make = without_optimizer
    with pytest.raises(SystemExit, match="found another: name a new folder"):
        script(*common, "--epochs", 2)
