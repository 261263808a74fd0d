"""Which axis is split in which layout, and what does not divide."""

from __future__ import annotations

import pytest

from compare.planning.mesh_layouts import GENERIC, MEGATRON, Unfit, layout, sharding
from workloads.protocol.framework import Parameter, Program, Result

QUERY = "layer0/attention/query/kernel"
BATCH = {"x": 0}


def program(*weights: tuple[str, tuple[int, ...]], batch: int = 8) -> Program:
    state = [Parameter("state", f"mu/{name}", shape, "float32", name, "mu") for name, shape in weights]
    inputs = [Parameter("input", "x", (batch, 12), "float32"), Parameter("input", "rate", (), "float32")]
    parameters = (*(Parameter("weight", name, shape, "float32") for name, shape in weights), *state, *inputs)
    results = (
        *(Result(f"weights/{name}", shape, "float32") for name, shape in weights),
        *(Result(f"state/mu/{name}", shape, "float32") for name, shape in weights),
        Result("loss", (), "float32"),
    )
    return Program(b"", parameters, results)


def specs(name, devices, step, island=8):
    return sharding(layout(name, devices, island, step), step, BATCH)


def test_data_splits_examples_alone() -> None:
    found = specs("data", 4, program((QUERY, (12, 4, 3))))
    assert found.parameters == (("", "", ""), ("", "", ""), ("data", ""), ())
    assert found.results == (("", "", ""), ("", "", ""), ())


def test_fsdp_splits_weights_and_their_state_along_the_largest_axis_that_divides() -> None:
    found = specs("fsdp", 4, program(("kernel", (15, 8)), ("bias", (3,))))
    assert found.parameters[:4] == (("", "data"), ("",), ("", "data"), ("",))
    assert found.results == (("", "data"), ("",), ("", "data"), ("",), ())


def test_tensor_splits_a_transformer_by_heads_and_hidden_features() -> None:
    weights = [
        (QUERY, (12, 4, 3)), ("layer0/attention/query/bias", (4, 3)), ("layer0/attention/output/kernel", (4, 3, 12)),
        ("layer0/feed_forward/expand/kernel", (12, 8)), ("layer0/feed_forward/expand/bias", (8,)),
        ("layer0/feed_forward/contract/kernel", (8, 12)), ("layer0/feed_forward/contract/bias", (12,)),
        ("words/dense/kernel", (12, 12)),
    ]  # fmt: skip
    step = program(*weights)
    assert layout("tensor", 4, 8, step).note == MEGATRON
    assert specs("tensor", 4, step).parameters[:8] == (
        ("", "model", ""), ("model", ""), ("model", "", ""), ("", "model"), ("model",), ("model", ""), ("",), ("", ""),
    )  # fmt: skip


def test_other_models_are_split_by_a_rule_that_says_so() -> None:
    step = program(("kernel", (6, 8)), ("bias", (8,)))
    assert layout("tensor", 4, 8, step).note == GENERIC
    assert specs("tensor", 4, step).parameters[:2] == (("", "model"), ("",))


def test_the_mixed_layout_keeps_the_model_on_one_host_by_the_largest_part_that_divides() -> None:
    assert dict(layout("data x tensor", 16, 8, program((QUERY, (12, 12, 64)))).axes) == {"data": 4, "model": 4}
    assert dict(layout("data x tensor", 16, 8, program((QUERY, (12, 16, 64)))).axes) == {"data": 2, "model": 8}


def test_what_does_not_divide_is_one_line() -> None:
    with pytest.raises(Unfit, match="expected heads that 8 divides, found 12 of layer0/attention/query/kernel"):
        layout("tensor", 8, 8, program((QUERY, (12, 12, 64))))
    with pytest.raises(Unfit, match="expected a batch that 4 divides, found 6"):
        specs("data", 4, program(("kernel", (8, 8)), batch=6))
    with pytest.raises(Unfit, match="expected a divisor of 2"):
        layout("data x tensor", 2, 2, program((QUERY, (12, 12, 64))))
