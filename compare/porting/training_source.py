"""The training that is written: loss, penalties, optimizer, metrics and the step, as the model was compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compare.porting.identifiers import commented, identifier
from compare.porting.losses_by_name import loss_expression, metric_expression, of_logits
from compare.porting.model_source import Written
from compare.porting.optimizers_by_name import optimizer_expression
from compare.porting.safe_expressions import UnwritableError, literal
from workloads._architecture import Architecture, Compiled, Described, Penalty


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
        self.unwritten.append(f"{what}: {commented(str(error))}")
        return [f"    raise NotImplementedError({f'{what}: {commented(str(error))}: write it here'!r})"]


def training_source(architecture: Architecture, written: Written) -> Training:
    """The text of a training.

    Args:
      architecture: of a Keras model.
      written: its module.
    """
    compiled = architecture.compiled
    if compiled is None:
        return Training()
    if compiled.obstacle or compiled.optimizer is None or not compiled.losses:
        reason = compiled.obstacle or "no loss or no optimizer"
        return Training(unwritten=(f"the training step: it has {commented(reason)}",))
    if architecture.frozen:
        told = f"{commented(architecture.frozen[0])} and others are not trained: say so in `wrt` and in the step"
        return Training(unwritten=(f"the training step: {told}",))
    parts = _Parts()
    name = written.class_name
    sections = [
        _optimizer(parts, compiled.optimizer),
        _loss(parts, compiled, written, architecture.penalties),
        _metrics(parts, compiled),
        _step(name),
    ]
    text = "\n\n\n".join("\n".join(each) for each in sections if each)
    return Training(text, tuple(parts.unwritten), tuple(parts.remarks))


def _optimizer(parts: _Parts, optimizer: Described) -> list[str]:
    try:
        body = [f"    return {optimizer_expression(optimizer)}"]
    except UnwritableError as error:
        body = parts.raising("the optimizer", error)
    return ["def make_optimizer() -> optax.GradientTransformation:", '    """As the model was compiled."""', *body]


def _loss(parts: _Parts, compiled: Compiled, written: Written, penalties: Sequence[Penalty]) -> list[str]:
    first = compiled.losses[0]
    wanted = of_logits(first) if len(compiled.losses) == 1 and first is not None else ""
    from_logits = bool(wanted) and wanted == written.logits
    head = [
        f"def loss(model: {written.class_name}, inputs: tuple[jax.Array, ...], targets: Any) -> jax.Array:",
        '    """f32[]: the loss of a batch, as Keras takes it."""',
    ]
    try:
        added = [term() for term in _terms(compiled, from_logits)]
        penalty = [_penalty(each, written) for each in penalties]
    except UnwritableError as error:
        return [*head, *parts.raising("the loss", error)]
    if from_logits:
        head.append("    # Keras takes the loss of the logits behind a softmax or sigmoid: crossentropy_of_softmax.")
    head.append(f"    predictions = {'model.logits' if from_logits else 'model'}(*inputs)")
    if not penalty:
        return [*head, f"    return {' + '.join(added)}"]
    added_to = [f"    value += {each}  # a regularizer" for each in penalty]
    return [*head, f"    value = {' + '.join(added)}", *added_to, "    return value"]


def _terms(compiled: Compiled, from_logits: bool) -> list[Callable[[], str]]:
    def of(place: int, loss: Described) -> Callable[[], str]:
        def term() -> str:
            text = loss_expression(loss, from_logits)
            if len(compiled.losses) > 1:
                text = text.replace("predictions", f"predictions[{place}]").replace("targets", f"targets[{place}]")
            return f"jnp.mean({text})"

        return term

    return [of(place, loss) for place, loss in enumerate(compiled.losses) if loss is not None]


def _penalty(penalty: Penalty, written: Written) -> str:
    regularizer, config = penalty.regularizer, penalty.regularizer.config
    place = written.names.get(penalty.layer, penalty.layer.replace("/", "."))
    variable = {"gamma": "scale", "beta": "bias", "embeddings": "embedding"}.get(penalty.leaf, penalty.leaf)
    if not regularizer.own or variable not in ("kernel", "bias", "scale", "embedding"):
        raise UnwritableError(f"{penalty.layer} has the regularizer {regularizer.class_name}")
    array = f"model.{place}.{variable}[...]"
    squares, sizes = f"jnp.sum(jnp.square({array}))", f"jnp.sum(jnp.abs({array}))"
    if regularizer.class_name == "L2":
        return f"{literal(config.get('l2'))} * {squares}"
    if regularizer.class_name == "L1":
        return f"{literal(config.get('l1'))} * {sizes}"
    if regularizer.class_name == "L1L2":
        return f"{literal(config.get('l1'))} * {sizes} + {literal(config.get('l2'))} * {squares}"
    raise UnwritableError(f"{penalty.layer} has the regularizer {regularizer.class_name}")


def _metrics(parts: _Parts, compiled: Compiled) -> list[str]:
    if not compiled.metrics:
        return []
    losses: Mapping[int, Described] = {at: each for at, each in enumerate(compiled.losses) if each is not None}
    lines = [
        "def metrics(targets: Any, predictions: Any) -> dict[str, jax.Array]:",
        '    """The metrics of a batch."""',
    ]
    values: list[str] = []
    for each in compiled.metrics:
        try:
            if len(compiled.losses) > 1:
                raise UnwritableError(f"the metric {each.class_name} of several outputs")
            name, text = metric_expression(each, losses)
        except UnwritableError as error:
            return [*lines, *parts.raising("the metrics", error)]
        values.append(f"{identifier(name, 'metric')!r}: {text}")
    parts.remarks.append("metrics are written and are no part of what the gates judge")
    return [*lines, f"    return {{{', '.join(values)}}}"]


def _step(name: str) -> list[str]:
    return [
        "@nnx.jit",
        f"def train_step(model: {name}, optimizer: nnx.Optimizer, inputs: tuple[jax.Array, ...], targets: Any)"
        " -> jax.Array:",
        '    """The loss f32[] before the step; model and optimizer are changed."""',
        "    model.train()",
        "    value, gradients = nnx.value_and_grad(loss)(model, inputs, targets)",
        "    optimizer.update(model, gradients)",
        "    return value",
    ]
