"""The body of a method from a call that TensorFlow traced: jax.numpy between the calls of layers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compare.porting.class_text import Body, Line
from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.rule_calls import Call as RuleCall
from compare.porting.functions.rules_of_random import REASONS
from compare.porting.functions.statements import TOKEN, render_results
from compare.porting.functions.written_module import LEFT_OUT, Module
from compare.porting.functions.written_values import Value
from compare.porting.safe_expressions import UnwritableError, argument
from compare.porting.safe_expressions import tensors as numbers_in
from workloads.protocol.architecture import LAYER_CALL, TENSOR, TUPLE, Call, Constant, Graph, Traced
from workloads.protocol.function_graph import Node, Result

_READ: Mapping[str, Callable[[str], Any]] = {"b": lambda text: text == "True", "i": int, "u": int, "c": complex}
"""By the kind of a dtype, what reads an element; float does others."""

DRAWS: Mapping[str, str] = {
    "RandomStandardNormal": "normal", "RandomUniform": "uniform", "TruncatedNormal": "truncated_normal",
}  # fmt: skip
"""By type of operation, the method of nnx.RngStream that draws likewise."""

CallText = Callable[[Call, Mapping[int, str], frozenset[str]], tuple[str, str, bool]]
"""A call of a layer, the expressions of its tensors by number, the names in these -> its expression, a comment, and
whether it gives what the layer adds to the loss beside its result."""

_ADDED = Result("float32", (), follows=True)


def obstacle(graph: Graph) -> str:
    """Why the call of a layer of the user's cannot be written; "" where it can."""
    outputs: Any = graph.outputs
    outputs_listed = outputs.get(TUPLE, [outputs]) if isinstance(outputs, dict) else outputs
    if graph.model and any(not isinstance(output, dict) or TENSOR not in output for output in outputs_listed):
        return "it calls TensorFlow and returns a dict, or lists in lists: return a tuple of tensors"
    if graph.traced is None:
        return ""
    if any(node.type in DRAWS for body in graph.traced.function.bodies[1:] for node in body.nodes):
        return "it draws inside of a loop, a branch or a function of TensorFlow: draw before it"
    try:
        parameters = {name: "x" for name in graph.inputs}
        method_body(graph, parameters, {}, {}, lambda call, texts, names: ("x", "", False), "noise")
    except UnwritableError as error:
        return str(error)
    return ""


def method_body(
    graph: Graph,
    parameters: Mapping[str, str],
    weights: Mapping[str, str],
    constants: dict[str, np.ndarray[Any, Any]],
    call_text: CallText,
    stream: str = "",
    *,
    is_penalized: bool = True,
) -> Body:
    """The lines of a method, and what it returns.

    Args:
      graph: of a call that was traced.
      parameters: of the method, by the name of the input.
      weights: attributes, by the name of the leaf.
      constants: of the module's file, to which those are added that no text says.
      call_text: what a call of a layer is.
      stream: the attribute that random numbers come from; "" where there is none.
      is_penalized: whether what the call adds to the loss is written, if it adds something.

    Raises:
      UnwritableError: an operation has no rule, or the method would hold more than text.
    """
    traced = graph.traced
    assert traced is not None
    module = Module(
        traced.function, {key: array_of(constant) for key, constant in traced.constants.items()}, constants=constants
    )
    body = traced.function.bodies[0]
    names, inputs = dict[str, str](), list[Value]()
    for index, node in enumerate(body.inputs[: len(graph.inputs)]):
        token = module.token()
        names[token] = list(parameters.values())[index]
        inputs.append(Value(body.nodes[node].results[0], text=token))
        _follow(module, inputs[-1])
    for index, leaf in enumerate(traced.weights, len(graph.inputs)):
        inputs.append(Value(body.nodes[body.inputs[index]].results[0], text=f"self.{weights.get(leaf, 'w')}[...]"))
        _follow(module, inputs[-1])
    inputs += [Value(capture.result, host=module.arrays.get(capture.name)) for capture in traced.function.captured]
    of_layers: list[Value] = []
    module.calls = {
        LAYER_CALL: lambda writer, node: _layer_call(writer, node, graph, call_text, of_layers),
        **dict.fromkeys(DRAWS, lambda writer, node: draw(writer, node, f"self.{stream}" if stream else "")),
    }
    writer = BodyWriter(module, body, inputs)
    results = [writer.array(value) for value in writer.write()]
    own = results.pop() if traced.adds else ""
    penalty = " + ".join([own] * bool(own and is_penalized) + [writer.array(value) for value in of_layers])
    _check(traced, module)
    texts = dict(zip(dict.fromkeys(numbers_in(graph.outputs)), _first(graph, results), strict=True))
    result = argument(graph.outputs, texts)
    lines, (result, penalty) = render_results(writer.statements, (result, penalty), names, [], list(names))
    return Body([*lines[:-1], *(_line(line) for line in lines[-1:])], result, penalty)


