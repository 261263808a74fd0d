"""Rules of arithmetic: the same value by another formula. Those that may change last bits say so."""

from __future__ import annotations

from compare.hlo.rules.arithmetic import ARITHMETIC
from compare.hlo.rules.formulas import FORMULAS
from compare.hlo.rules.signs import FLOAT_SIGNS
from compare.hlo.rules.summation import SUMMATION

ALGEBRAIC = ARITHMETIC + SUMMATION + FLOAT_SIGNS + FORMULAS
"""In the order in which they are tried, after the structural ones."""
