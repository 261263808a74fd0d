"""Mask R-CNN in Flax NNX: detections forward, the five losses of its training step."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import Model, _detection, optimizers
from jaxport import _mask_rcnn_losses as losses
from jaxport._dense import Dense
from jaxport._nnx import Parameters, Place, WeightMap, training_step
from workloads import _anchors
from workloads import _detection as rules
from workloads.core.precision import compute_dtype
from workloads.core.spec import Dimensions


class Backbone(nnx.Module):
    """images [batch, image, image, 3] -> features of every level, the finest first."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        convolution = partial(_convolution, **kinds)
        width = dimensions["width"]
        self.stem = convolution(3, width, 3, 2)
        self.stages = nnx.List()
        for level in range(dimensions["levels"]):
            narrow, wide = width * 2 ** max(level - 1, 0), width * 2**level
            blocks = [convolution(wide, wide, 3) for _ in range(dimensions["blocks"])]
            self.stages.append(nnx.List([convolution(narrow, wide, 3, 2), *blocks]))

    def __call__(self, images: jax.Array) -> list[jax.Array]:
        """Images [batch, image, image, 3] -> by level [batch, side, side, channels]."""
        values, features = nnx.relu(self.stem(images)), []
        for down, *blocks in self.stages:
            values = nnx.relu(down(values))
            for block in blocks:
                values = nnx.relu(values + block(values))
            features.append(values)
        return features


