"""The training that is written: loss, penalties, optimizer, metrics and the step, as the model was compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from compare.porting.call_methods import MASKED, PENALIZED
from compare.porting.drawn_inputs import EMBEDDINGS
from compare.porting.identifiers import Names, comment_text, identifier
from compare.porting.losses_by_name import loss_expression, metric_expression, of_logits
from compare.porting.optimizers_by_name import decays, optimizer_expression, scales_loss
from compare.porting.penalties import ADDED, activity_penalties, adding_calls, check_activities, weight_penalty
from compare.porting.safe_expressions import UnwritableError, literal
from compare.porting.traced_functions import function_lines, function_name
from compare.porting.trained_outputs import TrainedOutput, mask_names, only, trained_outputs
from compare.porting.written_classes import Written
from workloads._architecture import Architecture, Clip, Compiled, Described, Inner, LossTerm
from workloads._precision import NARROW
from workloads._transfer import SourceLayer


@dataclass(frozen=True)
class Training:
    """The text of a training, and what of it was not written.

    Attributes:
      text: of the file behind its imports; empty where the model was not compiled.
      unwritten: what raises.
      remarks: what a reader should know.
    """

    text: str = ""
    unwritten: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass
class _Parts:
    unwritten: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def raising(self, what: str, error: UnwritableError) -> list[str]:
        """The line that raises in place of what cannot be written."""
        self.unwritten.append(f"{what}: {comment_text(str(error))}")
        return [f"    raise NotImplementedError({f'{what}: {comment_text(str(error))}: write it here'!r})"]


def training_source(architecture: Architecture, source: Written) -> Training:
    """The text of a training.

    Args:
      architecture: of a Keras model.
      source: its module.
    """
    compiled = architecture.compiled
    if compiled is None:
        return Training()
    if not any(not graph.model for graph in architecture.graphs):
        obstacle = compiled.obstacle or (compiled.own.line if compiled.own else "that of a model without a call")
        return Training(unwritten=(f"the training step: it has {comment_text(obstacle)}",))
    has_loss = _has_loss(compiled) or bool(adding_calls(architecture))
    if compiled.obstacle or compiled.optimizer is None or not has_loss:
        reason = compiled.obstacle or "no loss or no optimizer"
        return Training(unwritten=(f"the training step: it has {comment_text(reason)}",))
    partly = _partly_frozen(architecture)
    if partly:
        reason = f"{comment_text(partly)}, of which some weights are trained and some are not"
        return Training(unwritten=(f"the training step: it has {reason}",))
    try:
        outputs = trained_outputs(architecture)
    except UnwritableError as error:
        return Training(unwritten=(f"the training step: {error}",))
    parts, places_frozen = _Parts([*source.unstarted]), frozen_places(architecture, source)
    sections = [
        _trained_filter(places_frozen),
        *_own_functions(compiled),
        _optimizer(parts, compiled, compiled.optimizer, outputs),
        _loss(parts, compiled, source, architecture, outputs),
        _metrics(parts, outputs),
        _step(parts, source.class_name, compiled, _looked_up(architecture), bool(places_frozen)),
    ]
    if compiled.of_no_output:
        parts.remarks.append(f"metrics are not written: {comment_text(compiled.of_no_output)}")
    parts.remarks += _of_average(compiled.optimizer)
    parts.remarks += _of_rows(_looked_up(architecture), compiled, compiled.optimizer)
    text = "\n\n\n".join("\n".join(section) for section in sections if section)
    return Training(text, tuple(parts.unwritten), tuple(parts.remarks))


def frozen_places(architecture: Architecture, source: Written) -> Sequence[str]:
    """The modules of which nothing is trained; one that holds others stands for these.

    Args:
      architecture: of a Keras model.
      source: its module.
    """
    kept_layers = [layer for layer in architecture.source.layers if layer.leaves and layer.path not in source.uncalled]
    having = [layer.path for layer in kept_layers]
    still = [layer.path for layer in kept_layers if all(_are_frozen(architecture, layer))]
    layers = {layer.path: layer for layer in architecture.source.layers}
    whole = [path for path in layers if _below(path, having) and set(_below(path, having)) <= set(still)]
    first = [path for path in whole if not any(path.startswith(f"{other}/") for other in whole)]
    return [place for path in first for place in _modules(source, path, layers[path].container)]


def _partly_frozen(architecture: Architecture) -> str:
    """A layer that trains some of what it keeps, and not all; empty without one."""
    for layer in architecture.source.layers:
        flags = list(_are_frozen(architecture, layer))
        if any(flags) and not all(flags):
            return layer.named
    return ""


def _are_frozen(architecture: Architecture, layer: SourceLayer) -> Iterator[bool]:
    """Of each leaf, whether it is not trained; what Keras keeps in a layer is named behind it: "query/kernel"."""
    return (f"{layer.path}/{leaf.name}" in architecture.frozen for leaf in layer.leaves)


def _modules(source: Written, path: str, container: bool) -> list[str]:
    """Where a layer stands; a separable convolution is two modules."""
    parts = [] if container else [place for name, place in source.names.items() if name.startswith(f"{path}/")]
    return parts or [source.names.get(path, path.replace("/", "."))]


def _below(path: str, having: Sequence[str]) -> list[str]:
    return [other for other in having if other == path or other.startswith(f"{path}/")]


def _trained_filter(places_frozen: Sequence[str]) -> list[str]:
    """The filter of what is trained; nothing where all of it is."""
    if not places_frozen:
        return []
    # nnx counts what is in a list.
    steps = ([int(step) if step.isdigit() else step for step in place.split(".")] for place in places_frozen)
    places = "".join(f"({', '.join(map(repr, path))},), " for path in steps)
    return [
        f"FROZEN = ({places})",
        '"""Where the modules stand that are not trained."""',
        "",
        "",
        "def is_frozen(path: tuple[Any, ...], value: Any) -> bool:",
        '    """Whether a variable is in one of these, for filters of nnx."""',
        "    return any(path[: len(place)] == place for place in FROZEN)",
        "",
        "",
        "TRAINED = nnx.All(nnx.Param, nnx.Not(is_frozen))",
    ]


def _of_rows(table: str, compiled: Compiled, optimizer: Described) -> list[str]:
    """What a reader should know of the gradients of a table of which rows are looked up."""
    if not table or compiled.own or _adds_up(optimizer):
        return []
    return [
        f"{comment_text(table)} gives rows as gradients: in fit(), {optimizer.class_name} of Keras squares or clips "
        "those of one token apart; here, and where it is judged, they are added up first"
    ]


def _of_average(optimizer: Described) -> list[str]:
    """What a reader should know of an average of the weights that no step puts into them."""
    if not optimizer.config.get("use_ema") or optimizer.config.get("ema_overwrite_frequency"):
        return []
    return ["fit() ends with the average of the weights in place of them: the port keeps it in the optimizer's state"]


def _adds_up(optimizer: Described) -> bool:
    """Whether what an optimizer does to rows of a table adds up: that of SGD, of no square and no norm, does."""
    clips = any(optimizer.config.get(name) for name in ("clipnorm", "global_clipnorm", "clipvalue"))
    return optimizer.class_name == "SGD" and not clips


def _has_loss(compiled: Compiled) -> bool:
    return any(loss is not None for term in _loss_terms(compiled) for loss in _losses_of(term, compiled))


def _own_functions(compiled: Compiled) -> list[list[str]]:
    """The functions of losses and schedules of the user's own, each once; what cannot be written is said elsewhere."""
    schedule = compiled.optimizer.inner.get("learning_rate") if compiled.optimizer else None
    losses = [loss for term in _loss_terms(compiled) for loss in _losses_of(term, compiled) if loss is not None]
    functions: dict[str, list[str]] = {}
    for value in (*([schedule] if schedule else []), *losses):
        if not value.own:
            with suppress(UnwritableError):
                functions[function_name(value)] = function_lines(value)
    return list(functions.values())


