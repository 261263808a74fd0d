"""Weights and cost of an LSTM layer, in the layout of Keras: four gates side by side, in the order i, f, g, o."""

from __future__ import annotations

from workloads.core.spec import ArraySpec

GATES = 4


def weights(features: int, units: int) -> dict[str, ArraySpec]:
    """Kernels [features, 4 units] and [units, 4 units], bias [4 units].

    Kernels have variance 1 / rows. Keras starts the forget gate's bias at 1 and the others at 0
    (unit_forget_bias; Jozefowicz et al. 2015); here all are drawn around 1/2, so that it shows where
    one stands in the place of another, and gates still start half open.
    """
    gates = GATES * units
    return {
        "lstm/kernel": ArraySpec((features, gates), scale=features**-0.5),
        "lstm/recurrent_kernel": ArraySpec((units, gates), scale=units**-0.5),
        "lstm/bias": ArraySpec((gates,), low=0, high=1),
    }


def parameters(features: int, units: int) -> int:
    """How many numbers the weights are."""
    return GATES * units * (features + units + 1)


def flops(features: int, units: int) -> int:
    """One step of one example: both products, 2mnk each, and 13 operations per unit.

    Per unit: two sums into each of four gates (8), two products and a sum for the cell (3), a product for
    the output (1), and tanh counted as one (1); the three sigmoids and the other tanh stand beside the
    products, which are larger by orders of magnitude.
    """
    return 2 * GATES * units * (features + units) + 13 * units