class Pyramid(nnx.Module):
    """Features of every level -> as many channels on each, the coarse added to the fine; in the parameters' type."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        convolution = partial(_convolution, **kinds)
        width, channels, levels = dimensions["width"], dimensions["pyramid"], range(dimensions["levels"])
        self.laterals = nnx.List([convolution(width * 2**level, channels, 1) for level in levels])
        self.outputs = nnx.List([convolution(channels, channels, 3) for _ in levels])
        self.wide = kinds["param_dtype"]

    def __call__(self, features: list[jax.Array]) -> list[jax.Array]:
        """By level, [batch, side, side, width of the level] -> [batch, side, side, channels]."""
        levels = [lateral(values) for lateral, values in zip(self.laterals, features, strict=True)]
        for level in reversed(range(len(levels) - 1)):
            levels[level] = levels[level] + _double(levels[level + 1])
        return [output(values).astype(self.wide) for output, values in zip(self.outputs, levels, strict=True)]


class Proposing(nnx.Module):
    """Features of every level -> per anchor a logit [batch, anchors] and deltas [batch, anchors, 4]."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        channels, ratios = dimensions["pyramid"], len(_anchors.RATIOS)
        self.hidden = _convolution(channels, channels, 3, **kinds)
        self.objectness = Dense(channels, ratios, **_wide(kinds))
        self.deltas = Dense(channels, 4 * ratios, **_wide(kinds))

    def __call__(self, levels: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
        """By level, [batch, side, side, channels] -> logits [batch, anchors], deltas [batch, anchors, 4]."""
        batch, channels = len(levels[0]), levels[0].shape[-1]
        hidden = [nnx.relu(self.hidden(values)).reshape(batch, -1, channels) for values in levels]
        positions = jnp.concatenate(hidden, 1)
        return self.objectness(positions).reshape(batch, -1), self.deltas(positions).reshape(batch, -1, 4)


class Regions(nnx.Module):
    """Pooled features [..., pool, pool, channels] -> class logits [..., classes + 1], deltas [..., classes, 4]."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        hidden, classes = dimensions["hidden"], dimensions["classes"]
        widths = [dimensions["pool"] ** 2 * dimensions["pyramid"], *[hidden] * dimensions["region_layers"]]
        self.hidden = nnx.List([Dense(*pair, **kinds) for pair in pairwise(widths)])
        self.classes = Dense(widths[-1], classes + 1, **_wide(kinds))
        self.deltas = Dense(widths[-1], 4 * classes, **_wide(kinds))

    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        """[batch, regions, pool, pool, channels] -> logits [..., classes + 1], deltas [..., classes, 4]."""
        leading = features.shape[:-3]
        values = features.reshape(*leading, -1)
        for hidden in self.hidden:
            values = nnx.relu(hidden(values))
        return self.classes(values), self.deltas(values).reshape(*leading, -1, 4)


class Masks(nnx.Module):
    """Pooled features [batch, regions, pool, pool, c] -> logits [batch, regions, 2 pool, 2 pool, classes]."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        convolution = partial(_convolution, **kinds)
        channels = dimensions["pyramid"]
        self.hidden = nnx.List([convolution(channels, channels, 3) for _ in range(dimensions["mask_layers"])])
        self.upsampling = Upsampling(channels, **kinds)
        self.classes = _convolution(channels, dimensions["classes"], 1, **_wide(kinds))

    def __call__(self, features: jax.Array) -> jax.Array:
        """[batch, regions, pool, pool, channels] -> logits [batch, regions, 2 pool, 2 pool, classes]."""
        values = features.reshape(-1, *features.shape[2:])
        for hidden in self.hidden:
            values = nnx.relu(hidden(values))
        logits = self.classes(nnx.relu(self.upsampling(values)))
        return logits.reshape(*features.shape[:2], *logits.shape[1:])


class Upsampling(nnx.Module):
    """A transposed convolution of kernel and stride 2: every position becomes a square of its own.

    [n, height, width, channels] -> [n, 2 height, 2 width, channels]. No squares overlap, so that it is one matrix
    product; kernel [2, 2, out, in].
    """

    def __init__(self, channels: int, *, dtype: Any, param_dtype: Any, rngs: nnx.Rngs) -> None:
        self.kernel = nnx.Param(nnx.initializers.zeros(rngs.params(), (2, 2, channels, channels), param_dtype))
        self.bias = nnx.Param(nnx.initializers.zeros(rngs.params(), (channels,), param_dtype))
        self.dtype = dtype

    def __call__(self, values: jax.Array) -> jax.Array:
        """[n, height, width, channels] -> [n, 2 height, 2 width, channels]."""
        count, height, width, _ = values.shape
        kernel, bias = (parameter[...].astype(self.dtype) for parameter in (self.kernel, self.bias))
        squares = jnp.einsum("nhwc,ijdc->nhiwjd", values.astype(self.dtype), kernel)
        return squares.reshape(count, 2 * height, 2 * width, -1) + bias


class MaskRCNN(nnx.Module):
    """All that is learned, by part; logits and deltas are in the parameters' type: boxes and losses stay wide."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        self.backbone = Backbone(dimensions, **kinds)
        self.pyramid = Pyramid(dimensions, **kinds)
        self.proposing = Proposing(dimensions, **kinds)
        self.regions = Regions(dimensions, **kinds)
        self.masks = Masks(dimensions, **kinds)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/mask_rcnn.py: images and objects -> detections; the objects take part in the loss only."""
    finder = Finder(dimensions, dtype)
    optimizer = optimizers.sgd(rules.LEARNING_RATE, rules.MOMENTUM)
    weights = WeightMap(_places(dimensions))
    return Model(
        lambda parameters, images, *objects: finder.detections(parameters, images),
        weights.from_weights,
        weights.to_weights,
        loss=finder.loss,
        init=optimizer.init,
        step=training_step(finder.loss, optimizer),
    )


class Finder:
    """The parts of the detector as pure functions of their parameters."""

    def __init__(self, dimensions: Dimensions, dtype: str) -> None:
        self.sizes = dimensions
        self.anchors = _anchors.boxes(dimensions).astype(dtype)
        kinds = {"dtype": jnp.dtype(compute_dtype(dimensions, dtype)), "param_dtype": jnp.dtype(dtype)}
        model = nnx.eval_shape(lambda: MaskRCNN(dimensions, **kinds, rngs=nnx.Rngs(0)))
        self.parts = {name: nnx.split(part, nnx.Param)[0] for name, part in vars(model).items() if name in PARTS}

    def detections(self, parameters: Parameters, images: jax.Array) -> dict[str, jax.Array]:
        """Boxes [batch, detections, 4], scores, classes i32 (0: none), masks [batch, detections, size, size]."""
        image, count = self.sizes["image"], self.sizes["detections"]
        levels, logits, deltas = self._looked_at(parameters, images)
        proposals = self._proposals(logits, deltas)
        detections = detect(*self._classify(parameters, levels, proposals[0]), proposals, image=image, count=count)
        mask_logits = self._draw_masks(parameters, levels, detections["boxes"])
        return detections | {"masks": mask_probabilities(mask_logits, detections["classes"])}

    def loss(
        self, parameters: Parameters, images: jax.Array, boxes: jax.Array, classes: jax.Array, masks: jax.Array
    ) -> jax.Array:
        """The sum of the five losses. Proposals are taken as given: no gradient goes through a box.

        Args:
          parameters: by part of the detector.
          images: [batch, image, image, 3].
          boxes: [batch, objects, 4] in fractions of the side; an empty box is no object.
          classes: i32[batch, objects], 0 of no object.
          masks: u8[batch, objects, image, image], 0 or 1.
        """
        levels, logits, deltas = self._looked_at(parameters, images)
        objects = losses.objects_of(boxes, classes, masks, self.sizes["image"])
        regions = losses.assign(*self._proposals(*map(jax.lax.stop_gradient, (logits, deltas))), objects)
        shown_regions = losses.positive_regions(regions, count=self.sizes["mask_regions"])
        mask_logits = self._draw_masks(parameters, levels, shown_regions.boxes)
        return (
            losses.anchor_losses(logits, deltas, self.anchors, objects)
            + losses.region_losses(*self._classify(parameters, levels, regions.boxes), regions)
            + losses.mask_loss(mask_logits, shown_regions, masks, image=self.sizes["image"])
        )

    def _part(self, name: str, parameters: Parameters, *inputs: Any) -> Any:
        return run_part(self.parts[name], parameters[name], *inputs)

    def _looked_at(self, parameters: Parameters, images: jax.Array) -> tuple[list[jax.Array], jax.Array, jax.Array]:
        levels = self._part("pyramid", parameters, self._part("backbone", parameters, images))
        return levels, *self._part("proposing", parameters, levels)

    def _proposals(self, logits: jax.Array, deltas: jax.Array) -> tuple[jax.Array, jax.Array]:
        image, candidates, count = (self.sizes[name] for name in ("image", "candidates", "proposals"))
        return propose(logits, deltas, self.anchors, image=image, candidates=candidates, count=count)

    def _classify(
        self, parameters: Parameters, levels: list[jax.Array], boxes: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        return self._part("regions", parameters, self._pool(levels, boxes, self.sizes["pool"]))

    def _draw_masks(self, parameters: Parameters, levels: list[jax.Array], boxes: jax.Array) -> jax.Array:
        return self._part("masks", parameters, self._pool(levels, boxes, self.sizes["mask_pool"]))

    def _pool(self, levels: list[jax.Array], boxes: jax.Array, size: int) -> jax.Array:
        return pool(levels, boxes, level_areas=_anchors.level_areas(self.sizes), image=self.sizes["image"], size=size)


PARTS = ("backbone", "pyramid", "proposing", "regions", "masks")


@partial(jax.jit, static_argnames="graph")
def run_part(graph: Any, parameters: Parameters, *inputs: Any) -> Any:
    """One part of the detector, compiled as a whole even where the rest runs operation by operation."""
    return nnx.merge(graph, parameters)(*inputs)


@partial(jax.jit, static_argnames=("image", "candidates", "count"))
def propose(
    logits: jax.Array, deltas: jax.Array, anchors: jax.Array, *, image: int, candidates: int, count: int
) -> tuple[jax.Array, jax.Array]:
    """`_detection.propose` of every image.

    Args:
      logits: [batch, anchors].
      deltas: [batch, anchors, 4].
      anchors: [anchors, 4] in pixels.
      image: side of the image in pixels.
      candidates: how many of the best anchors take part.
      count: how many proposals of each image are returned.
    """
    of_image = partial(_detection.propose, image=image, candidates=candidates, count=count)
    return jax.vmap(of_image, (0, 0, None))(logits, deltas, anchors)


@partial(jax.jit, static_argnames=("level_areas", "image", "size"))
def pool(
    levels: list[jax.Array], boxes: jax.Array, *, level_areas: tuple[float, ...], image: int, size: int
) -> jax.Array:
    """`_detection.roi_align` of every image, each box on the level of its size: [batch, n, size, size, channels].

    Args:
      levels: by level, features [batch, side, side, channels].
      boxes: [batch, n, 4] in pixels.
      level_areas: from which area on, in square pixels, a box lies on the next level.
      image: side of the image in pixels.
      size: bins along each axis of a box.
    """

    def of_image(levels: list[jax.Array], boxes: jax.Array) -> jax.Array:
        level_of_box = _detection.region_levels(boxes, level_areas)
        return _detection.roi_align(levels, boxes, level_of_box, image, size)

    return jax.vmap(of_image)(levels, boxes)


@partial(jax.jit, static_argnames=("image", "count"))
def detect(
    logits: jax.Array, deltas: jax.Array, proposals: tuple[jax.Array, jax.Array], *, image: int, count: int
) -> dict[str, jax.Array]:
    """`_detection.detect` of every image.

    Args:
      logits: [batch, proposals, classes + 1], class 0 is the background.
      deltas: [batch, proposals, classes, 4].
      proposals: boxes [batch, proposals, 4] and which are valid.
      image: side of the image in pixels.
      count: how many detections of each image are returned.
    """
    return jax.vmap(partial(_detection.detect, image=image, count=count))(logits, deltas, proposals)


@jax.jit
def mask_probabilities(logits: jax.Array, classes: jax.Array) -> jax.Array:
    """Each detection's mask for its class: [batch, n, size, size, classes] -> [batch, n, size, size]; 0 for none."""
    is_class = jax.nn.one_hot(classes - 1, logits.shape[-1], dtype=logits.dtype)
    own_logits = jnp.einsum("bnhwk,bnk->bnhw", logits, is_class)
    return jnp.where((classes > 0)[..., None, None], jax.nn.sigmoid(own_logits), 0)


def _double(values: jax.Array) -> jax.Array:
    """Every position repeated along both axes: [batch, h, w, c] -> [batch, 2h, 2w, c]."""
    batch, height, width, channels = values.shape
    squares = jnp.broadcast_to(values[:, :, None, :, None], (batch, height, 2, width, 2, channels))
    return squares.reshape(batch, 2 * height, 2 * width, channels)


def _convolution(incoming: int, outgoing: int, size: int, stride: int = 1, **kinds: Any) -> nnx.Conv:
    return nnx.Conv(incoming, outgoing, (size, size), (stride, stride), **kinds)


def _wide(kinds: dict[str, Any]) -> dict[str, Any]:
    """Computing in the parameters' type."""
    return kinds | {"dtype": kinds["param_dtype"]}


def _places(dimensions: Dimensions) -> dict[str, Place]:
    """Canonical layer -> where it is in the module."""
    layers: dict[str, Place] = {"backbone/stem": ("backbone", "stem")}
    for level in range(dimensions["levels"]):
        stage = ("backbone", "stages", level)
        layers[f"backbone/stage{level + 1}/down"] = (*stage, 0)
        for block in range(1, dimensions["blocks"] + 1):
            layers[f"backbone/stage{level + 1}/block{block}"] = (*stage, block)
        layers[f"pyramid/lateral{level + 1}"] = ("pyramid", "laterals", level)
        layers[f"pyramid/output{level + 1}"] = ("pyramid", "outputs", level)
    layers |= {f"proposing/{name}": ("proposing", name) for name in ("hidden", "objectness", "deltas")}
    layers |= {f"regions/hidden{n + 1}": ("regions", "hidden", n) for n in range(dimensions["region_layers"])}
    layers |= {f"regions/{name}": ("regions", name) for name in ("classes", "deltas")}
    layers |= {f"masks/hidden{n + 1}": ("masks", "hidden", n) for n in range(dimensions["mask_layers"])}
    layers |= {f"masks/{name}": ("masks", name) for name in ("upsampling", "classes")}
    return {f"{layer}/{leaf}": (*path, leaf) for layer, path in layers.items() for leaf in ("kernel", "bias")}
