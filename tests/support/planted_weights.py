"""Errors planted into the carriage of every layer, and what becomes of each: refused by the plan, or seen by parity.

`python tests/support/planted_weights.py -o docs/results/weights.md` writes the page.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import layers_to_carry
import numpy as np
from carried_layers import Pair

from compare.weights.planning import Plan, plan
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import Leaf, Source, SourceLayer, Target, TargetVariable

SEEN = 1e-3
"""Normwise: a thousand times the bound within which a right carriage lies."""

REFUSED, NOT_SEEN, NONE = "refused", "NOT SEEN", ""
"""What became of an error; nothing where the layer has no place for it."""

Arrays = dict[str, np.ndarray]


def outcomes(name: str) -> dict[str, str]:
    """What became of each error that was planted into a layer, by the kind of the error.

    Args:
      name: of a case of layers_to_carry.
    """
    pair = Pair(name)
    right = pair.planned()
    assert not right.findings and pair.difference(right) < SEEN / 1000
    return {kind: planted(pair, right) for kind, planted in KINDS.items()}


def _judged(pair: Pair, arrays: Arrays) -> str:
    found = plan(pair.source, {**pair.arrays, **arrays}, pair.target, {}, {})
    if found.findings:
        return REFUSED
    difference = pair.difference(found)
    return f"parity: {difference:.1g}" if difference > SEEN or np.isnan(difference) else NOT_SEEN


def _worst(results: list[str]) -> str:
    """Of several errors of a kind, the one that was seen least."""
    for kind in (NOT_SEEN, "parity"):
        among = [each for each in results if each.startswith(kind)]
        if among:
            return min(among)
    return REFUSED if results else NONE


def _swapped(pair: Pair, right: Plan) -> str:
    keys = list(pair.arrays)
    pairs = [
        (a, b)
        for at, a in enumerate(keys)
        for b in keys[at + 1 :]
        if (pair.arrays[a].shape, pair.arrays[a].dtype) == (pair.arrays[b].shape, pair.arrays[b].dtype)
        and not np.array_equal(pair.arrays[a], pair.arrays[b])
    ]
    return _worst([_judged(pair, {a: pair.arrays[b], b: pair.arrays[a]}) for a, b in pairs])


def _transposed(pair: Pair, right: Plan) -> str:
    matrices = {key: each for key, each in pair.arrays.items() if each.ndim > 1 and min(each.shape[-2:]) > 1}
    return _worst([_judged(pair, {key: np.swapaxes(each, -1, -2)}) for key, each in matrices.items()])


def _permuted(pair: Pair, right: Plan) -> str:
    """Each weight with its last axis turned by one."""
    several = {key: pair.arrays[key] for key in _with_effect(pair, right) if pair.arrays[key].shape[-1:] > (1,)}
    return _worst([_judged(pair, {key: np.roll(each, 1, -1)}) for key, each in several.items()])


def _with_effect(pair: Pair, right: Plan) -> list[str]:
    """The weights that matter: of attention, softmax takes away what the bias of the keys adds."""
    carried = [move.leaf.key for move in right.moves]
    return [key for key in carried if _judged(pair, {key: np.ones_like(pair.arrays[key])}) != NOT_SEEN]


def _of_another_dtype(pair: Pair, right: Plan) -> str:
    carried = [move.leaf.key for move in right.moves]
    return _worst([_judged(pair, {key: pair.arrays[key].astype("float16")}) for key in carried])


def _missing(pair: Pair, right: Plan) -> str:
    keys = [move.leaf.key for move in right.moves]
    return _worst([_refused(_without(pair.source, key), pair.target, pair) for key in keys])


def _without(source: Source, key: str) -> Source:
    def less(layer: SourceLayer) -> SourceLayer:
        return dataclasses.replace(layer, leaves=tuple(each for each in layer.leaves if each.key != key))

    return dataclasses.replace(source, layers=tuple(map(less, source.layers)))


def _left_over(pair: Pair, right: Plan) -> str:
    """A weight that no rule knows, and a variable that nothing becomes."""
    leaf = Leaf("left_over", "left_over", (2,), "float32")
    held = next(each for each in pair.source.layers if each.leaves)
    more = dataclasses.replace(held, leaves=(*held.leaves, leaf))
    source = dataclasses.replace(
        pair.source, layers=tuple(more if each is held else each for each in pair.source.layers)
    )
    variable = TargetVariable("left_over", "Param", (2,), "float32")
    target = dataclasses.replace(pair.target, variables=(*pair.target.variables, variable))
    pair.arrays["left_over"] = np.ones(2, np.float32)
    results = [_refused(source, pair.target, pair), _refused(pair.source, target, pair)]
    del pair.arrays["left_over"]
    return _worst(results)


def _refused(source: Source, target: Target, pair: Pair) -> str:
    return REFUSED if plan(source, pair.arrays, target, {}, {}).findings else NOT_SEEN


def _of_other_attributes(pair: Pair, right: Plan) -> str:
    """Every attribute that a rule checks: epsilon, padding, strides and the rest, one at a time."""
    return _worst([_refused(pair.source, each, pair) for each in _other_targets(pair.target, right)])


def _other_targets(target: Target, right: Plan) -> Iterator[Target]:
    checked = {each.partition("=")[0].rpartition(".")[2] for told in right.told for each in told.checked}
    modules = {told.target for told in right.told if told.module}
    for module in target.modules:
        for name in checked & module.attributes.keys():
            if module.path in modules:
                attributes = {**module.attributes, name: _other(module.attributes[name])}
                changed = dataclasses.replace(module, attributes=attributes)
                yield dataclasses.replace(
                    target, modules=tuple(changed if each is module else each for each in target.modules)
                )


def _other(value: Plain) -> Plain:
    match value:
        case bool():
            return not value
        case int() | float():
            return value * 2 + 1 if value >= 0 else value - 1
        case list():
            return [_other(each) for each in value]
        case "SAME":
            return "VALID"
        case None:
            return 7
        case _:
            return "other"


KINDS: Mapping[str, Callable[[Pair, Plan], str]] = {
    "swapped": _swapped,
    "transposed": _transposed,
    "permuted": _permuted,
    "missing": _missing,
    "left over": _left_over,
    "another dtype": _of_another_dtype,
    "other attributes": _of_other_attributes,
}

HEAD = """# Errors planted into weights

