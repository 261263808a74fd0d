"""The module that is written: a class for the model and for each model in it, one line a layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compare.errors import RequestError
from compare.porting.call_lines import CallLines, add_stream
from compare.porting.call_methods import methods_of
from compare.porting.class_text import (
    WrittenClass,
    class_text,
    class_without_call,
    place_text,
)
from compare.porting.identifiers import Names, class_identifier, comment_text, identifier, snake
from compare.porting.initial_values import initial_value, zeros
from compare.porting.input_pipeline import pipeline_line
from compare.porting.linen_classes import linen_classes, linen_place
from compare.porting.module_draft import Draft
from compare.porting.safe_expressions import (
    UnwritableError,
)
from compare.porting.step_source import draws_in
from compare.porting.styles import LINEN, NNX, Style
from compare.porting.traced_methods import obstacle
from compare.porting.uncalled_layers import uncalled_layers
from compare.porting.unwritten_places import CALL, Place
from compare.porting.written_classes import Written
from compare.porting.written_layers import Parts, parts_of
from compare.porting.written_operations import MODULE
from workloads.core.spec import is_float
from workloads.protocol.architecture import Architecture, Graph
from workloads.protocol.transfer import KERAS_LAYERS, Leaf, SourceLayer

_SPACE = "\n\n\n"
"""Between two classes."""

_OF_KERAS = frozenset({"Functional", "Sequential", "Model"})


def model_source(architecture: Architecture, style: Style = NNX) -> Written:
    """The text of a module.

    Args:
      style: of the module; one of Linen is written whole or not at all.

    Raises:
      RequestError: its call cannot be written, or a layer has no counterpart in Linen.
    """
    if style == LINEN and not any(not graph.model for graph in architecture.graphs):
        raise RequestError("expected a model with a call for --style linen, found none that is written: drop it")
    source = _Writing(architecture, style).whole()
    if style == LINEN and source.places:
        places = "; ".join(place.description for place in source.places)
        raise RequestError(f"expected layers that are written in Linen, found others: {places}: drop --style linen")
    return source


class _Writing:
    def __init__(self, architecture: Architecture, style: Style) -> None:
        self._draft, self._architecture = Draft(architecture, style), architecture
        self._style: Style = style
        self._unstarted: list[str] = []
        self._step_stream, self._inner_logits = "", dict[str, str]()
        step = architecture.step
        self._called_by_step = {call.layer for call in step.graph.calls} if step else set[str]()
        self._logits: Mapping[str, str] = {}
        self._classes, self._class_names = self._draft.blocks.classes, self._draft.blocks.class_names
        self._names = self._draft.blocks.names

    def whole(self) -> Written:
        if "" not in self._draft.graphs:
            return self._parts()
        graph = self._draft.graphs[""]
        reason = self._obstacle(None, graph)
        if reason:
            raise RequestError(f"expected a model whose call can be written, found {comment_text(reason)}")
        self._draft.remarks += map(pipeline_line, self._architecture.pipeline)
        self._draft.remarks += [
            f"{comment_text(name)} holds strings, and JAX has no arrays of strings: look its words up in the input "
            "pipeline, and pass what the lookup returns"
            for name, number in graph.inputs.items()
            if graph.tensors[number].dtype == "string"
        ]
        name = self._class_names.of(class_identifier(self._architecture.name))
        parameters = self._class(graph, name, "")
        return replace(
            self._assemble(name, self._draft.places, parameters),
            logits=self._logits,
            uncalled=uncalled_layers(self._architecture, self._draft.places),
            unstarted=tuple(self._unstarted),
            penalized=tuple(self._draft.penalties.in_call(self._architecture.source.shared)),
            inner_logits=self._inner_logits,
            stream=self._step_stream,
        )

    def _assemble(self, name: str, places: Iterable[Place], parameters: Mapping[str, str]) -> Written:
        places_left, remarks, constants = tuple(places), tuple(self._draft.remarks), self._draft.constants
        if self._style == LINEN and not places_left:
            classes, call = linen_classes(self._classes)
            names = {path: linen_place(place) for path, place in self._names.items()}
            return Written(name, _SPACE.join(classes), parameters, names, (), remarks, constants=constants, linen=call)
        text = _SPACE.join(self._classes)
        return Written(name, text, parameters, self._names, places_left, remarks, constants=constants)

    def _parts(self) -> Written:
        """A class whose call is left, or which has none: the models in it are written whole."""
        name = self._class_names.of(class_identifier(self._architecture.name))
        if not self._architecture.has_call and self._architecture.step is not None:
            holder = self._holder(self._draft.layers[""], name, "")
            stream = self._stream_of_step(holder)
            self._classes.append(class_without_call(holder))
            module = self._assemble(name, (*self._draft.places, *holder.places), {})
            logits = self._inner_logits
            return replace(module, unstarted=tuple(self._unstarted), inner_logits=logits, stream=stream)
        place = self._hold(self._draft.layers[""], name, "", self._architecture.reasons[""])
        return self._assemble(name, (place, *self._draft.places), {})

    def _hold(self, layer: SourceLayer, name: str, target: str, reason: str) -> Place:
        """Write a class of what a layer holds, in which its call is left."""
        holder = self._holder(layer, name, target)
        place = self._draft.place_of(layer, CALL, reason, name)
        self._classes.append(place_text(holder, place))
        # Those in a place are a part of it; the whole is none of anything.
        self._draft.places += [] if layer.path else holder.places
        return place

    def _holder(self, layer: SourceLayer, name: str, target: str) -> WrittenClass:
        """A class of what a layer holds."""
        holder = WrittenClass(Graph(layer.path, {}, None, (), None, ()), name, Names())
        for inner in self._draft.held.layers_in(layer.path):
            self._add_layer(holder, inner.path, target)
        self._own_weights(holder, target)
        return holder

    def _class(self, graph: Graph, name: str, target: str) -> dict[str, str]:
        """Write a class behind those of the models in it; the parameters of its call.

        Args:
          target: the path of its module.
        """
        owner = WrittenClass(graph, name, Names())
        parts: dict[str, Parts | None] = {
            path: self._borrow(owner, path) for path in self._draft.held.layers_borrowed_by(graph)
        }
        parts |= {
            path: self._add_layer(owner, path, target)
            for path in self._draft.held.layers_called_by(graph)
            if path not in parts
        }
        parameters = self._parameters(graph)
        weights = self._own_weights(owner, target)
        body = CallLines(self._draft, owner, parts, parameters).body(weights, target)
        self._step_stream = self._step_stream if graph.model else self._stream_of_step(owner)
        is_penalized = bool(self._draft.penalties.summed.get(graph.model))
        may_split = not graph.model or graph.model in self._called_by_step
        methods, logits = methods_of(body, parameters.values(), may_split, is_penalized)
        if logits and graph.model:
            self._inner_logits[graph.model] = logits.activations.get("", "")
        elif logits:
            self._logits = logits.activations
        self._classes.append(class_text(owner, methods, parameters))
        self._draft.places += owner.places
        return parameters

    def _add_layer(self, owner: WrittenClass, path: str, target: str) -> Parts | None:
        """Add what a layer is made of to a class; None where it is a model, an operation or a place to fill in."""
        layer = self._draft.layers[path]
        if any(path.startswith(f"{other}/") for other in owner.attributes):
            return self._of_inner_model(owner, layer, target)
        wanted_attribute = identifier(layer.step, snake(layer.class_name))
        if layer.container and path in self._draft.graphs:
            reason = self._obstacle(owner, self._draft.graphs[path])
            if not reason:
                self._model(owner, layer, wanted_attribute, target)
                return None
            self._leave(owner, layer, wanted_attribute, target, reason)
            return None
        if layer.module == MODULE:
            return None
        if path in self._architecture.reasons:
            self._leave(owner, layer, wanted_attribute, target, self._architecture.reasons[path])
            return None
        is_masked = self._draft.held.is_masked(owner.graph, path)
        if is_masked:
            self._draft.held.masked.add(path)
        try:
            if self._draft.held.layers_lent_to(path):
                return self._around_a_lent_one(owner, layer, target)
            parts = parts_of(layer, self._draft.held.layers_in, is_masked=is_masked, style=self._style)
        except UnwritableError as error:
            self._leave(owner, layer, wanted_attribute, target, str(error))
            return None
        if parts.modules:
            attribute = owner.attributes[path] = owner.names.of(wanted_attribute)
            owner.modules[path] = parts.modules
            for suffix, constructor in parts.modules.items():
                owner.made.append(f"self.{attribute}{suffix} = {constructor}")
                self._note_name(layer, target, attribute, suffix)
        if parts.called:
            self._draft.held.wrapped[parts.called.path] = path
        return parts

    def _around_a_lent_one(self, owner: WrittenClass, layer: SourceLayer, target: str) -> Parts:
        """A layer that calls the module of another one, which this class has made before."""
        inside = self._draft.held.layers_lent_to(layer.path)
        names = ", ".join(comment_text(inner.path) for inner in inside)
        if layer.class_name != "TimeDistributed":
            raise UnwritableError(f"it holds {names}, which stands elsewhere too: give both one module")
        inner_of = self._draft.held.layers_in
        parts = parts_of(layer, lambda path: inside if path == layer.path else inner_of(path), style=self._style)
        if parts.modules:
            (inner,) = inside
            outer = self._draft.held.wrapped.get(inner.path, inner.path)
            if not any(outer == held_path or outer.startswith(f"{held_path}/") for held_path in owner.attributes):
                raise UnwritableError(f"it holds {names}, which stands in another model: give both one module")
            owner.attributes[layer.path] = owner.attributes.get(outer) or self._draft.held.place_from(outer, target)
        return parts

    def _obstacle(self, owner: WrittenClass | None, graph: Graph) -> str:
        """Why a model cannot be written, in a class that holds it; empty where it can."""
        if self._style == LINEN and graph.traced is not None:
            return "its call was traced, and is not written in Linen"
        unlent = (
            path
            for path in self._draft.held.layers_borrowed_by(graph)
            if owner is None or self._style == LINEN or not self._draft.held.can_lend(owner, graph, path)
        )
        reasons = (f"it calls {comment_text(path)}, which stands in another model" for path in unlent)
        return obstacle(graph) or next(reasons, "")

    def _borrow(self, owner: WrittenClass, path: str) -> Parts:
        """Take a module that another model holds as an argument of the constructor."""
        layer = self._draft.layers[path]
        parts = parts_of(layer, self._draft.held.layers_in)
        attribute = owner.attributes[path] = owner.names.of(identifier(layer.step, snake(layer.class_name)))
        owner.borrowed[attribute] = parts.modules[""].partition("(")[0]
        owner.made.append(f"self.{attribute} = {attribute}")
        return parts

    def _of_inner_model(self, owner: WrittenClass, layer: SourceLayer, target: str) -> Parts | None:
        """A layer of a model in this one that both call, as the table of tokens that a language model ends with."""
        owner.attributes[layer.path] = self._draft.held.place_from(layer.path, target)
        if layer.container:
            return None
        try:
            return parts_of(layer, self._draft.held.layers_in, style=self._style)
        except UnwritableError as error:
            self._draft.leave(owner, layer, str(error))
            return None

    def _note_name(self, layer: SourceLayer, target: str, attribute: str, suffix: str) -> None:
        """Say where the module of a layer stands, where that is not under its own name."""
        place = f"{target}.{attribute}" if target else attribute
        if suffix:
            self._names[layer.path] = target
            self._names[f"{layer.path}/{suffix[1:]}"] = f"{place}{suffix}"
        elif place != layer.path.replace("/", "."):
            self._names[layer.path] = place

    def _model(self, owner: WrittenClass, layer: SourceLayer, wanted_attribute: str, target: str) -> None:
        attribute = owner.attributes[layer.path] = owner.names.of(wanted_attribute)
        inner = f"{target}.{attribute}" if target else attribute
        own = layer.module != KERAS_LAYERS and layer.class_name not in _OF_KERAS
        wanted_name = class_identifier(layer.class_name if own else layer.step)
        name = self._class_names.of(wanted_name)
        graph = self._draft.graphs[layer.path]
        self._class(graph, name, inner)
        name = self._merge_class(name, wanted_name)
        self._draft.blocks.users.setdefault(name, set()).add(layer.path)
        if inner != layer.path.replace("/", "."):
            self._names[layer.path] = inner
        arguments = [f"self.{place}, " for place in self._draft.held.places_lent_to(owner, graph, target)]
        constructor = f"{name}({''.join(arguments)}rngs=rngs)"
        owner.modules[layer.path] = {"": constructor}
        owner.made.append(f"self.{attribute} = {constructor}")

    def _merge_class(self, name: str, class_name: str) -> str:
        """The class for the one that was written last: an earlier one, if they differ in their names alone."""
        text = self._classes[-1].replace(f"class {name}(", f"class {class_name}(", 1)
        earlier = self._draft.blocks.texts.setdefault(text, name)
        if earlier != name:
            self._classes.pop()
            self._class_names.give_back(name)
        return earlier

    def _leave(self, owner: WrittenClass, layer: SourceLayer, wanted_attribute: str, target: str, reason: str) -> None:
        """Leave a layer to be written: where it holds others, its call alone, in a class that has these."""
        if not layer.container or not (layer.leaves or self._draft.held.layers_in(layer.path)):
            self._draft.leave(owner, layer, reason)
            self._weights_apart(owner, layer, target)
            return
        attribute = owner.attributes[layer.path] = owner.names.of(wanted_attribute)
        inner = f"{target}.{attribute}" if target else attribute
        place = self._hold(layer, self._class_names.of(class_identifier(layer.class_name)), inner, reason)
        owner.places.append(place)
        owner.made.append(f"self.{attribute} = {place.owner}(rngs=rngs)")
        if inner != layer.path.replace("/", "."):
            self._names[layer.path] = inner

    def _parameters(self, graph: Graph) -> dict[str, str]:
        if len(graph.inputs) == 1:
            return {name: "x" for name in graph.inputs}
        names = Names(self._draft.penalties.names)
        return {name: names.of(identifier(name, "x")) for name in graph.inputs}

    def _own_weights(self, owner: WrittenClass, target: str) -> dict[str, str]:
        """Add the weights of a layer of the user's to its class: their attributes, by leaf."""
        graph, attributes = owner.graph, dict[str, str]()
        for leaf in self._draft.layers[graph.model].leaves if graph.traced or not graph.calls else ():
            attribute = attributes[leaf.name] = owner.names.of(identifier(leaf.name, "w"))
            path = self._add_variable(owner, leaf, attribute, target)
            if path != leaf.key.replace("/", "."):
                self._names[leaf.key] = path
        return attributes

    def _add_variable(
        self, owner: WrittenClass, leaf: Leaf, attribute: str, target: str, is_of_place: bool = False
    ) -> str:
        """Add a weight to a class as a variable; the path of it."""
        # JAX has no gradients to others, and nnx trains every Param.
        kind = "nnx.Param" if leaf.trainable and is_float(leaf.dtype) else "nnx.BatchStat"
        kind = "jaxport.stateful.RecurrentState" if leaf.is_state else kind
        value = initial_value(leaf)
        if not value:
            name = comment_text(str(leaf.initializer["class_name"]))
            remark = f"{comment_text(leaf.key)} starts as zeros: {name} is not written, set it anew"
            # Without a training that was compiled, nothing starts from it; a layer that is left is a place already.
            is_remark = self._architecture.compiled is None or is_of_place
            (self._draft.remarks if is_remark else self._unstarted).append(remark)
        owner.made.append(f"self.{attribute} = {kind}({value or zeros(leaf)})")
        return f"{target}.{attribute}" if target else attribute

    def _weights_apart(self, owner: WrittenClass, layer: SourceLayer, target: str) -> None:
        """Add the weights of a layer that is a place, and of those in it, as variables: they are carried."""
        for holder in (layer, *self._draft.held.layers_below(layer.path)):
            for leaf in holder.leaves:
                wanted_attribute = leaf.key.removeprefix(layer.path.removesuffix(layer.step))
                attribute = owner.names.of(identifier(wanted_attribute.replace("/", "_"), "w"))
                self._names[leaf.key] = self._add_variable(owner, leaf, attribute, target, is_of_place=True)

    def _stream_of_step(self, owner: WrittenClass) -> str:
        """The attribute that the training step draws from; "" where it draws nothing itself."""
        step = self._architecture.step
        # No training step that was traced is written in Linen.
        draws = step is not None and self._style != LINEN and draws_in(step)
        return add_stream(owner) if draws else ""
