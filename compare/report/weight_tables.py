"""A carriage of weights on the console: layers with their modules, what was not checked, what does not fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from rich.console import Console

from compare.report import terminal
from compare.report.numbers import count_of, list_first
from compare.report.page_console import print_lines, print_rows
from compare.report.pages import Column, Table, columns
from compare.weights.receipt import CarriedLayer, CarriedOptimizer, Receipt
from compare.weights.returning import Returned

_COLUMNS = (*columns("layer", "class", "in Flax", "at"), Column("weights", "number"), Column("attributes that agree"))


def print_carriage(receipt: Receipt, console: Console) -> None:
    """Print each layer with its counterpart, and the attributes that were not checked."""
    counts = Counter(leaf.layer for leaf in receipt.leaves)
    rows = [_layer(layer, counts[layer.path]) for layer in receipt.layers]
    print_rows(Table(_COLUMNS, rows, most_on_console=len(rows)), console)
    console.print()
    print_lines(_notes(receipt), console)


def _layer(layer: CarriedLayer, weights: int) -> tuple[str, ...]:
    flax = layer.module or layer.function
    target = layer.target if layer.module else ""
    agree = f"{len(layer.checked)}" if layer.module else "none: no module"
    return layer.path, layer.class_name, flax, target, str(weights), agree


def _notes(receipt: Receipt) -> Sequence[str]:
    variables = sum(len(leaf.variables) for leaf in receipt.leaves)
    layers = len({leaf.layer for leaf in receipt.leaves})
    counts = (count_of(len(receipt.leaves), "weight"), count_of(layers, "layer"), count_of(variables, "variable"))
    lines = ["{} of {} became {}".format(*counts)]
    lines += _of_optimizer(receipt.optimizer) if receipt.optimizer else []
    lines += [f"{key}: tied to {source}" for key, source in receipt.tied.items()]
    lines += _lines_left(receipt.allowed)
    lines += [f"{key}: not carried, {reason}" for key, reason in receipt.left.items()]
    lines += [f"{layer.path}: better {advice}" for layer in receipt.layers for advice in layer.advice]
    unchecked_texts = [f"{layer.path} {', '.join(layer.unchecked)}" for layer in receipt.layers if layer.unchecked]
    lines += (
        [f"not checked, since whoever calls the module applies it: {'; '.join(unchecked_texts)}"]
        if unchecked_texts
        else []
    )
    return lines


def _of_optimizer(optimizer: CarriedOptimizer) -> Sequence[str]:
    slots = count_of(len(optimizer.leaves), "variable")
    sentence = (
        f"{slots} of {optimizer.class_name} became the state of optax (rule {optimizer.rule}); both took equal steps"
    )
    return [
        sentence,
        *(f"the optimizer: expected {attribute}, without effect on the steps" for attribute in optimizer.apart),
    ]


def _lines_left(allowances: Mapping[str, str]) -> Sequence[str]:
    """Lines on attributes that stay; several with one reason share a line."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for path, reason in allowances.items():
        by_reason[reason].append(path)
    return [f"{list_first(paths, 1)}: left as it is, {reason}" for reason, paths in by_reason.items()]


def print_findings(lines: Sequence[str]) -> None:
    """Print what does not fit, a line each."""
    terminal.say(*lines)
    terminal.complain(f"{len(lines)} {'things do' if len(lines) > 1 else 'thing does'} not fit; nothing was written")


def print_returned(result: Returned) -> None:
    """Print how many weights came back as they were carried."""
    what = "weights and variables of the optimizer" if result.slots else "weights"
    terminal.say(f"{result.equal} of {result.leaves} {what} are bit-equal to what was carried")
    for keys, what in (
        (result.changed, "changed since it was carried"),
        (result.misread, "read by Keras otherwise than it was written"),
        (result.left, "not carried: the model's own"),
    ):
        terminal.say(*(f"{key}: {what}" for key in keys))
