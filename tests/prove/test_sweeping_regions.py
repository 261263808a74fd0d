"""The sweep of a pass by its regions says that it holds, or nothing: neither a region nor the whole breaks unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo.pair import Pair
from compare.inputs.at_size import Prepared, prepare
from compare.inputs.functions import from_functions
from compare.parity.stability import BREAKS, HOLDS
from compare.prove import open_regions, split_programs
from compare.prove.open_regions import Arguments
from compare.prove.region_calls import RegionCalls
from compare.prove.split_programs import Split
from compare.prove.subjects import first_inputs, subjects, twin_of
from compare.prove.sweeping_regions import SweptRegions, sweep_regions
from compare.prove.swept_calls import plan_calls
from compare.prove.whole_calls import compile_whole
from compare.regions.open_programs import merge_regions
from compare.regions.proving import Proofs, prove
from compare.regions.refining import Matched
from workloads.core import sweeps
from workloads.protocol.framework import Parameter, Program, Result

pytestmark = [pytest.mark.usefixtures("programs_here"), pytest.mark.heavy]

Function = Callable[..., Any]
SHAPE = (4, 16)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "f.py").write_text("def f(x): return x\n")
    workload = from_functions(f"{folder}/f.py:f", f"{folder}/f.py:f", ["x=f32[4,16]"])
    return prepare(workload, "default", None, folder)


def program(function: Function) -> Program:
    array = np.ones(SHAPE, np.float32)
    result = Result("output", np.shape(function(array)), "float32")
    return Program(exported(function, array), (Parameter("input", "x", SHAPE, "float32"),), (result,))


def swept(prepared: Prepared, original: Function, port: Function) -> SweptRegions | None:
    return sweep_regions("forward", prepared, Pair(program(original), program(port)), "float32")


def regions_of(prepared: Prepared, original: Function, port: Function) -> Split | None:
    base = first_inputs(twin_of(prepared), prepared.inputs)
    probes = split_programs.spread_out(plan_calls(prepared.inputs, twin_of(prepared)))
    drawn = [[*sweeps.draw_inputs(probe, prepared.inputs, base).values()] for probe in probes]
    split = split_programs.split_on_cases(prepared, Pair(program(original), program(port)))
    return split.find_regions([Pair(arrays, arrays) for arrays in drawn])


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x)


def softmax_without_maximum(x: Any) -> Any:
    return jnp.exp(x) / jnp.sum(jnp.exp(x), -1, keepdims=True)


def scaled(x: Any) -> Any:
    return jnp.tanh(x) * 3 + jnp.tanh(x) * 5


def scaled_otherwise(x: Any) -> Any:
    return jnp.tanh(x) * 8


def test_one_program_is_proved_and_runs_as_a_whole_alone(prepared: Prepared) -> None:
    known = swept(prepared, softmax, softmax)
    assert known is not None and "regions are proved equal" in known.says and "all" in known.says
    assert {call.said for reached in known.reached for extent in reached.extents for call in extent.calls} == {HOLDS}


def test_another_formula_of_the_same_quality_holds_in_every_call(prepared: Prepared) -> None:
    known = swept(prepared, lambda x: jnp.sin(scaled(x)), lambda x: jnp.sin(scaled_otherwise(x)))
    assert known is not None and "hold in" in known.says
    assert all(reached.verdict == "pass" and reached.extents for reached in known.reached)


@pytest.mark.parametrize(
    ("original", "port"),
    [
        pytest.param(softmax, softmax_without_maximum, id="overflow"),
        pytest.param(jnp.expm1, lambda x: jnp.exp(x) - 1, id="cancellation, an algebraic rule"),
        pytest.param(jnp.log1p, lambda x: jnp.log(x + 1), id="cancellation near 1"),
        pytest.param(lambda x: x.var(-1), lambda x: (x * x).mean(-1) - x.mean(-1) ** 2, id="variance"),
        pytest.param(lambda x: jnp.tanh(x) * 2, lambda x: jnp.tanh(x) * 2.001, id="wrong"),
        pytest.param(lambda x: x * 2, lambda x: jnp.where(jnp.abs(x) > 1e30, 0.0, x * 2), id="wrong far out"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("layers", [0, 2], ids=["alone", "between equal layers"])
def test_what_breaks_is_never_said_to_hold(prepared: Prepared, original: Function, port: Function, layers: int) -> None:
    def beside(function: Function) -> Function:
        def model(x: Any) -> Any:
            for _ in range(layers):
                x = x - jnp.tanh(x) / 3
            return jnp.tanh(function(x)) if layers else function(x)

        return model

    assert swept(prepared, beside(original), beside(port)) is None


def test_a_region_that_is_left_out_is_no_proof(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """A split that loses a region is refused, though every region that is left is proved."""
    split = split_programs.split

    def losing(*of: Any) -> Any:
        regions = split(*of)
        return type(regions)(regions.graphs, regions.cut_points, regions.regions[1:])

    monkeypatch.setattr(split_programs, "split", losing)
    assert swept(prepared, softmax, softmax) is None


def test_a_rule_that_wrongly_claims_equal_bits_is_caught_by_the_whole(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_proved(regions: Any, **_: Any) -> Proofs:
        proofs = prove(regions)
        equal = tuple(type(one)(one.region, "structural", one.digest) for one in proofs.judged)
        return Proofs(proofs.regions, equal)

    monkeypatch.setattr(split_programs, "prove", all_proved)
    assert swept(prepared, softmax, softmax_without_maximum) is None


def test_a_false_cut_point_does_not_hide_an_error(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """The matcher takes `3 tanh x` and `3.03 tanh x` for one value: the regions on both sides of it do not hold."""

    def loosely(alignment: Any, drawn: Any) -> Any:
        return more(alignment, drawn, tolerance=0.1)

    more = split_programs.find_more_matches
    monkeypatch.setattr(split_programs, "find_more_matches", loosely)
    assert swept(prepared, lambda x: jnp.cos(jnp.tanh(x) * 3), lambda x: jnp.cos(jnp.tanh(x) * 3.03)) is None


def test_a_program_with_random_draws_is_swept_whole(prepared: Prepared) -> None:
    def noisy(x: Any) -> Any:
        return x + jax.lax.rng_uniform(0.0, 1.0, x.shape)

    assert swept(prepared, noisy, noisy) is None


def test_regions_that_compute_alike_from_the_same_cut_points_are_there_once(prepared: Prepared) -> None:
    split = regions_of(prepared, scaled, scaled_otherwise)
    assert split is not None and split.opened is not None
    (group,) = split.opened.groups
    opened, regions = group.programs.regions, group.regions
    once, twice = (merge_regions(opened * count, regions).graphs.left for count in (1, 2))
    assert len(once) == len(twice) and len(twice.results) == 2 * len(once.results)


def test_identical_regions_run_as_one(prepared: Prepared) -> None:
    """Three layers of one formula are a kind, a fourth with another factor is one of its own."""

    def layers(scale: Function, last: Function) -> Function:
        return lambda x: last(jnp.cos(scale(jnp.cos(scale(jnp.cos(scale(x)))))))

    wide = layers(scaled, lambda x: jnp.tanh(x) * 2 + jnp.tanh(x) * 5)
    split = regions_of(prepared, wide, layers(scaled_otherwise, lambda x: jnp.tanh(x) * 7))
    assert split is not None and (split.count_open, split.count_kinds) == (4, 2)
    assert split.opened is not None
    of_three, of_one = split.opened.groups
    assert (len(of_three.all_turns), len(of_one.all_turns)) == (3, 1)
    # Each of the three layers takes its own values.
    assert len({tuple(keys) for keys in of_three.keys}) == 3


@pytest.mark.parametrize("far", [0, 1, 2])
def test_a_formula_that_breaks_on_the_values_of_one_layer_alone_does_not_hold(prepared: Prepared, far: int) -> None:
    """Subtracting 1 from an exponential costs four digits where it is near 1, and next to none elsewhere."""

    def layers(increase: Function) -> Function:
        before: list[Function] = [lambda x: jnp.sin(x) + 2, lambda x: jnp.tanh(x) + 2]
        before.insert(far, lambda x: jnp.abs(x) + 2.0**-12)
        return lambda x: jnp.stack([increase(function(x)) for function in before])

    original, port = layers(jnp.expm1), layers(lambda x: jnp.exp(x) - 1)
    split = regions_of(prepared, original, port)
    assert split is not None and (split.count_open, split.count_kinds) == (3, 1)
    assert swept(prepared, original, port) is None


@pytest.mark.parametrize("far", range(4))
def test_each_of_four_identical_regions_takes_its_turn_beside_a_kind_of_six(prepared: Prepared, far: int) -> None:
    def model(increase: Function, scale: Function) -> Function:
        def column(x: Any, at: int) -> Any:
            return increase(jnp.abs(x[:, at]) + 2.0**-12 if at == far else jnp.tanh(x[:, at]) + 2)

        return lambda x: jnp.stack(
            [*(column(x, at) for at in range(4)), *(scale(jnp.tanh(x[:, at])) for at in range(4, 10))]
        )

    original, port = model(jnp.expm1, scaled), model(lambda x: jnp.exp(x) - 1, scaled_otherwise)
    assert swept(prepared, original, port) is None
    assert swept(prepared, model(jnp.expm1, scaled), model(jnp.expm1, scaled_otherwise)) is not None


LAYERS = 7
"""More than take turns in a sweep."""


def in_layers(function: Function) -> Function:
    """A function of each of the first columns."""
    return lambda x: jnp.stack([function(jnp.tanh(x[:, at])) for at in range(LAYERS)])


def call_with(far: int, value: float) -> Arguments:
    """A call in which one column has another value: those of the others are near 0.5, and no two are alike."""
    x = np.random.default_rng(0).uniform(0.4, 0.6, SHAPE).astype(np.float32)
    x[:, far] *= 2 * np.float32(value)
    return Pair([x], [x])


@pytest.mark.parametrize("far", range(LAYERS))
def test_all_regions_of_a_kind_are_judged_where_no_sweep_is_made(prepared: Prepared, far: int) -> None:
    programs = Pair(program(in_layers(jnp.expm1)), program(in_layers(lambda x: jnp.exp(x) - 1)))
    split = split_programs.split_on_cases(prepared, programs).find_regions([])
    assert split is not None and split.opened is not None
    assert (split.count_open, split.count_kinds) == (LAYERS, 1)
    ordinary, near_zero = call_with(far, 0.7), call_with(far, 2.0**-20)
    judge = RegionCalls("forward", split.opened, ordinary, "float32", split.opened.roundings)
    assert [one.status for one in judge.judge_all([ordinary, near_zero])] == [HOLDS, BREAKS]


def test_a_cut_point_is_refuted_in_one_of_identical_regions(prepared: Prepared) -> None:
    """What is cut off at 60 and what is not are one value up to 60: tanh(0.6) * 99 is below, tanh(3) * 99 is not."""
    programs = Pair(*(program(in_layers(lambda x, f=f: f(99 * x))) for f in (cut_off, never_cut_off)))
    small = call_with(0, 0.5)
    split = split_programs.SplitPrograms(Pair(*subjects(*programs)), [small], ()).find_regions([small])
    assert split is not None and split.opened is not None
    assert max(len(group.all_turns) for group in split.opened.groups) == LAYERS
    refuted = [set.union(*split.opened.find_refuted([small, call_with(far, 3.0)])) for far in range(LAYERS)]
    assert [len(pairs) for pairs in refuted] == [1] * LAYERS
    assert len(set.union(*refuted)) == LAYERS


def test_regions_that_are_known_to_hold_are_left_out_and_the_others_refute_the_same(prepared: Prepared) -> None:
    programs = Pair(*(program(in_layers(lambda x, f=f: f(99 * x))) for f in (cut_off, never_cut_off)))
    small = call_with(0, 0.5)
    split = split_programs.SplitPrograms(Pair(*subjects(*programs)), [small], ()).find_regions([small])
    assert split is not None and split.opened is not None
    opened, calls = split.opened, [call_with(2, 3.0), call_with(5, 3.0)]
    everything = opened.find_refuted(calls)
    assert [len(pairs) for pairs in everything] == [1, 1]
    keys = opened.describe_all()
    for member in keys:
        alone = opened.without(keys - {member})
        assert alone.count == 1 and alone.find_refuted(calls) in (
            [set(), set()],
            [everything[0], set()],
            [set(), everything[1]],
        )
    assert set.union(*(set.union(*opened.without(keys - {one}).find_refuted(calls)) for one in keys)) == set.union(
        *everything
    )
    assert opened.without(set()) is opened
    assert opened.without(keys).find_refuted(calls) == [set(), set()]


RESULTS = 12
"""Far more than take turns in a sweep."""


def program_of_results(function: Function) -> Program:
    """A program of several vectors, each a result."""
    array = np.ones(SHAPE, np.float32)
    results = tuple(Result(f"output/{at}", (SHAPE[0],), "float32") for at in range(len(function(array))))
    return Program(exported(function, array), (Parameter("input", "x", SHAPE, "float32"),), results)


def far_column(x: Any, at: int, far: int) -> Any:
    """A column, up to 100 where it is the far one and up to 50 elsewhere."""
    return jnp.tanh(x[:, at] / 16) * (100.0 if at == far else 50.0)


@pytest.mark.parametrize("far", [0, 5, RESULTS - 1])
def test_each_of_many_results_that_are_no_cut_points_is_judged(prepared: Prepared, far: int) -> None:
    """A result that is an identity on the drawn cases has no cut point that a call refutes."""

    def limited(most: float) -> Program:
        return program_of_results(
            lambda x: tuple(jnp.minimum(jnp.maximum(far_column(x, at, far), -60.0), most) for at in range(RESULTS))
        )

    assert sweep_regions("forward", prepared, Pair(limited(60.0), limited(60.0)), "float32") is not None
    assert sweep_regions("forward", prepared, Pair(limited(60.0), limited(60.5)), "float32") is None


@pytest.mark.parametrize(("most", "holds"), [(0.6, True), (0.604, False)])
def test_a_value_with_a_double_that_is_rounding_noise_stays_a_cut_point(
    prepared: Prepared, most: float, holds: bool
) -> None:
    """The port computes its sum from a second chain, which a rounding in float32 makes equal to the first one."""

    def model(most: float, is_doubled: bool) -> Program:
        def compute(x: Any) -> tuple[Any, ...]:
            far, total, results = 1e12 + x[:, 15] * 0, 0, []
            for at in range(RESULTS):
                column = far_column(x, at, 5)
                wave = jnp.sin(column * 0.01)
                result = wave * jnp.minimum(wave, most)
                results.append(result)
                if is_doubled:
                    wave = jnp.sin((column + 1e-2 * ((column + far) - far)) * 0.01)
                    result = wave * jnp.minimum(wave, 0.6)
                total = total + jnp.tanh(result)
            return (*results, total)

        return program_of_results(compute)

    known = sweep_regions("forward", prepared, Pair(model(0.6, False), model(most, True)), "float32")
    assert (known is not None) == holds


def cut_off(x: Any) -> Any:
    return jnp.sin(jnp.where(x > 60.0, 60.0, jnp.maximum(x, 0.0)))


def cut_off_first(x: Any) -> Any:
    return jnp.sin(jnp.maximum(jnp.minimum(x, 60.0), 0.0))


def never_cut_off(x: Any) -> Any:
    return jnp.sin(jnp.maximum(x, 0.0))


@pytest.mark.parametrize(("port", "holds"), [(cut_off_first, True), (never_cut_off, False)])
def test_values_that_agree_on_the_drawn_cases_alone_are_no_cut_point(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, port: Function, holds: bool
) -> None:
    """No drawn number comes to 60: there, the maximum alone has the values of what is cut off."""
    found, refuted = open_regions.find_refuted, set[Matched]()

    def finding(*of: Any) -> set[Matched]:
        more = found(*of)
        refuted.update(more)
        return more

    monkeypatch.setattr(open_regions, "find_refuted", finding)
    assert (swept(prepared, cut_off, port) is not None) == holds
    assert refuted


def test_regions_whose_arrays_have_no_room_are_not_judged_alone(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_regions, "budget", lambda: 1)
    assert swept(prepared, scaled, scaled_otherwise) is None
    assert swept(prepared, scaled, scaled) is not None


@pytest.mark.parametrize(("third", "holds"), [(8.0, True), (8.001, False)])
def test_regions_that_have_no_room_together_are_judged_in_groups(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, third: float, holds: bool
) -> None:
    def thrice(*scales: Function) -> Function:
        first, second, last = scales
        return lambda x: jnp.cos(last(jnp.cos(second(jnp.cos(first(x))))))

    # Three kinds: identical regions would run as one.
    original = thrice(*(lambda x, more=more: jnp.tanh(x) * 2 + jnp.tanh(x) * more for more in (4, 5, 6)))
    port = thrice(*(lambda x, factor=factor: jnp.tanh(x) * factor for factor in (6, 7, third)))
    # One region reads and computes three arrays of 64 numbers: TensorFlow's cut point, and its value on both sides.
    monkeypatch.setattr(open_regions, "budget", lambda: 3 * 64 * 12)
    split = regions_of(prepared, original, port)
    assert split is not None and split.opened is not None and len(split.opened.groups) == 3
    assert (swept(prepared, original, port) is not None) == holds


def test_programs_may_come_as_far_apart_as_rounding_takes_the_original(prepared: Prepared) -> None:
    """Of 1 + 1e-9 - 1 rounding leaves nothing, and so decides a sign; nothing decides whether a factor is 1.1."""

    def signed(shift: float) -> Function:
        return lambda x: jnp.where(jnp.tanh(x) * 1e-9 + (x + 1.0 - x - 1.0) > shift, x, -x)

    drawn = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    pairs = [(signed(0.0), signed(1e-12)), (jnp.tanh, lambda x: jnp.tanh(x) * 1.1)]
    whole = [compile_whole(Pair(program(one), program(other)), twin_of(prepared)) for one, other in pairs]
    assert [both.agree([{"x": drawn}], 0.0) for both in whole] == [True, False]
