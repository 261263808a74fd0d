"""Errors planted into weights: refused, or seen by parity; and the page of all of them is that of this code."""

from __future__ import annotations

import layers_to_carry
import planted_weights
import pytest
from places import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

PAGE = (ROOT / "docs/results/weights.md").read_text()

SAMPLE = ("dense", "dense_without_bias", "embedding", "conv2d", "batch_normalization", "layer_normalization", "lstm",
          "multi_head_attention", "simple_rnn", "depthwise_conv2d", "prelu")  # fmt: skip
"""Of ten classes and more; the page has them all."""


def row_of(name: str) -> list[str]:
    (found,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    return [each.strip() for each in found.strip("|").split("|")][1:]


@pytest.mark.parametrize("name", SAMPLE)
def test_what_is_planted_is_refused_or_seen(name: str) -> None:
    found = planted_weights.outcomes(name)
    assert planted_weights.NOT_SEEN not in found.values()
    assert [each.partition(":")[0] for each in found.values()] == [each.partition(":")[0] for each in row_of(name)]


def test_the_page_has_every_layer_and_nothing_that_was_not_seen() -> None:
    assert all(f"| `{name}` |" in PAGE for name in layers_to_carry.CASES)
    assert planted_weights.NOT_SEEN not in PAGE


def test_only_parity_sees_a_square_kernel_that_is_transposed() -> None:
    assert planted_weights.outcomes("dense")["transposed"] == planted_weights.REFUSED
    assert planted_weights.outcomes("dense_without_bias")["transposed"].startswith("parity")
