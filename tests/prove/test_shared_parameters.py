"""Which parameters of two programs are the same array."""

from __future__ import annotations

from compare.prove.shared_parameters import pair_slots, updates
from workloads.protocol.framework import Parameter, Program, Result

KERNEL, BIAS = (8, 4), (4,)


def program(states: list[tuple[str, tuple[int, ...]]]) -> Program:
    parameters = [
        Parameter("input", "x", (2, 8), "float32"),
        Parameter("weight", "dense/kernel", KERNEL, "float32"),
        Parameter("weight", "dense/bias", BIAS, "float32"),
        *(Parameter("state", name, shape, "float32") for name, shape in states),
    ]
    results = [Result("loss", (), "float32"), Result("weights/dense/kernel", KERNEL, "float32")]
    results += [Result(f"state/{name}", shape, "float32") for name, shape in states]
    return Program(b"", tuple(parameters), tuple(results))


KERAS = program(
    [
        ("adam/iteration", ()),
        ("adam/sequential_dense_kernel_momentum", KERNEL),
        ("adam/sequential_dense_kernel_velocity", KERNEL),
        ("adam/sequential_dense_bias_momentum", BIAS),
    ]
)
OPTAX = program(
    [
        ("0/mu/dense/bias", BIAS),
        ("0/mu/dense/kernel", KERNEL),
        ("0/nu/dense/kernel", KERNEL),
        ("0/count", ()),
    ]
)


def test_inputs_and_weights_have_their_names() -> None:
    left, right = pair_slots((KERAS, OPTAX))

    assert left.parameters[:3] == right.parameters[:3] == ("input x", "weight dense/kernel", "weight dense/bias")
    assert left.results[:2] == ("loss", "weight dense/kernel")


def test_states_are_paired_by_weight_and_role_whatever_the_optimizer_calls_them() -> None:
    left, right = pair_slots((KERAS, OPTAX))

    assert left.parameters[3:] == (
        "state step",
        "state first moment of dense/kernel",
        "state second moment of dense/kernel",
        "state first moment of dense/bias",
    )
    assert set(left.parameters[3:]) == set(right.parameters[3:])
    assert left.results[2:] == left.parameters[3:]


def test_a_side_that_knows_the_weight_says_it_whatever_it_calls_it() -> None:
    keras = Parameter("state", "adam/layer_7_w_momentum", KERNEL, "float32", owner="dense/kernel", part="adam momentum")
    optax = Parameter("state", "mu/blocks/0/w", KERNEL, "float32", owner="dense/kernel", part="mu")
    weight = Parameter("weight", "dense/kernel", KERNEL, "float32")

    left, right = pair_slots([Program(b"", (weight, state), ()) for state in (keras, optax)])

    assert left.parameters == right.parameters == ("weight dense/kernel", "state first moment of dense/kernel")


def test_a_state_of_another_shape_belongs_to_no_weight() -> None:
    left, _ = pair_slots((program([("dense_kernel_momentum", BIAS)]), OPTAX))

    assert left.parameters[3] == "state 0:dense_kernel_momentum"


def test_a_state_of_one_side_keeps_its_name() -> None:
    left, right = pair_slots((program([("adam/learning_rate", ())]), OPTAX))

    assert left.parameters[3] == "state 0:adam/learning_rate"
    assert all(slot.startswith("state 1:") for slot in right.parameters[3:])


def test_two_states_of_one_role_are_not_guessed() -> None:
    twice = program([("a/mu/dense/kernel", KERNEL), ("b/mu/dense/kernel", KERNEL)])

    left, right = pair_slots((twice, OPTAX))

    assert not set(left.parameters[3:]) & set(right.parameters[3:])


def test_a_step_overwrites_the_weights_and_states_that_it_returns() -> None:
    assert updates(OPTAX) == {1: 1, 3: 2, 4: 3, 5: 4, 6: 5}, "the bias is not returned, and the input is no state"


def test_a_state_of_another_type_is_not_overwritten() -> None:
    counted = Program(b"", (Parameter("state", "count", (), "int64"),), (Result("state/count", (), "int32"),))
    assert updates(counted) == {}
