"""Writes docs/results/written_operations.md: which operations `jaxport init` writes, counted over `jaxport lookup ops`.

python docs/rule_counts.py
"""

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [path for path in (str(ROOT / "docs"), str(ROOT)) if path not in sys.path]

# ruff: noqa: E402  scripts of docs/ are no package
from generated import write_pages

from compare.counterparts.raw_operations import RawOperation, read
from compare.porting.functions.rule_coverage import WRITTEN, How, how, reason, shares

PAGE = "written_operations.md"
MEANING: Mapping[How, str] = {
    "always": "by a rule, whatever it takes",
    "constants": "by a rule that needs some inputs, such as axes, as constants or sizes",
    "conditions": "by a rule that refuses some calls with a reason, such as channels that are not last",
    "sizes": "as Python's integers",
    "control": "as `jax.lax.cond`, `switch`, `fori_loop`, `scan`, `map` and `while_loop`, calls in place, "
    "and `jaxport.ports.own_gradient`",
    "lists": "as arrays, or as what a scan stacks",
    "plumbing": "as arguments, literals and weights",
    "left out": "not: it raises or prints, and a comment says so where nothing needs it",
}


def page(operations: Mapping[str, RawOperation]) -> str:
    """The page.

    Args:
      operations: of TensorFlow, by type.
    """
    rows = "".join(
        f"| {kind} | {of} | {written} | {100 * written / of:.0f} % |\n"
        for kind, (written, of) in shares(operations).items()
    )
    sections = "".join(_section(kind, operations) for kind in MEANING)
    reasons = "".join(
        f"| {name} | {reason(name)} |\n" for name in sorted(operations) if how(name) == "place" and reason(name)
    )
    open_ = sorted(
        name
        for name, operation in operations.items()
        if how(name) == "place" and operation.xla == "compiled" and operation.rows
    )
    return f"""# Operations that `jaxport init` writes

Of the operations that [`jaxport lookup ops`](../ops.md) lists, these are written as `jax.numpy` in
[ports of functions](../written-ports.md#functions-too); each other is a marked place. Counted by type, not by how often
programs have them.

| operations | number | written | share |
|---|---|---|---|
{rows}
A written operation may be refused for what it takes: a type of numbers, an attribute, a size that is not known. Each
rule has examples in `tests/support/rule_examples_of_*.py`, which vary its attributes, and is judged on them in float64:
values, and gradients where TensorFlow has some.

{sections}## Places that say why

| operation | reason |
|---|---|
{reasons}
## Not written yet, though XLA compiles it and the map has a counterpart

{", ".join(f"`{name}`" for name in open_) or "None."}
"""


def _section(kind: How, operations: Mapping[str, RawOperation]) -> str:
    names = sorted(name for name in operations if how(name) == kind)
    listed = ", ".join(f"`{name}`" for name in names)
    title = "Not written" if kind not in WRITTEN else "Written"
    return f"## {title} {MEANING[kind].removeprefix('not: ')} ({len(names)})\n\n{listed}\n\n"


if __name__ == "__main__":
    write_pages(ROOT / "docs" / "results", {PAGE: page(read().operations)})
