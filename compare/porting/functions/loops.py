"""Loops as jax.lax has them: fori_loop and scan where it is known how often they run, while_loop elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.counted_loops import Count, count_steps, source
from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.statements import Line, Variable
from compare.porting.functions.written_bodies import define, function
from compare.porting.functions.written_values import Value, tuple_text
from compare.porting.safe_expressions import UnwritableError
from workloads._function_graph import Body, Node, Place

_WRITES = frozenset({"TensorListSetItem", "TensorListPushBack"})


@dataclass(frozen=True)
class _Loop:
    """One loop.

    Attributes:
      node: of it.
      body: a step, of which what is stacked is an element.
      condition: whether it goes on.
      given: what its variables begin with.
      used: the numbers of those that something reads behind it.
      fixed: of those that never change.
      stacked: of lists that get an element a step, which a scan stacks.
      count: how often it runs, if that is known.
    """

    node: Node
    body: Body
    condition: Body
    given: Sequence[Value]
    used: frozenset[int]
    fixed: frozenset[int]
    stacked: tuple[int, ...]
    count: Count | None


def loop(writer: BodyWriter, index: int, node: Node, inputs: Sequence[Value]) -> list[Value]:
    """What a loop gives.

    Args:
      writer: of the body that it stands in.
      index: its number there.
      node: itself.
      inputs: what its variables begin with.

    Raises:
      UnwritableError: it is not written.
    """
    loop_read = _read(writer, index, node, inputs)
    carried_numbers = _carried_variables(loop_read)
    tokens = {k: Variable(writer.module.token(), _wanted_name(loop_read.body, k)) for k in carried_numbers}
    counter = Variable(writer.module.token(), "i")
    inside = [_inside(loop_read, k, value, tokens, counter) for k, value in enumerate(inputs)]
    body_results, inner = function(writer, loop_read.body, inside)
    texts = [inner.array(body_results[k]) for k in carried_numbers]
    state = [_begins(writer, loop_read, k) for k in carried_numbers]
    values = list(inputs)
    if loop_read.count and (loop_read.stacked or loop_read.count.down):
        items = [inner.array(body_results[k]) for k in loop_read.stacked]
        results = _scan(writer, loop_read, inner, counter, tokens, texts, state, items)
    elif loop_read.count and carried_numbers:
        results = _for(writer, inner, loop_read.count, counter, tokens, texts, state, node)
    elif loop_read.count:
        results = {}
    else:
        results = _while(writer, loop_read, inner, tokens, texts, state, inside)
    for k, value in results.items():
        values[k] = value
    if loop_read.count and loop_read.count.at in loop_read.used:
        values[loop_read.count.at] = Value(node.results[loop_read.count.at], text=_after(loop_read.count))
    # A variable that is handed on keeps the shape of its array.
    results_ = zip(values, node.results, strict=True)
    return [value if result.dtype == "resource" else replace(value, result=result) for value, result in results_]


def _read(writer: BodyWriter, index: int, node: Node, inputs: Sequence[Value]) -> _Loop:
    graph = writer.module.graph
    body, condition = graph.bodies[node.bodies["body"][0]], graph.bodies[node.bodies["cond"][0]]
    constants = {k for k in range(len(inputs)) if source(body, body.outputs[k]) == (body.inputs[k], 0)}
    numbers_read = {place[1] for reader in writer.body.nodes for place in reader.inputs if place[0] == index}
    numbers_read |= {number for place, number in writer.body.outputs if place == index}
    count = count_steps(writer, body, condition, inputs, constants)
    elements = {
        k: place for k in range(len(inputs)) if count and (place := _element(body, condition, k, inputs[k], count))
    }
    outputs = tuple(elements.get(k, place) for k, place in enumerate(body.outputs))
    for k in elements:
        writer.module.written[_list_writer(body, k).type] += 1
    return _Loop(
        node, replace(body, outputs=outputs), condition, inputs, frozenset(numbers_read), frozenset(constants),
        tuple(k for k in sorted(elements) if k in numbers_read), count,
    )  # fmt: skip


def _list_writer(body: Body, k: int) -> Node:
    return body.nodes[source(body, body.outputs[k])[0]]


def _element(body: Body, condition: Body, k: int, value: Value, count: Count) -> Place | None:
    """What a step appends to a list, where all that the loop does with that is to fill it from its beginning."""
    if value.reserved is None or value.reserved.items or value.text:
        return None
    node, own = _list_writer(body, k), (body.inputs[k], 0)
    if node.type not in _WRITES or source(body, node.inputs[0]) != own:
        return None
    read_by_condition = condition.inputs[k] in needed_numbers(condition, [place for place, _ in condition.outputs])
    if read_by_condition or _readers(body, own) != 1 or _readers(body, source(body, body.outputs[k])) != 1:
        return None
    if node.type == "TensorListPushBack":
        return None if count.down else node.inputs[1]
    whole = count.low == "0" and (
        value.reserved.length == count.high
        or (value.reserved.length == "0" and node.attributes.get("resize_if_index_out_of_bounds") and not count.down)
    )
    at_counter = source(body, node.inputs[1]) == (body.inputs[count.at], 0)
    return node.inputs[2] if whole and at_counter else None


def _readers(body: Body, place: Place) -> int:
    """How many nodes and results read a result, those aside that hand it on."""
    every = [read for node in body.nodes if node.type != "Identity" for read in node.inputs]
    return sum(source(body, read) == place for read in (*every, *body.outputs))


def _inside(loop_read: _Loop, k: int, value: Value, tokens: Mapping[int, Variable], counter: Variable) -> Value:
    """What a variable is in a step."""
    if k in tokens:
        return Value(loop_read.node.results[k], text=tokens[k].token)
    if loop_read.count and k == loop_read.count.at:
        return Value(loop_read.node.results[k], text=counter.token)
    return value


def _begins(writer: BodyWriter, loop_read: _Loop, k: int) -> str:
    """What a variable begins with: a list that nothing is written to yet has the shape that a step writes."""
    value = loop_read.given[k]
    if value.reserved is None or value.reserved.items or value.reserved.shape is not None:
        return writer.array(value)
    node = _list_writer(loop_read.body, k)
    if node.type not in _WRITES:
        raise UnwritableError("the shape of the elements of a list is not known where its loop begins")
    shape = _sizes(writer, loop_read, node.inputs[1 if node.type == "TensorListPushBack" else 2])
    if shape is None or node.type == "TensorListPushBack":
        raise UnwritableError("the shape of a list is not known where its loop begins")
    return writer.array(replace(value, reserved=replace(value.reserved, shape=shape)))


def _sizes(writer: BodyWriter, loop_read: _Loop, place: Place) -> tuple[int | str, ...] | None:
    """The sizes of what a step writes; a size that is not fixed is that of a variable that becomes what is written."""
    body = loop_read.body
    shape = body.nodes[place[0]].results[place[1]].shape
    if shape is None:
        return None
    place_written = source(body, place)
    same = [k for k, output in enumerate(body.outputs) if place_written in (source(body, output), (body.inputs[k], 0))]
    texts = [loop_read.given[k].text for k in same if loop_read.given[k].rank == len(shape) and loop_read.given[k].text]
    if None in shape and not texts:
        return None
    return tuple(f"{texts[0]}.shape[{axis}]" if size is None else size for axis, size in enumerate(shape))


def _carried_variables(loop_read: _Loop) -> list[int]:
    """The variables of a loop that it has to carry."""
    body, count = loop_read.body, loop_read.count
    numbers = {place: k for k, place in enumerate(body.inputs)}
    read = needed_numbers(loop_read.condition, [place for place, _ in loop_read.condition.outputs])
    open_ = set(loop_read.used) | (
        set() if count else {k for k, place in enumerate(loop_read.condition.inputs) if place in read}
    )
    selection: set[int] = set()
    seen_variables: set[int] = set()
    while open_:
        k = open_.pop()
        if k in seen_variables or k in loop_read.fixed or (count and k == count.at):
            continue
        seen_variables.add(k)
        if k not in loop_read.stacked:
            selection.add(k)
        open_ |= {numbers[node] for node in needed_numbers(body, [body.outputs[k][0]]) if node in numbers}
    return sorted(selection)


def _scan(
    writer: BodyWriter, loop_read: _Loop, inner: BodyWriter, counter: Variable, tokens: dict[int, Variable],
    texts: Sequence[str], state: Sequence[str], items: Sequence[str],
) -> dict[int, Value]:  # fmt: skip
    count = loop_read.count
    assert count is not None
    ends = count.high if count.low == "0" else f"{count.low}, {count.high}"
    over = f"jnp.arange({ends}, dtype={writer.dtype(loop_read.node.results[count.at])})"
    items_text = _join(items) if items else "None"
    lists = [Variable(writer.module.token(), "items") for _ in loop_read.stacked]
    whole = lists if len(lists) == 1 else [Variable(writer.module.token(), "items")]
    variables = [Variable(writer.module.token(), variable.wanted) for variable in tokens.values()]
    whole_state = variables if len(variables) == 1 else [Variable(writer.module.token(), "state")]
    if not tokens and not count.down:
        name = define(writer, "step", inner, [counter], [items_text])
        writer.statements.append(Line(f"jax.lax.map({name}, {over})", tuple(whole)))
    else:
        parameters = [*tokens.values()] if len(tokens) == 1 else _unpack(writer, inner, tokens)
        name = define(writer, "step", inner, [*parameters, counter], [_join(texts), items_text])
        direction = ", reverse=True" if count.down else ""
        text = f"jax.lax.scan({name}, {_join(state)}, {over}{direction})"
        writer.statements.append(Line(text, (*whole_state, *whole)))
    if len(lists) > 1:
        writer.statements.append(Line(whole[0].token, tuple(lists)))
    if len(variables) > 1:
        writer.statements.append(Line(whole_state[0].token, tuple(variables)))
    results = loop_read.node.results
    return {
        k: Value(results[k], text=variable.token)
        for k, variable in (*zip(loop_read.stacked, lists, strict=True), *zip(tokens, variables, strict=True))
    }


def _join(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else tuple_text(list(texts))


def _for(
    writer: BodyWriter, inner: BodyWriter, count: Count, counter: Variable, tokens: dict[int, Variable],
    texts: Sequence[str], state: Sequence[str], node: Node,
) -> dict[int, Value]:  # fmt: skip
    parameters = [*tokens.values()] if len(tokens) == 1 else _unpack(writer, inner, tokens)
    name = define(writer, "step", inner, [counter, *parameters], texts)
    text = f"jax.lax.fori_loop({count.low}, {count.high}, {name}, {_join(state)})"
    return _assign(writer, text, node, tokens)


def _assign(writer: BodyWriter, text: str, node: Node, tokens: Mapping[int, Variable]) -> dict[int, Value]:
    values = writer.assign(text, [node.results[k] for k in tokens], [variable.wanted for variable in tokens.values()])
    return dict(zip(tokens, values, strict=True))


def _unpack(writer: BodyWriter, inner: BodyWriter, tokens: Mapping[int, Variable]) -> list[Variable]:
    """One parameter that holds all variables of a loop, and the line that takes them from it."""
    whole = Variable(writer.module.token(), "state")
    if tokens:
        inner.statements.insert(0, Line(whole.token, tuple(tokens.values())))
    return [whole]


def _while(
    writer: BodyWriter, loop_read: _Loop, inner: BodyWriter, tokens: dict[int, Variable], texts: Sequence[str],
    state: Sequence[str], inside: Sequence[Value],
) -> dict[int, Value]:  # fmt: skip
    if not tokens:
        raise UnwritableError("nothing in it changes")
    single = len(tokens) == 1
    others = {k: Variable(writer.module.token(), variable.wanted) for k, variable in tokens.items()}
    test_inputs = [replace(value, text=others[k].token) if k in others else value for k, value in enumerate(inside)]
    truth, test = function(writer, loop_read.condition, test_inputs)
    text = [test.array(truth[0])]
    goes_on = define(writer, "goes_on", test, [*others.values()] if single else _unpack(writer, test, others), text)
    step = define(writer, "step", inner, [*tokens.values()] if single else _unpack(writer, inner, tokens), texts)
    return _assign(writer, f"jax.lax.while_loop({goes_on}, {step}, {_join(state)})", loop_read.node, tokens)


def _after(count: Count) -> str:
    """What a counter is behind its loop."""
    if count.down:
        return f"jnp.minimum({count.high} - 1, {count.low} - 1)"
    return f"jnp.maximum({count.low}, {count.high})"


def _wanted_name(body: Body, k: int) -> str:
    """What a variable of a loop is called: as in its body, where the user assigns to it."""
    node = body.nodes[source(body, body.outputs[k])[0]]
    return node.assigned[0] if len(node.assigned) == 1 else "value"
