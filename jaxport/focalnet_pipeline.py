"""The vision pipeline in JAX: patches by a mapped dynamic slice, a FocalNet of Flax NNX modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from jaxport import Model, _gelu, optimizers
from jaxport._dense import Dense
from jaxport._nnx import Parameters, Place, WeightMap, structure, training_step
from jaxport._transformer import dense_paths, norm_paths
from jaxport.convolution import depthwise
from workloads import focalnet_pipeline as pipeline
from workloads.core.spec import Dimensions
from workloads.focalnet_pipeline import Block, Merge

gelu = partial(_gelu.gelu, root_of_half=float(np.float32(0.5**0.5)))
"""With the root rounded to float32, as tf.nn.gelu has it in every type."""


def cut(frames: jax.Array, positions: jax.Array, crop: int) -> jax.Array:
    """Patches [batch, patches, crop, crop, 3].

    A slice that would leave the frame is moved inside: that is what dynamic_slice does with its corner.

    Args:
      frames: [batch, height, width, 3].
      positions: i32[batch, patches, 2], the centres in pixels.
      crop: side of a patch in pixels.
    """

    def one(frame: jax.Array, position: jax.Array) -> jax.Array:
        row, column = jnp.maximum(position - crop // 2, 0)
        return jax.lax.dynamic_slice(frame, (row, column, jnp.zeros_like(row)), (crop, crop, frame.shape[-1]))

    return jax.vmap(jax.vmap(one, (None, 0)))(frames, positions)


def preprocess(patches: jax.Array) -> jax.Array:
    """Patches [..., crop, crop, 3] in [0, 1] -> halved in size, with the mean and deviation of ImageNet's channels."""
    *around, crop, _, channels = patches.shape
    small = crop // pipeline.SHRINK
    smaller = jax.image.resize(patches, (*around, small, small, channels), "linear", antialias=False)
    mean, deviation = (jnp.array(by_channel, patches.dtype) for by_channel in (pipeline.MEAN, pipeline.DEVIATION))
    return (smaller - mean) / deviation


class Embedding(nnx.Module):
    """Every size x size places become one, then layer norm: [batch, h, w, in] -> [batch, h / size, w / size, out]."""

    def __init__(self, merge: Merge, types: dict[str, Any]) -> None:
        size = merge.size
        self.convolution = nnx.Conv(merge.inputs, merge.outputs, (size, size), size, padding="VALID", **types)
        self.norm = _norm(merge.outputs, types)

    def __call__(self, x: jax.Array) -> jax.Array:
        """[batch, height, width, in] -> [batch, height / size, width / size, out]."""
        return self.norm(self.convolution(x))


class Depthwise(nnx.Module):
    """A kernel [size, size, width, 1] (Keras's layout) for every channel: [batch, h, w, width] -> the same shape."""

    def __init__(self, size: int, width: int, types: dict[str, Any]) -> None:
        self.kernel = nnx.Param(jnp.zeros((size, size, width, 1), types["param_dtype"]))

    def __call__(self, x: jax.Array) -> jax.Array:
        """[batch, height, width, channels] -> the same shape."""
        return depthwise(x, self.kernel.get_value())


class FocalModulation(nnx.Module):
    """Each place of [batch, h, w, width] is multiplied by what it sees around it, at every level and as a whole."""

    def __init__(self, block: Block, types: dict[str, Any]) -> None:
        width = block.width
        self.splits = (width, 2 * width)
        self.project = Dense(width, block.projection_width, **types)
        self.focal = nnx.List(Depthwise(size, width, types) for size in block.kernels)
        self.modulate = Dense(width, width, **types)
        self.output = Dense(width, width, **types)

    def __call__(self, x: jax.Array) -> jax.Array:
        """[batch, height, width, channels] -> the same shape."""
        query, context, gates = jnp.split(self.project(x), self.splits, axis=-1)
        total = jnp.zeros_like(context)
        for level, look in enumerate(self.focal):
            context = gelu(look(context))
            total += context * gates[..., level, None]
        whole = gelu(context.mean(axis=(1, 2), keepdims=True))
        total += whole * gates[..., -1:]
        return self.output(query * self.modulate(total))


