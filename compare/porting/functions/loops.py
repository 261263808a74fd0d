"""Loops as jax.lax has them: fori_loop and scan where it is known how often they run, while_loop elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.counted_loops import Count, source
from compare.porting.functions.read_loops import WRITES, Loop, list_writer, read_loop
from compare.porting.functions.statements import Definition, Line, Variable, read
from compare.porting.functions.written_bodies import define, function
from compare.porting.functions.written_values import Value, tuple_text
from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Body, Node, Place


@dataclass(frozen=True)
class _Step:
    """One step of a loop, as its function is written.

    Attributes:
      inner: writer of its statements.
      counter: the variable that counts.
      rows: the elements that it reads of lists, by the numbers of these.
      state: what it takes from the step before, by number.
      next_texts: expressions of what it hands on.
      items: of what it appends to lists.
    """

    inner: BodyWriter
    counter: Variable
    rows: Mapping[int, Variable]
    state: Mapping[int, Variable]
    next_texts: Sequence[str]
    items: Sequence[str]


def loop(writer: BodyWriter, index: int, node: Node, inputs: Sequence[Value]) -> list[Value]:
    """The results of a loop.

    Raises:
      UnwritableError: it is not written.
    """
    loop_read = read_loop(writer, index, node, inputs)
    numbers = loop_read.state_numbers
    carries = {k: Variable(writer.module.token(), _wanted_name(loop_read.body, k)) for k in numbers}
    rows = {k: Variable(writer.module.token(), "item") for k in loop_read.rows}
    counter = Variable(writer.module.token(), "i")
    inside = [_inside(loop_read, k, value, carries | rows, counter) for k, value in enumerate(inputs)]
    body_results, inner = function(writer, loop_read.body, inside)
    texts = [inner.array(body_results[k]) for k in numbers]
    step = _Step(inner, counter, rows, carries, texts, [inner.array(body_results[k]) for k in loop_read.stacked])
    state = [_begins(writer, loop_read, k) for k in numbers]
    count = loop_read.count
    if count and (loop_read.stacked or (carries and (rows or count.down or count.delta != 1))):
        results = _scan(writer, loop_read, step, state)
    elif count:
        results = _for(writer, count, step, state, node) if carries else {}
    else:
        results = _while(writer, loop_read, inner, carries, texts, state, inside)
    values = [results.get(k, value) for k, value in enumerate(inputs)]
    for k in loop_read.rewrites.keys() & loop_read.used:
        place, j = loop_read.rewrites[k]
        reservation = inputs[k].reserved
        if j not in results or reservation is None:
            raise UnwritableError("what each step writes to one place of a list is not carried")
        values[k] = replace(inputs[k], reserved=replace(reservation, items=((str(place), results[j].text),)))
    if count and count.at in loop_read.used:
        values[count.at] = Value(node.results[count.at], text=_after(count))
    # A variable that is handed on keeps the shape of its array.
    results_ = zip(values, node.results, strict=True)
    return [value if result.dtype == "resource" else replace(value, result=result) for value, result in results_]


def _inside(loop_read: Loop, k: int, value: Value, variables: Mapping[int, Variable], counter: Variable) -> Value:
    """The value of a variable within a step."""
    if k in loop_read.rows:
        return replace(value, row=variables[k].token)
    if k in variables:
        return Value(loop_read.node.results[k], text=variables[k].token)
    if loop_read.count and k == loop_read.count.at:
        return Value(loop_read.node.results[k], text=counter.token)
    return value


def _begins(writer: BodyWriter, loop_read: Loop, k: int) -> str:
    """The initial value of a variable: an empty list has the shape that a step writes."""
    value = loop_read.initial_values[k]
    if value.reserved is None or value.reserved.items or value.reserved.shape is not None:
        return writer.array(value)
    node = list_writer(loop_read.body, k)
    if node.type not in WRITES:
        raise UnwritableError("the shape of the elements of a list is not known where its loop begins")
    shape = _sizes(writer, loop_read, node.inputs[1 if node.type == "TensorListPushBack" else 2])
    if shape is None or node.type == "TensorListPushBack":
        raise UnwritableError("the shape of a list is not known where its loop begins")
    return writer.array(replace(value, reserved=replace(value.reserved, shape=shape)))


def _sizes(writer: BodyWriter, loop_read: Loop, place: Place) -> tuple[int | str, ...] | None:
    """The sizes of what a step writes; a size that is not fixed is that of a variable that becomes what is written."""
    body = loop_read.body
    shape = body.nodes[place[0]].results[place[1]].shape
    if shape is None:
        return None
    place_written = source(body, place)
    same = [k for k, output in enumerate(body.outputs) if place_written in (source(body, output), (body.inputs[k], 0))]
    values = [loop_read.initial_values[k] for k in same]
    texts = [value.text for value in values if value.rank == len(shape) and value.text]
    if None in shape and not texts:
        return None
    return tuple(f"{texts[0]}.shape[{axis}]" if size is None else size for axis, size in enumerate(shape))


def _scan(writer: BodyWriter, loop_read: Loop, step: _Step, state: Sequence[str]) -> dict[int, Value]:
    count, results = loop_read.count, loop_read.node.results
    assert count is not None
    items = _join(step.items) if step.items else "None"
    over, elements = _sequences(writer, loop_read, step)
    parameter = _parameter(writer, step.inner, "inputs", elements)
    lists = {k: Variable(writer.module.token(), "items") for k in loop_read.stacked}
    carries = {k: Variable(writer.module.token(), variable.wanted) for k, variable in step.state.items()}
    if not carries and not count.down:
        name = define(writer, "step", step.inner, [parameter], [items])
        writer.statements.append(Line(f"jax.lax.map({name}, {over})", tuple(lists.values())))
    else:
        whole_state = _parameter(writer, step.inner, "state", step.state)
        name = define(writer, "step", step.inner, [whole_state, parameter], [_join(step.next_texts), items])
        direction = ", reverse=True" if count.down else ""
        text = f"jax.lax.scan({name}, {_join(state)}, {over}{direction})"
        _take_results(writer, text, carries if carries.keys() & loop_read.read_behind else {}, lists)
    return {k: Value(results[k], text=variable.token) for k, variable in (lists | carries).items()}


def _sequences(writer: BodyWriter, loop_read: Loop, step: _Step) -> tuple[str, dict[int, Variable]]:
    """The sequences of a scan, and their elements in a step: the counter only if a step computes with it."""
    count, over, elements = loop_read.count, list[str](), dict[int, Variable]()
    assert count is not None
    whole = Definition(step.counter, (), tuple(step.inner.statements), " ".join([*step.next_texts, *step.items]))
    if not step.rows or step.counter.token in read(whole):
        ends = count.high if count.low == "0" and count.delta == 1 else f"{count.low}, {count.high}"
        ends += "" if count.delta == 1 else f", {count.delta}"
        over.append(f"jnp.arange({ends}, dtype={writer.dtype(loop_read.node.results[count.at])})")
        elements[count.at] = step.counter
    over += [writer.array(loop_read.initial_values[k]) for k in step.rows]
    return _join(over), {**elements, **step.rows}


def _take_results(
    writer: BodyWriter, text: str, carries: Mapping[int, Variable], lists: Mapping[int, Variable]
) -> None:
    """The lines that assign what a scan gives: what it carries last, and the lists that it stacked."""
    if not (carries and lists):
        variables, place = (carries, 0) if carries else (lists, 1)
        writer.statements.append(Line(f"{text}[{place}]", tuple(variables.values())))
        return
    parts = [(carries, "state"), (lists, "items")]
    whole = [
        next(iter(variables.values())) if len(variables) == 1 else Variable(writer.module.token(), wanted_name)
        for variables, wanted_name in parts
    ]
    writer.statements.append(Line(text, tuple(whole)))
    for (variables, _), one in zip(parts, whole, strict=True):
        if len(variables) > 1:
            writer.statements.append(Line(one.token, tuple(variables.values())))


def _join(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else tuple_text(list(texts))


def _parameter(writer: BodyWriter, inner: BodyWriter, wanted_name: str, variables: Mapping[int, Variable]) -> Variable:
    """One parameter that holds all of these, and the line that takes them from it; the only one itself."""
    if len(variables) == 1:
        return next(iter(variables.values()))
    whole = Variable(writer.module.token(), wanted_name)
    if variables:
        inner.statements.insert(0, Line(whole.token, tuple(variables.values())))
    return whole


def _for(writer: BodyWriter, count: Count, step: _Step, state: Sequence[str], node: Node) -> dict[int, Value]:
    whole = _parameter(writer, step.inner, "state", step.state)
    name = define(writer, "step", step.inner, [step.counter, whole], [_join(step.next_texts)])
    text = f"jax.lax.fori_loop({count.low}, {count.high}, {name}, {_join(state)})"
    return _assign(writer, text, node, step.state)


def _assign(writer: BodyWriter, text: str, node: Node, tokens: Mapping[int, Variable]) -> dict[int, Value]:
    values = writer.assign(text, [node.results[k] for k in tokens], [variable.wanted for variable in tokens.values()])
    return dict(zip(tokens, values, strict=True))


def _while(
    writer: BodyWriter, loop_read: Loop, inner: BodyWriter, tokens: dict[int, Variable], texts: Sequence[str],
    state: Sequence[str], inside: Sequence[Value],
) -> dict[int, Value]:  # fmt: skip
    if not tokens:
        raise UnwritableError("nothing in it changes")
    others = {k: Variable(writer.module.token(), variable.wanted) for k, variable in tokens.items()}
    test_inputs = [replace(value, text=others[k].token) if k in others else value for k, value in enumerate(inside)]
    truth, test = function(writer, loop_read.condition, test_inputs)
    text = [test.array(truth[0])]
    goes_on = define(writer, "goes_on", test, [_parameter(writer, test, "state", others)], text)
    step = define(writer, "step", inner, [_parameter(writer, inner, "state", tokens)], texts)
    return _assign(writer, f"jax.lax.while_loop({goes_on}, {step}, {_join(state)})", loop_read.node, tokens)


def _after(count: Count) -> str:
    """The value of a counter after its loop."""
    if count.down:
        return f"jnp.minimum({count.high} - 1, {count.low} - 1)"
    if count.delta != 1:
        return f"jnp.maximum({count.low}, {count.low} - ({count.low} - {count.high}) // {count.delta} * {count.delta})"
    return f"jnp.maximum({count.low}, {count.high})"


def _wanted_name(body: Body, k: int) -> str:
    """The name of a loop's variable: as in its body, if the user assigns to it."""
    node = body.nodes[source(body, body.outputs[k])[0]]
    return node.assigned[0] if len(node.assigned) == 1 else "value"
