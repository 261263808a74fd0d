"""An entry is found by identifier, name, theme, operation or any word; what is not found is said with the nearest."""

from __future__ import annotations

import pytest

from compare.errors import RequestError
from compare.gotchas.searching import matching
from workloads.core.spec import ArraySpec
from workloads.gotchas._catalogue import Entry
from workloads.gotchas._gotcha import Gotcha


def entry(theme: str, name: str, why: str = "Why.", concerns: tuple[str, ...] = ("tf.abs",)) -> Entry:
    return Entry(theme, Gotcha(name, why, concerns, {"x": ArraySpec((1,))}))


GELU = entry("activations", "gelu", "Exact in TensorFlow.", ("tf.nn.gelu",))
TANH = entry("activations", "gelu_by_tanh", "Approximate.", ("tf.nn.gelu",))
ADAM = entry("optimizers", "adam_epsilon", "Where epsilon stands.", ("keras.optimizers.Adam",))
ALL = (GELU, TANH, ADAM)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], [GELU, TANH, ADAM]),
        (["activations/gelu"], [GELU]),
        (["gelu"], [GELU]),  # a name stands for itself, though another entry contains it
        (["tf.nn.gelu"], [GELU, TANH]),
        (["activations"], [GELU, TANH]),
        (["keras.optimizers.adam"], [ADAM]),
        (["EPSILON"], [ADAM]),
        (["activations", "approximate"], [TANH]),
    ],
)
def test_words_choose_entries(words: list[str], expected: list[Entry]) -> None:
    assert matching(ALL, words) == expected


@pytest.mark.parametrize(
    ("words", "offer"),
    [
        (["gleu"], "did you mean gelu"),
        (["optimizer_s"], "optimizers"),
        (["zzz"], "`jaxport lookup gotchas` lists them"),
    ],
)
def test_what_is_not_found_is_said_with_the_nearest(words: list[str], offer: str) -> None:
    with pytest.raises(RequestError, match=offer):
        matching(ALL, words)
