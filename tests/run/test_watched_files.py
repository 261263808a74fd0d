"""Files that are watched: a save is seen once it is whole, and only whose files changed is asked again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from compare.run.watched_files import WatchedFiles
from compare.sides._side import Reply
from compare.sides.pool import Pool


class Importing:
    """Sides that imported these files."""

    def __init__(self, **files: list[Path]) -> None:
        self.files = files

    def get(self, side: str) -> Any:
        return self._Side(side, self.files[side])

    class _Side:
        def __init__(self, name: str, files: list[Path]) -> None:
            self.name, self.files = name, files

        def call(self, method: str, *_: object) -> Reply:
            assert method == "imported"
            return Reply([str(path) for path in self.files])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "elsewhere").mkdir()
    names = {"tf": "tf.py", "jax": "jax.py", "shared": "elsewhere/shared.py", "beside": "new.py"}
    paths = {name: tmp_path / where for name, where in names.items()}
    for name, path in paths.items():
        path.write_text(name)
    return paths


@pytest.fixture
def watched(files: dict[str, Path]) -> WatchedFiles:
    watched = WatchedFiles([files["tf"]])
    watched.note()
    pool = Importing(tf=[files["tf"], files["shared"]], jax=[files["jax"], files["shared"]])
    watched.follow(cast(Pool, pool))
    return watched


def saving(*saves: Callable[[], object]) -> Callable[[float], None]:
    """Does the next save whenever somebody sleeps."""
    left = list(saves)

    def sleep(_: float) -> None:
        if left:
            left.pop(0)()

    return sleep


@pytest.mark.parametrize(
    ("name", "sides"),
    [("jax", ["jax"]), ("tf", ["tf"]), ("shared", ["tf", "jax"]), ("beside", ["tf", "jax"])],
)
def test_who_imported_a_file_is_asked_again_and_everybody_where_nobody_did(
    files: dict[str, Path], watched: WatchedFiles, name: str, sides: list[str]
) -> None:
    changed = watched.wait(saving(lambda: files[name].write_text("edited")))
    assert changed == [files[name]] and watched.find_outdated(changed) == sides


def test_a_save_in_two_steps_is_one(files: dict[str, Path], watched: WatchedFiles) -> None:
    """Editors write a new file, and then give it the name of the old one, which is missing for a moment."""
    temporary = files["jax"].with_suffix(".tmp")
    temporary.write_text("edited")
    steps = saving(files["jax"].unlink, lambda: temporary.rename(files["jax"]))
    assert watched.wait(steps) == [files["jax"]] and files["jax"].read_text() == "edited"


def test_a_save_during_a_judgement_is_seen_after_it(files: dict[str, Path], watched: WatchedFiles) -> None:
    watched.note()
    os.utime(files["shared"], ns=(1, 1))
    assert watched.wait(saving()) == [files["shared"]]


def test_a_new_file_beside_the_port_is_a_change(files: dict[str, Path], watched: WatchedFiles) -> None:
    more = files["tf"].with_name("more.py")
    assert watched.wait(saving(lambda: more.write_text(""))) == [more]


def test_files_that_are_saved_as_they_were_are_waited_for_no_more(
    files: dict[str, Path], watched: WatchedFiles
) -> None:
    files["jax"].write_text("edited")
    watched.note()
    assert watched.wait(saving(lambda: files["tf"].write_text("edited"))) == [files["tf"]]
