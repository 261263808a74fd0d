"""Loops as jax.lax has them: fori_loop and scan where it is known how often they run, while_loop elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.counted_loops import Count, counted, source
from compare.porting.functions.needed_nodes import needed
from compare.porting.functions.statements import Line, Variable
from compare.porting.functions.written_bodies import defined, function
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


def loop(writer: BodyWriter, at: int, node: Node, given: Sequence[Value]) -> list[Value]:
    """What a loop gives.

    Args:
      writer: of the body that it stands in.
      at: its number there.
      node: itself.
      given: what its variables begin with.

    Raises:
      UnwritableError: it is not written.
    """
    made = _read(writer, at, node, given)
    kept = _kept(made)
    tokens = {k: Variable(writer.module.token(), _wanted(made.body, k)) for k in kept}
    counter = Variable(writer.module.token(), "i")
    inside = [_inside(made, k, value, tokens, counter) for k, value in enumerate(given)]
    returned, inner = function(writer, made.body, inside)
    texts = [inner.array(returned[k]) for k in kept]
    state = [_begins(writer, made, k) for k in kept]
    values = list(given)
    if made.count and (made.stacked or made.count.down):
        items = [inner.array(returned[k]) for k in made.stacked]
        results = _scanned(writer, made, inner, counter, tokens, texts, state, items)
    elif made.count and kept:
        results = _for(writer, inner, made.count, counter, tokens, texts, state, node)
    elif made.count:
        results = {}
    else:
        results = _while(writer, made, inner, tokens, texts, state, inside)
    for k, value in results.items():
        values[k] = value
    if made.count and made.count.at in made.used:
        values[made.count.at] = Value(node.results[made.count.at], text=_after(made.count))
    # A variable that is handed on keeps the shape of its array.
    results_ = zip(values, node.results, strict=True)
    return [value if result.dtype == "resource" else replace(value, result=result) for value, result in results_]


def _read(writer: BodyWriter, at: int, node: Node, given: Sequence[Value]) -> _Loop:
    graph = writer.module.graph
    body, condition = graph.bodies[node.bodies["body"][0]], graph.bodies[node.bodies["cond"][0]]
    fixed = {k for k in range(len(given)) if source(body, body.outputs[k]) == (body.inputs[k], 0)}
    used = {place[1] for reader in writer.body.nodes for place in reader.inputs if place[0] == at}
    used |= {number for place, number in writer.body.outputs if place == at}
    count = counted(writer, body, condition, given, fixed)
    elements = {
        k: place for k in range(len(given)) if count and (place := _element(body, condition, k, given[k], count))
    }
    returned = tuple(elements.get(k, place) for k, place in enumerate(body.outputs))
    for k in elements:
        writer.module.written[_list_writer(body, k).type] += 1
    return _Loop(
        node, replace(body, outputs=returned), condition, given, frozenset(used), frozenset(fixed),
        tuple(k for k in sorted(elements) if k in used), count,
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
    read_by_condition = condition.inputs[k] in needed(condition, [place for place, _ in condition.outputs])
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


def _inside(made: _Loop, k: int, value: Value, tokens: Mapping[int, Variable], counter: Variable) -> Value:
    """What a variable is in a step."""
    if k in tokens:
        return Value(made.node.results[k], text=tokens[k].token)
    if made.count and k == made.count.at:
        return Value(made.node.results[k], text=counter.token)
    return value


def _begins(writer: BodyWriter, made: _Loop, k: int) -> str:
    """What a variable begins with: a list that nothing is written to yet has the shape that a step writes."""
    value = made.given[k]
    if value.reserved is None or value.reserved.items or value.reserved.shape is not None:
        return writer.array(value)
    node = _list_writer(made.body, k)
    if node.type not in _WRITES:
        raise UnwritableError("the shape of the elements of a list is not known where its loop begins")
    shape = _sizes(writer, made, node.inputs[1 if node.type == "TensorListPushBack" else 2])
    if shape is None or node.type == "TensorListPushBack":
        raise UnwritableError("the shape of a list is not known where its loop begins")
    return writer.array(replace(value, reserved=replace(value.reserved, shape=shape)))


def _sizes(writer: BodyWriter, made: _Loop, place: Place) -> tuple[int | str, ...] | None:
    """The sizes of what a step writes; a size that is not fixed is that of a variable that becomes what is written."""
    body = made.body
    shape = body.nodes[place[0]].results[place[1]].shape
    if shape is None:
        return None
    written = source(body, place)
    same = [k for k, output in enumerate(body.outputs) if written in (source(body, output), (body.inputs[k], 0))]
    texts = [made.given[k].text for k in same if made.given[k].rank == len(shape) and made.given[k].text]
    if None in shape and not texts:
        return None
    return tuple(f"{texts[0]}.shape[{axis}]" if size is None else size for axis, size in enumerate(shape))


def _kept(made: _Loop) -> list[int]:
    """The variables of a loop that it has to carry."""
    body, count = made.body, made.count
    at = {place: k for k, place in enumerate(body.inputs)}
    read = needed(made.condition, [place for place, _ in made.condition.outputs])
    open_ = set(made.used) | (set() if count else {k for k, place in enumerate(made.condition.inputs) if place in read})
    kept: set[int] = set()
    seen: set[int] = set()
    while open_:
        k = open_.pop()
        if k in seen or k in made.fixed or (count and k == count.at):
            continue
        seen.add(k)
        if k not in made.stacked:
            kept.add(k)
        open_ |= {at[node] for node in needed(body, [body.outputs[k][0]]) if node in at}
    return sorted(kept)


def _scanned(
    writer: BodyWriter, made: _Loop, inner: BodyWriter, counter: Variable, tokens: dict[int, Variable],
    texts: Sequence[str], state: Sequence[str], items: Sequence[str],
) -> dict[int, Value]:  # fmt: skip
    count = made.count
    assert count is not None
    ends = count.high if count.low == "0" else f"{count.low}, {count.high}"
    over = f"jnp.arange({ends}, dtype={writer.dtype(made.node.results[count.at])})"
    stacked = _joined(items) if items else "None"
    lists = [Variable(writer.module.token(), "items") for _ in made.stacked]
    whole = lists if len(lists) == 1 else [Variable(writer.module.token(), "items")]
    carried = [Variable(writer.module.token(), variable.wanted) for variable in tokens.values()]
    whole_state = carried if len(carried) == 1 else [Variable(writer.module.token(), "state")]
    if not tokens and not count.down:
        name = defined(writer, "step", inner, [counter], [stacked])
        writer.statements.append(Line(f"jax.lax.map({name}, {over})", tuple(whole)))
    else:
        parameters = [*tokens.values()] if len(tokens) == 1 else _unpacked(writer, inner, tokens)
        name = defined(writer, "step", inner, [*parameters, counter], [_joined(texts), stacked])
        turned = ", reverse=True" if count.down else ""
        text = f"jax.lax.scan({name}, {_joined(state)}, {over}{turned})"
        writer.statements.append(Line(text, (*whole_state, *whole)))
    if len(lists) > 1:
        writer.statements.append(Line(whole[0].token, tuple(lists)))
    if len(carried) > 1:
        writer.statements.append(Line(whole_state[0].token, tuple(carried)))
    results = made.node.results
    return {
        k: Value(results[k], text=variable.token)
        for k, variable in (*zip(made.stacked, lists, strict=True), *zip(tokens, carried, strict=True))
    }


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else tuple_text(list(texts))


def _for(
    writer: BodyWriter, inner: BodyWriter, count: Count, counter: Variable, tokens: dict[int, Variable],
    texts: Sequence[str], state: Sequence[str], node: Node,
) -> dict[int, Value]:  # fmt: skip
    parameters = [*tokens.values()] if len(tokens) == 1 else _unpacked(writer, inner, tokens)
    name = defined(writer, "step", inner, [counter, *parameters], texts)
    text = f"jax.lax.fori_loop({count.low}, {count.high}, {name}, {_joined(state)})"
    return _assigned(writer, text, node, tokens)


def _assigned(writer: BodyWriter, text: str, node: Node, tokens: Mapping[int, Variable]) -> dict[int, Value]:
    made = writer.assign(text, [node.results[k] for k in tokens], [variable.wanted for variable in tokens.values()])
    return dict(zip(tokens, made, strict=True))


def _unpacked(writer: BodyWriter, inner: BodyWriter, tokens: Mapping[int, Variable]) -> list[Variable]:
    """One parameter that holds all variables of a loop, and the line that takes them from it."""
    whole = Variable(writer.module.token(), "state")
    if tokens:
        inner.statements.insert(0, Line(whole.token, tuple(tokens.values())))
    return [whole]


def _while(
    writer: BodyWriter, made: _Loop, inner: BodyWriter, tokens: dict[int, Variable], texts: Sequence[str],
    state: Sequence[str], inside: Sequence[Value],
) -> dict[int, Value]:  # fmt: skip
    if not tokens:
        raise UnwritableError("nothing in it changes")
    single = len(tokens) == 1
    others = {k: Variable(writer.module.token(), variable.wanted) for k, variable in tokens.items()}
    seen = [replace(value, text=others[k].token) if k in others else value for k, value in enumerate(inside)]
    truth, test = function(writer, made.condition, seen)
    text = [test.array(truth[0])]
    goes_on = defined(writer, "goes_on", test, [*others.values()] if single else _unpacked(writer, test, others), text)
    step = defined(writer, "step", inner, [*tokens.values()] if single else _unpacked(writer, inner, tokens), texts)
    return _assigned(writer, f"jax.lax.while_loop({goes_on}, {step}, {_joined(state)})", made.node, tokens)


def _after(count: Count) -> str:
    """What a counter is behind its loop."""
    if count.down:
        return f"jnp.minimum({count.high} - 1, {count.low} - 1)"
    return f"jnp.maximum({count.low}, {count.high})"


def _wanted(body: Body, k: int) -> str:
    """What a variable of a loop is called: as in its body, where the user assigns to it."""
    made = body.nodes[source(body, body.outputs[k])[0]]
    return made.assigned[0] if len(made.assigned) == 1 else "value"
