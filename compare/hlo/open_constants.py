"""Rounded constants of a float64 program as parameters: one program serves any rounding of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import batch_norm, bindings, constants
from compare.hlo.bindings import ir
from compare.hlo.portable import make_portable

UNIT_ROUNDOFF = 2.0**-24
"""The largest relative error of rounding to float32."""

_SIMPLE_BITS = 12
_SEES_OUTSIDE = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case"})
"""Operations whose regions may use values of the function around them; the body of a reduction may not."""


@dataclass(frozen=True, eq=False)
class OpenConstants:
    """A program whose rounded constants are parameters, after its own.

    Attributes:
      artifact: StableHLO.
      values: what the program had, float64, in the order of the parameters; of a splat the one scalar.
    """

    artifact: bytes
    values: tuple[np.ndarray, ...]


def open_constants(artifact: bytes) -> OpenConstants:
    """Make each rounded constant a parameter of the program; of a program that has none, what it is.

    A constant in the body of a reduction stays: nothing outside can be used there.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = _parse(artifact)
    with module.context, ir.Location.unknown():
        calls = _Calls(module)
        operations = [operation for operation in _double_constants(module) if _can_open(operation, calls)]
        values = tuple(map(constants.values_of, operations))
        _Opening(calls, operations).open_all()
    return OpenConstants(bindings.serialize(module), values)


def move_constants(values: Sequence[np.ndarray], seed: int) -> list[np.ndarray]:
    """Each rounded value c moved within its rounding: c * (1 + 2**-24 * u), u uniform in [-1, 1); others stay.

    The spread of a program's results over seeds is what the rounding of its constants can explain.
    """
    generator = np.random.default_rng(seed)
    noises = [UNIT_ROUNDOFF * generator.uniform(-1.0, 1.0, array.shape) for array in values]
    return [
        np.where(_looks_rounded(array), array * (1.0 + noise), array)
        for array, noise in zip(values, noises, strict=True)
    ]


class _Calls:
    """The calls between the functions of a module.

    Attributes:
      functions: by name.
      by_caller: by the name of a function, the calls in it.
    """

    def __init__(self, module: ir.Module) -> None:
        operations = bindings.operations(module)
        calls = [operation for operation in operations if operation.name == "func.call"]
        self.functions = {_name(operation): operation for operation in operations if operation.name == "func.func"}
        self.by_caller: dict[str, list[ir.Operation]] = {name: [] for name in self.functions}
        for call in calls:
            self.by_caller[_name(_function_of(call))].append(call)
        self._closed: set[str] = set()
        self._close(self.functions.keys() - {"main", *map(_callee, calls)})
        self._close({_callee(call) for call in calls if not _sees_outside(call)})

    def is_open(self, function: str) -> bool:
        """Whether every use of a function can hand it further values."""
        return function not in self._closed

    def _close(self, names: set[str]) -> None:
        for name in names - self._closed:
            self._closed.add(name)
            self._close({_callee(call) for call in self.by_caller[name]})


class _Opening:
    """Hands values from parameters of the program to where its constants stand.

    Args:
      calls: of the module, which is changed.
    """

    def __init__(self, calls: _Calls, operations: Sequence[ir.Operation]) -> None:
        self._calls = calls
        self._constants: dict[str, list[ir.Operation]] = {name: [] for name in calls.functions}
        for operation in operations:
            self._constants[_name(_function_of(operation))].append(operation)
        self._order = {id(operation): position for position, operation in enumerate(operations)}
        self._needed: dict[str, list[tuple[int, ir.Type]]] = {}

    def open_all(self) -> None:
        """Rewrite every function that has such a constant, or calls one that has."""
        for name in self._calls.functions:
            self._needs(name)
        for name, function in self._calls.functions.items():
            if self._needed[name]:
                self._rewrite(name, function)

    def _needs(self, name: str) -> list[tuple[int, ir.Type]]:
        """The constants that a function takes, by position among all that are opened, with their types."""
        if name not in self._needed:
            types_by_position = {self._order[id(one)]: _parameter_type(one) for one in self._constants[name]}
            for call in self._calls.by_caller[name]:
                types_by_position |= dict(self._needs(_callee(call)))
            self._needed[name] = sorted(types_by_position.items())
        return self._needed[name]

    def _rewrite(self, name: str, function: ir.Operation) -> None:
        types = [type_ for _, type_ in self._needed[name]]
        block = function.regions[0].blocks[0]
        arguments = [block.add_argument(type_, ir.Location.unknown()) for type_ in types]
        at_hand = {position: argument for (position, _), argument in zip(self._needed[name], arguments, strict=True)}
        _declare(function, types)
        for constant in self._constants[name]:
            _replace_constant(constant, at_hand[self._order[id(constant)]])
        for call in self._calls.by_caller[name]:
            _pass_on(call, [at_hand[position] for position, _ in self._needed[_callee(call)]])


