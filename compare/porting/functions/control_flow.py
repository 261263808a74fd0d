"""Branches, loops, calls and gradients of their own, as jax.lax and jax.custom_vjp have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.counted_loops import source
from compare.porting.functions.loops import loop
from compare.porting.functions.own_gradients import own_gradient
from compare.porting.functions.statements import Line, Statement, defined_tokens
from compare.porting.functions.written_bodies import define, function
from compare.porting.functions.written_module import LEFT_OUT, Inlined
from compare.porting.functions.written_values import Value
from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Node

_STATE = frozenset({"resource", "string"})


def results(writer: BodyWriter, index: int, node: Node, values: list[Value]) -> list[Value]:
    """The results of a node with bodies.

    Raises:
      UnwritableError: it is not written.
    """
    if node.type == "IdentityN":
        return own_gradient(writer, index, node, values)
    graph = writer.module.graph
    if not node.bodies:
        raise UnwritableError("what it calls cannot be read")
    if any(result.dtype in _STATE and not _hands_on(writer, node, k) for k, result in enumerate(node.results)):
        raise UnwritableError("it holds state")
    for number in (body_number for numbers in node.bodies.values() for body_number in numbers):
        effect = next(
            (operation.type for operation in graph.bodies[number].effects if operation.type not in LEFT_OUT), ""
        )
        if effect:
            raise UnwritableError(f"it has an effect in it, {effect}")
    # Each is a variable, since its bodies may read it several times.
    for place in node.inputs:
        if writer.values[place].host is None and writer.values[place].text:
            writer.name_value(writer.values[place], place)
    inputs = [writer.values[place] for place in node.inputs]
    if node.type.endswith("PartitionedCall"):
        return _call(writer, index, node, inputs)
    if node.type.endswith("If"):
        return _branches(writer, index, node, inputs)
    if node.type.endswith("Case"):
        return _cases(writer, index, node, inputs)
    return loop(writer, index, node, inputs)


def _hands_on(writer: BodyWriter, node: Node, k: int) -> bool:
    """Whether a loop only hands on one of its variables, as it does with weights that its steps read."""
    if not node.type.endswith("While"):
        return False
    body = writer.module.graph.bodies[node.bodies["body"][0]]
    return source(body, body.outputs[k]) == (body.inputs[k], 0)


def _inner(writer: BodyWriter, number: int, inputs: Sequence[Value]) -> list[Value]:
    """The statements of a function, in the place of its call."""
    inner = BodyWriter(writer.module, writer.module.graph.bodies[number], inputs)
    outputs = inner.write()
    writer.statements += inner.statements
    return outputs


def _call(writer: BodyWriter, index: int, node: Node, inputs: Sequence[Value]) -> list[Value]:
    """The statements of a function that is called; what it returns has the names that the call gives it."""
    before = len(writer.statements)
    outputs = _inner(writer, node.bodies["f"][0], inputs)
    statements = writer.statements[before:]
    if writer.module.is_elementary and node.assigned:
        names = {value.text: name for value, name in zip(outputs, writer.wanted_names(index, node), strict=True)}
        writer.statements[before:] = [_with_names(statement, names) for statement in statements]
    name = writer.module.graph.bodies[node.bodies["f"][0]].name
    writer.module.inlined.append(Inlined(name, frozenset().union(*map(defined_tokens, statements))))
    return outputs


def _with_names(statement: Statement, names: Mapping[str, str]) -> Statement:
    """A statement that a user's line does not name, with names for what it defines."""
    if not isinstance(statement, Line) or not statement.folds:
        return statement
    return replace(
        statement, defines=tuple(replace(one, wanted=names.get(one.token, one.wanted)) for one in statement.defines)
    )


def _branches(writer: BodyWriter, index: int, node: Node, inputs: Sequence[Value]) -> list[Value]:
    if inputs[0].is_known and inputs[0].host is not None and inputs[0].host.ndim == 0:
        branch_taken = "then_branch" if inputs[0].host else "else_branch"
        return _inner(writer, node.bodies[branch_taken][0], inputs[1:])
    names = [
        _branch(writer, node.bodies[attribute][0], wanted_name, inputs[1:])
        for attribute, wanted_name in (("then_branch", "then"), ("else_branch", "otherwise"))
    ]
    text = f"jax.lax.cond({_truth(writer, node, inputs[0])}, {names[0]}, {names[1]})"
    return writer.assign(text, node.results, writer.wanted_names(index, node))


def _truth(writer: BodyWriter, node: Node, value: Value) -> str:
    """A number is true where it is not zero, an array where it has elements."""
    if value.result.dtype == "bool":
        return writer.array(value)
    if value.rank != 0:
        raise UnwritableError("its condition is an array")
    return f"{writer.variable(node, 0) if value.host is None else writer.array(value)} != 0"


def _cases(writer: BodyWriter, index: int, node: Node, inputs: Sequence[Value]) -> list[Value]:
    """The last branch is that of every number that has none."""
    numbers = node.bodies["branches"]
    names = [_branch(writer, number, f"branch_{k}", inputs[1:]) for k, number in enumerate(numbers)]
    last = len(numbers) - 1
    which = writer.variable(node, 0)
    text = f"jax.lax.switch(jnp.where({which} < 0, {last}, {which}), [{', '.join(names)}])"
    return writer.assign(text, node.results, writer.wanted_names(index, node))


def _branch(writer: BodyWriter, number: int, wanted_name: str, inputs: Sequence[Value]) -> str:
    """The name of a function of nothing, which a branch becomes."""
    outputs, inner = function(writer, writer.module.graph.bodies[number], inputs)
    return define(writer, wanted_name, inner, (), [inner.array(value) for value in outputs])
