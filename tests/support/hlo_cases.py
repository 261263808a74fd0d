"""Arguments for the tests of compare.hlo.align, whose programs come without data."""

from __future__ import annotations

import numpy as np

from compare.hlo.align.equal_values import Arguments
from compare.hlo.align.slots import matched_parameters, random_array
from compare.hlo.levels import Subject, read
from compare.hlo.pair import Pair


def random_cases(left: Subject, right: Subject) -> list[Arguments]:
    """Two sets of arguments: one array for one slot, on both sides.

    Floats are standard normal, integers 0 to 3, booleans either. A program whose loops end for some
    inputs only may not end on these.
    """
    subjects = Pair(left, right)
    graphs = subjects.map(read)
    partners = {match.right: match.left for match in matched_parameters(subjects, graphs)}
    cases: list[Arguments] = []
    for seed in (0, 1):
        generator = np.random.default_rng(seed)
        made = {key: random_array(graphs.left.nodes[key].shape, generator) for key in graphs.left.parameters}
        other = [
            made[partners[key]] if key in partners else random_array(graphs.right.nodes[key].shape, generator)
            for key in graphs.right.parameters
        ]
        cases.append((list(made.values()), other))
    return cases
