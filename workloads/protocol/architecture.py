"""How the layers of a Keras model call one another, and what it was compiled with: what a port is written of.

A tensor in the arguments of a call is `{"tensor": NUMBER}`, a tuple `{"tuple": [...]}`, a slice `{"slice": [a, b, c]}`,
an ellipsis `{"ellipsis": true}`, an array that depends on no input `{"constant": {"shape": [...], "values": [...]}}`
with its values in order, and what cannot be said so `{"unknown": NAME OF ITS CLASS}`; all else is itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.protocol.function_graph import FunctionGraph
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import Source

TENSOR, TUPLE, SLICE, ELLIPSIS, CONSTANT, UNKNOWN = "tensor", "tuple", "slice", "ellipsis", "constant", "unknown"
LAYER_CALL = "LayerCall"
"""The type of a node of a call that was traced, where it calls a layer."""

LOSS, GRADIENT, UPDATE, ASSIGN = "KerasLoss", "TapeGradient", "OptimizerUpdate", "WeightAssign"
CLIP = "ClipByNorm"
"""The types of nodes of a training step that was traced: each has its number as attribute "call"."""

LOGITS = "Logits"
METRIC = "Metric"
"""Likewise of what the softmax or sigmoid at the end of a call is taken of: it has the number of the call."""

ITERATIONS = "iterations of "
"""Before the attribute of an optimizer: the key of its count of updates in a step."""


@dataclass(frozen=True)
class Tensor:
    """A tensor between two layers.

    Attributes:
      shape: None is a size that is not fixed.
      dtype: of it.
    """

    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class Call:
    """One call of a layer in a model.

    Attributes:
      layer: its path, as in `Source.layers`.
      arguments: by position.
      keywords: by name; those that are None are left out.
      outputs: the numbers of the tensors that it returns.
    """

    layer: str
    arguments: tuple[Plain, ...]
    keywords: Mapping[str, Plain]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Constant:
    """An array in a call that was traced.

    Attributes:
      dtype: of it.
      shape: of it.
      values: its elements in order, as Python writes them, since JSON has no infinity; one that stands for all of many.
    """

    dtype: str
    shape: tuple[int, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Traced:
    """A call of the user's own that TensorFlow traced, since it calls functions of TensorFlow itself.

    A call of a layer in it is one node of type LAYER_CALL, with the number of the call as attribute "call": it takes
    the tensors in the arguments of the call, each once, and returns those that the call does.

    Attributes:
      function: of the tensors that the call takes, then of weights.
      weights: of the layer itself, by the names that its leaves have, in the order in which the function takes them.
      constants: by the keys that nodes have.
      adds: whether the last result of the function is what the call adds to the loss, and nothing that it returns.
    """

    function: FunctionGraph
    weights: tuple[str, ...]
    constants: Mapping[str, Constant]
    adds: bool = False


@dataclass(frozen=True)
class Graph:
    """The calls of one model, each after those that it needs.

    Attributes:
      model: its path; "" is the whole.
      inputs: tensors by the names of the inputs.
      nest: how it takes them: a tensor, or a list, tuple or dict of such.
      calls: in order.
      outputs: a nest likewise.
      tensors: by their numbers.
      traced: what it computes between the calls and how these are wired, where TensorFlow traced it; else the calls
        say all.
      masks: of the whole, if it is compiled: the number of a tensor that it returns, and of the mask that it carries.
    """

    model: str
    inputs: Mapping[str, int]
    nest: Plain
    calls: tuple[Call, ...]
    outputs: Plain
    tensors: tuple[Tensor, ...]
    traced: Traced | None = None
    masks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Inner:
    """An object among the attributes of another: the schedule of a learning rate.

    Attributes:
      class_name: of it; a function has its own name.
      own: whether it is Keras' own.
      config: its attributes.
      traced: what a loss or schedule of the user's own computes, where TensorFlow can trace it.
    """

    class_name: str
    own: bool = True
    config: Mapping[str, Plain] = field(default_factory=dict)
    traced: Graph | None = None


@dataclass(frozen=True)
class Described(Inner):
    """A loss, an optimizer, a metric or a regularizer: a class of Keras with its attributes.

    Attributes:
      inner: objects among these, by attribute.
    """

    inner: Mapping[str, Inner] = field(default_factory=dict)


@dataclass(frozen=True)
class Penalty:
    """The term that a regularizer adds to the loss.

    Attributes:
      layer: its path.
      leaf: the weight, as in `Source.layers`; "" where it is of the layer's output.
      regularizer: itself.
    """

    layer: str
    leaf: str
    regularizer: Described


@dataclass(frozen=True)
class LossTerm:
    """One summand of the loss that a train_step of the user's own takes.

    Attributes:
      weight: that it is multiplied with.
      loss: itself; None where `regularizers` or else the compiled loss is meant, which has the regularizers in it.
      regularizers: whether it is the sum of the model's penalties.
    """

    weight: float = 1.0
    loss: Described | None = None
    regularizers: bool = False


@dataclass(frozen=True)
class Clip:
    """The clipping of gradients before the optimizer reads them.

    Attributes:
      name: "clip_by_global_norm", or "clip_by_norm" or "clip_by_value" of each.
      bounds: the norm, or the two ends.
    """

    name: str
    bounds: tuple[float, ...]


@dataclass(frozen=True)
class TapeGradient:
    """Gradients that a step asks a tf.GradientTape for.

    Its node takes the loss, then the tensors that it is differentiated by, and returns the gradients.

    Attributes:
      keys: of the weights that it is differentiated by; none where it is by tensors.
      recorded: the names of the nodes that the tape recorded.
    """

    keys: tuple[str, ...]
    recorded: tuple[str, ...]


@dataclass(frozen=True)
class OptimizerUpdate:
    """An update of weights by an optimizer.

    Its node takes a gradient for each weight, and returns the new weights.

    Attributes:
      optimizer: the attribute of the model that holds it.
      keys: of the weights.
    """

    optimizer: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class TracedStep:
    """A train_step of the user's own that TensorFlow traced.

    Attributes:
      graph: its inputs are those of the model, then the targets; weights are named by their keys. Calls of layers are
        in the order in which they are made.
      targets: how many of the inputs are targets.
      trains: of each call, whether it is in training.
      losses: of Keras that it calls, of targets and predictions.
      gradients: that it takes.
      updates: by optimizers.
      assigned: the key of each weight that it assigns to.
      clips: the norm that each array is clipped to by tf.clip_by_norm.
      optimizers: by the attribute of the model that holds each.
    """

    graph: Graph
    targets: int
    trains: tuple[bool, ...]
    losses: tuple[Described, ...]
    gradients: tuple[TapeGradient, ...]
    updates: tuple[OptimizerUpdate, ...]
    assigned: tuple[str, ...]
    clips: tuple[float, ...]
    optimizers: Mapping[str, Described]


@dataclass(frozen=True)
class OwnStep:
    """A train_step of the user's own, as far as it trains.

    Attributes:
      line: FILE:LINE of it.
      terms: their sum is the loss.
      clips: in order.
      traced: all of it, where its source does not say it in terms and clips.
      uses: the paths of layers that it uses beside the call of the model.
    """

    line: str
    terms: tuple[LossTerm, ...]
    clips: tuple[Clip, ...] = ()
    traced: TracedStep | None = None
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compiled:
    """The arguments of `model.compile`.

    Attributes:
      losses: one for each output, in the order of `outputs`; None is an output without one.
      weights: what each of the losses is multiplied with; none where all count alike.
      metrics: those of each output; none where there are none at all, or it is not said of which output each is.
      of_no_output: why it is not; empty otherwise.
      optimizer: itself.
      obstacle: what of it is not said here, as sample weights; "" where all is.
      own: the train_step or compute_loss of the model's own class; None of Keras'.
      left: "loss", "optimizer" or "step" -> what of that part alone is not said here.
    """

    losses: tuple[Described | None, ...] = ()
    weights: tuple[float, ...] = ()
    metrics: tuple[tuple[Described, ...], ...] = ()
    of_no_output: str = ""
    optimizer: Described | None = None
    obstacle: str = ""
    own: OwnStep | None = None
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Piped:
    """An input of a port that the original's input pipeline makes: numbers behind strings or tables of words.

    Attributes:
      name: of the input.
      layers: of the original that make it, in order, as "job_lookup (StringLookup)".
      of: the inputs of the original that it is made of.
      size: how many integers there are, from 0; None where that is not known, or it holds floats.
    """

    name: str
    layers: tuple[str, ...]
    of: tuple[str, ...]
    size: int | None = None


@dataclass(frozen=True)
class Architecture:
    """A Keras model.

    Attributes:
      name: its own.
      source: its layers.
      graphs: of the model, and of each model in it, by path.
      lines: FILE:LINE of the class or function of a layer that is not Keras' own, by path.
      reasons: path of a layer of the user's own -> why its call is not followed.
      penalties: of regularizers.
      frozen: keys of leaves that are not trained, though their kind would be.
      compiled: None where it was not.
      drawn: the shape of each output, in the order in which Keras flattens them, where sizes that the inputs leave open
        are as `drawn_size` has them; empty where no output leaves one open, or Keras cannot tell.
      pipeline: the inputs that the original's input pipeline makes.
      has_call: whether its class has a call; a class without one holds models that its training step calls.
    """

    name: str
    source: Source
    graphs: tuple[Graph, ...]
    lines: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    penalties: tuple[Penalty, ...] = ()
    frozen: tuple[str, ...] = ()
    compiled: Compiled | None = None
    drawn: tuple[tuple[int | None, ...], ...] = ()
    pipeline: tuple[Piped, ...] = ()
    has_call: bool = True

    @property
    def step(self) -> TracedStep | None:
        """Its own training step, where that was traced."""
        own = self.compiled.own if self.compiled else None
        return own.traced if own else None


def drawn_size(size: int | None, rank: int) -> int:
    """A size of an input that is drawn, where it is not fixed: 10 steps, or 64 of an image, which survives pooling."""
    return size if size is not None else (64 if rank > 3 else 10)
