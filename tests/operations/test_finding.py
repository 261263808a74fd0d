"""Operations found by their names, by those of rows, and by another version of theirs."""

from __future__ import annotations

import pytest

from compare.counterparts import raw_operations
from compare.errors import RequestError
from compare.operations.finding import Finder

OPERATIONS = raw_operations.read().operations
FINDER = Finder(OPERATIONS)


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("MatMul", ["MatMul"]),
        ("matmul", ["MatMul"]),
        ("tf.nn.relu", ["Relu"]),
        ("keras.layers.ReLU", ["Relu"]),
    ],
)
def test_a_name_stands_for_itself_alone(word: str, names: list[str]) -> None:
    assert FINDER.matching([word]) == names


def test_another_word_is_looked_for_in_names_and_rows() -> None:
    found = FINDER.matching(["resize"])
    assert {"ResizeBilinear", "QuantizedResizeBilinear", "TensorListResize"} <= set(found)
    assert "GatherV2" in FINDER.matching(["embedding_lookup"])


def test_several_words_are_looked_for_each() -> None:
    assert FINDER.matching(["MatMul", "Relu", "MatMul"]) == ["MatMul", "Relu"]
    assert FINDER.matching([]) == list(OPERATIONS)


@pytest.mark.parametrize(("word", "offer"), [("Matmull", "did you mean MatMul"), ("qqqq", "--all")])
def test_a_word_that_matches_nothing_is_refused_with_an_offer(word: str, offer: str) -> None:
    with pytest.raises(RequestError, match=f"expected an operation like '{word}', found none: .*{offer}"):
        FINDER.matching(["MatMul", word])


def test_a_version_without_rows_has_those_of_another() -> None:
    assert FINDER.find("Gather").version == "GatherV2"
    assert FINDER.find("Gather").about == FINDER.find("GatherV2").about != ()
    assert FINDER.find("GatherV2").version == "GatherV2"


def test_an_operation_that_the_table_lacks_has_nothing() -> None:
    found = FINDER.find("MyOwnOp")
    assert (found.operation, found.about, found.version, found.gotchas) == (None, (), "MyOwnOp", ())


def test_gotchas_are_those_of_operations_before_those_of_layers() -> None:
    assert "activations/relu_as_maximum" in FINDER.find("Relu").gotchas
    assert "activations/keras_relu_max_value" not in FINDER.find("Relu").gotchas
