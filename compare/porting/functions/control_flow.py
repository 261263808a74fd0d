"""Branches, loops, calls and gradients of their own, as jax.lax and jax.custom_vjp have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.needed_nodes import needed
from compare.porting.functions.own_gradients import UNSEEN, own_gradient
from compare.porting.functions.statements import Definition, Line, Variable
from compare.porting.functions.written_module import LEFT_OUT
from compare.porting.functions.written_values import Value, tuple_text
from compare.porting.safe_expressions import UnwritableError
from workloads._function_graph import Body, Node, Place

_COMPARED = frozenset({"Less"})


def results(writer: BodyWriter, at: int, node: Node, values: list[Value]) -> list[Value]:
    """What a node with bodies gives.

    Args:
      writer: of the body that it stands in.
      at: its number there.
      node: itself.
      values: that it takes.

    Raises:
      UnwritableError: it is not written.
    """
    if node.type == "IdentityN":
        return own_gradient(writer, at, node, values)
    if any(each.dtype in UNSEEN for each in node.results):
        raise UnwritableError("it holds lists or state: write it as jax.lax.scan")
    graph = writer.module.graph
    if not node.bodies:
        raise UnwritableError("what it calls cannot be read")
    for number in (each for numbers in node.bodies.values() for each in numbers):
        effect = next((each.type for each in graph.bodies[number].effects if each.type not in LEFT_OUT), "")
        if effect:
            raise UnwritableError(f"it has an effect in it, {effect}")
    # Each is a variable, since its bodies may read it several times.
    for place in node.inputs:
        if writer.values[place].host is None and writer.values[place].text:
            writer.named(writer.values[place], place)
    given = [writer.values[place] for place in node.inputs]
    if node.type.endswith("PartitionedCall"):
        return _inner(writer, node.bodies["f"][0], given)
    if node.type.endswith("If"):
        return _branches(writer, at, node, given)
    return _loop(writer, at, node, given)


def _inner(writer: BodyWriter, number: int, given: Sequence[Value]) -> list[Value]:
    """The statements of a function, in the place of its call."""
    inner = BodyWriter(writer.module, writer.module.graph.bodies[number], given)
    found = inner.write()
    writer.statements += inner.statements
    return found


def _function(writer: BodyWriter, number: int, given: Sequence[Value]) -> tuple[Sequence[Value], BodyWriter]:
    """What a body returns, and its writer."""
    inner = BodyWriter(writer.module, writer.module.graph.bodies[number], given)
    return inner.write(), inner


def _defined(
    writer: BodyWriter, wanted: str, inner: BodyWriter, parameters: Sequence[Variable], returned: Sequence[str]
) -> str:
    name = Variable(writer.module.token(), wanted)
    result = returned[0] if len(returned) == 1 else tuple_text(list(returned))
    writer.statements.append(Definition(name, tuple(parameters), tuple(inner.statements), result))
    return name.token


def _branches(writer: BodyWriter, at: int, node: Node, given: Sequence[Value]) -> list[Value]:
    names = []
    for attribute, wanted in (("then_branch", "then"), ("else_branch", "otherwise")):
        returned, inner = _function(writer, node.bodies[attribute][0], given[1:])
        texts = [inner.array(each) for each in returned]
        names.append(_defined(writer, wanted, inner, (), texts))
    text = f"jax.lax.cond({writer.array(given[0])}, {names[0]}, {names[1]})"
    return writer.assign(text, node.results, writer.wanted(at, node))


@dataclass(frozen=True)
class _Count:
    """A loop of which Python knows how often it runs, or an array tells it.

    Attributes:
      at: the variable of the loop that counts.
      end: expression of the first number that it does not take.
    """

    at: int
    end: str


def _loop(writer: BodyWriter, at: int, node: Node, given: Sequence[Value]) -> list[Value]:
    graph = writer.module.graph
    body, condition = graph.bodies[node.bodies["body"][0]], graph.bodies[node.bodies["cond"][0]]
    fixed = {k for k in range(len(given)) if _source(body, body.outputs[k]) == (body.inputs[k], 0)}
    used = {place[1] for each in writer.body.nodes for place in each.inputs if place[0] == at}
    used |= {number for place, number in writer.body.outputs if place == at}
    count = _counted(writer, body, condition, given, fixed)
    kept = _kept(body, condition, used, fixed, count)
    tokens = {k: Variable(writer.module.token(), _wanted(writer, at, node, body, k)) for k in kept}
    counter = Variable(writer.module.token(), "i") if count else None
    inside = [
        Value(node.results[k], text=tokens[k].token) if k in tokens
        else Value(node.results[k], text=counter.token) if count and counter and k == count.at
        else each
        for k, each in enumerate(given)
    ]  # fmt: skip
    returned, inner = _function(writer, node.bodies["body"][0], inside)
    texts = [inner.array(returned[k]) for k in kept]
    state = [writer.array(given[k]) for k in kept]
    if count and counter:
        found = _for(writer, inner, count, counter, tokens, texts, state, given)
    else:
        found = _while(writer, node, inner, tokens, texts, state, inside)
    values = list(given)
    if kept:
        made = writer.assign(found, [node.results[k] for k in kept], [tokens[k].wanted for k in kept])
        for k, value in zip(kept, made, strict=True):
            values[k] = value
    if count and count.at in used:
        start = writer.array(given[count.at])
        values[count.at] = Value(node.results[count.at], text=f"jnp.maximum({start}, {count.end})")
    return [replace(each, result=result) for each, result in zip(values, node.results, strict=True)]


def _for(
    writer: BodyWriter, inner: BodyWriter, count: _Count, counter: Variable, tokens: dict[int, Variable],
    texts: Sequence[str], state: Sequence[str], given: Sequence[Value],
) -> str:  # fmt: skip
    single = len(tokens) == 1
    parameters = [counter, *tokens.values()] if single else [counter, *_unpacked(writer, inner, tokens)]
    name = _defined(writer, "step", inner, parameters, texts)
    start = _number(writer, given[count.at])
    return f"jax.lax.fori_loop({start}, {count.end}, {name}, {state[0] if single else tuple_text(list(state))})"


def _unpacked(writer: BodyWriter, inner: BodyWriter, tokens: dict[int, Variable]) -> list[Variable]:
    """One parameter that holds all variables of a loop, and the line that takes them from it."""
    whole = Variable(writer.module.token(), "state")
    inner.statements.insert(0, Line(whole.token, tuple(tokens.values())))
    return [whole]


def _while(
    writer: BodyWriter, node: Node, inner: BodyWriter, tokens: dict[int, Variable], texts: Sequence[str],
    state: Sequence[str], inside: Sequence[Value],
) -> str:  # fmt: skip
    if not tokens:
        raise UnwritableError("nothing in it changes")
    single = len(tokens) == 1
    others = {k: Variable(writer.module.token(), each.wanted) for k, each in tokens.items()}
    seen = [replace(each, text=others[k].token) if k in others else each for k, each in enumerate(inside)]
    truth, test = _function(writer, node.bodies["cond"][0], seen)
    text = [test.array(truth[0])]
    goes_on = _defined(writer, "goes_on", test, [*others.values()] if single else _unpacked(writer, test, others), text)
    step = _defined(writer, "step", inner, [*tokens.values()] if single else _unpacked(writer, inner, tokens), texts)
    return f"jax.lax.while_loop({goes_on}, {step}, {state[0] if single else tuple_text(list(state))})"


def _kept(body: Body, condition: Body, used: set[int], fixed: set[int], count: _Count | None) -> list[int]:
    """The variables of a loop that it has to carry."""
    number = {place: k for k, place in enumerate(body.inputs)}
    read = needed(condition, [place for place, _ in condition.outputs])
    open_ = set(used) | (set() if count else {k for k, place in enumerate(condition.inputs) if place in read})
    found: set[int] = set()
    while open_:
        k = open_.pop()
        if k in found or k in fixed or (count and k == count.at):
            continue
        found.add(k)
        open_ |= {number[at] for at in needed(body, [body.outputs[k][0]]) if at in number}
    return sorted(found)


def _counted(writer: BodyWriter, body: Body, condition: Body, given: Sequence[Value], fixed: set[int]) -> _Count | None:
    """The counter of a loop, where all that its condition says is that one by one it comes to an end."""
    ends: dict[int, Value] = {}
    for compared in _conjunction(condition, condition.outputs[0]):
        node = condition.nodes[compared[0]]
        if node.type not in _COMPARED:
            return None
        counter, end = (_input_of(condition, place) for place in node.inputs)
        if counter is None or not _steps_by_one(writer, body, counter, given):
            return None
        limit = _limit(writer, condition, node.inputs[1], end, given, fixed)
        if limit is None:
            return None
        ends[counter] = limit
    texts = {_number(writer, given[k]) + ".." + _number(writer, limit) for k, limit in ends.items()}
    if not ends or len(texts) != 1:
        return None
    # The loop's own counter says the same as the user's.
    chosen = max(ends)
    return _Count(chosen, _number(writer, ends[chosen]))


def _conjunction(body: Body, place: Place) -> list[Place]:
    found = _source(body, place)
    node = body.nodes[found[0]]
    if node.type == "LogicalAnd":
        return [each for given in node.inputs for each in _conjunction(body, given)]
    return [found]


def _steps_by_one(writer: BodyWriter, body: Body, k: int, given: Sequence[Value]) -> bool:
    node = body.nodes[_source(body, body.outputs[k])[0]]
    if node.type not in ("Add", "AddV2"):
        return False
    places = [_source(body, each) for each in node.inputs]
    own = (body.inputs[k], 0)
    if own not in places:
        return False
    other = places[1] if places[0] == own else places[0]
    step = body.nodes[other[0]]
    if step.constant:
        return writer.module.arrays[step.constant] == 1
    outside = _input_of(body, other)
    value = None if outside is None else given[outside]
    return value is not None and value.is_known and value.host is not None and value.host.size == 1 and value.host == 1


def _limit(
    writer: BodyWriter, condition: Body, place: Place, outside: int | None, given: Sequence[Value], fixed: set[int]
) -> Value | None:
    node = condition.nodes[_source(condition, place)[0]]
    if node.constant:
        return Value(node.results[0], host=writer.module.arrays[node.constant])
    return given[outside] if outside is not None and outside in fixed else None


def _input_of(body: Body, place: Place) -> int | None:
    at, _ = _source(body, place)
    return body.inputs.index(at) if at in body.inputs else None


def _source(body: Body, place: Place) -> Place:
    """What an Identity stands for."""
    while body.nodes[place[0]].type == "Identity":
        place = body.nodes[place[0]].inputs[0]
    return place


def _number(writer: BodyWriter, value: Value) -> str:
    if value.host is not None and value.host.size == 1:
        return str(value.host.reshape(())[()])
    return writer.array(value)


def _wanted(writer: BodyWriter, at: int, node: Node, body: Body, k: int) -> str:
    """What a variable of a loop is called: as in its body, where the user assigns to it."""
    made = body.nodes[_source(body, body.outputs[k])[0]]
    return made.assigned[0] if len(made.assigned) == 1 else "value"
