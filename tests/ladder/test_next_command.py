"""Both frameworks climb a small port: an error of each rung stops at that rung and names its layer."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ports_to_climb import FUNCTIONS, MODULES, PLANTED, written
from runs import IN_ZOO

from compare import cli
from compare.inputs import port_files
from compare.inputs.foreign_code import foreign_code_apart
from compare.inputs.request import Request
from compare.ladder import climbing
from compare.plain_json import to_json
from compare.progress import Silent
from compare.record.rung_part import Ladder
from compare.sides._side import SIDES
from compare.sides.pool import Source
from compare.sides.remembering import RememberingPool

pytestmark = pytest.mark.process

Climb = Callable[[Path], Ladder]


@pytest.fixture(scope="module")
def climb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Climb]:
    """Climbs a port file with workers that all ports share."""
    scratch = tmp_path_factory.mktemp("scratch")
    sources = {side: Source() for side in SIDES}
    with foreign_code_apart(300), RememberingPool(sources, scratch, 300, SIDES) as pool:

        def climbed(port: Path) -> Ladder:
            request = Request([port_files.get(str(port))], sources=sources, plans=(), modes=climbing.MODES)
            choice = climbing.Choice(request, str(port), locate=False, pairs=0)
            return climbing.climb(pool, choice, Path(tempfile.mkdtemp(dir=scratch)), Silent())

        yield climbed


def test_a_port_whose_rungs_hold(climb: Climb, tmp_path: Path) -> None:
    ladder = climb(written(tmp_path, MODULES))
    assert ladder.fails == "", to_json(ladder)
    verdicts = {rung.name: rung.verdict for rung in ladder.rungs}
    assert verdicts.pop("speed") == "not_applicable"
    assert set(verdicts.values()) == {"pass"}
    layers = next(rung.layers for rung in ladder.rungs if rung.layers is not None)
    states = {each.path: each.state for each in layers.calls}
    assert states.pop("bend") == "not_compared"
    assert set(states.values()) == {"agrees"} and set(states) == {"first", "norm", "block", "block/middle", "head"}
    assert layers.dtype == "float64"


ONE_OF_EACH = {planted.rung: name for name, planted in reversed(PLANTED.items())}
"""Rung -> the first error that is planted in it: the others take minutes."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ONE_OF_EACH.values() else IN_ZOO) for name in PLANTED]
)
def test_an_error_stops_at_its_rung(climb: Climb, tmp_path: Path, name: str) -> None:
    planted = PLANTED[name]
    ladder = climb(written(tmp_path, MODULES, planted))
    assert ladder.fails == planted.rung, to_json(ladder)
    assert planted.told in str(to_json(ladder))
    above = [rung.verdict for rung in ladder.rungs][[rung.name for rung in ladder.rungs].index(planted.rung) + 1 :]
    assert set(above) <= {"not_reached"}


def test_functions_have_no_layers_and_are_judged_by_their_outputs(climb: Climb, tmp_path: Path) -> None:
    ladder = climb(written(tmp_path, FUNCTIONS))
    assert ladder.fails == "", to_json(ladder)
    forward = next(rung for rung in ladder.rungs if rung.name == "forward")
    assert forward.layers is not None and forward.layers.reason == "the port calls no modules of Flax"
    assert "layers were not compared: the port calls no modules of Flax" in forward.remarks


def test_a_folder_without_a_port_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["next", str(tmp_path)]) == 2
    assert "expected port.py in" in capsys.readouterr().err
