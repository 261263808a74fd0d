"""Functions that have a gradient of their own (tf.custom_gradient), as jax.custom_vjp has them."""

from __future__ import annotations

from dataclasses import replace

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.statements import Definition, Variable
from compare.porting.functions.written_values import Value, tuple_text
from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Node, Place

UNSEEN = frozenset({"resource", "variant", "string"})
"""Types that JAX has no arrays of."""


def own_gradient(writer: BodyWriter, index: int, node: Node, values: list[Value]) -> list[Value]:
    """Results that have a gradient of their own: what the function that gives it returns goes to its arguments.

    Args:
      index: number of an IdentityN there.

    Raises:
      UnwritableError: it is not written.
    """
    if index in writer.body.lost:
        raise UnwritableError(f"it has a gradient of its own, which is not written: {writer.body.lost[index]}")
    gradient = next((candidate for candidate in writer.body.gradients if candidate.node == index), None)
    if gradient is None:
        return [replace(value, result=result) for value, result in zip(values, node.results, strict=True)]
    if any(result.dtype in UNSEEN for result in node.results):
        raise UnwritableError("it has a gradient of its own, and reads variables")
    numbers_taken = [k for k, place in enumerate(gradient.returned) if place is not None]
    results_ = [k for k in range(len(node.results)) if k not in numbers_taken and _is_read(writer, index, k)]
    behind = needed_numbers(writer.body, [place[0] for place in gradient.returned if place is not None])
    read = sorted(
        {place for n in behind if _after(writer, n) for place in writer.body.nodes[n].inputs if place in writer.values}
        | {place for place in gradient.returned if place is not None and place in writer.values}
    )
    kept_places = [place for place in read if writer.values[place].host is None]
    outside = [_argument(writer, place) for place in kept_places]
    inner = BodyWriter(writer.module, writer.body, [writer.values[p, 0] for p in writer.body.inputs])
    parameters = [Variable(writer.module.token(), _call(writer, place)) for place in kept_places]
    gradients = [Variable(writer.module.token(), "gradient") for _ in node.results]
    inner.values |= writer.values
    inner.values |= {p: replace(writer.values[p], text=v.token) for p, v in zip(kept_places, parameters, strict=True)}
    inner.write_backwards(gradient, [Value(r, text=v.token) for r, v in zip(node.results, gradients, strict=True)])
    texts = [inner.array(inner.values[place]) for place in gradient.returned if place is not None]
    gradients_used = [gradients[k] for k in results_]
    backward = Variable(writer.module.token(), "backward")
    body = tuple(inner.statements)
    # Gradients of results that nothing reads are zeros.
    if any(
        v.token in "".join(texts) or any(v.token in str(s) for s in body)
        for k, v in enumerate(gradients)
        if k not in results_
    ):
        raise UnwritableError("its gradient reads that of a result which nothing takes")
    writer.statements.append(Definition(backward, (*parameters, *gradients_used), body, tuple_text(texts)))
    arguments = [writer.array(values[k]) for k in numbers_taken]
    of = [writer.array(values[k]) for k in results_]
    arguments_text = ", ".join(tuple_text(expressions) for expressions in (of, arguments, outside))
    text = f"jaxport.ports.own_gradient({backward.token}, {arguments_text})"
    if len(results_) != 1:
        raise UnwritableError("it has a gradient of its own, and several results")
    own_values = writer.assign(f"{text}[0]", [node.results[results_[0]]], [writer.wanted_names(index, node)[0]])
    outputs = list(values)
    outputs[results_[0]] = own_values[0]
    return [replace(value, result=result) for value, result in zip(outputs, node.results, strict=True)]


def _argument(writer: BodyWriter, place: Place) -> str:
    """An argument of a gradient. JAX may have no reverse mode for a loop that computes it."""
    text = writer.name_value(writer.values[place], place)
    behind = (writer.body.nodes[index].type for index in needed_numbers(writer.body, [place[0]]))
    return f"jax.lax.stop_gradient({text})" if any(kind.endswith("While") for kind in behind) else text


def _is_read(writer: BodyWriter, index: int, k: int) -> bool:
    return any((index, k) in node.inputs for node in writer.body.nodes) or (index, k) in writer.body.outputs


def _after(writer: BodyWriter, index: int) -> bool:
    return (index, 0) not in writer.values


def _call(writer: BodyWriter, place: Place) -> str:
    node = writer.body.nodes[place[0]]
    return writer.wanted_names(place[0], node)[place[1]] if node.type != "Placeholder" else node.name
