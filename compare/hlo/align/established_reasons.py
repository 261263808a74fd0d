"""Why a value has no partner: a reason that both programs and their values prove, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from compare.hlo.align._alignment import Match, Reason, ReasonKind, unread_parameters
from compare.hlo.align._problem import Problem
from compare.hlo.align.explanations import explain
from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import COMMUTATIVE

_MOST_NAMED = 4


class Established:
    """The reasons of one side's places. If one reason explains places of both sides, they have equal reasons."""

    def __init__(
        self,
        problem: Problem,
        side: int,
        matches: Iterable[Match],
        closest: Mapping[int, Match],
        parting_keys: Iterable[int],
    ) -> None:
        """Collect the evidence for reasons.

        Args:
          side: 0 for the left program, 1 for the right one.
          closest: by value of this side, what stands in its place on the other.
        """
        self._problem, self._side = problem, side
        self._graph, self._other = problem.forms[side].graph, problem.forms[1 - side].graph
        self._users, self._other_users = self._graph.users, self._other.users
        self._closest, self._parted = closest, frozenset(parting_keys)
        self._partners: dict[int, Match] = {}
        for match in matches:
            self._partners.setdefault(_end(match, side), match)
        self.absorbed = _find_absorbed_keys(self._graph, self._partners.keys())
        self._retyped = _retyped_parameters(problem, side) if problem.paired_by_name else {}

    def of(self, node: Node) -> Reason | None:
        """Why this value of the frontier has no partner, None where no reason is known."""
        if node.id in self._problem.names[self._side]:
            return self._of_parameter(node)
        if node.id in self._parted and self._differs_in_bodies_alone(node):
            return Reason(ReasonKind.BODY, "bodies that differ", "the places within the bodies are listed themselves")
        return explain(node, self._graph) or self._of_type(node) or self._of_formula(node)

    def _of_parameter(self, node: Node) -> Reason:
        if node.id in self._retyped:
            return self._retyped[node.id][1]
        label, other = (self._problem.labels[side] for side in (self._side, 1 - self._side))
        if not self._problem.paired_by_name:
            meaning = "a body takes or carries a value that is paired with none of the other side's"
            return Reason(ReasonKind.PARAMETER, "unpaired state of bodies", meaning)
        if self._problem.names[self._side][node.id] in self._problem.names[1 - self._side].values():
            meaning = "the programs take different numbers of parameters, and one of them does not name its own"
            return Reason(ReasonKind.PARAMETER, "parameters that cannot be paired", meaning)
        return Reason(ReasonKind.PARAMETER, f"parameters of {label} alone", f"{other} does not take {self._alone()}")

    def _alone(self) -> str:
        """The parameters of one name on this side alone that something reads."""
        others = self._problem.names[1 - self._side].values()
        keys_to_skip = {*unread_parameters(self._graph), *self._partners}
        names = self._problem.names[self._side].items()
        alone = sorted(name for key, name in names if key not in keys_to_skip and name not in others)
        more = [f"{len(alone) - _MOST_NAMED} more"] if len(alone) > _MOST_NAMED else []
        return ", ".join([*alone[:_MOST_NAMED], *more])

    def _differs_in_bodies_alone(self, node: Node) -> bool:
        if node.id not in self._closest:
            return False
        other = self._other.nodes[_end(self._closest[node.id], 1 - self._side)]
        return (node.opcode, node.shape, node.attributes) == (other.opcode, other.shape, other.attributes)

    def _of_type(self, node: Node) -> Reason | None:
        """The reason of a parameter, for a constant that is combined with it alone and thus has its type."""
        if node.literal is None or not self._users[node.id]:
            return None
        readers = [self._graph.nodes[key] for key in self._users[node.id]]
        for parameter, (counterpart, reason) in self._retyped.items():
            if all(self._stands_beside(node, reader, parameter, counterpart) for reader in readers):
                return reason
        return None

    def _stands_beside(self, constant: Node, reader: Node, parameter: int, counterpart: int) -> bool:
        """Whether the other side's parameter is combined with the same number by the same operation."""
        if parameter not in reader.operands:
            return False
        others = [self._other.nodes[key] for key in self._other_users[counterpart]]
        # Operands of these are sorted by digests, which depend on the type.
        orders = [other.operands for other in others if other.opcode == reader.opcode]
        orders += [operands[::-1] for operands in orders if reader.opcode in COMMUTATIVE]
        return any(
            len(order) == len(reader.operands)
            and all(
                self._is_same(key, there, constant, parameter, counterpart)
                for key, there in zip(reader.operands, order, strict=True)
            )
            for order in orders
        )

    def _is_same(self, key: int, there: int, constant: Node, parameter: int, counterpart: int) -> bool:
        if key == parameter:
            return there == counterpart
        number, other = constant.literal, self._other.nodes[there].literal
        return key == constant.id and number is not None and other is not None and np.array_equal(number, other)

    def _of_formula(self, node: Node) -> Reason | None:
        """The first matched value that an absorbed value contributes to, where all between is computed otherwise."""
        used_for = self._first_matched(node.id) if node.id in self.absorbed else []
        if not used_for:
            return None
        places = {key: position for position, key in enumerate(self._problem.forms[0].graph.nodes)}
        match = min(used_for, key=lambda candidate: places[candidate.left])
        ends = [form.graph.nodes[key] for form, key in zip(self._problem.forms, (match.left, match.right), strict=True)]
        where = " and ".join(
            f"{end.opcode} {end.name} in {label}{f' at {end.source}' if end.source else ''}"
            for end, label in zip(ends, self._problem.labels, strict=True)
        )
        meaning = f"{where} are the same value, matched by {match.matcher}"
        return Reason(ReasonKind.FORMULA, f"another formula for {ends[0].opcode} {ends[0].name}", meaning)

    def _first_matched(self, key: int) -> list[Match]:
        waiting, seen_keys, matches = [key], {key}, []
        while waiting:
            for user in self._users[waiting.pop()]:
                if user in self._partners:
                    matches.append(self._partners[user])
                elif user not in seen_keys:
                    seen_keys.add(user)
                    waiting.append(user)
        return matches


