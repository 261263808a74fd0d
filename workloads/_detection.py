"""The numbers by which a detector decides, and how it decides where values tie.

Choices (which boxes rank first, which overlap enough) are made on whole numbers: a value is rounded to steps of
2^-12 first. What is equal on paper (boxes placed alike around an object, equal scores) is then equal in every
framework and float type, although each rounds it differently, and the lower index wins.
"""

STEPS = 4096
"""Steps per unit of scores, logits and overlaps where they are ranked or compared with a threshold."""

AREA_FLOOR = 1e-8
"""Added to the area of a union, so that two empty boxes overlap by 0: that of tf.image.non_max_suppression_padded."""

PROPOSAL_OVERLAP = 0.7
"""Proposals that overlap a better one by this much are dropped (Ren et al. 2015, arXiv:1506.01497, section 3.3)."""
DETECTION_OVERLAP = 0.5
"""The same for detections of one class (He et al. 2017, arXiv:1703.06870, section 3.1)."""
SCORE_FLOOR = 0.05
"""The least score of a detection, as in the authors' Detectron."""

ANCHOR_POSITIVE = 0.7
ANCHOR_NEGATIVE = 0.3
"""Overlaps from which an anchor is an object, and below which it is none (Ren et al. 2015, section 3.1.2)."""
REGION_POSITIVE = 0.5
"""The overlap from which a region is an object (He et al. 2017, section 3.1)."""

REGION_SCALES = (10.0, 10.0, 5.0, 5.0)
"""Factors on the box head's targets, which bring them to unit variance: Detectron's."""
ANCHOR_SCALES = (1.0, 1.0, 1.0, 1.0)
LARGEST_GROWTH = 62.5
"""A box grows at most so much over its anchor: 1000 / 16, Detectron's guard against overflow."""
ANCHOR_EDGE = 1 / 9
REGION_EDGE = 1.0
"""Where a box loss turns from quadratic to linear: Detectron's."""

SAMPLES = 2
"""Bilinear samples along each side of a bin of RoIAlign (He et al. 2017, section 3)."""


def steps(value: float) -> int:
    """The least whole number of steps that reaches a threshold."""
    return -int(-value * STEPS // 1)


LEARNING_RATE = 0.01
MOMENTUM = 0.9
"""The paper's SGD (He et al. 2017, section 3.1) at half its rate, since nothing warms up; weight decay is left out."""