class FocalBlock(nnx.Module):
    """Modulation and a dense block, each behind a layer norm and added to what came in."""

    def __init__(self, block: Block, types: dict[str, Any]) -> None:
        hidden = pipeline.EXPANSION * block.width
        self.norm1 = _norm(block.width, types)
        self.modulation = FocalModulation(block, types)
        self.norm2 = _norm(block.width, types)
        self.expand = Dense(block.width, hidden, **types)
        self.contract = Dense(hidden, block.width, **types)

    def __call__(self, x: jax.Array) -> jax.Array:
        """[batch, height, width, channels] -> the same shape."""
        x = x + self.modulation(self.norm1(x))
        return x + self.contract(gelu(self.expand(self.norm2(x))))


class Pipeline(nnx.Module):
    """frames, positions -> logits [batch, patches, classes]."""

    def __init__(self, dimensions: Dimensions, dtype: str, rngs: nnx.Rngs) -> None:
        types: dict[str, Any] = {"dtype": jnp.dtype(dtype), "param_dtype": jnp.dtype(dtype), "rngs": rngs}
        self.crop = dimensions["crop"]
        self.embeddings = nnx.List(Embedding(merge, types) for merge in pipeline.merges(dimensions))
        self.stages = nnx.List(
            nnx.List(FocalBlock(block, types) for block in pipeline.blocks(dimensions) if block.stage == stage)
            for stage in range(1, pipeline.STAGES + 1)
        )
        features = pipeline.stage_width(dimensions, pipeline.STAGES)
        self.norm = _norm(features, types)
        self.head = nnx.Linear(features, dimensions["classes"], **types)

    def prepare(self, frames: jax.Array, positions: jax.Array) -> jax.Array:
        """Patches of all frames, [batch * patches, crop / 2, crop / 2, 3]."""
        patches = preprocess(cut(frames, positions, self.crop))
        return patches.reshape(-1, *patches.shape[2:])

    def stage(self, index: int, x: jax.Array) -> jax.Array:
        """Embedded or merged, and through the blocks of a stage, counted from 0."""
        x = self.embeddings[index](x)
        for block in self.stages[index]:
            x = block(x)
        return x

    def classify(self, x: jax.Array) -> jax.Array:
        """[batch * patches, height, width, channels] -> [batch * patches, classes]."""
        return self.head(self.norm(x).mean(axis=(1, 2)))


Part = Callable[..., jax.Array]
"""(parameters, *arrays) -> an array."""


def parts(graph: nnx.GraphDef[Any]) -> list[Part]:
    """The parts of the model in order: patches and preprocessing, the stages, the classifier."""

    def stage(index: int, parameters: Parameters, x: jax.Array) -> jax.Array:
        return nnx.merge(graph, parameters).stage(index, x)

    return [
        lambda parameters, frames, positions: nnx.merge(graph, parameters).prepare(frames, positions),
        *(partial(stage, index) for index in range(pipeline.STAGES)),
        lambda parameters, x: nnx.merge(graph, parameters).classify(x),
    ]


