"""The updates of weights by the optimizers of a training step, and what it makes of their gradients before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.statements import TOKEN, Definition, Line, Statement, Variable, inner_tokens
from compare.porting.functions.written_values import Value
from compare.porting.safe_expressions import UnwritableError
from compare.porting.taped_functions import Tape, TapedFunctions, number_of
from workloads.protocol.function_graph import Node, Place

_OF_ELEMENTS = frozenset({
    "Mul", "AddV2", "Add", "Sub", "RealDiv", "Neg", "Abs", "Sign", "Square", "Sqrt", "Rsqrt", "Maximum", "Minimum",
    "ClipByValue", "Tanh", "Exp", "Pow", "Cast", "Identity", "SelectV2", "IsFinite", "Greater", "Less", "StopGradient",
    "ZerosLike", "OnesLike", "Const",
})  # fmt: skip
"""Operations that compute each element by itself, in whatever order a module has them."""

_SUMS = ("AddV2", "Add", "AddN")

_ONE = "gradient"
"""The variable of one gradient among those of all weights."""


class GradientUpdates(TapedFunctions):
    """Writes how a step transforms gradients, and how its optimizers apply them."""

    def _update(self, index: int, node: Node) -> list[Value]:
        """The weights behind an update by an optimizer."""
        update = self._step.updates[number_of(node)]
        tape, order = self._gradients_of(node, update.keys)
        self._gather_all(node, tape)
        texts, bodies = list[str](), list[tuple[Statement, ...]]()
        for place, own in zip(node.inputs, order, strict=True):
            text, body = self._of_one(place, (tape.node, own))
            texts.append(text)
            bodies.append(body)
        normal = {_normal(text, body) for text, body in zip(texts, bodies, strict=True)}
        if len(normal) != 1:
            raise UnwritableError("it does something else with each gradient: give all of them the same treatment")
        tree = self._transform_all(tape, texts[0], bodies[0])
        self._keep_before_change(update.keys)
        self.statements.append(Line(f"{self._around.optimizers[update.optimizer]}.update(model, {tree})"))
        return [self._weight(key, result) for key, result in zip(update.keys, node.results, strict=True)]

    def _transform_all(self, tape: Tape, text: str, body: tuple[Statement, ...]) -> str:
        """The expression of the gradients as an optimizer has them."""
        if text == _ONE and not body:
            return tape.tree
        if self._around.looked_up:
            raise UnwritableError(
                f"{self._around.looked_up} gives rows as gradients, which it changes before it adds up those of a token"
            )
        if not body:
            function = f"lambda {_ONE}: {text}"
        else:
            name = Variable(self.module.token(), "transform")
            self.statements.append(Definition(name, (), body, text, f"{_ONE}: jax.Array"))
            function = name.token
        result = Variable(self.module.token(), "gradients")
        self.statements.append(Line(f"jax.tree.map({function}, {tape.tree})", (result,)))
        return result.token

    def _gradients_of(self, node: Node, keys: Sequence[str]) -> tuple[Tape, list[int]]:
        """The gradients that an update is of, and the number of that of each weight among them."""
        sources = {source for place in node.inputs for source in self._sources(place)}
        if len({source[0] for source in sources}) != 1:
            raise UnwritableError("it gives an optimizer what is no gradient, or the sum of several gradients")
        (index,) = {source[0] for source in sources}
        tape = next(tape for tape in self._tapes if tape.node == index)
        of_tape = self._step.gradients[tape.number].keys
        if sorted(of_tape) != sorted(keys):
            raise UnwritableError("it gives an optimizer the gradients of other weights than it takes them of")
        return tape, [of_tape.index(key) for key in keys]

    def _sources(self, place: Place) -> set[Place]:
        """The gradients of weights that lead to a place."""
        if self._is_gradient(place):
            return {place}
        if place[0] not in self._behind:
            return set()
        return {source for inner in self.body.nodes[place[0]].inputs for source in self._sources(inner)}

    def _gather_all(self, node: Node, tape: Tape) -> None:
        """Write the numbers that are computed of all gradients, as their norm is."""
        for index in sorted(needed_numbers(self.body, [place for place, _ in node.inputs])):
            inner = self.body.nodes[index]
            is_shared = index in self._behind and len(self._sources((index, 0))) > 1
            if not is_shared or index in self._written_nodes or not _is_scalar(inner):
                continue
            parts = self._parts(index)
            if all(self._sources(place) == {(tape.node, n)} for n, place in enumerate(parts)) and parts:
                texts = {_normal(*self._of_one(place, (tape.node, n))) for n, place in enumerate(parts)}
                text, body = self._of_one(parts[0], (tape.node, 0))
                if len(texts) != 1 or body or len(parts) != len(self._step.gradients[tape.number].keys):
                    raise UnwritableError("it sums up something else of each gradient")
                items = f"[{text} for {_ONE} in jax.tree.leaves({tape.tree})]"
                whole = f"jnp.stack({items})" if inner.type == "Pack" else f"sum({items[1:-1]})"
                (self.values[index, 0],) = self.assign(whole, inner.results, self.wanted_names(index, inner))
            elif all(place in self.values for place in inner.inputs):
                self._write(index)
            else:
                continue
            self._written_nodes.add(index)

    def _parts(self, index: int) -> list[Place]:
        """The operands of a sum or stack, a place for each gradient."""
        node = self.body.nodes[index]
        if node.type not in (*_SUMS, "Pack"):
            return []
        parts: list[Place] = []
        for place in node.inputs:
            inner = self._parts(place[0]) if node.type != "Pack" and len(self._sources(place)) > 1 else []
            if not self._sources(place) and not self._is_zero(place):
                return []
            parts += inner or ([place] if self._sources(place) else [])
        return parts

    def _is_zero(self, place: Place) -> bool:
        node = self.body.nodes[place[0]]
        array = self.module.arrays.get(node.constant) if node.constant else None
        return array is not None and not np.any(array)

    def _of_one(self, place: Place, own: Place) -> tuple[str, tuple[Statement, ...]]:
        """The expression that turns `gradient` into what the optimizer takes, and the statements before it."""
        if self._sources_left(place) != {own}:
            raise UnwritableError("it computes the gradient of a weight from those of others")
        before, statements, nodes_before = dict(self.values), self.statements, set(self._written_nodes)
        self.statements = []
        self.values[own] = Value(self._result(own), text=_ONE)
        for index in sorted(needed_numbers(self.body, [place[0]])):
            if index in self._behind and index not in self._written_nodes:
                self._check_elements(index, own)
                if all(inner in self.values for inner in self.body.nodes[index].inputs):
                    self._write(index)
        text, body = self.array(self.values[place]), tuple(self.statements)
        last = body[-1] if body else None
        if isinstance(last, Line) and [one.token for one in last.defines] == [text]:
            text, body = last.text, body[:-1]
        self.values, self.statements, self._written_nodes = before, statements, nodes_before
        return text, body

    def _sources_left(self, place: Place) -> set[Place]:
        """Like `_sources`, without sources through numbers that are written already."""
        if place in self.values and not self._is_gradient(place):
            return set()
        if self._is_gradient(place):
            return {place}
        inner = self.body.nodes[place[0]].inputs if place[0] in self._behind else ()
        return {source for one in inner for source in self._sources_left(one)}

    def _check_elements(self, index: int, own: Place) -> None:
        """Raise where a variable of the module has the elements of a gradient in another order, and that matters."""
        kind = self.body.nodes[index].type
        key = self._step.gradients[number_of(self.body.nodes[own[0]])].keys[own[1]]
        if kind not in _OF_ELEMENTS and key not in self._around.weights:
            raise UnwritableError(f"it computes {kind} of the gradient of {key}, which is several variables here")

    def clip(self, node: Node) -> list[Value]:
        """An array that is clipped by its norm."""
        bound, array = repr(self._step.clips[number_of(node)]), self.variable(node, 0)
        norm = f"jaxport.elementwise.maximum(jnp.linalg.norm({array}.ravel()), {bound})"
        return [Value(node.results[0], text=f"{array} * {bound} / {norm}")]

    def _weight(self, key: str, result: Any) -> Value:
        return Value(result, text=self._around.weights.get(key, ""))

    def _keep_before_change(self, keys: Sequence[str]) -> None:
        """Hold what was computed of weights in variables, before these are others."""
        self._hold(self._waiting(), [self._around.weights[key] for key in keys if key in self._around.weights])


def _is_scalar(node: Node) -> bool:
    return node.type == "Pack" or node.results[0].shape == ()


def _normal(text: str, body: Sequence[Statement]) -> str:
    """A text and its statements with their own variables counted from 0, so that equal ones are equal.

    Variables from outside keep their tokens: bodies that read others are different.
    """
    order = {token: f"t{number}" for number, token in enumerate(token for one in body for token in inner_tokens(one))}
    return TOKEN.sub(lambda match: order.get(match[0], match[0]), f"{body} {text}")
