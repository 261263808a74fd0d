"""Streams of calls as they are written on the command line."""

import numpy as np
import pytest

from compare.errors import RequestError
from compare.inputs.call_streams import describe, from_file, parse_call, stream
from workloads.core.spec import ArraySpec


def test_a_call_holds_arrays_python_values_numpy_scalars_and_structures() -> None:
    text = "x=f32[B,4], n=i32[3]:0..10, k=np.int32(3), s=f32(2.5), d={'a': f64[], 'b': [1, (-2.5, None)]}, t='f32[3]'"
    call = parse_call(text)
    assert call["x"] == ArraySpec(("B", 4)) and call["n"] == ArraySpec((3,), "int32", 0.0, 10.0)
    assert isinstance(call["k"], np.int32) and call["k"] == 3
    assert isinstance(call["s"], np.ndarray) and call["s"].dtype == np.float32 and call["s"].shape == ()
    assert call["d"] == {"a": ArraySpec((), "float64"), "b": [1, (-2.5, None)]}
    assert call["t"] == "f32[3]"


@pytest.mark.parametrize(
    "text", ["x=f32[8,4], axis=0, flag=True, name='a'", "d={'a': [f32[2], 1.5]}, k=np.int8(3), s=i32(4)"]
)
def test_a_call_is_shown_as_it_is_read(text: str) -> None:
    assert describe(parse_call(text)) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "no argument"),
        ("f32[3]", "an argument without a name"),
        ("**{'a': 1}", "an argument without a name"),
        ("x=f32[3], x=2", "what is no Python|an argument twice"),
        ("x=f99[3]", "'f99'"),
        ("x=f32[-1]", r"'f32\[-1\]'"),
        ("x=__import__('os')", "__import__"),
        ("x=3)+print(1", "more than the arguments of one call"),
        ("x=i8(300)", "300, which no int8 holds"),
        ("x=u8(1.5)", "1.5, which no uint8 holds"),
        ("x=np.object_(1)", "object_ is none of"),
        ("x=1e999", "1e309"),
        ("x=[]", r"'\[\]'"),
        ("x={1: 2}", "a key that is no text"),
        ("x=" + "(" * 5000, "what is no Python"),
    ],
)
def test_what_is_no_call_is_refused_in_one_line(text: str, found: str) -> None:
    with pytest.raises(RequestError, match=found) as caught:
        parse_call(text)
    assert "\n" not in str(caught.value)


def test_a_call_with_a_named_size_is_made_at_each_of_its_sizes() -> None:
    calls = stream(["x=f32[B,4], y=f32[S]", "x=f32[2,4], y=f32[1]"], ["B=3,3,1", "S=5,6,7"])
    assert [call.text for call in calls] == [
        "x=f32[3,4], y=f32[5]", "x=f32[3,4], y=f32[6]", "x=f32[1,4], y=f32[7]", "x=f32[2,4], y=f32[1]"
    ]  # fmt: skip
    assert np.array_equal(calls[0].arguments["x"], calls[1].arguments["x"])


@pytest.mark.parametrize(
    ("texts", "sizes", "found"),
    [
        ([], [], "1 to 1000 calls, found 0"),
        (["x=f32[B]"], [], "sizes of B, found none"),
        (["x=f32[2]"], ["B=3"], "found B"),
        (["x=f32[B]"], ["B=3,0"], "'B=3,0'"),
        (["x=f32[B]"], ["B=3", "B=4"], "sizes of B once"),
        (["x=f32[A,B]"], ["A=1,2", "B=3"], "2 of A, 1 of B"),
        (["x=f32[99999,99999]"], [], "at most 2 GiB"),
        (["x=f32[B]"], ["B=" + ",".join(["1"] * 1001)], "found 1001"),
    ],
)
def test_a_stream_that_cannot_be_made_is_refused(texts: list[str], sizes: list[str], found: str) -> None:
    with pytest.raises(RequestError, match=found):
        stream(texts, sizes)


def test_a_file_has_a_call_a_line() -> None:
    assert from_file("# epoch\nx=f32[3]\n\n  x=f32[4]\n") == ["x=f32[3]", "x=f32[4]"]
