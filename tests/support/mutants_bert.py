"""Porting errors to be planted in BERT."""

from __future__ import annotations

from mutants import Mutant

MUTANTS = (
    Mutant(
        "query and key swapped",
        "bert",
        "(*path, part), bias)",
        '(*path, {"query": "key", "key": "query"}.get(part, part)), bias)',
    ),
    Mutant("scaled by the width", "bert", "block.depth**-0.5", "block.width**-0.5"),
    Mutant("padding attended to", "bert", "if mask is not None", "if mask is None"),
    Mutant("softmax over the queries", "bert", "softmax(scores)", "softmax(scores, axis=-2)"),
    Mutant("gelu by tanh", "bert", '{"gelu": gelu,', '{"gelu": jax.nn.gelu,'),
    Mutant("epsilon of Flax", "bert", "epsilon=block.epsilon, ", ""),
    Mutant("norm before the sublayer", "bert", "branch = sublayer(inputs)", "branch = sublayer(self.norm(inputs))"),
    Mutant(
        "dropout without scaling",
        "bert",
        "values * jnp.asarray(_dropout.scale(rate), values.dtype)",
        "values",
        gate="gradients",
    ),
    Mutant(
        "dropout at inference",
        "bert",
        "(tokens, segments, positions)\n",
        "(tokens, segments, positions, *inputs[6:])\n",
    ),
    Mutant(
        "transposed square kernel",
        "bert",
        "self.dense(states)",
        "states @ self.dense.kernel[...].T + self.dense.bias[...]",
    ),
    Mutant("pair judged by its last token", "bert", "states[:, 0]", "states[:, -1]"),
    Mutant("positions left out", "bert", "tokens) + positions +", "tokens) +"),
    Mutant("biases decay", "bert", 'exclude=("bias", "scale")', "exclude=()", gate="training"),
    Mutant("decay forgotten", "bert", "bert.WEIGHT_DECAY, exclude", "0.0, exclude", gate="training"),
    Mutant("warm-up a step early", "bert", "time / steps", "(time + 1) / steps", gate="training"),
    Mutant(
        "second moment by the first beta",
        "bert",
        "(g * g - v) * (1 - beta_2)",
        "(g * g - v) * (1 - beta_1)",
        gate="training",
    ),
    Mutant(
        "ratio of LAMB upside down", "bert", "weight / direction", "direction / weight", gate="training", part="lamb"
    ),
    Mutant(
        "decay not in LAMB's length", "bert", "length(weight - decay)", "length(weight)", gate="training", part="lamb"
    ),
)
