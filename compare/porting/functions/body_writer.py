"""A body of a graph as statements: each node by its rule, in line where it is read once, else under the user's name."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compare.porting.functions.constant_parts import without_constant_parts
from compare.porting.functions.folded_sizes import fold, folded_parts
from compare.porting.functions.needed_nodes import needed_numbers, readers, uses
from compare.porting.functions.rule_calls import Call, plain_dtype
from compare.porting.functions.rules_of_random import REASONS
from compare.porting.functions.statements import Line, Statement, Variable
from compare.porting.functions.written_module import Module, State, Unwritten
from compare.porting.functions.written_types import CONTROL, LISTS, OF_VARIABLES, RULES, SAME, SIZES, TEMPLATES
from compare.porting.functions.written_values import Reserved, Value, elements_text, literal, tuple_text
from compare.porting.identifiers import snake
from compare.porting.regular_arrays import MOST_IN_TEXT, keep, regular
from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Body, Gradient, Node, Place, Result

MOST_IN_LINE = 100
"""The longest expression that stands where it is read."""
_ATOM = re.compile(r"[\w.]+|[+-]?[\w.]+|\w+\.shape\[\d+\]|weights(\['[^']*'\])+|self\.\w+\[\.\.\.\]")


class BodyWriter:
    """Writes one body."""

    def __init__(self, module: Module, body: Body, inputs: Sequence[Value]) -> None:
        self.module, self.body = module, without_constant_parts(body)
        self.statements: list[Statement] = []
        self.values: dict[Place, Value] = {(index, 0): value for index, value in zip(body.inputs, inputs, strict=True)}
        self._needed = needed_numbers(self.body, [place for place, _ in body.outputs])
        self._uses = uses(self.body, self._needed)
        self._readers = readers(self.body, self._needed)
        self._comment, self._within = "", tuple[str, ...]()
        self._renamed: list[tuple[Place, Value]] = []

    def write(self) -> list[Value]:
        """Its statements, and what it returns."""
        for index in sorted(self._needed):
            self._write(index)
        return [self.values[place] for place in self.body.outputs]

    def write_backwards(self, gradient: Gradient, inputs: Sequence[Value]) -> None:
        """Write the nodes of a gradient of its own, which takes these and what is written already."""
        self.values |= {(index, 0): value for index, value in zip(gradient.given, inputs, strict=True) if index >= 0}
        for index in sorted(needed_numbers(self.body, [place[0] for place in gradient.returned if place is not None])):
            if (index, 0) not in self.values:
                self._write(index)

    def _write(self, index: int) -> None:
        node = self.body.nodes[index]
        if (index, 0) in self.values or not node.results:
            return
        values = [self.values[place] for place in node.inputs]
        results = self._try(index, node, values)
        self.values |= {(index, number): value for number, value in enumerate(results)}

    def _try(self, index: int, node: Node, values: list[Value]) -> list[Value]:
        """A node by its rule; else by its rule from what is known of its inputs; else what it is; else a place."""
        reason, known_values = "", self._as_numbers(node, values)
        for inputs in (values, known_values) if known_values != values else (values,):
            before = self.module.state, len(self.statements), len(self._renamed)
            try:
                results = self._results(index, node, inputs)
            except UnwritableError as error:
                reason = reason or str(error)
                self._forget(*before)
            else:
                self.module.written[node.type] += 1
                return results
        if not node.known:
            return self._leave(node, values, reason)
        self.module.written[node.type] += 1
        return self._precompute(node)

    def _forget(self, state: State, statements: int, count: int) -> None:
        """Forget what was written of a node since, and the variables that it made of what it takes."""
        self.module.restore(state)
        del self.statements[statements:]
        while len(self._renamed) > count:
            place, value = self._renamed.pop()
            self.values[place] = value

    def _as_numbers(self, node: Node, values: Sequence[Value]) -> list[Value]:
        """The inputs of a node as numbers, where no input of the function changes them."""
        results = []
        for value, (index, number) in zip(values, node.inputs, strict=True):
            keys = self.body.nodes[index].known
            array = self.module.arrays[keys[number]] if keys and value.host is None else None
            results.append(value if array is None else replace(value, text="", host=np.asarray(array)))
        return results

    def _results(self, index: int, node: Node, values: list[Value]) -> list[Value]:
        self._comment, self._within = "", node.within
        node = replace(node, type=OF_VARIABLES.get(node.type, node.type))
        result = node.results[0]
        if node.type == "Const":
            return [self._constant(node, result)]
        if node.type in SIZES:
            return self._sizes(node)
        if node.type in self.module.calls:
            return self.module.calls[node.type](self, node)
        if node.known and not node.inputs:
            return self._precompute(node)
        if node.type in CONTROL:
            # It calls this writer for the bodies that a node has.
            from compare.porting.functions import control_flow

            return control_flow.results(self, index, node, values)
        if node.type in LISTS:
            # Likewise: what it writes are expressions of its own.
            from compare.porting.functions import tensor_lists

            return tensor_lists.results(self, index, node, values)
        if node.type in SAME:
            return [replace(values[0], result=result)]
        host = fold(node, values)
        if host is not None:
            return [Value(result, host=host)]
        parts = folded_parts(node, values)
        if parts is not None:
            return [Value(output, host=part) for output, part in zip(node.results, parts, strict=True)]
        call = Call(node, values, self)
        if node.type in TEMPLATES:
            texts = [call.template(TEMPLATES[node.type])]
        elif node.type in RULES:
            expression = RULES[node.type](call)
            texts = [expression] if isinstance(expression, str) else list(expression)
        else:
            raise UnwritableError(REASONS.get(node.type, "no rule writes it"))
        variables = self.assign_results(index, node, texts)
        if node.type == "Pack" and len(values) == 1 and not node.attributes.get("axis"):
            only = plain(call.array(0))
            return [replace(variables[0], only=only if is_atom(only) or variables[0].text == plain(texts[0]) else "")]
        return variables

    def assign_results(self, index: int, node: Node, texts: Sequence[str]) -> list[Value]:
        """The values of expressions, one for each result or one for all: inline, or variables.

        Args:
          texts: of its results; "*" and an expression of all of them.
        """
        if texts[0] == "*":
            return self.assign(plain(texts[1]), node.results, self.wanted_names(index, node))
        values = []
        for number, text in enumerate(texts):
            value = Value(node.results[number], text=plain(text))
            stays = self._stays_in_line(index, number, node, value.text)
            if not stays or (self.module.is_elementary and not is_atom(value.text)):
                wanted_name = self.wanted_names(index, node)[number]
                (value,) = self.assign(value.text, [node.results[number]], [wanted_name], folds=stays)
            values.append(value)
        return values

    def assign(
        self, text: str, results: Sequence[Result], wanted_names: Sequence[str], *, folds: bool = False
    ) -> list[Value]:
        """Variables for what an expression gives; several of what gives a tuple.

        Args:
          folds: whether the expression may stand in the place of the variable.
        """
        variables = [Variable(self.module.token(), name) for name in wanted_names]
        self.statements.append(Line(text, tuple(variables), self._comment, folds=folds, within=self._within))
        self.module.types |= {variable.token: result for result, variable in zip(results, variables, strict=True)}
        self._comment = ""
        return [Value(result, text=variable.token) for result, variable in zip(results, variables, strict=True)]

    def _stays_in_line(self, index: int, number: int, node: Node, text: str) -> bool:
        if self._comment:
            return False
        if is_atom(text):
            return True
        readers = self._readers.get((index, number), [])
        if self._uses[index, number] > 1 or len(text) > MOST_IN_LINE:
            return False
        if any((reader.bodies or reader.type in CONTROL) and not self._is_taken_apart(reader) for reader in readers):
            return False
        other = all(reader.line != node.line and reader.type != "Identity" for reader in readers)
        return not (node.assigned and readers and other)

    def _is_taken_apart(self, reader: Node) -> bool:
        """Whether what a node reads is read by statements that stand in its place, each by itself."""
        return self.module.is_elementary and reader.type.endswith("PartitionedCall")

    def wanted_names(self, index: int, node: Node) -> list[str]:
        """The wanted names of a node's results."""
        number = len(node.results)
        readers = [reader for place in range(number) for reader in self._readers.get((index, place), [])]
        leaves = not readers or any(reader.line != node.line or reader.type == "Identity" for reader in readers)
        own = snake(node.type)
        if node.assigned and leaves:
            if len(node.assigned) == number:
                return list(node.assigned)
            if len(node.assigned) == 1:
                return [*node.assigned] * number
        return [own] * number

    def _constant(self, node: Node, result: Result) -> Value:
        if not node.constant:
            raise UnwritableError("it holds texts")
        return self._of_numbers(np.asarray(self.module.arrays[node.constant]), node, result)

    def _precompute(self, node: Node) -> list[Value]:
        """The constants that TensorFlow computed for a node without dependence on inputs; else empty."""
        arrays = [np.asarray(self.module.arrays[key]) for key in node.known]
        return [self._of_numbers(array, node, result) for array, result in zip(arrays, node.results, strict=False)]

    def _of_numbers(self, array: np.ndarray[Any, Any], node: Node, result: Result) -> Value:
        """Numbers as a constant: in the text where they are few or regular, else in the file of arrays."""
        if array.size <= MOST_IN_TEXT or regular(array, "dtype", str):
            return Value(result, host=array)
        of = "constant" if node.constant else snake(node.type)
        return Value(result, text=self.keep_array(array, node.assigned[0] if node.assigned else of, result))

    def keep_array(self, array: np.ndarray[Any, Any], name: str, result: Result) -> str:
        """The expression of an array that is kept in a file."""
        return f"jnp.asarray(CONSTANTS[{keep(self.module.constants, array, name)!r}], {self.dtype(result)})"

    def _sizes(self, node: Node) -> list[Value]:
        sizes = []
        for number, result in enumerate(node.results):
            value = self.values[node.inputs[number]]
            shape = value.result.shape
            if shape is None:
                raise UnwritableError("the rank of what it is of is not known")
            if value.host is not None:
                shape = value.host.shape
            items: list[Any] = [
                size
                if size is not None
                else f"{_as_operand(self.name_value(value, node.inputs[number]))}.shape[{axis}]"
                for axis, size in enumerate(shape)
            ]
            host = np.array(items, object if any(isinstance(item, str) for item in items) else np.int64)
            if node.type == "Rank":
                host = np.array(len(items))
            if node.type == "Size":
                texts = [str(item) for item in items]
                is_known = all(isinstance(item, int) for item in items)
                host = np.array(
                    int(np.prod(items)) if is_known else f"({' * '.join(texts)})", None if is_known else object
                )
            sizes.append(Value(result, host=host))
        return sizes

    def name_value(self, value: Value, place: Place) -> str:
        """A value as a variable."""
        text = self.array(value)
        if is_atom(text):
            return text
        node = self.body.nodes[place[0]]
        (variable_value,) = self.assign(text, [value.result], [self.wanted_names(place[0], node)[place[1]]])
        self._renamed.append((place, value))
        self.values[place] = variable_value
        return variable_value.text

    def variable(self, node: Node, index: int) -> str:
        """An input of a node as a variable."""
        return self.name_value(self.values[node.inputs[index]], node.inputs[index])

    def array(self, value: Value) -> str:
        """An expression of an array of the type that TensorFlow has."""
        if value.text:
            return value.text
        if value.reserved is not None:
            return self._of_list(value.reserved)
        if value.host is None:
            raise UnwritableError("it takes what is no array")
        dtype, result, host = self.dtype(value.result), value.result, value.host
        if host.dtype != object:
            text = regular(host, dtype, lambda number: literal(number, result.dtype, result.follows))
            if text:
                return text
        if host.size > MOST_IN_TEXT:
            return self.keep_array(host, "constant", result)
        return f"jnp.array({elements_text(host, result.dtype, result.follows)}, {dtype})"

    def _of_list(self, reservation: Reserved) -> str:
        """The array of a list that is not full yet: what is not written is zeros."""
        if reservation.items and [str(k) for k in range(len(reservation.items))] == [
            index for index, _ in reservation.items
        ]:
            whole = reservation.length in (str(len(reservation.items)), "0")
            if whole:
                return f"jnp.stack([{', '.join(text for _, text in reservation.items)}])"
        if reservation.shape is None and not reservation.items:
            raise UnwritableError("the shape of the elements of a list is not known where it is made")
        places = [int(index) for index, _ in reservation.items if index.isdigit()]
        length = reservation.length
        if length.isdigit() and places:
            length = str(max(int(length), max(places) + 1))
        sizes = [length] + [str(size) for size in reservation.shape or ()]
        if reservation.shape is None:
            sizes.append(f"*{reservation.items[0][1]}.shape")
        text_of_zeros = f"jnp.zeros({tuple_text(sizes)}, {self.dtype(reservation.element)})"
        return text_of_zeros + "".join(f".at[{index}].set({text})" for index, text in reservation.items)

    def dtype(self, result: Result) -> str:
        """The type of a result."""
        if result.follows and self.module.follows:
            if result.dtype.startswith("complex"):
                return f"jnp.result_type({self.module.follows}, jnp.complex64)"
            return self.module.follows
        return plain_dtype(result.dtype)

    def note(self, comment: str) -> None:
        """Say something behind the line that is written next."""
        self._comment = comment

    def _leave(self, node: Node, values: Sequence[Value], reason: str) -> list[Value]:
        """A function that raises, called with the arrays that the node takes."""
        self.module.left[node.type] += 1
        self._comment = ""
        arguments = ", ".join(text for value in values if (text := self._express(value)))
        name = f"{snake(node.type)}_{len(self.module.unwritten) + 1}"
        self.module.unwritten.append(Unwritten(name, node.type, node.line, reason))
        results = node.results
        return self.assign(f"{name}({arguments})", results, [snake(node.type)] * len(results))

    def _express(self, value: Value) -> str:
        """A value as an expression; "" of what is no array, as a text is none."""
        try:
            return self.array(value)
        except UnwritableError:
            return ""


def is_atom(text: str) -> bool:
    """Whether an expression may stand twice: a name, a number, a size."""
    return _ATOM.fullmatch(text) is not None


def _as_operand(text: str) -> str:
    """An atom of which an attribute can be taken: a negated name has parentheses."""
    return f"({text})" if text.startswith("-") else text


def plain(text: str) -> str:
    """An expression without the parentheses that it does not need."""
    return ast.unparse(ast.parse(text, mode="eval"))
