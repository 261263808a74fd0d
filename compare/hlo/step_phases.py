"""The phases of a training step: which kernels are forward, backward or optimizer, by names and by who reads what.

A name tells what the frontend knew: that an operation was differentiated, is part of a gradient, or stands in a scope
that an optimizer opened. The values decide where no name does: the forward pass is read by the gradient, and what
reads the gradient without being part of it is the update. What both read and is read by it tells nothing, and neither
does an operation that has nothing to do with either, unless it is there for the update alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.hlo import compiled, inline, op_names, read_module
from compare.hlo.graph import CARRIERS, Graph, Node
from compare.record.vocabulary import BACKWARD, BOTH, FORWARD, OPTIMIZER

_GIVEN = frozenset({"parameter", "constant", "partition-id", "replica-id"})
"""Values that read nothing: a fusion shares constants of all phases."""


def phases(module: bytes) -> dict[str, str]:
    """By name of an instruction that runs code, its phase; nothing of those whose phase is unknown.

    Empty where no operation of the module is part of a gradient: there is no training step to take apart then.

    Raises:
      UnreadableProgram: the bytes are no HLO.
    """
    nodes = [node for graph in _computations(read_module.read(module)) for node in graph]
    phase_by_name = {node.name: op_names.phase(node.op_name) for node in nodes if node.opcode not in _GIVEN}
    if BACKWARD not in phase_by_name.values():
        return {}
    fusions = {node.name for node in nodes if node.opcode == "fusion"}
    message, places = inline.inline(module)
    by_kernel: dict[str, list[_Member]] = {}
    for graph in _computations(read_module.read_message(message)):
        for member in _assign_phases([_member(node, places, phase_by_name) for node in graph], graph):
            kernel = next((call for call in places.get(member.node.id, ()) if call in fusions), member.name)
            by_kernel.setdefault(kernel, []).append(member)
    return {name: phase for name, members in by_kernel.items() if (phase := _join(members))}


@dataclass(frozen=True)
class _Member:
    """An instruction that stood in a kernel, under the name that it had there, and its phase as far as it is known."""

    node: Node
    name: str
    phase: str


def _member(node: Node, places: Mapping[int, tuple[str, ...]], phase_by_name: Mapping[str, str]) -> _Member:
    """The phase that names give to an instruction; a loop or a branch has those of its instructions."""
    name = node.name.removeprefix("".join(f"{call}/" for call in places.get(node.id, ())))
    inner = {op_names.phase(inner_node.op_name) for region in node.regions for inner_node in region.walk()}
    return _Member(
        node, name, _of_several({phase_by_name.get(name, ""), *inner}) if inner else phase_by_name.get(name, "")
    )


def _computations(entry: Graph) -> list[Graph]:
    return list(compiled.computations(entry, set()))


def _assign_phases(members: Sequence[_Member], graph: Graph) -> list[_Member]:
    """The instructions of a computation with their phases."""
    users, operands = graph.users, {node.id: node.operands for node in graph}
    backward = [member.node.id for member in members if member.phase in (BACKWARD, BOTH)]
    after, before = _reach(backward, users), _reach(backward, operands)
    phase_of = {member.node.id: member.phase or _by_values(member.node, after, before) for member in members}
    forward = [key for key, phase in phase_of.items() if phase == FORWARD]
    # The loss itself, and figures of it: the gradient is taken of them, and does not read them.
    for key in _reach(forward, users) - after - before:
        phase_of[key] = phase_of[key] or FORWARD
    for member in reversed(members):
        node = member.node
        read_by = {phase_of[user] for user in users[node.id] if graph.nodes[user].opcode != "tuple"}
        # What only the update reads is of the update, such as a count of steps; and what XLA added, such as a copy, has
        # no name: it is of those that it was added for.
        if not phase_of[node.id] and node.opcode not in _GIVEN and (read_by == {OPTIMIZER} or not node.op_name):
            phase_of[node.id] = read_by.pop() if len(read_by) == 1 else ""
    return [replace(member, phase=phase_of[member.node.id]) for member in members]


def _by_values(node: Node, after: set[int], before: set[int]) -> str:
    if node.opcode in _GIVEN or (node.id in after) == (node.id in before):
        return ""
    return OPTIMIZER if node.id in after else FORWARD


def _reach(start: Iterable[int], steps: Mapping[int, Iterable[int]]) -> set[int]:
    """The values that are reached by one step or more."""
    keys: set[int] = set()
    waiting = [step for key in start for step in steps[key]]
    while waiting:
        key = waiting.pop()
        if key not in keys:
            keys.add(key)
            waiting.extend(steps[key])
    return keys


def _join(members: Sequence[_Member]) -> str:
    """The phase of a kernel, by what it computes, or else by the values that it hands on."""
    own_members = [member for member in members if member.node.opcode not in _GIVEN]
    computing = {member.phase for member in own_members if member.node.opcode not in CARRIERS}
    return _of_several(computing) or _of_several({member.phase for member in own_members})


def _of_several(phase_set: set[str]) -> str:
    """The phase of an instruction with several: a repeated computation belongs to the later phase."""
    if BOTH in phase_set or {BACKWARD, OPTIMIZER} <= phase_set:
        return BOTH
    return next((phase for phase in (BACKWARD, OPTIMIZER, FORWARD) if phase in phase_set), "")


def of_operations(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """By node of a TensorFlow graph that a tape went back through, its phase; nothing of those whose phase is unknown.

    Without the graph only names tell it: the gradient of an operation NAME is computed under gradient_tape/NAME.
    """
    all_names = list(names)
    gradients = [name.partition("gradient_tape/")[2] for name in all_names if "gradient_tape/" in name]
    scopes = {gradient[:end] for gradient in gradients for end, letter in enumerate(gradient) if letter == "/"}
    if not gradients:
        return
    for name in all_names:
        forward = name in scopes or name.rpartition("/")[0] in scopes
        phase = op_names.phase(f"{name}/") or (FORWARD if forward else "")
        if phase:
            yield name, phase
