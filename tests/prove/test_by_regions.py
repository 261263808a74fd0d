"""A run that rounding took far passes where each region rounds as TensorFlow's; nothing else that is off does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings
from compare.inputs.at_size import Prepared, prepare
from compare.inputs.functions import from_functions
from compare.parity import Evidence, find_amplified, held_leaves, judge
from compare.parity.evidence import TRAJECTORY, Amplified
from compare.parity.holding import Leaves
from compare.progress import Silent
from compare.prove.by_regions import RegionJudge
from compare.prove.collect import FLOAT32, Collected
from compare.prove.oracle import Doubles, promote_program
from compare.prove.running import running
from compare.prove.subjects import twin_of
from workloads.core.spec import Arrays
from workloads.protocol.framework import GRADIENTS, STEP, Parameter, Program, Result, Twin
from workloads.protocol.unroll import unroll

pytestmark = [pytest.mark.usefixtures("programs_here"), pytest.mark.heavy]

ROWS, TERMS = 64, 32
X, W, SUMS = f"tensor<{ROWS}x{TERMS}xf32>", f"tensor<{TERMS}xf32>", f"tensor<{ROWS}xf32>"
FLAGS = f"tensor<{ROWS}xi1>"
EDGE = f"%open = stablehlo.compare GT, %sum, %zeros : ({SUMS}, {SUMS}) -> {FLAGS}"
SIGN = f"""%sign = stablehlo.sign %sum : {SUMS}
  %open = stablehlo.compare GT, %sign, %zeros : ({SUMS}, {SUMS}) -> {FLAGS}"""
UNSTABLE = f"""%million = stablehlo.constant dense<1.0e+06> : {SUMS}
  %size = stablehlo.tanh %products : {SUMS}
  %square = stablehlo.multiply %size, %size : {SUMS}
  %far = stablehlo.add %square, %million : {SUMS}
  %up = stablehlo.add %sum, %far : {SUMS}
  %down = stablehlo.subtract %up, %far : {SUMS}
  %open = stablehlo.compare GT, %down, %zeros : ({SUMS}, {SUMS}) -> {FLAGS}"""
"""Of a sum, no more than 0.06 is left: what lies nearer to 0 is told by rounding. A constant XLA would take away."""


def program(choice: str = EDGE, shift: float = 0.0) -> Program:
    """The gradient of the sum of relu(x @ w) by w, with the product in a function of its own.

    Args:
      choice: how it tells which sums are positive.
      shift: that is added to the sums.
    """
    text = f"""
