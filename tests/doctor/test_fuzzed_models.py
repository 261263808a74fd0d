"""Models and weights in files, by bytes that are flipped, cut, repeated and replaced: read, or refused in one line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import keras
import models_to_read as models
import pytest
import tensorflow as tf
from fuzzed_bytes import MOST_S, said_of_damaged

from tf_reference import _inspecting, _saved_weights, _weight_files
from workloads.protocol.framework import Unsupported

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def small() -> keras.Model:
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="d")])


def in_archive(folder: Path) -> tuple[Path, Callable[[], object]]:
    small().save(folder / "m.keras")
    return folder / "m.keras", lambda: _inspecting.keras_archive(folder / "m.keras")


def in_hdf5(folder: Path) -> tuple[Path, Callable[[], object]]:
    small().save_weights(folder / "m.weights.h5")
    model = small()
    return folder / "m.weights.h5", lambda: _weight_files.load(model, folder / "m.weights.h5")


def in_model_h5(folder: Path) -> tuple[Path, Callable[[], object]]:
    small().save(folder / "m.h5")
    model = small()
    return folder / "m.h5", lambda: _weight_files.load_own(model, folder / "m.h5", folder)


def in_checkpoint(folder: Path, suffix: str) -> tuple[Path, Callable[[], object]]:
    prefix = tf.train.Checkpoint(model=small()).write(str(folder / "ckpt"))
    model = small()
    return Path(prefix + suffix), lambda: _weight_files.restore(model, prefix, None, {})


def in_index(folder: Path) -> tuple[Path, Callable[[], object]]:
    return in_checkpoint(folder, ".index")


def in_shard(folder: Path) -> tuple[Path, Callable[[], object]]:
    return in_checkpoint(folder, ".data-00000-of-00001")


def in_variables(folder: Path) -> tuple[Path, Callable[[], object]]:
    small().export(folder / "exported", verbose=False)
    return folder / "exported/variables/variables.index", lambda: _saved_weights.read(folder / "exported", {})


def saved(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = models.saved(folder / "saved", models.graph_with("Sin").SerializeToString())
    return path / models.PB, lambda: _inspecting.saved_model(path)


KINDS = {
    "keras": in_archive, "weights.h5": in_hdf5, "h5": in_model_h5, "SavedModel": saved, "checkpoint": in_index,
    "values of a checkpoint": in_shard, "variables of a SavedModel": in_variables,
}  # fmt: skip


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_a_damaged_file_of_a_model_is_read_or_refused_in_one_line(
    make: Callable[[Path], tuple[Path, Callable[[], object]]], tmp_path: Path
) -> None:
    path, read = make(tmp_path)
    read()

    def tried(data: bytes) -> None:
        path.write_bytes(data)
        began = time.process_time()
        try:
            read()
        finally:
            assert time.process_time() - began < MOST_S

    lines = [line for line in said_of_damaged(path.read_bytes(), tried, Unsupported) if line]
    assert len(lines) > 10
    assert [line for line in lines if not (line.isprintable() and "expected" in line)] == []
