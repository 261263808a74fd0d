"""The training that is written: loss, penalties, optimizer, metrics and the step, as the model was compiled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from compare.porting.drawn_inputs import EMBEDDINGS
from compare.porting.frozen_layers import find_partly_frozen, frozen_places, trained_filter
from compare.porting.identifiers import Names, comment_text, identifier
from compare.porting.linen_training import frozen_labels, of_trained, state_lines, step_lines
from compare.porting.losses_by_name import metric_expression
from compare.porting.optimizers_by_name import decays, optimizer_expression, scales_loss
from compare.porting.penalties import adding_calls
from compare.porting.safe_expressions import UnwritableError, literal
from compare.porting.step_source import step_text
from compare.porting.traced_functions import function_lines, function_name
from compare.porting.trained_outputs import TrainedOutput, trained_outputs
from compare.porting.training_loss import loss_terms, losses_of, write_loss
from compare.porting.training_parts import Parts, check_own, check_part
from compare.porting.written_classes import Written
from workloads.protocol.architecture import Architecture, Clip, Compiled, Described, OwnStep


@dataclass(frozen=True)
class Training:
    """The text of a training, and what of it was not written.

    Attributes:
      text: of the file behind its imports; empty where the model was not compiled.
      unwritten: what raises.
      remarks: what a reader should know.
      is_filtered: whether there is a filter `TRAINED` of what it trains.
      has_own_step: whether the original has a step of its own: the judged loss is then that of the step.
      has_several_optimizers: whether its optimizers are a dict, by their names.
    """

    text: str = ""
    unwritten: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    is_filtered: bool = False
    has_own_step: bool = False
    has_several_optimizers: bool = False


def training_source(architecture: Architecture, source: Written) -> Training:
    """The text of a training."""
    compiled = architecture.compiled
    if compiled is None:
        return Training()
    if compiled.own is not None and architecture.step is not None:
        if source.linen:
            return Training(unwritten=(_not_in_linen(f"that of {comment_text(compiled.own.line)}"),))
        return _traced_training(compiled.own, architecture, source)
    if not any(not graph.model for graph in architecture.graphs):
        obstacle = compiled.obstacle or (compiled.own.line if compiled.own else "that of a model without a call")
        return Training(unwritten=(f"the training step: it has {comment_text(obstacle)}",))
    has_loss = _has_loss(compiled) or bool(adding_calls(architecture))
    if compiled.obstacle or compiled.optimizer is None or not has_loss:
        reason = compiled.obstacle or "no loss or no optimizer"
        return Training(unwritten=(f"the training step: it has {comment_text(reason)}",))
    partly = find_partly_frozen(architecture)
    if partly:
        reason = f"{comment_text(partly)}, of which some weights are trained and some are not"
        return Training(unwritten=(f"the training step: it has {reason}",))
    if source.linen and not any(leaf.trainable for layer in architecture.source.layers for leaf in layer.leaves):
        return Training(unwritten=("the training step: the model has no weights that are trained",))
    try:
        outputs = trained_outputs(architecture)
    except UnwritableError as error:
        return Training(unwritten=(f"the training step: {error}",))
    parts, places_frozen = Parts([*source.unstarted]), frozen_places(architecture, source)
    linen = source.linen
    sections = [
        frozen_labels(places_frozen) if linen else trained_filter(places_frozen),
        *_own_functions(compiled),
        _optimizer(parts, compiled, compiled.optimizer, outputs, bool(linen and places_frozen)),
        *(state_lines(source, linen) if linen else []),
        write_loss(parts, compiled, source, architecture, outputs),
        _metrics(parts, outputs),
        _step(parts, source, compiled, _looked_up(architecture), bool(places_frozen)),
    ]
    if linen and parts.unwritten:
        # One of Linen is written whole or not at all.
        return Training(unwritten=tuple(parts.unwritten))
    if compiled.of_no_output:
        parts.remarks.append(f"metrics are not written: {comment_text(compiled.of_no_output)}")
    parts.remarks += _of_average(compiled.optimizer)
    parts.remarks += _of_rows(_looked_up(architecture), compiled, compiled.optimizer)
    text = "\n\n\n".join("\n".join(section) for section in sections if section)
    places_left, remarks = tuple(parts.unwritten), tuple(parts.remarks)
    is_filtered = bool(places_frozen) and linen is None
    return Training(text, places_left, remarks, is_filtered, has_own_step=compiled.own is not None)


def _not_in_linen(what: str) -> str:
    return f"the training step: {what} is not written in Linen"


def _traced_training(own: OwnStep, architecture: Architecture, source: Written) -> Training:
    """The text of a training whose step was traced."""
    assert own.traced is not None
    try:
        step = step_text(own.traced, architecture, source, _looked_up(architecture))
    except UnwritableError as error:
        return Training(unwritten=(f"the training step: that of {comment_text(own.line)}: {error}",))
    remarks = ("metrics of its own train_step are not written, and are no part of what the gates judge",)
    if not own.traced.targets:
        remarks += ("its own train_step is trained on inputs alone: it was traced without targets",)
    text = "\n\n\n".join("\n".join(section) for section in step.sections)
    several = len(own.traced.optimizers) > 1
    return Training(
        text, tuple(source.unstarted), remarks, step.is_filtered, has_own_step=True, has_several_optimizers=several
    )


def _of_rows(table: str, compiled: Compiled, optimizer: Described) -> list[str]:
    """A remark on the gradients of a table whose rows are looked up."""
    if not table or compiled.own or _adds_up(optimizer):
        return []
    return [
        f"{comment_text(table)} gives rows as gradients: in fit(), {optimizer.class_name} of Keras squares or clips "
        "those of one token apart; here, and where it is judged, they are added up first"
    ]


def _of_average(optimizer: Described) -> list[str]:
    """A remark on an average of weights that no step copies to them."""
    if not optimizer.config.get("use_ema") or optimizer.config.get("ema_overwrite_frequency"):
        return []
    return ["fit() ends with the average of the weights in place of them: the port keeps it in the optimizer's state"]


def _adds_up(optimizer: Described) -> bool:
    """Whether what an optimizer does to rows of a table adds up: that of SGD, of no square and no norm, does."""
    clips = any(optimizer.config.get(name) for name in ("clipnorm", "global_clipnorm", "clipvalue"))
    return optimizer.class_name == "SGD" and not clips


def _has_loss(compiled: Compiled) -> bool:
    return any(loss is not None for term in loss_terms(compiled) for loss in losses_of(term, compiled))


def _own_functions(compiled: Compiled) -> list[list[str]]:
    """The functions of losses and schedules of the user's own, each once; what cannot be written is said elsewhere."""
    schedule = compiled.optimizer.inner.get("learning_rate") if compiled.optimizer else None
    losses = [loss for term in loss_terms(compiled) for loss in losses_of(term, compiled) if loss is not None]
    functions: dict[str, list[str]] = {}
    for value in (*([schedule] if schedule else []), *losses):
        if not value.own:
            with suppress(UnwritableError):
                functions[function_name(value)] = function_lines(value)
    return list(functions.values())


