"""Of planted errors, locating names the line, the operation and the cause; honest twins depart nowhere."""

from __future__ import annotations

import functools
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import planted
import pytest
from planted import PLANTED, Planted
from rich.console import Console
from sides_here import BothSides

from compare.api import departures as command
from compare.errors import RequestError
from compare.hlo.locate import DOUBLE, SINGLE, Departure, Findings, RanProgram, between, ran
from compare.inputs.at_size import Prepared, examples_of, prepare
from compare.plain_json import to_json
from compare.progress import Silent
from compare.prove import locating, subjects
from compare.prove.oracle import promote_program
from compare.sides import mapped, requests, wire
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from jaxport._framework import Jax
from workloads.core import registry
from workloads.protocol.framework import PASSES, Program

HONEST = ("feed_forward", *sorted(path.stem for path in planted.SMALL.glob("*.py")), "mnist_mlp")
NAMES = [each.name for each in PLANTED]


class Bench:
    """Asks TensorFlow once for every program, and runs each of them once."""

    def __init__(self, side: Side, folder: Path) -> None:
        self.side, self._folder = side, folder
        self.original = functools.cache(self._original)
        self._left = functools.cache(self._run_left)

    def prepared(self, file: Path | str) -> Prepared:
        """The arrays of a workload; equal for its broken ports."""
        workload = registry.get(str(file))
        size = "smoke" if "smoke" in workload.sizes else next(iter(workload.sizes))
        examples = examples_of(workload, size, None)
        return prepare(workload, size, examples, Path(tempfile.mkdtemp(dir=self._folder)))

    def honest(self, workload: str) -> Path | str:
        """What to ask the registry for."""
        if workload == "mnist_mlp":
            return workload
        folder = self._folder / f"honest-{workload}"
        if not folder.exists():
            folder.mkdir()
            planted.copy_honest(workload, folder)
        return planted.port_of(workload, folder)

    def _original(self, workload: str, pass_: str) -> Program | None:
        modes = requests.load(self.side, self.prepared(self.honest(workload)).loading)
        if pass_ not in modes:
            return None
        return requests.program(self.side, pass_, "float32")

    def port(self, prepared: Prepared, pass_: str) -> Program:
        """The JAX half of a workload."""
        loading = prepared.loading
        described = {"cases": loading.cases, "inputs": loading.inputs, "target": loading.targets["jax"]}
        described |= {"builds": loading.builds, "dimensions": loading.dimensions}
        framework = Jax()
        framework.load(wire.unpack_twin(described, mapped.load(loading.arrays)))
        return framework.program(pass_, "float32")

    def findings(self, file: Path | str, workload: str, pass_: str, doubled: bool) -> Findings:
        """Where a port departs from the original, in one float type."""
        left = self.original(workload, pass_)
        assert left is not None
        prepared = self.prepared(file)
        right = self.port(prepared, pass_)
        if doubled:
            left, right = promote_program(left), promote_program(right)
        chosen = subjects.subjects(left, right)[1]
        drawn = subjects.cases(left, right, prepared, most=len(prepared.loading.cases))
        given = [drawn[0][1], drawn[-1][1]]
        precision = DOUBLE if doubled else SINGLE
        # Names of slots and arrays of the left are the same for every port of the workload.
        return between(self._left(workload, pass_, doubled), ran(chosen, given, [True, False], precision))

    def _run_left(self, workload: str, pass_: str, doubled: bool) -> RanProgram:
        left = self.original(workload, pass_)
        assert left is not None
        prepared = self.prepared(self.honest(workload))
        right = self.port(prepared, pass_)
        if doubled:
            left, right = promote_program(left), promote_program(right)
        chosen = subjects.subjects(left, right)[0]
        drawn = subjects.cases(left, right, prepared, most=len(prepared.loading.cases))
        return ran(chosen, [drawn[0][0], drawn[-1][0]], [True, False], DOUBLE if doubled else SINGLE)

    def located(self, file: Path | str, workload: str, pass_: str) -> Findings:
        """In float64, and where nothing departs there as the programs were written."""
        found = self.findings(file, workload, pass_, doubled=True)
        return found if found.departures else self.findings(file, workload, pass_, doubled=False)


class Outcome:
    """What was found of one planted error."""

    def __init__(self, each: Planted, port: planted.Port, found: Findings) -> None:
        self.planted, self.port = each, port
        self.culprit: Departure = found.departures[0]

    @property
    def source(self) -> str:
        """The line of the port that was named."""
        return self.culprit.right.source if self.culprit.right else ""

    @property
    def exact(self) -> bool:
        """Whether the broken line and its operation were named."""
        return self.source == self.port.broken and self.culprit.op == self.planted.op

    @property
    def row(self) -> str:
        """A line of the table."""
        broken, found = (place.rpartition(":")[2] for place in (self.port.broken, self.source))
        exact = "yes" if self.exact else "no"
        each, culprit = self.planted, self.culprit
        return f"| {each.name} | {each.workload} | {broken} | {found} | {culprit.op} | {culprit.cause} | {exact} |"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    side = LiveSide("tf", tmp_path_factory.mktemp("tf"))
    yield Bench(side, tmp_path_factory.mktemp("ports"))
    side.close()


