"""Finds the first operations at which two programs part."""

from compare.hlo.locate._canonical import Case
from compare.hlo.locate._departures import Ran, between, locate, ran
from compare.hlo.locate._findings import Departure, Findings, Place, Sample
from compare.hlo.locate._measured import DOUBLE, SINGLE, Precision

__all__ = [
    "DOUBLE", "SINGLE", "Case", "Departure", "Findings", "Place", "Precision", "Ran", "Sample", "between", "locate",
    "ran",
]  # fmt: skip