Generated by `python tests/support/planted_weights.py -o docs/results/weights.md`; do not edit.

For every layer of `tests/support/layers_to_carry.py`, with random weights, what becomes of each error; of all places in
a layer that it was planted in, the one that was seen least. *refused* is a line of `jaxport weights`, and nothing is
written. *parity* is the normwise difference between what the layer and its module then give, which fails `jaxport run`:
the weights fit in shape and dtype, as a square kernel does that is transposed: nothing but numbers can tell. A right
carriage lies within 1e-6. An empty cell: the layer has no place for that error. The bias of the keys of an attention is
not permuted: softmax takes away what it adds, whatever it is.

- swapped: two weights of one shape; transposed: the last two axes of one weight; permuted: its last axis turned by one.
- missing: each weight left out; left over: a weight more, and a variable more in the module.
- other attributes: each attribute that a rule checks, such as epsilon, padding and strides.
"""


def row(name: str) -> str:
    """One row of the page."""
    return " | ".join(("", f"`{name}`", *outcomes(name).values(), "")).strip()


def page(rows: list[str]) -> str:
    """The page of all rows."""
    head = " | ".join(("", "layer", *KINDS, "")).strip()
    rule = "|".join(("", *["---"] * (1 + len(KINDS)), ""))
    seen = sum(each.count(REFUSED) + each.count("parity") for each in rows)
    missed = sum(each.count(NOT_SEEN) for each in rows)
    counts = f"{len(rows)} layers, {seen} kinds of errors refused or seen, {missed} not seen."
    return "\n".join((HEAD, counts, "", head, rule, *rows)) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Write the page of planted errors.")
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.write_text(page([row(name) for name in sorted(layers_to_carry.CASES)]))


if __name__ == "__main__":
    main()
