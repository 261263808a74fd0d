"""Rules that change how a value is written down and never what it is: no result differs in any bit.

HLO leaves open in which order a reduction, a matrix product or a convolution adds up its terms. A rule here
leaves the terms alone; the kernel that a compiler picks for another shape may still add them up differently.
"""

from __future__ import annotations

from compare.hlo.rules.choices import CHOICES
from compare.hlo.rules.control import CONTROL
from compare.hlo.rules.folding import CONSTANTS
from compare.hlo.rules.forwarding import FORWARDING
from compare.hlo.rules.indexing import INDEXING
from compare.hlo.rules.products import PRODUCTS
from compare.hlo.rules.reductions import REDUCTIONS
from compare.hlo.rules.shapes import SHAPES
from compare.hlo.rules.signs import INTEGER_SIGNS

STRUCTURAL = FORWARDING + SHAPES + CONSTANTS + CHOICES + INTEGER_SIGNS + PRODUCTS + REDUCTIONS + INDEXING + CONTROL
"""In the order in which they are tried."""
