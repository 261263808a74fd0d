"""A model in NumPy as two sides write it, and the evidence that its runs give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from compare.parity import Evidence, OracleSource, judge
from workloads.core.spec import GATES, STABILITY

ON_ARRAYS = tuple(gate for gate in GATES if gate != STABILITY)
"""The gates that judge arrays which were gathered; the last one sweeps."""
BATCH = 8
FEATURES = 6
UNITS = 5
STEPS = 12
CHECKPOINTS = (1, 4, 12)
ORDERS = {"tf/eager": 0, "tf/graph": 0, "tf/jit": 1, "jax/eager": 2, "jax/jit": 3, "jax/donated": 3, "jax/tuned": 2}
CASES = ("seed0", "seed1", "kinks")
Leaves = dict[str, np.ndarray]


@dataclass(frozen=True)
class Side:
    """How one side writes the model: what a port can get wrong."""

    epsilon: float = 1e-3
    slope_at_zero: float = 0.0
    adam_epsilon: float = 1e-7
    bfloat16: bool = False
    kernel_factor: float = 1.0


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def example(case: str) -> np.ndarray:
    values = 4 * draw(CASES.index(case), BATCH, FEATURES)
    return np.where(np.abs(values) < 2, np.float32(0), values) if case == "kinks" else values


def weights_of(side: Side, dtype: str) -> Leaves:
    kernel = draw(11, FEATURES, UNITS)
    kernel[2, 1] *= np.float32(side.kernel_factor)
    gamma, beta, bias = 1 + draw(12, FEATURES) / 4, draw(13, FEATURES) / 4, draw(14, UNITS)
    leaves = {"gamma": gamma, "beta": beta, "kernel": kernel, "bias": bias}
    return {name: leaf.astype(dtype) for name, leaf in leaves.items()}


@dataclass(frozen=True)
class Run:
    """The model as one mode runs it: a side, a dtype, and an order of summation."""

    side: Side
    dtype: str
    order: int

    def total(self, values: np.ndarray, axis: int, keepdims: bool = False) -> np.ndarray:
        order = np.random.default_rng(self.order).permutation(values.shape[axis])
        last = np.cumsum(np.take(values, order, axis), axis, dtype=values.dtype).take([-1], axis)
        return last if keepdims else last.squeeze(axis)

    def mean(self, values: np.ndarray) -> np.ndarray:
        return self.total(values, 1, keepdims=True) / values.dtype.type(values.shape[1])

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self.total(self.rounded(left)[:, :, None] * self.rounded(right)[None], 1)

    def rounded(self, values: np.ndarray) -> np.ndarray:
        if not self.side.bfloat16 or values.dtype != np.float32:
            return values
        return (np.ascontiguousarray(values).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)

    def normalised(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        centred = x - self.mean(x)
        inverse = 1 / np.sqrt(self.mean(centred * centred) + x.dtype.type(self.side.epsilon))
        return centred * inverse, inverse

    def outputs(self, x: np.ndarray, weights: Leaves) -> Leaves:
        scaled = self.normalised(x)[0] * weights["gamma"] + weights["beta"]
        hidden = self.product(scaled, weights["kernel"]) + weights["bias"]
        output = np.maximum(hidden, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            logarithm = np.log(x)
        exact = {"label": np.argmax(hidden, axis=1).astype(np.int32), "positive": x > 0}
        return {"output": output, "hidden": hidden, "magnitude": np.abs(x), "logarithm": logarithm, **exact}

    def gradients(self, x: np.ndarray, weights: Leaves) -> Leaves:
        normal, inverse = self.normalised(x)
        scaled = normal * weights["gamma"] + weights["beta"]
        hidden = self.product(scaled, weights["kernel"]) + weights["bias"]
        into_hidden = draw(21, BATCH, UNITS).astype(self.dtype) * (hidden > 0)
        into_scaled = self.product(into_hidden, weights["kernel"].T)
        into_normal = into_scaled * weights["gamma"]
        through = inverse * (into_normal - self.mean(into_normal) - normal * self.mean(into_normal * normal))
        slope = np.where(x == 0, x.dtype.type(self.side.slope_at_zero), np.sign(x))
        return {
            "x": through + draw(22, BATCH, FEATURES).astype(self.dtype) * slope,
            # Layer norm does not see a shift: this gradient is zero but for rounding.
            "shift": self.total(through, 1),
            "gamma": self.total(into_scaled * normal, 0),
            "beta": self.total(into_scaled, 0),
            "kernel": self.product(scaled.T, into_hidden),
            "bias": self.total(into_hidden, 0),
        }

    def trajectory(self) -> Leaves:
        """Adam on the mean of the outputs, with epsilon outside the correction of the second moment."""
        weights, losses, kept = weights_of(self.side, self.dtype), [], Leaves()
        first, second = ({name: np.zeros_like(leaf) for name, leaf in weights.items()} for _ in range(2))
        number = np.dtype(self.dtype).type
        for step in range(1, STEPS + 1):
            x = (4 * draw(100 + step, BATCH, FEATURES)).astype(self.dtype)
            cotangent = draw(21, BATCH, UNITS).astype(self.dtype)
            losses.append(self.total((self.outputs(x, weights)["output"] * cotangent).ravel(), 0))
            gradients = self.gradients(x, weights)
            rate = number(1e-2 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step))
            for name in weights:
                gradient = gradients[name] * number(1e-5)
                first[name] = number(0.9) * first[name] + number(1 - 0.9) * gradient
                second[name] = number(0.999) * second[name] + number(1 - 0.999) * gradient * gradient
                update = rate * first[name] / (np.sqrt(second[name]) + number(self.side.adam_epsilon))
                weights[name] = weights[name] - update
            kept |= {f"weights@{step}/{name}": leaf for name, leaf in weights.items() if step in CHECKPOINTS}
        return {"loss": np.array(losses), **kept}

    def ran(self, pass_: str, case: str) -> Leaves:
        x, weights = example(case).astype(self.dtype), weights_of(self.side, self.dtype)
        return self.outputs(x, weights) if pass_ == "forward" else self.gradients(x, weights)


def gathered(port: Side) -> Evidence:
    """The evidence of a port held against the honest original."""
    sides = {"tf": Side(), "jax": port}
    floats = {mode: Run(sides[mode.partition("/")[0]], "float32", order) for mode, order in ORDERS.items()}
    doubles = {side: Run(sides[side], "float64", order) for order, side in enumerate(sides)}
    passes = [(pass_, case) for pass_ in ("forward", "gradients") for case in CASES]
    return Evidence(
        workload="my_port",
        outputs={(mode, *at): run.ran(*at) for mode, run in floats.items() for at in passes},
        doubles={(side, *at): run.ran(*at) for side, run in doubles.items() for at in passes},
        oracle={(side, pass_): OracleSource("native") for side in sides for pass_ in ("forward", "gradients")},
        trajectories={(mode, "float32"): run.trajectory() for mode, run in floats.items()}
        | {(f"{side}/jit", "float64"): run.trajectory() for side, run in doubles.items()},
    )


HONEST = gathered(Side())


def mapped(evidence: Evidence, change: Mapping[str, float]) -> Evidence:
    """The evidence with every floating output multiplied by the factor of its pass."""

    def scaled(runs: Mapping[tuple[str, str, str], Mapping[str, np.ndarray]]) -> dict[tuple[str, str, str], Leaves]:
        return {
            key: {n: a * a.dtype.type(change[key[1]]) if a.dtype.kind == "f" else a for n, a in run.items()}
            for key, run in runs.items()
        }

    return replace(evidence, outputs=scaled(evidence.outputs), doubles=scaled(evidence.doubles))


def verdicts(evidence: Evidence) -> dict[str, str]:
    return {name: gate.verdict for name, gate in judge(evidence).gates.items()}
