"""The body of the call of a written class: one line a layer, blocks in place of repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from compare.porting.block_units import calls_of
from compare.porting.calls_on_their_way import TRAINING, Caller
from compare.porting.cast_inputs import cast, indices
from compare.porting.class_text import Body, Line, Unchanged, WrittenClass, shape_text
from compare.porting.drawn_inputs import EMBEDDINGS
from compare.porting.identifiers import comment_text
from compare.porting.linen_classes import check_linen_use
from compare.porting.module_draft import Draft
from compare.porting.read_attributes import check_all_read
from compare.porting.safe_expressions import UnwritableError, argument, check, tensors, tensors_of, with_kept
from compare.porting.styles import LINEN
from compare.porting.traced_methods import DRAWS, method_body
from compare.porting.variable_names import Variables
from compare.porting.written_calls import expression, for_each_step
from compare.porting.written_layers import Parts
from compare.porting.written_operations import MODULE
from workloads.protocol.architecture import Call, Traced


@dataclass(frozen=True)
class CallLines:
    """Writes the call of one class.

    Attributes:
      draft: the module.
      owner: the class.
      parts: what its layers are made of, by path.
      parameters: of the call, by the name of the input.
    """

    draft: Draft
    owner: WrittenClass
    parts: Mapping[str, Parts | None]
    parameters: Mapping[str, str]

    def body(self, weights: Mapping[str, str], target: str) -> Body:
        """The body of the call.

        Args:
          weights: the attributes of the class's own weights, by leaf.
          target: the path of its module.
        """
        if self.owner.graph.traced is not None:
            return self._traced_body(self.owner.graph.traced, weights)
        penalties = self.draft.penalties
        before = {path: {*paths} for path, paths in penalties.summed.items()}
        body = self._plain_body()
        # The penalties of the same calls, once more.
        after, penalties.summed = penalties.summed, before
        # A mask that is returned is read across blocks.
        blocks = None if self.owner.graph.masks else self._body_of_blocks(target)
        if blocks is None:
            penalties.summed = after
        return body if blocks is None else blocks

    def _plain_body(self) -> Body:
        graph, penalties = self.owner.graph, self.draft.penalties
        uses = Counter(number for call in graph.calls for number in tensors_of(call))
        uses.update([*tensors(graph.outputs), *(mask for _, mask in graph.masks)])
        variables = Variables(self._inputs(), uses)
        lines: list[Line | Unchanged | str] = []
        for call in graph.calls:
            path = self.draft.blocks.canonical(call.layer)
            text = self._call(path, call, variables.names)
            variables.read(tensors_of(call))
            targets = variables.assign(call.outputs, tensors_of(call))
            outputs, comment = ", ".join(targets), self._comment(path, call)
            # An Identity, or a padding of nothing, changes no variable.
            line = Unchanged(comment) if outputs == text else Line(outputs, text, comment)
            lines += penalties.called_model(graph, path, text, outputs) or [line]
            lines += penalties.lines(graph, path, dict(zip(call.outputs, targets, strict=True)))
        masks = [variables.names[mask] for _, mask in graph.masks]
        return Body(lines, argument(graph.outputs, variables.names), masks=masks)

    def _body_of_blocks(self, target: str) -> Body | None:
        """The body of a call with blocks; None if nothing repeats."""
        graph, penalties = self.owner.graph, self.draft.penalties
        places = {place.layer for place in self.owner.places}

        def write(path: str, call: Call, texts: Mapping[int, str]) -> tuple[str, str]:
            return "" if path in places else self._call(path, call, texts), self._comment(path, call)

        units = self.draft.blocks.fold(self.owner, self.draft.places, self.parameters, write)
        if not units:
            return None
        placed_units = self.draft.blocks.place(self.owner, units, target)
        calls, variables = calls_of(placed_units, self._inputs(), tensors(graph.outputs))
        lines: list[Line | Unchanged | str] = []
        for unit, call_lines, outputs in calls:
            first = call_lines[0]
            if unit.path and isinstance(first, Line):
                call_lines = penalties.called_model(graph, unit.path, first.text, first.outputs) or call_lines
            lines += call_lines
            lines += penalties.lines(graph, unit.path, outputs) if unit.path else []
        return Body(lines, argument(graph.outputs, variables))

    def _inputs(self) -> dict[int, str]:
        """The parameters, by the number of the tensor."""
        return {number: self.parameters[name] for name, number in self.owner.graph.inputs.items()}

    def _traced_body(self, traced: Traced, weights: Mapping[str, str]) -> Body:
        """The body of a call that TensorFlow traced."""

        def text(call: Call, texts: Mapping[int, str], names: frozenset[str]) -> tuple[str, str, bool]:
            path = self.draft.blocks.canonical(call.layer)
            result = self._call(path, call, texts, names)
            with_added = penalties.beside_result(graph, path, result) if len(call.outputs) == 1 else ""
            if not with_added:
                penalties.lose(path)
            return with_added or result, self._comment(path, call), bool(with_added)

        graph, penalties = self.owner.graph, self.draft.penalties
        counts = penalties.add_of_call(graph)
        if traced.adds and not counts:
            name = comment_text(graph.model or self.draft.architecture.name)
            why = "the training step is left" if self.draft.architecture.compiled else "the model is not compiled"
            self.draft.remarks.append(f"{name} adds a loss in its call, which is not written: {why}")
        draws = any(node.type in DRAWS for node in traced.function.bodies[0].nodes)
        stream = add_stream(self.owner) if draws else ""
        return method_body(graph, self.parameters, weights, self.draft.constants, text, stream, is_penalized=counts)

    def _call(self, path: str, call: Call, variables: Mapping[int, str], names: frozenset[str] | None = None) -> str:
        """The expression of a call, which reads these variables, by tensor, and no names but theirs, or these."""
        owner, parts = self.owner, self.parts.get(path)
        layer = (parts and parts.called) or self.draft.layers[path]
        attribute = owner.attributes.get(path, "")
        is_known = parts is not None or layer.module == MODULE or path in self.draft.graphs
        texts = variables
        if layer.class_name in EMBEDDINGS and call.keywords.get("reverse") is not True:
            texts = indices(owner.graph, variables)
        elif parts is not None and not attribute:
            texts = cast(layer, call, owner.graph, variables)
        try:
            if is_known:
                kept_call, inner = with_kept(call, self.draft.constants), self.draft.held.layers_in(path)
                caller = Caller(
                    layer, parts and parts.counterpart, attribute, kept_call, texts, owner.graph.tensors, inner
                )
                text = for_each_step(caller) if parts and parts.each_step else expression(caller)
                text = check_linen_use(text) if self.draft.style == LINEN else text
                if path not in self.draft.graphs:
                    check_all_read(self.draft.layers[path], self.draft.held.layers_below(path))
                self._remark_mode(path, caller)
                return check(text, frozenset(variables.values()) if names is None else names)
        except UnwritableError as error:
            self.draft.leave(owner, self.draft.layers[path], str(error))
            attribute = owner.attributes[path]
        # A mask that Keras made beside the graph is none of its tensors.
        texts = [variables[number] for number in dict.fromkeys(tensors_of(call)) if number in variables]
        return f"self.{attribute}({', '.join(texts)})"

    def _remark_mode(self, path: str, caller: Caller) -> None:
        """Add a remark for a call with training=False: `fit` of Keras overrides that, and so does the port."""
        remark = (
            f"{comment_text(path)}: its call has training=False, which fit() of this Keras overrides, and so does "
            "train() of the port"
        )
        if caller.call.keywords.get(TRAINING) is False and remark not in self.draft.remarks:
            self.draft.remarks.append(remark)

    def _comment(self, path: str, call: Call) -> str:
        shapes = ", ".join(shape_text(self.owner.graph.tensors[number].shape) for number in call.outputs)
        layer = self.draft.layers[path]
        shapes += ", with training=False" if call.keywords.get(TRAINING) is False else ""
        # Keras numbers operations: the user did not choose their names.
        has_own_name = layer.module == MODULE or self.owner.attributes.get(path, "").strip("_") == layer.step.strip("_")
        return shapes if has_own_name else f"{comment_text(layer.step)}: {shapes}"


def add_stream(owner: WrittenClass) -> str:
    """The attribute that a class draws random numbers from: its constructor makes it."""
    attribute = owner.names.of("noise")
    owner.made.append(f"self.{attribute} = rngs.noise.fork()")
    return attribute
