"""Two programs through this process's XLA, pass by pass: after which pass they are equal, and when they differ."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from compare.hlo import bindings, executing, proto
from compare.hlo.levels import STRUCTURE, Subject, at_level

# NAME.NUMBER.PIPELINE.after_PASS.before_NEXT.hlo.pb, which XLA writes after a pass that changed the module.
_DUMPED = re.compile(r"\.(\d{4,})\.([^.]+)\.after_([^.]+)(?:\.before_[^.]+)?\.hlo\.pb$")
_START = "pipeline-start"


@dataclass(frozen=True)
class ModuleState:
    """A module after one pass that changed it; `digests` numbers its results by their names."""

    pipeline: str
    pass_: str
    instructions: int
    digests: Mapping[str, str]

    @property
    def name(self) -> str:
        """The pass and its pipeline, as XLA's dumps name them."""
        return f"{self.pipeline}/{self.pass_}" if self.pipeline else self.pass_


@dataclass(frozen=True)
class ComparedPass:
    """A pass that changed either module: by how many instructions it left each, and whether both are equal after it.

    A side that the pass did not change has None. `equal_results` of `results` are the same value.
    """

    pass_: str
    left: int | None
    right: int | None
    equal_results: int
    results: int

    @property
    def is_equal(self) -> bool:
        """Whether every result is the same value."""
        return 0 < self.equal_results == self.results


@dataclass(frozen=True)
class PassDiff:
    """Two programs over all passes, in the order in which XLA runs them.

    Attributes:
      before: whether they were equal before any pass.
      converges: the pass after which they are first equal, "" where they are never, or were before.
      diverges: the pass after which they are first unequal, having been equal; "" where that does not happen.
      equal_at_end: whether the optimized modules are equal.
    """

    before: bool
    steps: tuple[ComparedPass, ...]
    converges: str
    diverges: str
    equal_at_end: bool

    @property
    def lines(self) -> list[str]:
        """The most important lines."""
        lines = ["equal before any pass" if self.before else "not equal before the first pass"]
        if self.converges:
            lines.append(f"first equal after {self.converges}")
        if self.diverges:
            lines.append(f"no longer equal after {self.diverges}")
        return [*lines, "equal once optimized" if self.equal_at_end else "not equal once optimized"]


def compare(left: Subject, right: Subject) -> PassDiff:
    """Compile both programs by this process's XLA and hold them against each other after every pass.

    What is compared are the results that both have by name, or by position where a program names none, at
    the structural level: calls and fusions are transparent, names and layouts take no part. A pass is
    read, numbered and hashed in about the time that it takes to write it: some 40 modules a program.

    Raises:
      UnreadableProgram: this process's XLA does not take a program.
    """
    return compare_states(states(left), states(right))


def states(subject: Subject) -> tuple[ModuleState, ...]:
    """The program before any pass, at the start of every pipeline, after each pass that changed it, and optimized."""
    bytecode = bindings.bytecode_of_hlo(subject.hlo)
    with tempfile.TemporaryDirectory(prefix="jaxport-passes-") as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_proto": True}
        executable = executing.compile_bytecode(bytecode, options)
        files = [(name, path) for path in Path(folder).iterdir() if (name := _DUMPED.search(path.name))]
        files.sort(key=lambda pair: int(pair[0][1]))
        after_passes = [_state(subject, name[2], name[3], path.read_bytes()) for name, path in files]
        (first,) = Path(folder).glob("*.before_optimizations.hlo.pb")
        before = _state(subject, "", "before_optimizations", first.read_bytes())
    return (before, *after_passes, _state(subject, "", "optimized", executable.optimized_module))


def _state(subject: Subject, pipeline: str, pass_: str, hlo: bytes) -> ModuleState:
    form = at_level(Subject(subject.label, hlo, subject.parameters, subject.results), STRUCTURE)
    names = subject.results or [f"result {position}" for position in range(len(form.graph.results))]
    digests = dict(zip(names, (form.digests[key].hex() for key in form.graph.results), strict=True))
    instructions = sum(len(computation.instructions) for computation in proto.read_module(hlo).computations)
    return ModuleState(pipeline, pass_, instructions, digests)


def compare_states(left: Sequence[ModuleState], right: Sequence[ModuleState]) -> PassDiff:
    """Hold the states of two programs against each other, each pass of the one beside the same pass of the other."""
    now = (left[0], right[0])
    before = _equal_results(*now)
    steps: list[ComparedPass] = []
    for pair in _merge(left[1:], right[1:]):
        now = (pair[0] or now[0], pair[1] or now[1])
        state = next(state for state in pair if state)
        sizes = [state.instructions if state else None for state in pair]
        if state.pass_ != _START:
            steps.append(ComparedPass(state.name, sizes[0], sizes[1], *_equal_results(*now)))
    equal = [0 < before[0] == before[1], *(step.is_equal for step in steps)]
    return PassDiff(equal[0], tuple(steps), _first(equal, steps, False), _first(equal, steps, True), equal[-1])


def _equal_results(left: ModuleState, right: ModuleState) -> tuple[int, int]:
    """How many results that both name are equal, and how many there are."""
    names = left.digests.keys() & right.digests.keys()
    return sum(left.digests[name] == right.digests[name] for name in names), len(names)


def _first(equal: Sequence[bool], steps: Sequence[ComparedPass], was: bool) -> str:
    """The first pass at which equality turns from `was` to its opposite."""
    turns = (index for index, step in enumerate(steps) if equal[index] is was and step.is_equal is not was)
    return next((steps[index].pass_ for index in turns), "")


def _merge(
    left: Sequence[ModuleState], right: Sequence[ModuleState]
) -> list[tuple[ModuleState | None, ModuleState | None]]:
    """Both lists of passes as one: a pass that changed one module only stands alone."""
    names = [state.name for state in left], [state.name for state in right]
    pairs: list[tuple[ModuleState | None, ModuleState | None]] = []
    for tag, start, to, other_at, other_to in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(left[start:to], right[other_at:other_to], strict=True)
        else:
            pairs += [(state, None) for state in left[start:to]]
            pairs += [(None, state) for state in right[other_at:other_to]]
    return pairs