def _optimizer(
    parts: Parts, compiled: Compiled, optimizer: Described, outputs: Sequence[TrainedOutput], is_labelled: bool
) -> list[str]:
    own = compiled.own
    try:
        check_part(compiled, "optimizer")
        check_own(optimizer.inner.get("learning_rate"))
        if decays(optimizer) and any(output.loss is None for output in outputs):
            raise UnwritableError(f"{optimizer.class_name} decays no weights that are for an output without a loss")
        if own and scales_loss(optimizer):
            raise UnwritableError(f"{optimizer.class_name} under a train_step of its own")
        text = optimizer_expression(optimizer)
        body = [f"    return {of_trained(text) if is_labelled else text}"]
    except UnwritableError as error:
        body = parts.raising("the optimizer", error)
    return ["def make_optimizer() -> optax.GradientTransformation:", '    """As the model was compiled."""', *body]


def _metrics(parts: Parts, outputs: Sequence[TrainedOutput]) -> list[str]:
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


def _step(parts: Parts, source: Written, compiled: Compiled, looked_up: str, has_frozen: bool) -> list[str]:
    own, name = compiled.own, source.class_name
    head = [
        "@nnx.jit",
        f"def train_step(model: {name}, optimizer: nnx.Optimizer, inputs: tuple[jax.Array, ...], targets: Any)"
        " -> jax.Array:",
        '    """The loss f32[] before the step; model and optimizer are changed."""',
    ]
    try:
        check_part(compiled, "step")
        clips = [_clip(clip) for clip in own.clips] if own else []
        if clips and looked_up:
            # A tf.IndexedSlices has a row for each time that it was looked up, and TensorFlow takes the norm of these.
            raise UnwritableError(
                f"{looked_up} gives rows as gradients, which it clips before it adds up those of a token"
            )
        if source.linen and compiled.optimizer and scales_loss(compiled.optimizer):
            raise UnwritableError(f"{compiled.optimizer.class_name} is not written in Linen")
        if source.linen and own and has_frozen:
            raise UnwritableError("a train_step of its own, with layers that are not trained, is not written in Linen")
    except UnwritableError as error:
        return [*head, *parts.raising("the training step", error)]
    if source.linen:
        return step_lines(source.linen, clips)
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