def _check_own(value: Described | Inner | None) -> None:
    """Raise where a loss or schedule of the user's own becomes no function."""
    if value is not None and not value.own:
        function_lines(value)


def _check_part(compiled: Compiled, part: str) -> None:
    """Raise where a part of the training does what is not said here.

    Raises:
      UnwritableError: the reasons.
    """
    if reasons := compiled.left.get(part, ()):
        raise UnwritableError(f"it has {' and '.join(map(comment_text, reasons))}")


def _optimizer(parts: _Parts, compiled: Compiled, optimizer: Described, outputs: Sequence[TrainedOutput]) -> list[str]:
    own = compiled.own
    try:
        _check_part(compiled, "optimizer")
        _check_own(optimizer.inner.get("learning_rate"))
        if decays(optimizer) and any(output.loss is None for output in outputs):
            raise UnwritableError(f"{optimizer.class_name} decays no weights that are for an output without a loss")
        if own and scales_loss(optimizer):
            raise UnwritableError(f"{optimizer.class_name} under a train_step of its own")
        body = [f"    return {optimizer_expression(optimizer)}"]
    except UnwritableError as error:
        body = parts.raising("the optimizer", error)
    return ["def make_optimizer() -> optax.GradientTransformation:", '    """As the model was compiled."""', *body]


