"""Which axis of a weight is split, by names and shapes."""

from __future__ import annotations

import pytest

from workloads.core.mesh_rules import is_transformer, largest_axis, split_axis, why_undivided

BLOCK = {
    "layer0/attention/query/kernel": (8, 4, 2),
    "layer0/attention/query/bias": (4, 2),
    "layer0/attention/output/kernel": (4, 2, 8),
    "layer0/expand/kernel": (8, 32),
    "layer0/expand/bias": (32,),
    "layer0/contract/kernel": (32, 8),
    "layer0/norm/scale": (8,),
}


def test_attention_is_split_by_heads_and_feed_forward_layers_by_features() -> None:
    assert {name: split_axis(name, shape, True) for name, shape in BLOCK.items()} == {
        "layer0/attention/query/kernel": (1, "heads"),
        "layer0/attention/query/bias": (0, "heads"),
        "layer0/attention/output/kernel": (0, "heads"),
        "layer0/expand/kernel": (1, "hidden features"),
        "layer0/expand/bias": (0, "hidden features"),
        "layer0/contract/kernel": (0, "hidden features"),
        "layer0/norm/scale": (None, ""),
    }
    assert is_transformer(BLOCK) and not is_transformer({"dense/kernel": (8, 4)})


def test_without_such_names_the_last_axis_is_split() -> None:
    assert split_axis("dense/kernel", (8, 4), False) == (1, "features")
    assert split_axis("dense/bias", (4,), False) == (None, "")


def test_what_does_not_divide_is_named() -> None:
    assert why_undivided(BLOCK, 4) == ""
    assert why_undivided(BLOCK, 8).startswith(
        "expected heads that 8 divides, found 4 of layer0/attention/query/kernel: "
    )
    assert "expected features that 2 divides, found 3 of kernel" in why_undivided({"kernel": (6, 3)}, 2)


@pytest.mark.parametrize(
    ("shape", "count", "axis"), [((6, 3), 2, 0), ((3, 8), 4, 1), ((3, 5), 2, None), ((), 2, None), ((0, 4), 2, None)]
)
def test_the_largest_axis_that_divides(shape: tuple[int, ...], count: int, axis: int | None) -> None:
    assert largest_axis(shape, count) == axis
