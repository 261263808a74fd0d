"""The method of a written module's call, and the one that gives its logits."""

from __future__ import annotations

from collections.abc import Iterable

from compare.porting.before_activations import Logits, before_activations
from compare.porting.class_text import Body, Line, Unchanged
from compare.porting.penalties import ADDED

PENALIZED, MASKED = "penalized", "masked"
"""The methods that return the result of the call with more beside it: what the call adds to the loss, or masks."""

_COMMENT = "  # "


def methods_of(
    body: Body, parameters: Iterable[str], may_split: bool, is_penalized: bool = False
) -> tuple[list[str], Logits | None]:
    """The lines of the methods, and the logits that one of them gives; None where there are none.

    Args:
      may_split: whether logits are looked for.
      is_penalized: whether it adds to the loss, as regularizers of activities do: a method gives that beside then.
    """
    names_text = ", ".join(parameters)
    signature = ", ".join(["self", *(f"{parameter}: jax.Array" for parameter in parameters)])
    parts = [body.penalty or ADDED] * is_penalized + [*body.masks]
    first, beside = ("[0]", f", {', '.join(parts)}") if parts else ("", "")
    words = " and ".join(["what it adds to the loss"] * is_penalized + ["the mask of it"] * bool(body.masks))
    logits = before_activations(body, f"self.logits({names_text}){first}") if may_split else None
    if logits is None and parts:
        name = PENALIZED if is_penalized else MASKED
        return [
            f"def {name}({signature}) -> Any:",
            f'    """What it returns, and {words}."""',
            *_indent(body.lines),
            f"    return {body.result}{beside}",
            "",
            f"def __call__({signature}) -> Any:",
            f"    return self.{name}({names_text})[0]",
        ], None
    if logits is None:
        return [f"def __call__({signature}) -> Any:", *_indent(_end(body))], None
    single = "" in logits.activations
    description = (
        f"What the {logits.activations['']} is taken of" if single else "What it returns, before the activations"
    )
    description += f", and {words}" if parts else ""
    result_type = "jax.Array" if single and not parts else "Any"
    lines = [
        f"def logits({signature}) -> {result_type}:",
        f'    """{description}."""',
        *_indent(logits.body.lines),
        f"    return {_with_beside(logits.body.result, beside)}",
        "",
        f"def __call__({signature}) -> {result_type}:",
        *_indent(logits.call),
    ]
    return lines, logits


def _end(body: Body) -> list[Line | Unchanged | str]:
    """The lines with a return at their end, of the last call itself if it makes the result."""
    last = body.lines[-1] if body.lines else ""
    if isinstance(last, Line) and last.outputs == body.result:
        return [*body.lines[:-1], f"return {last.text}{last.comment_text}"]
    return [*body.lines, f"return {body.result}"]


def _indent(lines: Iterable[Line | Unchanged | str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _with_beside(result: str, beside: str) -> str:
    """A result, which may have a comment, with another one beside it."""
    text, mark, comment = result.partition(_COMMENT)
    return f"{text}{beside}{mark}{comment}"