func.func @main(%x: {X}, %w: {W}) -> {W} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shift = stablehlo.constant dense<{shift:e}> : {SUMS}
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {SUMS}
  %products = func.call @product(%x, %w) : ({X}, {W}) -> {SUMS}
  %sum = stablehlo.add %products, %shift : {SUMS}
  {choice}
  %ones = stablehlo.constant dense<1.0> : {SUMS}
  %passed = stablehlo.select %open, %ones, %zeros : {FLAGS}, {SUMS}
  %y = stablehlo.dot_general %passed, %x, contracting_dims = [0] x [0] : ({SUMS}, {X}) -> {W}
  return %y : {W}
}}
func.func private @product(%x: {X}, %w: {W}) -> {SUMS} {{
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({X}, {W}) -> {SUMS}
  return %y : {SUMS}
}}"""
    inputs = Parameter("input", "x", (ROWS, TERMS), "float32"), Parameter("input", "w", (TERMS,), "float32")
    return Program(bindings.artifact(text), inputs, (Result("w", (TERMS,), "float32"),))


def draw(beside_an_edge: bool = True) -> Arrays:
    """Half of the rows' products with w add up to next to nothing, in float32 of a sign that chance decides.

    Args:
      beside_an_edge: whether they do; otherwise all add up to far more than rounding.
    """
    generator = np.random.default_rng(7)
    x, w = generator.standard_normal((ROWS, TERMS)), generator.standard_normal(TERMS)
    half = slice(ROWS // 2, None) if beside_an_edge else slice(None)
    wanted = 0.0 if beside_an_edge else np.where(np.arange(ROWS) % 2, 3.0, -3.0)
    x[half, -1] = (wanted - x[half, :-1] @ w[:-1]) / w[-1]
    return {"x": x.astype(np.float32), "w": w.astype(np.float32)}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "f.py").write_text("def f(x, w): return x\n")
    workload = from_functions(f"{folder}/f.py:f", f"{folder}/f.py:f", [f"x=f32[{ROWS},{TERMS}]", f"w=f32[{TERMS}]"])
    return prepare(workload, "default", None, folder)


def collect(pass_: str, original: Program, port: Program) -> Mapping[str, Collected]:
    return {side: Collected(side, programs={(pass_, FLOAT32): one}) for side, one in (("tf", original), ("jax", port))}


def explain(judge: RegionJudge, runs: Collection[tuple[str, str]], leaves: Leaves) -> dict[tuple[str, str], Amplified]:
    """The runs whose regions hold, each with the spread of all samples."""
    return {run: [*amplifications][-1] for run, amplifications in judge.explain(runs, leaves).items()}


def judge_case(
    prepared: Prepared, original: Program, port: Program, case: Arrays, narrow: Arrays | None = None, **others: Any
) -> tuple[str | None, str]:
    """The verdict on gradients before and after regions are judged, and what is said of a pass.

    TensorFlow gives in float32 what it gives in float64, so that it has no noise to hide behind.

    Args:
      prepared: the workload.
      original: TensorFlow's program.
      port: the port's.
      case: the only one.
      narrow: what the port gives; None runs its program.
      others: further evidence.
    """
    twin = Twin("", False, {}, {"seed0": case}, {})
    (exact,), (found,), (wide,) = (
        running(one, twin)([case]) for one in (promote_program(original), port, promote_program(port))
    )
    rounded = {leaf: array.astype(np.float32) for leaf, array in exact.items()}
    outputs = {("tf/eager", GRADIENTS, "seed0"): rounded, ("jax/jit", GRADIENTS, "seed0"): narrow or found}
    doubles = {("tf", GRADIENTS, "seed0"): exact, ("jax", GRADIENTS, "seed0"): wide}
    evidence = replace(Evidence(workload="port", outputs=outputs, doubles=doubles), **others)
    held = held_leaves(evidence)
    assert judge(evidence).gates["gradients"].verdict == "fail"
    judged = RegionJudge(prepared, twin, collect(GRADIENTS, original, port), Doubles(), FLOAT32, Silent())
    parity = judge(replace(evidence, regions=explain(judged, find_amplified(evidence, held), held)))
    reasons = [one.reason or "" for one in parity.deviations if one.gate == "gradients"]
    return parity.gates["gradients"].verdict, "".join(reasons)


@pytest.mark.parametrize("choice", [EDGE, SIGN])
def test_a_choice_that_rounding_turned_is_no_failure_and_is_said(prepared: Prepared, choice: str) -> None:
    verdict, reason = judge_case(prepared, program(choice), program(choice), draw())
    assert verdict == "pass"
    assert "regions are proved equal" in reason and "no larger than TF's own result changes" in reason


@pytest.mark.parametrize("shift", [1e-4, -1e-4])
def test_an_edge_elsewhere_is_a_failure(prepared: Prepared, shift: float) -> None:
    assert judge_case(prepared, program(), program(shift=shift), draw())[0] == "fail"


def test_what_is_wrong_in_float32_alone_is_a_failure(prepared: Prepared) -> None:
    """A port that adds something where it is given float32, and only there: its float64 run is right."""
    twin = Twin("", False, {}, {"seed0": draw()}, {})
    (exact,) = running(promote_program(program()), twin)([draw()])
    doubles = {(side, GRADIENTS, "seed0"): exact for side in ("tf", "jax")}
    assert judge_case(prepared, program(), program(shift=1e-4), draw(), doubles=doubles)[0] == "fail"


def test_what_an_unstable_formula_decides_is_no_choice_of_rounding(prepared: Prepared) -> None:
    twin = Twin("", False, {}, {"seed0": draw()}, {})
    (exact,) = running(promote_program(program()), twin)([draw()])
    doubles = {(side, GRADIENTS, "seed0"): exact for side in ("tf", "jax")}
    assert judge_case(prepared, program(), program(UNSTABLE), draw(), doubles=doubles)[0] == "fail"


@pytest.mark.parametrize("error", [1e-3, -1e-4])
def test_the_whole_comes_no_farther_apart_than_roundings_take_the_original(prepared: Prepared, error: float) -> None:
    """Every region is proved, and the port gives something else: as a compiler that breaks, or a mode of its own."""
    case = draw(beside_an_edge=False)
    (right,) = running(program(), Twin("", False, {}, {"seed0": case}, {}))([case])
    wrong = {"w": right["w"] * np.float32(1 + error)}
    assert judge_case(prepared, program(), program(), case, wrong)[0] == "fail"


def test_leaves_stand_or_fall_together() -> None:
    """What explains one leaf of a run and not another explains neither."""
    exact = {"a": np.ones(4), "b": np.ones(4)}
    found = {"a": np.full(4, 2.0, np.float32), "b": np.full(4, 1.5, np.float32)}
    rounded = {leaf: array.astype(np.float32) for leaf, array in exact.items()}
    evidence = Evidence(
        workload="port",
        outputs={("tf/eager", GRADIENTS, "seed0"): rounded, ("jax/jit", GRADIENTS, "seed0"): found},
        doubles={("tf", GRADIENTS, "seed0"): exact, ("jax", GRADIENTS, "seed0"): exact},
    )
    for spread, verdict in (({"a": 1.0}, "fail"), ({"a": 1.0, "b": 1.0}, "pass")):
        judged = replace(evidence, regions={(GRADIENTS, "seed0"): Amplified(spread, "judged")})
        held = [one.verdict for one in held_leaves(judged)["gradients"] if one.dtype == "float32"]
        assert held == [verdict] * 2


STEPS, RATE = 4, 0.05
Step = Callable[..., Any]


def keras_momentum(x: Any, w: Any, m: Any) -> Any:
    """Keras keeps the change of a weight, optax the sum of gradients: each the other times the rate."""
    loss, gradient = jax.value_and_grad(loss_of)(w, x)
    m = 0.9 * m - RATE * gradient
    return loss, w + m, m


def keras_at_rounded_rate(x: Any, w: Any, m: Any) -> Any:
    loss, gradient = jax.value_and_grad(loss_of)(w, x)
    m = 0.9 * m - float(np.float32(RATE)) * gradient
    return loss, w + m, m


def optax_momentum(x: Any, w: Any, m: Any) -> Any:
    loss, gradient = jax.value_and_grad(loss_of)(w, x)
    m = gradient + 0.9 * m
    return loss, w - RATE * m, m


def nesterov(x: Any, w: Any, m: Any) -> Any:
    loss, gradient = jax.value_and_grad(loss_of)(w, x)
    m = gradient + 0.9 * m
    return loss, w - RATE * (gradient + 0.9 * m), m


def loss_of(w: Any, x: Any) -> Any:
    return jnp.sum(jax.nn.relu(x @ w)) / ROWS


def adam(x: Any, w: Any, m: Any) -> Any:
    """With one moment, divided by its size: a whole step of a gradient that is all rounding."""
    loss, gradient = jax.value_and_grad(lambda w: jnp.sum(x @ w - x @ (w * 1.0)))(w)
    m = 0.9 * m + 0.1 * gradient
    return loss, w - RATE * m / (jnp.abs(m) + 1e-7), m


def step_program(step: Step, dtype: type = np.float32, state: float = 0.0) -> Program:
    """A step as a program.

    Args:
      step: takes and returns the weights and one state.
      dtype: that it computes in.
      state: what it starts from.
    """
    arrays = [np.ones((ROWS, TERMS), dtype), np.ones(TERMS, dtype), np.full(TERMS, state, dtype)]
    with jax.enable_x64(dtype is np.float64):
        artifact = exported(step, *arrays)
    name = np.dtype(dtype).name
    parameters = (
        Parameter("input", "x", (ROWS, TERMS), name),
        Parameter("weight", "w", (TERMS,), name),
        Parameter("state", "m", (TERMS,), name, "w", "momentum"),
    )
    results = Result("loss", (), name), Result("weights/w", (TERMS,), name), Result("state/m", (TERMS,), name)
    return Program(artifact, parameters, results, {"m": arrays[2]})


def judge_training(
    prepared: Prepared,
    original: Step,
    port: Step,
    port_in_double: Step,
    original_in_double: Step | None = None,
    states: tuple[float, float] = (0.0, 0.0),
    steps: int = STEPS,
    handed_on: int = 1,
) -> tuple[str | None, str]:
    """The verdict on training from TensorFlow's weights, and why a bound was widened.

    Args:
      prepared: a workload.
      original: TensorFlow's step.
      port: the port's.
      port_in_double: the port's in float64.
      original_in_double: TensorFlow's in float64; None is `original`.
      states: what both start from.
      steps: how many there are.
      handed_on: after every so many steps the port goes on from TensorFlow's weights.
    """
    case = draw()
    batches = np.stack([case["x"]] * steps)
    twin = replace(twin_of(prepared), weights={"w": case["w"]}, batches={"x": batches})
    twin = replace(twin, cases={"seed0": {"x": case["x"]}})
    checkpoints = tuple(range(handed_on, steps + 1, handed_on))
    exact = {
        "tf": step_program(original_in_double or original, np.float64, states[0]),
        "jax": step_program(port_in_double, np.float64, states[1]),
    }
    narrow = {"tf": step_program(original, state=states[0]), "jax": step_program(port, state=states[1])}

    def train(one: Program, guide: Arrays | None = None) -> Arrays:
        return unroll(running(one, twin).executable, one, twin, checkpoints, guide)

    guide = train(exact["tf"])
    doubled = {"tf": guide, "jax": train(exact["jax"], guide)}
    runs = {("tf/eager", "float32"): {name: array.astype(np.float32) for name, array in guide.items()}}
    runs |= {("jax/jit", "float32"): train(narrow["jax"], guide)}
    runs |= {(f"{side}/promoted", "float64"): run for side, run in doubled.items()}
    evidence = Evidence("port", outputs={}, doubles={}, trajectories=runs)
    held = held_leaves(evidence)
    assert judge(evidence).gates["training"].verdict == "fail"
    doubles = Doubles(programs={(side, STEP): one for side, one in exact.items()}, guide=guide)
    judged = RegionJudge(prepared, twin, collect(STEP, narrow["tf"], narrow["jax"]), doubles, FLOAT32, Silent())
    parity = judge(replace(evidence, regions=explain(judged, find_amplified(evidence, held), held)))
    reasons = [one.reason or "" for one in parity.deviations if one.gate == "training"]
    return parity.gates["training"].verdict, "".join(reasons)


def test_a_training_step_is_judged_at_its_own_states(prepared: Prepared) -> None:
    """The states mean something else in each program, and are the outcome of the same steps."""
    verdict, reason = judge_training(prepared, keras_momentum, optax_momentum, optax_momentum)
    assert verdict == "pass"
    assert "in 2 calls" in reason


def momentum_of_fewer_bits(x: Any, w: Any, m: Any) -> Any:
    loss, w, m = optax_momentum(x, w, m)
    return loss, w, m.astype(jnp.bfloat16).astype(m.dtype)


def test_a_state_that_is_kept_in_fewer_bits_is_a_failure(prepared: Prepared) -> None:
    """No region shows it: the state means something else in each program, and promoted it loses nothing."""
    assert judge_training(prepared, keras_momentum, momentum_of_fewer_bits, optax_momentum)[0] == "fail"


def test_a_step_that_is_wrong_in_float32_alone_is_a_failure(prepared: Prepared) -> None:
    assert judge_training(prepared, keras_momentum, nesterov, optax_momentum)[0] == "fail"


def adagrad(x: Any, w: Any, m: Any) -> Any:
    loss, gradient = jax.value_and_grad(loss_of)(w, x)
    m = m + gradient**2
    return loss, w - RATE * gradient / jnp.sqrt(m), m


@pytest.mark.parametrize("state", [0.102, 0.1002])
def test_a_state_that_starts_elsewhere_is_a_failure_though_each_step_is_right(prepared: Prepared, state: float) -> None:
    assert judge_training(prepared, adagrad, adagrad, adagrad, states=(0.1, state))[0] == "fail"


@pytest.mark.parametrize("state", [0.100008, 0.1000001])
def test_a_state_that_starts_a_little_elsewhere_is_a_failure_too(prepared: Prepared, state: float) -> None:
    """After a step it could be rounding of constants: before the first none is computed yet."""
    assert judge_training(prepared, adagrad, adagrad, adagrad, states=(0.1, state))[0] == "fail"


def counting(
    factor: Callable[[Any], Any] = lambda count: 1.0,
    loss_factor: Callable[[Any], Any] = lambda count: 1.0,
    rate: float = 1e-3,
) -> Step:
    """Descent that counts its steps.

    Args:
      factor: of the rate, by count.
      loss_factor: of the loss that is reported, by count.
      rate: of learning.
    """

    def step(x: Any, w: Any, m: Any) -> Any:
        loss, gradient = jax.value_and_grad(loss_of)(w, x)
        return loss * loss_factor(m[0]), w - rate * factor(m[0]) * gradient, m + 1

    return step


AT_ROUNDED_RATE = counting(rate=float(np.float32(1e-3)))
"""Of TensorFlow in float64: no step agrees with the port's."""