def array_of(constant: Constant) -> np.ndarray[Any, Any]:
    """A constant as an array.

    Args:
      constant: of which one element may stand for all.
    """
    kind = np.dtype(constant.dtype).kind
    elements = np.array([_READ.get(kind, float)(text) for text in constant.values], constant.dtype)
    size = int(np.prod(constant.shape))
    return (elements if elements.size == size else np.repeat(elements, size)).reshape(constant.shape)


def _follow(module: Module, value: Value) -> None:
    """Let the float type of a value be that of all that follows the inputs."""
    if value.result.follows and not module.follows:
        module.follows = f"{value.text}.dtype"


def _layer_call(
    writer: BodyWriter, node: Node, graph: Graph, call_text: CallText, of_layers: list[Value]
) -> list[Value]:
    """The results of a call of a layer; what it adds to the loss beside them joins that of others."""
    number = node.attributes["call"]
    assert isinstance(number, int)
    call = graph.calls[number]
    inputs_taken = dict.fromkeys(
        tensor for value in (*call.arguments, *call.keywords.values()) for tensor in numbers_in(value)
    )
    texts = {tensor: writer.variable(node, index) for index, tensor in enumerate(inputs_taken)}
    names = frozenset(match[0] for expression in texts.values() for match in TOKEN.finditer(expression))
    text, comment, adds = call_text(call, texts, names)
    wanted_names = list(node.assigned) if len(node.assigned) == len(node.results) else ["x"] * len(node.results)
    writer.note(comment)
    beside = [_ADDED] * adds
    results = writer.assign(text, [*node.results, *beside], [*wanted_names, *["added"] * adds])
    if adds:
        of_layers.append(results.pop())
    for value in results:
        _follow(writer.module, value)
    return results


def draw(writer: BodyWriter, node: Node, stream: str) -> list[Value]:
    """Numbers from a stream of nnx, in a line of their own: each is drawn once, wherever it is used.

    Args:
      stream: the expression of the stream; "" where there is none.

    Raises:
      UnwritableError: there is none, or what it draws is no float.
    """
    if not stream or (not node.results[0].follows and node.results[0].dtype != "float32"):
        raise UnwritableError(REASONS[node.type])
    call = RuleCall(node, [writer.values[node.inputs[0]]], writer)
    ends = "-2.0, 2.0, " if node.type == "TruncatedNormal" else ""
    wanted_names = list(node.assigned) or [DRAWS[node.type]]
    return writer.assign(f"{stream}.{DRAWS[node.type]}({ends}{call.numbers(0)})", node.results, wanted_names)


def _first(graph: Graph, results: list[str]) -> list[str]:
    """The returned tensors, each once."""
    numbers = numbers_in(graph.outputs)
    return [results[numbers.index(number)] for number in dict.fromkeys(numbers)]


def _check(traced: Traced, module: Module) -> None:
    if module.unwritten:
        raise UnwritableError(module.unwritten[0].description)
    effect = next((operation.type for body in traced.function.bodies for operation in body.effects), "")
    if effect and effect not in LEFT_OUT:
        raise UnwritableError(f"{effect} has an effect, and nothing that is returned needs it")


def _line(text: str) -> Line | str:
    """An assignment of one variable in its parts."""
    tree = ast.parse(text.strip()).body if text.strip() else []
    if len(tree) != 1 or not isinstance(tree[0], ast.Assign) or not isinstance(tree[0].targets[0], ast.Name):
        return text
    end = tree[0].value.end_col_offset or 0
    return Line(tree[0].targets[0].id, text[len(f"{tree[0].targets[0].id} = ") : end], text[end:].strip(" #"))
