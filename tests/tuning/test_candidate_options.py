"""Options of a compiler: how they are read, joined, told apart and pasted."""

from __future__ import annotations

from typing import Any

import pytest
from owned_search import FUSION, MATH, WIDTH

from compare.errors import RequestError
from compare.tuning import candidate_options
from compare.tuning.candidate_options import Option, Options


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("xla_a=true,false", Option("xla_a", (True, False))),
        ("xla_a=128,256,128", Option("xla_a", (128, 256))),
        ("xla_a=-1,0.5,AVX2", Option("xla_a", (-1, "0.5", "AVX2"))),
        ("xla_a=,A+B", Option("xla_a", ("", "A,B"))),
    ],
)
def test_options_are_read_as_they_are_written(text: str, option: Option) -> None:
    assert candidate_options.parse([text]) == (option,)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["xla_a"], "expected --option NAME=VALUE,VALUE, found 'xla_a'"),
        (["=1"], "found '=1'"),
        (["xla_a=1", "xla_a=2"], "expected each --option once, found xla_a twice"),
    ],
)
def test_options_that_cannot_be_read_are_one_line(texts: list[str], says: str) -> None:
    with pytest.raises(RequestError) as caught:
        candidate_options.parse(texts)
    assert says in str(caught.value)


def test_the_fastest_is_joined_with_what_sets_something_else() -> None:
    best: list[Options] = [{"a": 1}, {"a": 2}, {"b": 1}, {"c": 1}]
    assert list(candidate_options.together(best)) == ["a=1 b=1", "a=1 c=1", "a=1 b=1 c=1"]
    many: list[Options] = [{name: 1} for name in "abcdefg"]
    assert list(candidate_options.together(many)) == [
        "a=1 b=1",
        "a=1 c=1",
        "a=1 d=1",
        " ".join(f"{name}=1" for name in "abcdefg"),
    ]
    assert candidate_options.together(best[:1]) == candidate_options.together([]) == {}


def test_the_built_in_options_are_told_apart_by_name() -> None:
    for options in candidate_options.SPACE.values():
        names = candidate_options.singles(options)
        assert len(names) == sum(len(option.values) for option in options)


def test_the_snippet_can_be_pasted() -> None:
    text = candidate_options.snippet({FUSION: "", WIDTH: 512, MATH: True}, "cpu", "0.5x")
    assert text.splitlines()[0] == "# 0.5x"
    pasted: dict[str, Any] = eval(f"dict({text.partition(chr(10))[2]})")
    assert pasted == {"compiler_options": {"cpu": {FUSION: "", WIDTH: 512, MATH: True}}}