def _loss(
    parts: _Parts,
    compiled: Compiled,
    source: Written,
    architecture: Architecture,
    outputs: Sequence[TrainedOutput],
) -> list[str]:
    head = [
        f"def loss(model: {source.class_name}, inputs: tuple[jax.Array, ...], targets: Any) -> jax.Array:",
        '    """f32[]: the loss of a batch, as Keras takes it."""',
    ]
    masks = [name for graph in architecture.graphs if not graph.model for name in mask_names(graph)]
    beside = [ADDED] * bool(source.penalized) + masks
    try:
        _check_part(compiled, "loss")
        for term in _loss_terms(compiled):
            for value in _losses_of(term, compiled):
                _check_own(value)
        logits = _logits(compiled, source, outputs)
        # A method that gives something beside gives logits where there are some, whether a loss is of them or not.
        before = source.logits if beside else logits
        terms = [text for term in _loss_terms(compiled) for text in _terms(term, outputs, before)]
        _check_looked_through(architecture, outputs)
        penalties = list(_penalties(compiled, source, architecture))
    except UnwritableError as error:
        return [*head, *parts.raising("the loss", error)]
    if logits:
        head.append("    # Keras takes the loss of the logits behind a softmax or sigmoid: crossentropy_of_softmax.")
    model_text = "model.logits" if logits else "model"
    if beside:
        # The method that gives logits gives these too, where there is one.
        method = "logits" if source.logits else PENALIZED if source.penalized else MASKED
        head.append(f"    predictions, {', '.join(beside)} = model.{method}(*inputs)")
    else:
        head.append(f"    predictions = {model_text}(*inputs)")
    if not terms:
        # A model may add all of its loss itself.
        terms.append(penalties.pop())
    if not penalties:
        return [*head, f"    return {' + '.join(terms)}"]
    added_to = [f"    value += {text}  # a regularizer" for text in penalties]
    return [*head, f"    value = {' + '.join(terms)}", *added_to, "    return value"]


def _penalties(compiled: Compiled, source: Written, architecture: Architecture) -> Iterator[str]:
    """What the regularizers add to the loss: those of weights, then the sum of those of activities.

    Raises:
      UnwritableError: one of them is not written.
    """
    check_activities(architecture, source)
    for term in _loss_terms(compiled):
        if term.loss is not None and not term.regularizers:
            continue
        for penalty in architecture.penalties:
            text = weight_penalty(penalty, architecture, source) if penalty.leaf else ""
            if text:
                yield _times(term.weight, text)
        if source.penalized:
            yield _times(term.weight, ADDED)


def _check_looked_through(architecture: Architecture, outputs: Sequence[TrainedOutput]) -> None:
    """Raise where a penalty is of an output whose logits Keras takes the loss of: the call gives one of both."""
    penalties, root = activity_penalties(architecture), next(graph for graph in architecture.graphs if not graph.model)
    layers_by_tensor = {number: call.layer for call in root.calls if call.layer in penalties for number in call.outputs}
    for output in outputs:
        if output.tensor in layers_by_tensor and output.loss and of_logits(output.loss):
            raise UnwritableError(
                f"{layers_by_tensor[output.tensor]} has a regularizer of what the loss takes the logits of"
            )


def _loss_terms(compiled: Compiled) -> Sequence[LossTerm]:
    """The terms of the loss: the compiled one alone, or those of a train_step of the user's own."""
    return compiled.own.terms if compiled.own else (LossTerm(),)


def _losses_of(term: LossTerm, compiled: Compiled) -> Sequence[Described | None]:
    if term.regularizers:
        return ()
    return compiled.losses if term.loss is None else (term.loss,)


def _logits(compiled: Compiled, source: Written, outputs: Sequence[TrainedOutput]) -> Mapping[str, str]:
    """The activations behind which losses find logits, by the place of the output; none where no loss does."""
    outputs_judged = [output for term in _loss_terms(compiled) for output in _outputs_of_term(term, outputs)]
    return source.logits if any(_is_of_logits(output, source.logits) for output in outputs_judged) else {}


def _is_of_logits(output: TrainedOutput, logits: Mapping[str, str]) -> bool:
    """Whether Keras finds the logits of an output: not through the cast of one that is narrower than float32."""
    activation = logits.get(output.place, "")
    return bool(activation and output.loss and of_logits(output.loss) == activation and output.dtype not in NARROW)


def _outputs_of_term(term: LossTerm, outputs: Sequence[TrainedOutput]) -> Sequence[TrainedOutput]:
    """The outputs that a term of the loss is of, each with its loss there."""
    if term.regularizers:
        return ()
    if term.loss is not None:
        return (replace(only(outputs), loss=term.loss, weight=1.0),)
    return [output for output in outputs if output.loss is not None]


