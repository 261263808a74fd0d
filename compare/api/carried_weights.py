"""`jaxport.carry_weights`: the weights of a Keras model set in an nnx module, or none of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compare.api.live_weights import MODULES, is_model, is_module, read
from compare.errors import RequestError
from compare.report import terminal, weight_tables
from compare.weights import receipt as receipts
from compare.weights.carrying import planned_weights
from compare.weights.matching import Finding
from workloads.protocol.framework import Unsupported


@dataclass(frozen=True, repr=False)
class CarriedWeights:
    """The result of `jaxport.carry_weights`; its text is the output of `jaxport weights`.

    Attributes:
      carried: by the key of a weight in the Keras model, the variables of the module that it became.
      tied: by the key of a weight, that of the weight which it is tied to.
      left: by the key of a weight, why the port does without it.
      allowed: by the path of a variable, why it keeps what it had.
      receipt: the same with rules, transforms and checked attributes, as a weights.receipt.json has them.
    """

    carried: Mapping[str, tuple[str, ...]]
    tied: Mapping[str, str]
    left: Mapping[str, str]
    allowed: Mapping[str, str]
    receipt: Mapping[str, object]
    _text: str

    def __repr__(self) -> str:
        return self._text


def carry_weights(model: Any, module: Any, names: Mapping[str, str], allowances: Mapping[str, str]) -> CarriedWeights:
    """See `jaxport.carry_weights`.

    Raises:
      RequestError: an object is of another kind, or weights or attributes do not fit; nothing is set then.
    """
    for value, is_kind, kind in ((model, is_model, "a Keras model"), (module, is_module, "an nnx module")):
        if not is_kind(value):
            raise RequestError(f"expected {kind}, found {type(value).__name__}: hand over {kind}")
    try:
        (source, arrays), (target, _) = read(model, module)
    except Unsupported as error:
        raise RequestError(str(error)) from error
    plan = planned_weights(source, arrays, target, names, allowances)
    if plan.findings:
        raise RequestError(_refusal(plan.findings))
    importlib.import_module(MODULES).write(module, plan.arrays)
    class_names = (type(model).__name__, "", type(module).__name__)
    return _as_carried(receipts.make_receipt(class_names, plan, source, arrays, target, allowances, ""))


def _refusal(findings: tuple[Finding, ...]) -> str:
    lines = "; ".join(finding.line for finding in findings)
    return f"expected a module that takes these weights, found that none was carried: {lines}"


def _as_carried(receipt: receipts.Receipt) -> CarriedWeights:
    return CarriedWeights(
        carried={leaf.key: tuple(variable.path for variable in leaf.variables) for leaf in receipt.leaves},
        tied=receipt.tied,
        left=receipt.left,
        allowed=receipt.allowed,
        receipt=receipts.plain(receipt),
        _text=terminal.text_of(lambda console: weight_tables.print_carriage(receipt, console)),
    )
