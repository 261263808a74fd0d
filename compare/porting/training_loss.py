"""The loss that is written: its terms as the model was compiled, of logits where Keras takes these, and penalties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from compare.porting.call_methods import MASKED, PENALIZED
from compare.porting.linen_training import loss_head, prediction_lines, result_text
from compare.porting.losses_by_name import loss_expression, of_logits
from compare.porting.penalties import ADDED, activity_penalties, check_activities, weight_penalty
from compare.porting.safe_expressions import UnwritableError, literal
from compare.porting.trained_outputs import TrainedOutput, mask_names, only
from compare.porting.training_parts import Parts, check_own, check_part
from compare.porting.written_classes import Written
from workloads.core.precision import NARROW
from workloads.protocol.architecture import Architecture, Compiled, Described, LossTerm


def write_loss(
    parts: Parts,
    compiled: Compiled,
    source: Written,
    architecture: Architecture,
    outputs: Sequence[TrainedOutput],
) -> list[str]:
    """The function of the loss."""
    linen = source.linen
    head = loss_head(linen) if linen else _head(source.class_name)
    masks = [name for graph in architecture.graphs if not graph.model for name in mask_names(graph)]
    beside = [ADDED] * bool(source.penalized) + masks
    try:
        check_part(compiled, "loss")
        for term in loss_terms(compiled):
            for value in losses_of(term, compiled):
                check_own(value)
        logits = _logits(compiled, source, outputs)
        # A method that gives something beside gives logits where there are some, whether a loss is of them or not.
        before = source.logits if beside else logits
        terms = [text for term in loss_terms(compiled) for text in _terms(term, outputs, before)]
        _check_looked_through(architecture, outputs)
        penalties = list(_penalties(compiled, source, architecture))
    except UnwritableError as error:
        return [*head, *parts.raising("the loss", error)]
    if logits:
        head.append("    # Keras takes the loss of the logits behind a softmax or sigmoid: crossentropy_of_softmax.")
    method = "logits" if logits else ""
    if beside:
        # The method that gives logits gives these too, where there is one.
        method = "logits" if source.logits else PENALIZED if source.penalized else MASKED
    results = ["predictions", *beside]
    head += prediction_lines(linen, results, method) if linen else _prediction_lines(results, method)
    if not terms:
        # A model may add all of its loss itself.
        if not penalties:
            return [*head[:2], *parts.raising("the loss", UnwritableError("what the model adds to it is not written"))]
        terms.append(penalties.pop())
    value = " + ".join(terms) if not penalties else "value"
    added_to = [f"    value += {text}  # a regularizer" for text in penalties]
    sum_lines = [f"    value = {' + '.join(terms)}", *added_to] if penalties else []
    return [*head, *sum_lines, f"    return {result_text(linen, value) if linen else value}"]


def _head(class_name: str) -> list[str]:
    return [
        f"def loss(model: {class_name}, inputs: tuple[jax.Array, ...], targets: Any) -> jax.Array:",
        '    """f32[]: the loss of a batch, as Keras takes it."""',
    ]


def _prediction_lines(results: Sequence[str], method: str) -> list[str]:
    return [f"    {', '.join(results)} = model{f'.{method}' if method else ''}(*inputs)"]


def _penalties(compiled: Compiled, source: Written, architecture: Architecture) -> Iterator[str]:
    """The penalties in the loss: those of weights, then the sum of those of activities.

    Raises:
      UnwritableError: one of them is not written.
    """
    check_activities(architecture, source)
    for term in loss_terms(compiled):
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


def loss_terms(compiled: Compiled) -> Sequence[LossTerm]:
    """The terms of the loss: the compiled one alone, or those of a train_step of the user's own."""
    return compiled.own.terms if compiled.own else (LossTerm(),)


def losses_of(term: LossTerm, compiled: Compiled) -> Sequence[Described | None]:
    """The losses of a term, an output each; None where an output has none."""
    if term.regularizers:
        return ()
    return compiled.losses if term.loss is None else (term.loss,)


def _logits(compiled: Compiled, source: Written, outputs: Sequence[TrainedOutput]) -> Mapping[str, str]:
    """The activations behind which losses find logits, by the place of the output; none where no loss does."""
    outputs_judged = [output for term in loss_terms(compiled) for output in _outputs_of_term(term, outputs)]
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