def logits_by(parts: Sequence[Part], parameters: Parameters, frames: jax.Array, positions: jax.Array) -> jax.Array:
    """Logits [batch, patches, classes] by these parts, one after the other.

    Args:
      parts: as `parts` gives them, compiled or not.
      parameters: of the network.
      frames: [batch, height, width, 3].
      positions: i32[batch, patches, 2].
    """
    first, *others = parts
    x = first(parameters, frames, positions)
    for part in others:
        x = part(parameters, x)
    return x.reshape(*positions.shape[:2], -1)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean over all patches, a scalar."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def step_of_compiled(parts: Sequence[Part], optimizer: optax.GradientTransformation) -> Callable[..., Any]:
    """(parameters, state, *inputs) -> (parameters, state, loss): parts, loss and update each compiled on its own.

    What a part keeps for its gradient crosses as arrays, in the `jax.vjp` that its compiled forward pass returns. A
    `jax.grad` around compiled parts would be taken anew, in Python, at every call: 100 times as slow as the whole.
    """
    prepare, *trainable_parts = [jax.jit(part) for part in parts]
    forwards = [jax.jit(partial(jax.vjp, part)) for part in trainable_parts]
    backward = jax.jit(lambda gradient, cotangent: gradient(cotangent))
    measure = jax.jit(jax.value_and_grad(lambda logits, labels: cross_entropy(logits, labels.reshape(-1))))

    @jax.jit
    def update(parameters: Parameters, state: Any, by_part: Sequence[Parameters]) -> tuple[Any, Any]:
        gradients = jax.tree.map(lambda *leaves: sum(leaves), *by_part)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state

    def step(
        parameters: Parameters, state: Any, frames: jax.Array, positions: jax.Array, labels: jax.Array
    ) -> tuple[Any, Any, jax.Array]:
        x, gradients, by_part = prepare(parameters, frames, positions), [], []
        for forward in forwards:
            x, gradient = forward(parameters, x)
            gradients.append(gradient)
        value, cotangent = measure(x, labels)
        for gradient in reversed(gradients):
            of_part, cotangent = backward(gradient, cotangent)
            by_part.append(of_part)
        return *update(parameters, state, by_part), value

    return step


def _norm(width: int, types: dict[str, Any]) -> nnx.LayerNorm:
    return nnx.LayerNorm(width, epsilon=pipeline.NORM_EPSILON, use_fast_variance=False, **types)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/focalnet_pipeline.py."""
    graph = structure(lambda: Pipeline(dimensions, dtype, nnx.Rngs(0)))
    optimizer = optimizers.adam(pipeline.LEARNING_RATE)
    weights = WeightMap(_places(dimensions))

    def forward(parameters: Parameters, frames: jax.Array, positions: jax.Array, labels: jax.Array) -> jax.Array:
        return logits_by(parts(graph), parameters, frames, positions)

    def loss(parameters: Parameters, frames: jax.Array, positions: jax.Array, labels: jax.Array) -> jax.Array:
        return cross_entropy(forward(parameters, frames, positions, labels), labels)

    return Model(
        forward,
        weights.from_weights,
        weights.to_weights,
        loss=loss,
        init=optimizer.init,
        step=training_step(loss, optimizer),
        apart=step_of_compiled(parts(graph), optimizer),
    )


def _places(dimensions: Dimensions) -> dict[str, Place]:
    places = dict([*norm_paths("norm", ("norm",)), *dense_paths("head", ("head",))])
    for index, merge in enumerate(pipeline.merges(dimensions)):
        places |= dense_paths(merge.path, ("embeddings", index, "convolution"))
        places |= norm_paths(f"{merge.path}/norm", ("embeddings", index, "norm"))
    for block in pipeline.blocks(dimensions):
        places |= _block_places(block, ("stages", block.stage - 1, block.index))
    return places


def _block_places(block: Block, place: Place) -> dict[str, Place]:
    path, modulation = block.path, (*place, "modulation")
    places: dict[str, Place] = {
        f"{path}/focal{level + 1}/kernel": (*modulation, "focal", level, "kernel") for level in range(block.levels)
    }
    for name in ("project", "modulate", "output"):
        places |= dense_paths(f"{path}/{name}", (*modulation, name))
    for name in ("expand", "contract"):
        places |= dense_paths(f"{path}/{name}", (*place, name))
    for name in ("norm1", "norm2"):
        places |= norm_paths(f"{path}/{name}", (*place, name))
    return places