@pytest.fixture(scope="module")
def outcome(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    folder = tmp_path_factory.mktemp("planted")

    @functools.cache
    def of(name: str) -> Outcome:
        each = PLANTED[NAMES.index(name)]
        port = planted.write(each, folder / f"port_{NAMES.index(name)}")
        workload = "mnist_mlp" if each.workload == "_adam_family" else each.workload
        found = bench.located(port.file, workload, each.pass_)
        assert found.departures, f"nothing departs, with {name} planted"
        return Outcome(each, port, found)

    return of


def test_they_are_of_different_kinds() -> None:
    assert len(PLANTED) == len(set(NAMES)) == 31
    assert len({each.cause for each in PLANTED}) >= 24


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_error_is_named_by_line_operation_and_cause(outcome: Callable[[str], Outcome], name: str) -> None:
    found = outcome(name)
    culprit = found.culprit
    assert culprit.cause == found.planted.cause
    assert culprit.op == found.planted.op
    assert culprit.left is not None or culprit.kind == "extra"
    line = locating.text(found.source)
    assert found.exact or (found.planted.near and found.planted.near in line), found.row


def test_the_table_in_the_documentation_is_the_one_that_was_measured(outcome: Callable[[str], Outcome]) -> None:
    documented = (planted.ROOT / "docs" / "locate.md").read_text()
    rows = {re.sub(r"\d+", "N", outcome(name).row) for name in NAMES}
    assert rows <= {re.sub(r"\d+", "N", line) for line in documented.splitlines()}


@pytest.mark.parametrize("workload", HONEST)
def test_honest_twins_depart_nowhere(bench: Bench, workload: str) -> None:
    # The forward pass of mlp_grad is made of gradients.
    several = {"mnist_mlp": ("step",), "mlp_grad": ("forward",)}
    for pass_ in several.get(workload, ("forward", "gradients")):
        # In float32 once: the gradients of what agrees there have nothing to add.
        for doubled in (True, False) if pass_ == "forward" else (True,):
            if bench.original(workload, pass_) is not None:
                found = bench.findings(bench.honest(workload), workload, pass_, doubled)
                assert not found.departures, f"{workload}, {pass_}"
                assert not found.results


def located(bench: Bench, reference: Path, folder: Path, passes: Sequence[str] = PASSES) -> dict[str, Any]:
    workload = registry.get(str(reference))
    choice = locating.Choice(passes)
    return {workload.name: locating.locate_workload(BothSides(bench.side), workload, choice, folder, Silent())}


def printed(found: Mapping[str, Mapping[str, locating.Located]]) -> str:
    console = Console(width=400, file=io.StringIO())
    command.show(found, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_broken_port_is_shown_with_both_lines_values_cause_and_proof(bench: Bench, tmp_path: Path) -> None:
    port = planted.write(PLANTED[NAMES.index("no scale")], tmp_path / "port")
    shown = printed(located(bench, port.file, tmp_path, ["forward"]))
    assert "attention, forward: 1 departure in float64; output differs" in shown
    assert f"{port.broken}  scores = jnp.einsum" in shown
    assert re.search(r"attention\.py:12 +scores = tf\.einsum", shown)
    assert "tf computes divide by 4.0 here, jax nothing" in shown
    assert re.search(r"values +\[0, 0, 0, 0\]: tf -?\d", shown)
    assert "scale by the root of the depth" in shown
    assert "given TensorFlow's value here, every result agrees" in shown


def test_an_error_before_a_wrong_product_is_named_too(bench: Bench, tmp_path: Path) -> None:
    port = planted.write(PLANTED[NAMES.index("kernel of a transposed convolution")], tmp_path / "port")
    port.file.write_text(port.file.read_text().replace("gelu(maps, approximate=False)", "gelu(maps)"))
    shown = printed(located(bench, port.file, tmp_path, ["forward"]))
    assert "upsampling, forward: 2 departures in float64" in shown
    assert re.findall(r"cause +([\w ]+):", shown) == ["gelu", "kernel of a transposed convolution"]
    assert "given TensorFlow's values at these 2 operations, every result agrees" in shown


def test_a_pass_that_agrees_says_so_and_one_without_a_program_why(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Jax.program

    def without_gradients(framework: Jax, pass_: str, dtype: str, *platform: Any) -> Program:
        if pass_ == "gradients":
            raise SideError("jax", "program gradients float32", "no gradient of this")
        return own(framework, pass_, dtype, *platform)

    monkeypatch.setattr(Jax, "program", without_gradients)
    found = located(bench, Path(bench.honest("mean")), tmp_path)
    verdicts = {pass_: each.verdict for pass_, each in found["mean"].items()}
    assert verdicts == {"forward": locating.AGREES, "gradients": locating.FAILED}
    assert "mean, forward: agrees" in printed(found)
    assert "mean, gradients: not judged: jax: program gradients float32: no gradient of this" in printed(found)


def test_a_pass_that_the_workload_does_not_have_is_refused(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"expected a pass of mean \(forward, gradients\), found step: choose"):
        located(bench, Path(bench.honest("mean")), tmp_path, ["step"])


def test_an_error_of_an_earlier_pass_is_not_named_again(bench: Bench, tmp_path: Path) -> None:
    port = planted.write(PLANTED[NAMES.index("sum instead of mean")], tmp_path / "port")
    found = located(bench, port.file, tmp_path)
    assert "mean, gradients: departs where an earlier pass does; x, y differ" in printed(found)
    record = json.loads(json.dumps(to_json(locating.record(found))))
    (departure,) = record["workloads"]["mean"]["forward"]["departures"]
    assert departure["right"]["source"] == port.broken
    assert (departure["kind"], departure["op"], departure["cause"]) == ("missing", "divide", "mean or sum")
    assert record["workloads"]["mean"]["gradients"]["departures"] == []
    assert {each["right"]["source"] for each in record["workloads"]["mean"]["gradients"]["again"]} == {port.broken}