@pytest.mark.parametrize(
    ("wrong", "steps"),
    [
        (counting(lambda count: jnp.where(count < 12, 1.0, 1.003)), 16),
        (counting(lambda count: jnp.where(count == 2, 1.003, 1.0)), 10),
        (counting(loss_factor=lambda count: jnp.where(count == 2, 1 + 1e-6, 1.0)), 10),
    ],
)
def test_what_is_wrong_at_some_steps_alone_is_a_failure(prepared: Prepared, wrong: Step, steps: int) -> None:
    """Less than what roundings of weights make of a step, and at none of the first steps that fail."""
    verdict, _ = judge_training(prepared, counting(), wrong, wrong, original_in_double=AT_ROUNDED_RATE, steps=steps)
    assert verdict == "fail"


def test_many_steps_that_rounding_alone_takes_off_are_no_failure(prepared: Prepared) -> None:
    verdict, _ = judge_training(
        prepared, counting(), counting(), counting(), original_in_double=AT_ROUNDED_RATE, steps=16
    )
    assert verdict == "pass"


@pytest.mark.parametrize("wrong_count", [2, 12])
def test_a_step_between_weights_that_are_handed_on_is_not_judged_by_others(
    prepared: Prepared, wrong_count: int
) -> None:
    wrong = counting(lambda count: jnp.where(count == wrong_count, 1.003, 1.0))
    verdict, _ = judge_training(
        prepared, counting(), wrong, wrong, original_in_double=AT_ROUNDED_RATE, steps=16, handed_on=8
    )
    assert verdict == "fail"