def _end(match: Match, side: int) -> int:
    return match.right if side else match.left


def _find_absorbed_keys(graph: Graph, partners: Iterable[int]) -> set[int]:
    """Values without a partner of which every path to a result goes through values that have one."""
    matched_keys = set(partners)
    reaching = {key for key in graph.results if key not in matched_keys}
    for node in reversed(list(graph)):
        if node.id in reaching:
            reaching.update(key for key in node.operands if key not in matched_keys)
    return set(graph.nodes) - matched_keys - reaching


def _retyped_parameters(problem: Problem, side: int) -> dict[int, tuple[int, Reason]]:
    """By parameter of one side that has another type or shape on the other: the other's parameter, and the reason.

    Parameters that differ in the same way have one reason.
    """
    here, there = problem.names[side], {name: key for key, name in problem.names[1 - side].items()}
    nodes, others = problem.forms[side].graph.nodes, problem.forms[1 - side].graph.nodes
    by_types: dict[tuple[str, str], list[int]] = {}
    for key, name in here.items():
        if name not in there or nodes[key].shape == others[there[name]].shape:
            continue
        shapes = nodes[key].shape, others[there[name]].shape
        same_dimensions = shapes[0].dimensions == shapes[1].dimensions
        types = tuple(shape.dtype if same_dimensions else str(shape) for shape in shapes)
        by_types.setdefault((types[0], types[1]), []).append(key)
    reasons: dict[int, tuple[int, Reason]] = {}
    for types, keys in by_types.items():
        left, right = types if side == 0 else types[::-1]
        reason = _type_reason(problem.labels, (left, right), sorted(here[key] for key in keys))
        reasons |= {key: (there[here[key]], reason) for key in keys}
    return reasons


def _type_reason(labels: tuple[str, str], types: tuple[str, str], names: list[str]) -> Reason:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    name = f"{names[0]}{more}: {types[0]} in {labels[0]}, {types[1]} in {labels[1]}"
    meaning = "both programs take the parameter, in different types; constants that are combined with it follow"
    return Reason(ReasonKind.PARAMETER, name, meaning)
