"""Translation ports with one planted error each: the judge of float64 runs must find it in the pass that shows it."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
from conftest import IN_ZOO
from mutants import Mutant, plant, remake

from compare.parity import Evidence
from compare.parity.holding import Context
from compare.parity.rules import compare_doubles, forward_base
from compare.records import FAIL
from jaxport._session import Session
from workloads import _arrays, _registry
from workloads._framework import FORWARD, GRADIENTS, STEP, Twin

pytestmark = IN_ZOO

PASSES = {"semantics": FORWARD, "gradients": GRADIENTS, "training": STEP}
STEPS = 2
Leaves = dict[str, np.ndarray]


MUTANTS = (
    Mutant("gate order", "seq2seq", "(update, reset, candidate), (up", "(reset, update, candidate), (up"),
    Mutant("no reset gate", "seq2seq", "candidate + reset * candidate_inner", "candidate + candidate_inner"),
    Mutant(
        "update the other way round",
        "seq2seq",
        "update * state + (1 - update) * candidate",
        "(1 - update) * state + update * candidate",
    ),
    Mutant("reading backwards not turned round", "seq2seq", "outputs[::-1, 1]", "outputs[:, 1]"),
    Mutant("state after the last word", "seq2seq", "last[1]", "last[0]"),
    Mutant("padding encoded", "seq2seq", "jnp.where(mask, _gru(", "jnp.where(True, _gru("),
    Mutant("padding attended to", "seq2seq", "@ score + masked", "@ score"),
    Mutant("fed what is asked for", "seq2seq", "target[:, :-1]", "target[:, 1:]"),
    Mutant("mean over padding", "seq2seq", "/ words.sum()", "/ words.size", gate="gradients"),
    Mutant(
        "gradient of the constants lost",
        "seq2seq",
        "return kernels, constants,",
        "return kernels, jax.tree.map(jnp.zeros_like, constants),",
        gate="gradients",
    ),
    Mutant(
        "gradients not clipped",
        "seq2seq",
        "optax.clip_by_global_norm(seq2seq.CLIP_NORM)",
        "optax.identity()",
        gate="training",
    ),
    Mutant(
        "query and key swapped",
        "translation",
        "self.query(queries), *self.project(memory)",
        "self.key(queries), self.query(memory), self.value(memory)",
    ),
    Mutant("scores not scaled", "translation", "query * self.block.depth**-0.5", "query"),
    Mutant(
        "norm before the sublayer",
        "translation",
        "self.norm(inputs) if self.block.norm_first else inputs",
        "self.norm(inputs)",
    ),
    Mutant(
        "dropout not scaled up", "translation", "values * jnp.asarray(_dropout.scale(rate), values.dtype)", "values"
    ),
    Mutant(
        "later words seen",
        "translation",
        "jnp.tri(target.shape[1], dtype=bool)",
        "jnp.ones(2 * target.shape[1:], bool)",
    ),
    Mutant("embedding not scaled", "translation", "rows * self.block.width**0.5", "rows"),
    Mutant(
        "positions from one",
        "translation",
        "translation.positions(length, self.block.width)",
        "translation.positions(length + 1, self.block.width)[1:]",
    ),
    Mutant(
        "labels not smoothed",
        "translation",
        "- (1 - smoothing) * picked - smoothing * logits.mean(-1)",
        "- picked",
        gate="gradients",
    ),
    Mutant("second beta of the default", "translation", "beta_2=translation.BETA_2, ", "", gate="training"),
    Mutant("warm-up one step late", "translation", "(step + 1).astype", "step.astype", gate="training"),
    Mutant("caches of other beams", "translation_decode", 'kept.at[rows].get(mode="promise_in_bounds")', "kept"),
    Mutant("own position not seen", "translation_decode", "<= time", "< time"),
    Mutant("position of the first word", "translation_decode", "states.dtype)[state.time]", "states.dtype)[0]"),
    Mutant(
        "sentences that ended go on", "translation_decode", "jnp.where(state.ended[..., None], padding, steps)", "steps"
    ),
    Mutant("no length penalty", "translation_decode", "found.scores / ((5 + length) / 6) ** PENALTY", "found.scores"),
    Mutant("cache written too early", "translation_decode", "start_index=time,", "start_index=time - 1,"),
)


def run(workload: str, pass_: str) -> Leaves:
    """Leaves of one pass in float64, operation by operation: what one mutant compiled, the next finds."""
    port = _registry.get(workload)
    dimensions = port.sizes["smoke"]
    data = port.training.examples(None, dimensions) if port.training else None
    cases = _arrays.draw_cases(port, dimensions, 1, data, kinks=False)
    batches = _arrays.draw_batches(port, dimensions, data) if data else {}
    twin = Twin(f"jaxport.{workload}:build", True, dimensions, cases, _arrays.draw_weights(port, dimensions), batches)
    session = Session(twin, "float64")
    with session.precision(), jax.disable_jit():
        if pass_ == STEP:
            return trained(session)
        leaves = session.pass_function(pass_)(*session.arguments(pass_, "seed0"))
        return {leaf: np.array(value) for leaf, value in leaves.items()}


def trained(session: Session) -> Leaves:
    parameters, state, *_ = session.arguments(STEP, "seed0")
    losses = []
    for index in range(STEPS):
        inputs = session.inputs({name: array[index] for name, array in session.twin.batches.items()})
        parameters, state, loss = session.pass_function(STEP)(parameters, state, *inputs)
        losses.append(np.array(loss))
    return {"loss": np.array(losses)} | {path: np.array(leaf) for path, leaf in session.by_weight(parameters).items()}


@functools.cache
def honest(workload: str, pass_: str) -> Leaves:
    return run(workload, pass_)


def failing(workload: str, gate: str, found: Leaves) -> list[str]:
    """The leaves that the judge of float64 runs finds different from the honest port's."""
    pass_ = PASSES[gate]
    doubles = {("tf", pass_, "seed0"): honest(workload, pass_), ("jax", pass_, "seed0"): found}
    context = Context(Evidence(workload, outputs={}, doubles=doubles), {})
    held = compare_doubles(context, gate, pass_, ["seed0"], forward_base)
    assert held
    return [each.comparison.leaf for each in held if each.comparison.verdict == FAIL]


@pytest.mark.parametrize(("workload", "gate"), sorted({(mutant.workload, mutant.gate) for mutant in MUTANTS}))
def test_the_same_modules_without_an_error_pass(workload: str, gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest(workload, PASSES[gate])
    remake(monkeypatch, workload)
    assert failing(workload, gate, run(workload, PASSES[gate])) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.workload}: {mutant.name}")
def test_a_planted_error_fails_at_its_gate(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    honest(mutant.workload, PASSES[mutant.gate])  # before the error is planted
    plant(monkeypatch, mutant)
    assert failing(mutant.workload, mutant.gate, run(mutant.workload, PASSES[mutant.gate]))