def at_rate(rate: float) -> Step:
    """As `optax_momentum`.

    Args:
      rate: of learning.
    """

    def step(x: Any, w: Any, m: Any) -> Any:
        loss, gradient = jax.value_and_grad(loss_of)(w, x)
        m = gradient + 0.9 * m
        return loss, w - rate * m, m

    return step


def test_a_rate_that_one_float64_run_alone_has_rounded_is_no_failure(prepared: Prepared) -> None:
    """TensorFlow keeps it in float32 in a float64 model too: both programs of float32 have the same."""
    verdict, reason = judge_training(
        prepared, keras_momentum, optax_momentum, optax_momentum, original_in_double=keras_at_rounded_rate
    )
    assert verdict == "pass"
    assert "regions are proved equal" in reason


@pytest.mark.parametrize("factor", [1 + 1e-6, 1 - 1e-6])
def test_another_rate_is_a_failure_though_float32_hardly_shows_it(prepared: Prepared, factor: float) -> None:
    wrong = at_rate(RATE * factor)
    assert judge_training(prepared, keras_momentum, wrong, wrong)[0] == "fail"


def cancel(x: Any) -> Any:
    """What vanishes but for noise, as the gradient of a shift before a normalization."""
    return ((x[0] + 1e3) - 1e3) - x[0]


