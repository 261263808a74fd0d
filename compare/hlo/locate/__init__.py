"""Finds the first operations at which two programs part."""

from compare.hlo.locate._canonical import Case
from compare.hlo.locate._departures import RanProgram, between, locate, ran
from compare.hlo.locate._findings import Departure, Findings, OperationPlace, Sample
from compare.hlo.locate._measured import DOUBLE, SINGLE, Precision

__all__ = [
    "DOUBLE", "SINGLE", "Case", "Departure", "Findings", "OperationPlace", "Precision", "RanProgram", "Sample",
    "between", "locate", "ran",
]  # fmt: skip
