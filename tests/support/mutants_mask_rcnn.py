"""Porting errors to be planted in Mask R-CNN."""

from __future__ import annotations

from mutants import Mutant

MUTANTS = (
    Mutant(
        "symmetric padding", "mask_rcnn", "(stride, stride),", "(stride, stride), padding=size // 2,", part="backbone"
    ),
    Mutant(
        "tiled instead of repeated",
        "mask_rcnn",
        ":, :, None, :, None], (batch, height, 2, width, 2",
        ":, None, :, None, :], (batch, 2, height, 2, width",
        part="doubled",
    ),
    Mutant("deconvolution's channels transposed", "mask_rcnn", "nhwc,ijdc->nhiwjd", "nhwc,ijcd->nhiwjd", part="masks"),
    Mutant(
        "deconvolution's rows and columns swapped", "mask_rcnn", "nhwc,ijdc->nhiwjd", "nhwc,jidc->nhiwjd", part="masks"
    ),
    Mutant(
        "corners x first",
        "mask_rcnn",
        "corners = (centre_y - half_height, centre_x - half_width,",
        "corners = (centre_x - half_width, centre_y - half_height,",
        part="propose",
    ),
    Mutant(
        "every overlap drops, kept or not",
        "mask_rcnn",
        "dropping & survivors[:, None]",
        "dropping & usable[:, None]",
        part="surviving",
    ),
    Mutant(
        "the last of a tie",
        "mask_rcnn",
        "jnp.argsort(-keys, stable=True)[:count]",
        "jnp.argsort(keys, stable=True)[::-1][:count]",
        only_kinks=True,
        part="propose",
    ),
    Mutant("RoIAlign without the half pixel", "mask_rcnn", "(side / image) - 0.5", "(side / image)", part="pool"),
    Mutant("one sample per bin", "mask_rcnn", "rules.SAMPLES", "1", part="pool"),
    Mutant("levels the other way round", "mask_rcnn", ">= limits", "< limits", part="pool"),
    Mutant(
        "deltas not scaled",
        "mask_rcnn",
        "deltas, rules.REGION_SCALES, image",
        "deltas, rules.ANCHOR_SCALES, image",
        part="detect",
    ),
    Mutant("one suppression for all classes", "mask_rcnn", "classes_of * 2 * image", "classes_of * 0", part="detect"),
    Mutant(
        "background dropped before the softmax",
        "mask_rcnn",
        "softmax(logits, -1)[:, 1:]",
        "softmax(logits[:, 1:], -1)",
        part="detect",
    ),
    Mutant("classes counted from 0", "mask_rcnn", "classes_of[places] + 1", "classes_of[places]", part="detect"),
    Mutant(
        "best anchor of an object forgotten",
        "mask_rcnn",
        " | jnp.any(closest, 1)",
        "",
        gate="gradients",
        part="anchor_losses",
    ),
    Mutant(
        "logits of both losses alike",
        "mask_rcnn",
        "_mean(errors, negative)) / 2",
        "_mean(errors, negative))",
        gate="gradients",
        part="anchor_losses",
    ),
    Mutant(
        "edge of the smooth loss",
        "mask_rcnn",
        "regions.deltas, rules.REGION_EDGE",
        "regions.deltas, rules.ANCHOR_EDGE",
        gate="gradients",
        part="region_losses",
    ),
    Mutant(
        "deltas of the class before",
        "mask_rcnn",
        "one_hot(labels - 1, values.shape[2]",
        "one_hot(labels - 2, values.shape[2]",
        gate="gradients",
        part="region_losses",
    ),
    Mutant(
        "mask averaged over all regions",
        "mask_rcnn",
        "_mean(errors, regions.labels > 0)",
        "_mean(errors, regions.valid)",
        gate="gradients",
        part="mask_loss",
    ),
)
