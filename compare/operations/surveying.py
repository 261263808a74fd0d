"""The table of raw operations made from the TensorFlow that is installed: `python -m compare.operations.surveying`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

import msgspec

from compare.counterparts import raw_operations, rows
from compare.counterparts.raw_operations import PLUMBING, RawOperation, RawTable
from compare.inputs.functions import parse_input
from compare.sides.operation_worker import OperationWorker
from workloads.protocol.raw_operations import NOT_TRIED, XLA_DEVICE, Expression, Registered, Traced, Trial, Tried

_VERSION = re.compile(r"V\d+$")
_UNTRIED = Trial(NOT_TRIED)

TIMEOUT_S = 900
"""All expressions are one request: it takes 40 s on a core of its own."""


def survey(worker: OperationWorker) -> RawTable:
    """The table of the TensorFlow that a worker has.

    Raises:
      SideError: the worker is lost, or cannot trace an expression.
    """
    rows_run = [row for row in _all_rows() if row.has_counterpart]
    registry = worker.registry()
    trials = worker.try_expressions([expression(row) for row in (*rows_run, *rows.further_calls())])
    return RawTable(dict(registry.versions), join(registry.operations, rows_run, trials))


def expression(row: rows.Row) -> Expression:
    """The program of a row in TensorFlow."""
    specs = (parse_input(f"{name}={text}") for name, text in row.inputs.items())
    inputs = tuple((name, spec.resolve({}).shape, spec.dtype) for name, spec in specs)
    return (
        Expression(row.tf, "", inputs) if isinstance(row, rows.Operation) else Expression(row.call, row.keras, inputs)
    )


def join(
    registrations: Mapping[str, Registered], rows_run: Sequence[rows.Row], trials: Tried
) -> dict[str, RawOperation]:
    """Every operation with what became of its calls, and with the rows that it is in.

    Args:
      registrations: by name.
      trials: what became of them, in the same order, and of further calls.
    """
    about = {name: [] for name in registrations} | _declarations(registrations)
    within: dict[str, list[str]] = {name: [] for name in registrations}
    backward: dict[str, list[str]] = {name: [] for name in registrations}
    for row, traced in zip(rows_run, trials.expressions, strict=False):
        own = subject(row, traced)
        for name in traced.forward:
            (about if name == own else within)[name].append(row.name)
        for name in set(traced.backward) - set(traced.forward):
            backward[name].append(row.name)
    return {
        name: _operation(operation, trials.trials.get(name, _UNTRIED), about[name], within[name], backward[name])
        for name, operation in registrations.items()
    }


def subject(row: rows.Row, traced: Traced) -> str:
    """The type of operation that a row is about; "" where that is none or several.

    It is the only one that is no plumbing, if the row is a call of what it is named after and nothing around it; or
    else the one that has its name.
    """
    plain_name = row.name.rpartition(".")[2].replace("_", "").lower()
    own = [name for name in traced.forward if _VERSION.sub("", name).lower() == plain_name]
    computing = [name for name in traced.forward if name not in PLUMBING]
    return (own or (computing if len(computing) == 1 and _is_plain_call(row) else [""]))[0]


def _is_plain_call(row: rows.Row) -> bool:
    """Whether the row's code is a call of its operation or layer, perhaps with an index behind, on plain arguments."""
    code, name = (row.tf, row.name) if isinstance(row, rows.Operation) else (row.call, "layer")
    last = ast.parse(code.strip()).body[-1]
    node = last.value if isinstance(last, ast.Expr) else None
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != name:
        return False
    arguments = (*node.args, *(keyword.value for keyword in node.keywords))
    tree = ast.parse(row.keras if isinstance(row, rows.Layer) else "")
    inner = [inner for part in (tree, *arguments) for inner in ast.walk(part)]
    computes = (ast.Lambda,) if isinstance(row, rows.Layer) else (ast.Lambda, ast.BinOp, ast.Compare, ast.Call)
    return not any(isinstance(part, computes) for part in inner)


def _declarations(registrations: Iterable[str]) -> dict[str, list[str]]:
    """By operation, the rows that say they are about it."""
    about: dict[str, list[str]] = {}
    for row in _all_rows():
        for name in row.raw if isinstance(row, rows.Operation) else ():
            if name in registrations:
                about.setdefault(name, []).append(row.name)
    return about


def _all_rows() -> list[rows.Row]:
    return [row for group in (*rows.operations().values(), *rows.layers().values()) for row in group]


def _operation(
    registrations: Registered, trial: Trial, about: Sequence[str], within: Sequence[str], backward: Sequence[str]
) -> RawOperation:
    has_kernel = XLA_DEVICE in registrations.kernels
    return RawOperation(
        public=registrations.public,
        stateful=registrations.stateful,
        gradient=registrations.gradient,
        kernels=msgspec.convert(registrations.kernels, dict[str, dict[str, tuple[str, ...]]]),
        # What XLA has no kernel of may be gone before XLA sees it.
        outcome="refused" if trial.outcome == "compiled" and not has_kernel else trial.outcome,
        alone=trial.alone,
        reason=trial.reason,
        folded=trial.outcome == "compiled" and not has_kernel,
        constants=trial.constants,
        opcodes=trial.opcodes,
        rows=tuple(dict.fromkeys(about)),
        within=tuple(sorted(set(within) - set(about))),
        backward=tuple(sorted(backward)),
    )


def main() -> None:
    """Write the table of this package anew."""
    with ExitStack() as stack:
        raw_operations.write(survey(OperationWorker(None, TIMEOUT_S, stack)))


if __name__ == "__main__":
    main()
