"""The map of operations and layers: operations.toml and layers.toml as pages, every row of them executed.

usage: python docs/operation_map.py [--check [WORD ...]]

Writes the pages. With --check it evaluates every row instead, or those that contain one of the words.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

DOCS = Path(__file__).parent

sys.path[:0] = [path for path in (str(DOCS), str(DOCS.parent)) if path not in sys.path]

# ruff: noqa: E402  scripts of docs/ are no package
import gotcha_pages
from generated import write_pages

from compare.counterparts.rows import Layer, Operation, Row, gotchas, layers, operations
from workloads.gotchas import _catalogue


def write(docs: Path) -> None:
    """Write operations.md and layers.md; a page that is current stays."""
    write_pages(docs, {"operations.md": operations_page(operations()), "layers.md": layers_page(layers())})


def counted(groups: Mapping[str, Sequence[Row]]) -> tuple[int, int]:
    """How many rows have a counterpart, and how many have none."""
    having = [row.has_counterpart for rows in groups.values() for row in rows]
    return sum(having), len(having) - sum(having)


def operations_page(groups: Mapping[str, Sequence[Operation]]) -> str:
    """A table a group: the operation and its counterpart."""
    executed, without = counted(groups)
    sections = (
        _section(group, ("TensorFlow", "JAX"), [(_inline(row.tf), _jax(row)) for row in rows], rows)
        for group, rows in groups.items()
    )
    return f"""# Operations

{executed} operations of TensorFlow with their counterparts in JAX, and {without} that have none. Every row is
executed: both sides compute it on random inputs and on ties and zeros, the counterpart under `jax.jit`. Shapes and
dtypes are equal, integers and booleans too, floats to within 1e-5 of the largest value, and gradients to within 1e-4
unless the row says otherwise.

- `jnp` is `jax.numpy`; small letters such as `x`, `y` and `n` are arrays.
- Where TensorFlow returns int64, JAX returns int32 unless `jax_enable_x64` is set.
- With respect to a complex argument, TensorFlow's gradient is the conjugate of JAX's.

{chr(10).join(sections)}"""


def layers_page(groups: Mapping[str, Sequence[Layer]]) -> str:
    """A table a group: the layer, the same in JAX, the modules of Flax."""
    executed, without = counted(groups)
    heads = ("Keras", "JAX", "Flax NNX", "Linen")
    sections = (_section(group, heads, [_layer_cells(row) for row in rows], rows) for group, rows in groups.items())
    return f"""# Layers

{executed} layers of Keras with their counterparts, and {without} that have none. Every row is executed: with random
weights the code in JAX and the module of NNX compute what the layer does, to within 1e-5 of the largest value, and
their gradients agree to within 1e-4 unless the row says otherwise. The module of Linen is only named.

- `w` is the list of the layer's weights, in the order of `layer.weights`; small letters such as `x` are inputs.
- Under a module stand the weights that it takes.
- `jnp` is `jax.numpy`, `nnx` is `flax.nnx`, `nn` is `flax.linen`, and `rngs` is an `nnx.Rngs`.

{chr(10).join(sections)}"""


def _layer_cells(row: Layer) -> tuple[str, ...]:
    called = row.flax_call or row.call
    lines = [row.flax, *(f"{path} = {value}" for path, value in row.params.items())]
    lines += [called] if row.flax and called != "layer(x)" else []
    keras = [row.keras] + ([row.call] if row.call != "layer(x)" else [])
    return _inline(*keras), _jax(row), _inline(*lines), _inline(row.linen)


def _section(group: str, heads: Sequence[str], cells: Sequence[Sequence[str]], rows: Sequence[Row]) -> str:
    """A heading, the table, and behind it the code that has several lines."""
    lines = [heads, ["---"] * len(heads), *cells]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    blocks = (f"\n### {row.name}\n\n```python\n{row.jax.strip()}\n```\n" for row in rows if _is_long(row))
    return f"## {group.replace('_', ' ').capitalize()}\n\n{table}\n{''.join(blocks)}"


def _is_long(row: Row) -> bool:
    return "\n" in row.jax.strip()


def _jax(row: Row) -> str:
    """The counterpart in JAX, and under it what there is to know."""
    return "<br>".join(filter(None, (_code(row), _about(row))))


def _code(row: Row) -> str:
    """The counterpart in JAX, or where it stands."""
    return f"[code below](#{row.name.lower().replace('.', '')})" if _is_long(row) else _inline(row.jax)


def _inline(*lines: str) -> str:
    """Lines of code in a cell of a table, each a piece of its own."""
    return "<br>".join(f"`{line}`".replace("|", "\\|") for line in lines if line)


def _about(row: Row) -> str:
    """The note, what does not agree, and the gotchas."""
    parts = [row.note]
    if row.gradients == "differ":
        parts.append("Gradients differ.")
    if isinstance(row, Operation) and not row.jit:
        parts.append("Not under `jax.jit`.")
    if row.values == "distribution":
        parts.append("Other random numbers of the same distribution.")
    return " ".join(filter(None, (*parts, ", ".join(_links(row)))))


def _links(row: Row) -> list[str]:
    """The places in the guide of the entry that the row names, and of all that concern its name and differ."""
    chosen = [_entries()[name] for name in gotchas(row)]
    return [
        f"[{entry.gotcha.name.replace('_', ' ')}]({gotcha_pages.FOLDER}/{entry.theme}.md#{entry.gotcha.name})"
        for entry in chosen
    ]


@functools.cache
def _entries() -> dict[str, _catalogue.Entry]:
    """The catalogue by identifier: made once, and asked by every row."""
    return {entry.id: entry for entry in _catalogue.entries()}


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check the rows; 1 if a row fails."""
    if "--check" not in arguments:
        write(DOCS)
        return 0
    import operation_check  # imports both frameworks

    words = [argument for argument in arguments if argument != "--check"]
    failed = False
    for failure in operation_check.check_all(operations(), layers(), words):
        failed = True
        print(failure, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