def keras_noise(x: Any, w: Any, m: Any, rate: float = RATE) -> Any:
    loss, gradient = jax.value_and_grad(loss_of)(w, x)
    m = 0.9 * m - rate * cancel(x)
    return loss, w - rate * gradient + m, m


def keras_noise_at_rounded_rate(x: Any, w: Any, m: Any) -> Any:
    return keras_noise(x, w, m, float(np.float32(RATE)))


def optax_noise(x: Any, w: Any, m: Any) -> Any:
    loss, gradient = jax.value_and_grad(loss_of)(w, x)
    m = cancel(x) + 0.9 * m
    return loss, w - RATE * gradient - RATE * m, m


@pytest.mark.parametrize(("state", "verdict"), [(1e-15, "pass"), (1e-5, "fail")])
def test_states_of_noise_alone_may_differ(prepared: Prepared, state: float, verdict: str) -> None:
    """Each program has its own: in float64 it is all that differs, and float32 has noise that drowns it."""
    others = {"original_in_double": keras_noise_at_rounded_rate, "states": (0.0, state)}
    assert judge_training(prepared, keras_noise, optax_noise, optax_noise, **others)[0] == verdict


def test_training_from_weights_of_its_own_is_not_judged_by_regions(prepared: Prepared) -> None:
    step = step_program(keras_momentum)
    judged = RegionJudge(prepared, twin_of(prepared), collect(STEP, step, step), Doubles(), FLOAT32, Silent())
    assert judged.explain({(STEP, TRAJECTORY)}, {"training": []}) == {}