def _terms(term: LossTerm, outputs: Sequence[TrainedOutput], logits: Mapping[str, str]) -> Iterator[str]:
    """The losses of a term; what stands in the places of `logits` is given before its activation."""
    for output in _outputs_of_term(term, outputs):
        if output.loss is None:
            continue
        activation, of, wants_logits = logits.get(output.place, ""), output.of, _is_of_logits(output, logits)
        if activation and not wants_logits:
            of = replace(of, predictions=f"jax.nn.{activation}({of.predictions})")
        yield _times(term.weight * output.weight, _mean(output, loss_expression(output.loss, wants_logits, of)))


def _mean(output: TrainedOutput, losses: str) -> str:
    """The mean of losses; of those that the mask of an output keeps."""
    return f"jaxport.losses.reduce({losses}, mask={output.mask})" if output.mask else f"jnp.mean({losses})"


def _times(weight: float, text: str) -> str:
    return text if weight == 1 else f"{literal(weight)} * ({text})"


def _metrics(parts: _Parts, outputs: Sequence[TrainedOutput]) -> list[str]:
    if not any(output.metrics for output in outputs):
        return []
    lines = [
        "def metrics(targets: Any, predictions: Any) -> dict[str, jax.Array]:",
        '    """The metrics of a batch."""',
    ]
    names, values = Names(), list[str]()
    try:
        for output, metric in (
            (output_measured, metric) for output_measured in outputs for metric in output_measured.metrics
        ):
            if output.loss is None:
                raise UnwritableError(f"the metric {metric.class_name} of an output without a loss")
            name, text = metric_expression(metric, output.loss, output.of)
            values.append(f"{names.of(identifier(name, 'metric'))!r}: {text}")
    except UnwritableError as error:
        return [*lines, *parts.raising("the metrics", error)]
    parts.remarks.append("metrics are written and are no part of what the gates judge")
    if any(output.mask and output.metrics for output in outputs):
        parts.remarks.append(
            "Keras leaves masked steps out of metrics too, and the metrics that are written count them"
        )
    return [*lines, f"    return {{{', '.join(values)}}}"]


def _clip(clip: Clip) -> str:
    """The transformation of gradients that a clip is."""
    if clip.name == "clip_by_value":
        low, high = clip.bounds
        if low != -high:
            raise UnwritableError(f"it clips to {low:g} and {high:g}")
        return f"optax.clip({literal(high)})"
    of = "optax.clip_by_global_norm" if clip.name == "clip_by_global_norm" else "jaxport.optimizers.clip_by_norm"
    return f"{of}({literal(clip.bounds[0])})"


def _looked_up(architecture: Architecture) -> str:
    """A layer that looks rows up in a table; "" where there is none."""
    return next((layer.path for layer in architecture.source.layers if layer.class_name in EMBEDDINGS), "")


def _scaled_loss(name: str) -> list[str]:
    return [
        f"def scaled_loss(model: {name}, state: Any, inputs: tuple[jax.Array, ...], targets: Any) -> Any:",
        '    """f32[], f32[]: the loss as the optimizer scales it, and as it is."""',
        "    value = loss(model, inputs, targets)",
        "    return jaxport.loss_scaling.scale_loss(value, state), value",
        "",
        "",
    ]


def _step(parts: _Parts, name: str, compiled: Compiled, looked_up: str, has_frozen: bool) -> list[str]:
    own = compiled.own
    head = [
        "@nnx.jit",
        f"def train_step(model: {name}, optimizer: nnx.Optimizer, inputs: tuple[jax.Array, ...], targets: Any)"
        " -> jax.Array:",
        '    """The loss f32[] before the step; model and optimizer are changed."""',
    ]
    try:
        _check_part(compiled, "step")
        clips = [_clip(clip) for clip in own.clips] if own else []
        if clips and looked_up:
            # A tf.IndexedSlices has a row for each time that it was looked up, and TensorFlow takes the norm of these.
            raise UnwritableError(
                f"{looked_up} gives rows as gradients, which it clips before it adds up those of a token"
            )
    except UnwritableError as error:
        return [*head, *parts.raising("the training step", error)]
    argnums = ", argnums=nnx.DiffState(0, TRAINED)" if has_frozen else ""
    gradient_lines = [f"    value, gradients = nnx.value_and_grad(loss{argnums})(model, inputs, targets)"]
    if compiled.optimizer and scales_loss(compiled.optimizer):
        head = [*_scaled_loss(name), *head]
        arguments = "model, optimizer.opt_state, inputs, targets"
        gradient_lines = [
            f"    (_, value), gradients = nnx.value_and_grad(scaled_loss{argnums}, has_aux=True)({arguments})"
        ]
    return [
        *head,
        "    model.train()",
        *gradient_lines,
        *(f"    gradients, _ = {clip}.update(gradients, optax.EmptyState())" for clip in clips),
        "    optimizer.update(model, gradients)",
        "    return value",
    ]
