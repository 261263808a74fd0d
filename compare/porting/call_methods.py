"""The method of a written module's call, and the one that gives its logits."""

from __future__ import annotations

from collections.abc import Iterable

from compare.porting.before_activations import Logits, before_activations
from compare.porting.class_text import Body, Line, Unchanged


def methods_of(body: Body, parameters: Iterable[str], may_split: bool) -> tuple[list[str], Logits | None]:
    """The lines of the methods, and the logits that one of them gives; None where there are none.

    Args:
      body: of the call.
      parameters: of it.
      may_split: whether logits are looked for.
    """
    named = ", ".join(parameters)
    typed = ", ".join(["self", *(f"{parameter}: jax.Array" for parameter in parameters)])
    logits = before_activations(body, f"self.logits({named})") if may_split else None
    if logits is None:
        return [f"def __call__({typed}) -> Any:", *_indented(body.lines), f"    return {body.result}"], None
    single = "" in logits.activations
    told = f"What the {logits.activations['']} is taken of" if single else "What it returns, before the activations"
    returned = "jax.Array" if single else "Any"
    lines = [
        f"def logits({typed}) -> {returned}:",
        f'    """{told}."""',
        *_indented(logits.body.lines),
        f"    return {logits.body.result}",
        "",
        f"def __call__({typed}) -> {returned}:",
        *_indented(logits.call),
    ]
    return lines, logits


def _indented(lines: Iterable[Line | Unchanged | str]) -> list[str]:
    return [f"    {line}" for line in lines]
