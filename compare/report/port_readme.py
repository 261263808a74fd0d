"""README.md of a written port: what it is, how it was judged, how to judge it again, to load and to train it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compare import versions
from compare.porting.functions.function_ports import FunctionPort
from compare.porting.port_facts import PortFacts
from compare.porting.port_folders import KEEPING, PORT, SCRIPT, TEST_FILE
from compare.porting.training_script import CHECKPOINT
from compare.porting.writing_ports import Port
from compare.record.envelope import Environment, Record
from compare.record.vocabulary import NOT_APPLICABLE
from compare.record.workload_part import Workload
from compare.report import verdicts
from compare.report.markdown import code, plain
from compare.report.numbers import count_of

_VERSIONS = {"tf": ("tensorflow", "keras"), "jax": ("jax", "flax")}


def readme(port: Port | FunctionPort, places: Sequence[str], file: str, record: Record | None) -> str:
    """The text.

    Args:
      file: that was or would be judged; "" where nothing can be.
      record: what the gates say of it; None where it was not judged.
    """
    facts = port.facts
    lines = [
        f"# {plain(facts.name)}",
        "",
        f"{_what(facts, port.weights)} Written by jaxport {plain(versions.own())}.",
        "",
        *_verdict(facts, places, file, record),
        *_ways(facts),
        "",
        KEEPING,
    ]
    return "\n".join(lines) + "\n"


def _what(facts: PortFacts, weights: int) -> str:
    inputs = f", of {code(facts.inputs)}" if facts.inputs else ""
    outputs = f" to {code(facts.outputs)}" if facts.outputs else ""
    verb = "is" if weights == 1 else "are"
    count = f" {count_of(weights, 'weight')} of the original {verb} in `weights.safetensors`." if weights else ""
    return f"{facts.what} of {code(facts.original)}: {code(facts.subject)} in `{facts.module}`{inputs}{outputs}.{count}"


def _verdict(facts: PortFacts, places: Sequence[str], file: str, record: Record | None) -> Iterator[str]:
    if places:
        yield from (f"**To be written**, since jaxport could not ({len(places)}):", "")
        yield from (*(f"- {plain(place)}" for place in places), "")
    of_rest = f"Without that, `{file}`: " if places and file else ""
    if record is not None:
        yield from _judgement(facts, of_rest, record)
    elif file:
        yield from (f"{of_rest}**Not judged yet**: run `jaxport run {file}`.", "")


def _judgement(facts: PortFacts, of_rest: str, record: Record) -> Iterator[str]:
    ((name, part),) = record.workloads.items()
    gates: dict[str, list[str]] = {}
    for gate, verdict in verdicts.gate_verdicts(part).items():
        gates.setdefault(verdicts.WORDS.get(verdict, verdict), []).append(gate)
    verdict = verdicts.WORDS[verdicts.outcome(part)]
    gates_text = "; ".join(f"{word}: {', '.join(names)}" for word, names in gates.items())
    circumstances = _circumstances(facts, part, record.environment)
    yield from (f"{of_rest}**Verdict: {verdict}** {circumstances}. {gates_text}.", "")
    complaints = verdicts.complaints(name, part)
    yield from (*(f"- {plain(line)}" for line in complaints), *[""] * bool(complaints))


def _circumstances(facts: PortFacts, part: Workload, environment: Environment | None) -> str:
    sizes = [f"{name} {value}" for name, value in part.dimensions.items()]
    is_trained = verdicts.gate_verdicts(part).get("training") != NOT_APPLICABLE
    steps = [f"{facts.steps} steps of training"] if facts.steps and is_trained else []
    sides = (environment or Environment()).sides
    packages_found = [
        f"{package} {sides[side][package]}"
        for side, packages in _VERSIONS.items()
        for package in packages
        if sides.get(side, {}).get(package)
    ]
    place = ", ".join([*sizes, *steps])
    return plain(f"{f'at {place} ' if place else ''}({', '.join(packages_found)})")


def _ways(facts: PortFacts) -> Iterator[str]:
    yield f"- Judge it again: `jaxport run {PORT}` (programs and times too), or `pytest {TEST_FILE}`."
    if facts.obstacle:
        yield f"- Train it: there is no `{SCRIPT}`, because {plain(facts.obstacle)}."
    else:
        yield f"- Train it: `python {SCRIPT} --data FILE.npz`. Without `--data` it says which arrays it takes."
    yield from ("- Load it, in Python in this folder:", "", *_code(facts.loading))
    if not facts.obstacle:
        lines = (
            "from train import checkpoints, make, restore",
            "model, optimizer = make(seed=0)",
            f'epoch = restore(checkpoints("{CHECKPOINT}"), model, optimizer)  # 0: there is no checkpoint',
            "model.eval()",
        )
        yield from ("", f"- Load what `{SCRIPT}` has trained, from its Orbax checkpoint:", "", *_code(lines))


def _code(lines: Sequence[str]) -> list[str]:
    return ["  ```python", *(f"  {line}" for line in lines), "  ```"]