def _declare(function: ir.Operation, types: Sequence[ir.Type]) -> None:
    """Write parameters that a function's block has into its type."""
    attributes = function.attributes
    type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*type_.inputs, *types], type_.results))
    if "arg_attrs" in attributes:
        plain = [ir.DictAttr.get({})] * len(types)
        attributes["arg_attrs"] = ir.ArrayAttr.get([*ir.ArrayAttr(attributes["arg_attrs"]), *plain])


def _replace_constant(constant: ir.Operation, value: ir.Value) -> None:
    (result,) = constant.results
    if value.type != result.type:
        with ir.InsertionPoint(constant):
            value = bindings.stablehlo("broadcast_in_dim")(result.type, value, ir.DenseI64ArrayAttr.get([]))
    result.replace_all_uses_with(value)
    constant.erase()


def _pass_on(call: ir.Operation, values: Sequence[ir.Value]) -> None:
    if not values:
        return
    types = [result.type for result in call.results]
    attributes = dict(call.attributes.items())
    attributes.pop("arg_attrs", None)
    with ir.InsertionPoint(call):
        new_call = ir.Operation.create("func.call", types, [*call.operands, *values], attributes)
    for old, new in zip(call.results, new_call.results, strict=True):
        old.replace_all_uses_with(new)
    call.erase()


def _can_open(operation: ir.Operation, calls: _Calls) -> bool:
    is_rounded = bool(_looks_rounded(constants.values_of(operation)).any())
    # A constant that is written outside may be used in the body of a reduction, where XLA repeats it.
    is_used_openly = all(_sees_outside(use.owner.operation) for use in operation.results[0].uses)
    return is_rounded and is_used_openly and calls.is_open(_name(_function_of(operation)))


def _sees_outside(operation: ir.Operation) -> bool:
    """Whether an operation can use any value of the function that it stands in."""
    return all(parent.name in _SEES_OUTSIDE for parent in _parents(operation) if parent.name != "func.func")


def _parents(operation: ir.Operation) -> Iterator[ir.Operation]:
    """The parents of an operation, the innermost first, up to its function."""
    parent = operation.parent
    while parent is not None:
        inner = parent.operation
        yield inner
        if inner.name == "func.func":
            return
        parent = inner.parent


def _function_of(operation: ir.Operation) -> ir.Operation:
    *_, function = _parents(operation)
    return function


def _name(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _parameter_type(constant: ir.Operation) -> ir.Type:
    """A splat as a scalar: the array that it fills may be large."""
    type_ = ir.RankedTensorType(constant.results[0].type)
    splat = ir.DenseElementsAttr(constant.attributes["value"]).is_splat
    return ir.RankedTensorType.get([], type_.element_type) if splat else type_


def _parse(artifact: bytes) -> ir.Module:
    module = bindings.parse(artifact)
    make_portable(module)
    with module.context, ir.Location.unknown():
        batch_norm.expand_doubles(module)
    return module


def _double_constants(module: ir.Module) -> list[ir.Operation]:
    return [
        operation
        for operation in bindings.operations(module)
        if operation.name == "stablehlo.constant" and constants.is_double(operation.results[0].type)
    ]


def _looks_rounded(values: np.ndarray) -> np.ndarray:
    """Where values are float32 exactly, of more than 12 significant bits: 0.1f, but neither 0.5 nor a bfloat16."""
    # Beyond float32's range the cast gives infinity, which is no answer to worry about.
    with np.errstate(over="ignore", under="ignore"):
        is_single = np.isfinite(values) & (values.astype(np.float32) == values)
    mantissa, _ = np.frexp(values)
    multiples = np.where(is_single, mantissa, 0.0) * 2.0**_SIMPLE_BITS
    return is_single & (multiples != np.rint(multiples))
