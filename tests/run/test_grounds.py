"""What a judgement rests on: whatever changes of it, its digest changes; what has nothing to do with it, does not."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compare.devices.naming import device
from compare.inputs.at_size import Prepared, prepare_both
from compare.inputs.request import Request
from compare.record.envelope import Environment
from compare.run import grounds
from compare.sides.device_worker import Targets
from compare.sides.pool import Source
from compare.sides.replies import Packages
from workloads import ArraySpec, Workload
from workloads.core.modes import MODES

ENVIRONMENT = Environment(sides={"tf": {"tensorflow": "2.21.0"}, "jax": {"jax": "0.10.2"}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "port"
    (made / "inner" / "__pycache__").mkdir(parents=True)
    for name in ("my_tf.py", "my_jax.py", "inner/weights.bin", "inner/__pycache__/my.pyc"):
        (made / name).write_text(name)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "linked.bin").write_text("linked")
    (made / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(made)
    (tmp_path / "named.bin").write_text("named")
    (made / "reads.py").write_text(
        f"open('{tmp_path}/named.bin'); open('../by_way.bin')['w'] * open('/proc/self/stat') * environ[\"MY_SCALE\"] "
        f"+ load('{tmp_path}/saved') + restore('{tmp_path}/step.ckpt') + see('{tmp_path}', '.', '..')"
    )
    (tmp_path / "saved" / "variables").mkdir(parents=True)
    (tmp_path / "saved" / "variables" / "variables.index").write_text("named")
    for end in ("index", "data-00000-of-00001"):
        (tmp_path / f"step.ckpt.{end}").write_text("named")
    (tmp_path / "by_way.bin").write_text("named")
    with (made / "large.bin").open("wb") as file:
        file.truncate(grounds.READ_BYTES + 1)
    return made


def prepared(folder: Path, scratch: Path, size: int = 3) -> tuple[Prepared, Prepared]:
    scratch.mkdir(exist_ok=True)
    port = Workload(
        name="mine",
        tf=f"{folder}/my_tf.py:f",
        jax=f"{folder}/my_jax.py:f",
        inputs={"x": ArraySpec((size,))},
        builds=False,
    )
    return prepare_both(port, None, None, scratch)


def edited(folder: Path) -> None:
    (folder / "my_jax.py").write_text("edited")


def weights_edited(folder: Path) -> None:
    (folder / "inner" / "weights.bin").write_text("edited")


def large_edited(folder: Path) -> None:
    os.utime(folder / "large.bin", ns=(1, 1))


def large_edited_and_its_time_put_back(folder: Path) -> None:
    file = folder / "large.bin"
    before = file.stat().st_mtime_ns
    with file.open("r+b") as opened:
        opened.write(b"edited")
    os.utime(file, ns=(before, before))


def added(folder: Path) -> None:
    (folder / "more.py").write_text("")


def linked_edited(folder: Path) -> None:
    (folder.parent / "elsewhere" / "linked.bin").write_text("edited")


def named_edited(folder: Path) -> None:
    (folder.parent / "named.bin").write_text("edited")


def named_beside_edited(folder: Path) -> None:
    (folder.parent / "by_way.bin").write_text("edited")


def named_folder_edited(folder: Path) -> None:
    (folder.parent / "saved" / "variables" / "variables.index").write_text("edited")


def named_checkpoint_edited(folder: Path) -> None:
    (folder.parent / "step.ckpt.data-00000-of-00001").write_text("edited")


def named_variable_set(folder: Path) -> None:
    os.environ["MY_SCALE"] = "2"


CHANGES = (
    *(edited, weights_edited, large_edited, large_edited_and_its_time_put_back, added),
    *(linked_edited, named_edited, named_beside_edited, named_variable_set),
    *(named_folder_edited, named_checkpoint_edited),
)


def cached(folder: Path) -> None:
    (folder / "inner" / "__pycache__" / "my.pyc").write_text("edited")


def written(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "results.json").write_text("{}")


def beside(folder: Path) -> None:
    (folder.parent / "another.txt").write_text("edited")


def nothing(folder: Path) -> None:
    """Nothing."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_a_port_reads_is_seen(
    folder: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SCALE", "1")
    both = prepared(folder, folder.parent / "scratch")
    before = grounds.of_workload(both, folder / "out")
    change(folder)
    assert grounds.of_workload(both, folder / "out") != before


@pytest.mark.parametrize("change", [nothing, cached, written, beside])
def test_caches_and_what_the_run_writes_change_nothing(folder: Path, change: Callable[[Path], None]) -> None:
    before = grounds.of_workload(prepared(folder, folder.parent / "one"), folder / "out")
    change(folder)
    assert grounds.of_workload(prepared(folder, folder.parent / "two"), folder / "out") == before


def test_other_inputs_are_another_workload(folder: Path) -> None:
    small, large = (prepared(folder, folder.parent / f"of{size}", size) for size in (3, 4))
    assert grounds.of_workload(small, folder / "out") != grounds.of_workload(large, folder / "out")


def test_a_folder_of_too_many_files_is_not_looked_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounds, "MOST_FILES", 2)
    with pytest.raises(grounds.Unknown, match="more than 2 files"):
        grounds.of_workload(prepared(folder, folder.parent / "scratch"), folder / "out")


@pytest.mark.parametrize(
    "change",
    [
        {"main_pass": "forward"}, {"unrolled": 3}, {"alignment": False}, {"parity_only": True, "plans": ()},
        {"fail_fast": True}, {"modes": MODES[:2]}, {"sources": {"tf": Source("/bin/sh"), "jax": Source()}},
        {"data": Path(__file__)},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_another_request_is_judged_anew(change: dict[str, object]) -> None:
    request = Request([])
    assert grounds.of_run(replace(request, **change), ENVIRONMENT) != grounds.of_run(request, ENVIRONMENT)


def test_other_versions_and_variables_are_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = grounds.of_run(Request([]), ENVIRONMENT)
    newer = Environment(sides={**ENVIRONMENT.sides, "jax": {"jax": "0.11.0"}})
    assert grounds.of_run(Request([]), newer) != before
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert grounds.of_run(Request([]), ENVIRONMENT) != before


class Compiles:
    """The worker that compiles for other devices, of a release."""

    def __init__(self, release: str) -> None:
        self._release = release

    def platforms(self) -> dict[str, Packages]:
        return {"gpu": Packages({"jaxlib": self._release})}


def test_what_compiles_for_other_devices_in_another_release_is_judged_anew() -> None:
    digests = {
        grounds.of_run(Request([], targets=Targets([device("H100")], worker)), ENVIRONMENT)  # pyright: ignore[reportArgumentType]
        for worker in (Compiles("0.10.2"), Compiles("0.10.2"), Compiles("0.11.0"))
    }
    assert len(digests) == 2


def test_how_long_is_waited_and_timed_changes_no_judgement() -> None:
    assert grounds.of_run(Request([], timeout_s=1, plans=()), ENVIRONMENT) == grounds.of_run(Request([]), ENVIRONMENT)


def test_without_a_side_nothing_is_known() -> None:
    with pytest.raises(grounds.Unknown, match="the jax side is missing"):
        grounds.of_run(Request([]), Environment(sides={"tf": {}, "jax": {"missing": "not installed"}}))
