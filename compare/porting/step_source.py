"""The training step that is written of a train_step that TensorFlow traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.porting.counter_range import require_range
from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.statements import Line, Variable, render
from compare.porting.functions.written_module import LEFT_OUT, Module
from compare.porting.functions.written_values import Value
from compare.porting.identifiers import comment_text
from compare.porting.optimizers_by_name import optimizer_expression, scales_loss
from compare.porting.penalties import activity_penalties, adding_calls, in_python, weight_variables
from compare.porting.safe_expressions import UnwritableError
from compare.porting.step_bodies import StepBody
from compare.porting.taped_functions import Surroundings
from compare.porting.traced_functions import function_lines, function_name
from compare.porting.traced_methods import DRAWS, array_of
from compare.porting.written_classes import Written
from compare.weights.transforms import IDENTITY
from workloads.protocol.architecture import ITERATIONS, Architecture, TracedStep
from workloads.protocol.function_graph import Body
from workloads.protocol.transfer import Leaf, SourceLayer

_RESERVED = ("model", "optimizer", "optimizers", "inputs", "targets", "train_step", "make_optimizer", "TRAINED", "nnx",
             "optax", "gradient")  # fmt: skip


@dataclass(frozen=True)
class StepText:
    """A step as text.

    Attributes:
      sections: of the file: filters, optimizers and the step.
      is_filtered: whether there is a filter `TRAINED` of what it trains.
    """

    sections: Sequence[Sequence[str]]
    is_filtered: bool


def draws_in(step: TracedStep) -> bool:
    """Whether a step draws random numbers itself."""
    traced = step.graph.traced
    return traced is not None and any(node.type in DRAWS for node in traced.function.bodies[0].nodes)


def step_text(step: TracedStep, architecture: Architecture, source: Written, looked_up: str) -> StepText:
    """The text of a step.

    Args:
      looked_up: a layer that looks rows up in a table; "" where there is none.

    Raises:
      UnwritableError: it does what is not written.
    """
    _check(step, architecture)
    leaves = _Leaves(architecture, source)
    by_optimizer = _keys_of_optimizers(step)
    one = len(by_optimizer) == 1
    filters = {name: leaves.places_of(keys) for name, keys in by_optimizer.items()}
    is_filtered = not one or any(places is not None for places in filters.values())
    around = Surroundings(
        source.class_name,
        _modules(step, architecture, source),
        leaves.expressions(),
        {**source.inner_logits, "": source.logits.get("", "")},
        _options(step, by_optimizer, is_filtered),
        {name: "optimizer" if one else f"optimizers[{name!r}]" for name in by_optimizer},
        f"model.{source.stream}" if source.stream else "",
        _normalizing(step, architecture),
        looked_up,
    )
    lines = _body(step, around, leaves)
    kind = "optimizer: nnx.Optimizer" if one else "optimizers: dict[str, nnx.Optimizer]"
    what = "The loss" if len([g for g in step.gradients if g.keys]) == 1 else "The sum of the losses"
    state = "optimizer" if one else "optimizers"
    takes = f"model: {source.class_name}, {kind}, inputs: tuple[jax.Array, ...], targets: Any"
    head = [
        "@nnx.jit",
        f"def train_step({takes}) -> jax.Array:",
        f'    """{what} f32[] before the step; model and {state} are changed."""',
    ]
    modes = [f"    {line}" for line in _modes(step, around)]
    sections = [
        *([_filter(filters)] if is_filtered else []),
        *_schedules(step),
        _optimizers(step),
        [*head, *modes, *(f"    {part}" if part else "" for line in lines for part in line.splitlines() or [""])],
    ]
    return StepText(sections, is_filtered)


def _check(step: TracedStep, architecture: Architecture) -> None:
    compiled = architecture.compiled
    if compiled is not None and (reasons := (*compiled.left.get("loss", ()), *compiled.left.get("step", ()))):
        raise UnwritableError(f"it has {' and '.join(map(comment_text, reasons))}")
    adding = [*activity_penalties(architecture), *adding_calls(architecture)]
    if adding:
        raise UnwritableError(f"{adding[0]} adds to the loss where it is called")
    states = [layer.path for layer in architecture.source.layers if any(leaf.is_state for leaf in layer.leaves)]
    if states:
        raise UnwritableError(f"{states[0]} keeps a state from one call to the next")
    for name, optimizer in step.optimizers.items():
        if scales_loss(optimizer):
            raise UnwritableError(f"its {name} scales the loss")


def _keys_of_optimizers(step: TracedStep) -> Mapping[str, Sequence[str]]:
    """The weights of each optimizer.

    Raises:
      UnwritableError: an optimizer has others in another update.
    """
    keys: dict[str, Sequence[str]] = {}
    for update in step.updates:
        if sorted(keys.setdefault(update.optimizer, update.keys)) != sorted(update.keys):
            raise UnwritableError(f"its {update.optimizer} updates other weights each time")
    return keys


class _Leaves:
    """The weights of a model and where they stand in its module."""

    def __init__(self, architecture: Architecture, source: Written) -> None:
        self._architecture, self._source = architecture, source
        self._leaves: dict[str, tuple[SourceLayer, Leaf]] = {
            leaf.key: (layer, leaf)
            for layer in architecture.source.layers
            if layer.path not in source.uncalled
            for leaf in layer.leaves
            if not leaf.tied
        }

    def expressions(self) -> Mapping[str, str]:
        """By key, the expression of the one variable that holds a weight as it is."""
        texts = {}
        for key, (layer, leaf) in self._leaves.items():
            try:
                variables, transform = weight_variables(layer.path, leaf.name, self._architecture, self._source)
            except UnwritableError:
                continue
            if transform == IDENTITY and len(variables) == 1:
                texts[key] = f"model.{in_python(variables[0])}[...]"
        return texts

    def places_of(self, keys: Sequence[str]) -> Sequence[str] | None:
        """Where the weights stand that are trained, as parts of the module; None where these are all.

        Raises:
          UnwritableError: they are no whole modules.
        """
        trainable = {key for key, (_, leaf) in self._leaves.items() if leaf.trainable}
        unknown = sorted(set(keys) - trainable)
        if unknown:
            raise UnwritableError(f"it trains {unknown[0]}, which is no trainable weight of the module")
        if set(keys) == trainable:
            return None
        places: list[str] = []
        for layer in self._architecture.source.layers:
            below = {key for key in trainable if key.startswith(f"{layer.path}/")} if layer.path else set()
            own = {leaf.key for leaf in layer.leaves if leaf.key in trainable}
            if layer.path and below | own and below | own <= set(keys):
                places.append(layer.path)
        outermost = [path for path in places if not any(path.startswith(f"{other}/") for other in places)]
        keys_below = {key for path in outermost for key in trainable if key.startswith(f"{path}/")}
        if keys_below != set(keys):
            raise UnwritableError("it trains some weights of a layer, and not all")
        return [self._source.names.get(path, path.replace("/", ".")) for path in outermost]

    def values(self, step: TracedStep, around: Surroundings, counters: Mapping[str, Variable]) -> list[Value]:
        """The values for the weights and counters that a step takes."""
        traced = step.graph.traced
        assert traced is not None
        body = traced.function.bodies[0]
        first = len(step.graph.inputs)
        numbers_needed = needed_numbers(body, [place for place, _ in body.outputs])
        read = {place[0] for index in numbers_needed for place in body.nodes[index].inputs}
        values = []
        for key, number in zip(traced.weights, body.inputs[first:], strict=False):
            if key in counters:
                values.append(Value(body.nodes[number].results[0], text=counters[key].token))
                continue
            if number in read and key.startswith(ITERATIONS):
                raise UnwritableError(f"it reads the {key}, which updates no weight")
            if number in read and key not in around.weights:
                raise UnwritableError(f"it computes with {key}, which is several variables here, or none")
            values.append(Value(body.nodes[number].results[0], text=around.weights.get(key, "")))
        return values


def _modules(step: TracedStep, architecture: Architecture, source: Written) -> Mapping[str, str]:
    """The modules of the models that a step calls."""
    graphs = {graph.model for graph in architecture.graphs}
    places = {place.layer for place in source.places}
    modules = {}
    for call in step.graph.calls:
        path = architecture.source.shared.get(call.layer, call.layer)
        if path in places:
            raise UnwritableError(f"it calls {call.layer or 'the model'}, which is left to be written")
        if path in graphs:
            place = source.names.get(path, path.replace("/", ".")) if path else ""
            modules[call.layer] = f"model.{in_python(place)}" if place else "model"
    return modules


def _normalizing(step: TracedStep, architecture: Architecture) -> frozenset[str]:
    """The paths of the layers that a step calls in which there is a batch norm."""
    norms = [layer.path for layer in architecture.source.layers if layer.class_name == "BatchNormalization"]
    paths = {call.layer for call in step.graph.calls}
    return frozenset(path for path in paths if any(not path or norm.startswith(f"{path}/") for norm in norms))


def _options(step: TracedStep, by_optimizer: Mapping[str, Sequence[str]], is_filtered: bool) -> Sequence[str]:
    """The arguments behind the function of each gradient: what it is taken with respect to."""
    options = []
    for gradient in step.gradients:
        name = next((name for name, keys in by_optimizer.items() if sorted(keys) == sorted(gradient.keys)), "")
        which = "TRAINED" if len(by_optimizer) == 1 else f"TRAINED[{name!r}]"
        options.append(f", argnums=nnx.DiffState(0, {which})" if is_filtered and name else "")
    return options


def _modes(step: TracedStep, around: Surroundings) -> list[str]:
    """Lines that set the mode in which models are called.

    Raises:
      UnwritableError: one is called in both.
    """
    trains: dict[str, set[bool]] = {}
    for call, is_training in zip(step.graph.calls, step.trains, strict=True):
        trains.setdefault(around.modules.get(call.layer, "model"), set()).add(is_training)
    for module, modes in trains.items():
        others = [m for other, m in trains.items() if other != module and other.startswith(f"{module}.")]
        if len(modes) > 1 or any(m != modes for m in others):
            raise UnwritableError(f"it calls {module} in training and in inference")
    still = [f"{module}.eval()" for module, modes in trains.items() if modes == {False}]
    return ["model.eval()"] if "model.eval()" in still else ["model.train()", *still]


def _body(step: TracedStep, around: Surroundings, leaves: _Leaves) -> list[str]:
    traced = step.graph.traced
    assert traced is not None
    arrays = {key: array_of(constant) for key, constant in traced.constants.items()}
    constants: dict[str, np.ndarray] = {}
    module = Module(traced.function, arrays, constants=constants)
    body = traced.function.bodies[0]
    count = len(step.graph.inputs)
    of_model = count - step.targets
    results = [body.nodes[number].results[0] for number in body.inputs[:count]]
    names = ["x" if of_model == 1 else f"x{number + 1}" for number in range(of_model)]
    names += ["y" if step.targets == 1 else f"y{number + 1}" for number in range(step.targets)]
    variables = [Variable(module.token(), name) for name in names]
    inputs = [Value(result, text=variable.token) for result, variable in zip(results, variables, strict=True)]
    counters = {
        f"{ITERATIONS}{name}": Variable(module.token(), "iterations")
        for name in around.optimizers
        if _is_read(body, traced.weights, count, f"{ITERATIONS}{name}")
    }
    numbers = [body.inputs[count + traced.weights.index(key)] for key in counters]
    require_range(traced.function, numbers, arrays)
    inputs += leaves.values(step, around, counters)
    inputs += [Value(capture.result, host=arrays.get(capture.name)) for capture in traced.function.captured]
    follows = next((value for value in inputs if value.result.follows), None)
    module.follows = f"{follows.text}.dtype" if follows else ""
    writer = StepBody(module, step, around, inputs)
    writer.write_step()
    if module.unwritten:
        raise UnwritableError(module.unwritten[0].description)
    effect = next((one.type for one in body.effects if one.type not in LEFT_OUT), "")
    if effect:
        raise UnwritableError(f"{effect} has an effect")
    if constants:
        raise UnwritableError("it holds a large constant: make it a weight")
    first_lines = [
        Line("inputs" if of_model > 1 else "inputs[0]", tuple(variables[:of_model])),
        *([Line("targets", tuple(variables[of_model:]))] if step.targets else []),
        # The count before any update. nnx counts in uint32, where a difference below 0 wraps; TensorFlow in int64.
        *(
            Line(f"{around.optimizers[key.removeprefix(ITERATIONS)]}.step[...].astype(int)", (variable,))
            for key, variable in counters.items()
        ),
    ]
    names_reserved = (*_RESERVED, *around.modules.values())
    return render([*first_lines, *writer.statements], " + ".join(writer.losses), {}, names_reserved)


def _is_read(body: Body, keys: Sequence[str], first: int, key: str) -> bool:
    """Whether a step computes with the weight or counter of a key."""
    number = body.inputs[first + keys.index(key)]
    numbers = needed_numbers(body, [place for place, _ in body.outputs])
    return any(place[0] == number for index in numbers for place in body.nodes[index].inputs)


def _filter(filters: Mapping[str, Sequence[str] | None]) -> list[str]:
    """The filters of what each optimizer trains."""
    texts = {name: "nnx.Param" if places is None else f"within({_places(places)})" for name, places in filters.items()}
    text = (
        next(iter(texts.values())) if len(texts) == 1 else f"{{{', '.join(f'{n!r}: {t}' for n, t in texts.items())}}}"
    )
    return [
        "def within(*places: tuple[Any, ...]) -> Any:",
        '    """A filter of nnx: the parameters of the modules at these places."""',
        "    return nnx.All(nnx.Param, lambda path, value: any(path[: len(place)] == place for place in places))",
        "",
        "",
        f"TRAINED = {text}",
    ]


def _places(places: Sequence[str]) -> str:
    paths = ([int(part) if part.isdigit() else part for part in place.split(".")] for place in places)
    return ", ".join(f"({', '.join(map(repr, path))},)" for path in paths)


def _schedules(step: TracedStep) -> list[list[str]]:
    """The functions of schedules of the user's own, each once."""
    rates = (optimizer.inner.get("learning_rate") for optimizer in step.optimizers.values())
    own = {function_name(rate): rate for rate in rates if rate is not None and not rate.own}
    return [function_lines(rate) for rate in own.values()]


def _optimizers(step: TracedStep) -> list[str]:
    texts = {name: optimizer_expression(optimizer) for name, optimizer in step.optimizers.items()}
    if len(texts) == 1:
        head, (text,) = "def make_optimizer() -> optax.GradientTransformation:", texts.values()
    else:
        head = "def make_optimizer() -> dict[str, optax.GradientTransformation]:"
        text = f"{{{', '.join(f'{name!r}: {expression}' for name, expression in texts.items())}}}"
    return [head, '    """As the model was compiled."""', f"    return {text}"]
