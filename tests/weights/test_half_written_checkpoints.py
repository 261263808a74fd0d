"""A checkpoint that a worker has written half of, and a receipt that cannot be written: nothing of either is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import weight_pairs as pairs

from compare.errors import RequestError
from compare.sides.weight_workers import KerasModel
from compare.weights import carrying, receipt
from compare.weights.planning import plan
from compare.writing import UnwrittenError


class Writing:
    """Writes as a worker does: into a folder of the name that it is given."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def write_checkpoint(self, module: object, inputs: object, arrays: object, path: Path) -> None:
        """Half of it, then what was asked for, then all of it."""
        (path.parent / f".{path.name}.tmp").mkdir()
        self._then()
        (path.parent / f".{path.name}.tmp").rename(path)


def carriage() -> carrying.Carriage:
    source, arrays = pairs.two_dense()
    target = pairs.two_linear()
    request = carrying.Request(KerasModel("m.keras"), "port.py:Port")
    return carrying.Carriage(request, source, arrays, target, plan(source, arrays, target, {}, {}))


def raised(error: BaseException) -> Callable[[], None]:
    def then() -> None:
        raise error

    return then


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RequestError("the worker ended by signal SIGKILL")])
def test_what_is_interrupted_leaves_nothing_beside_it(tmp_path: Path, error: BaseException) -> None:
    workers: Any = Writing(raised(error))
    with pytest.raises(type(error)):
        carrying.write_checkpoint(carriage(), tmp_path / "new" / "w.orbax", workers)
    assert list((tmp_path / "new").iterdir()) == []


def test_without_its_receipt_there_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "w.orbax"
    receipt.beside(path).mkdir()
    workers: Any = Writing(lambda: None)
    with pytest.raises(UnwrittenError):
        carrying.write_checkpoint(carriage(), path, workers)
    assert list(tmp_path.iterdir()) == [receipt.beside(path)]


def test_a_checkpoint_and_its_receipt_lie_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "w.orbax"
    workers: Any = Writing(lambda: None)
    written = carrying.write_checkpoint(carriage(), path, workers)
    assert sorted(tmp_path.iterdir()) == sorted([path, receipt.beside(path)])
    assert receipt.read(receipt.beside(path)) == written
