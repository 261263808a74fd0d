"""`--input` and the two functions: what parses, and what is refused in one line."""

from pathlib import Path

import pytest

from compare.run.inputs import RequestError, describe
from compare.run.ports import from_functions, parse_input
from workloads import ArraySpec


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("x=f32[8,128]", "x", ArraySpec((8, 128), "float32")),
        ("n=i32[4]:0..10", "n", ArraySpec((4,), "int32", 0, 10)),
        ("a=f32[]", "a", ArraySpec((), "float32")),
        ("p=f16[3, 4]:-1.5..2e3", "p", ArraySpec((3, 4), "float16", -1.5, 2000)),
        ("flags=bool[7]", "flags", ArraySpec((7,), "bool")),
    ],
)
def test_an_input_is_name_dtype_shape_and_range(text: str, name: str, spec: ArraySpec) -> None:
    assert parse_input(text) == (name, spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=f32", "expected an input like"),
        ("x=f32[8;2]", "expected an input like"),
        ("f32[8]", "expected an input like"),
        ("x=f33[8]", "expected a dtype of f32"),
        ("x=f32[1 2]", "expected sizes separated by commas"),
        ("n=i32[4]:10..0", "expected low below high"),
        ("n=i32[4]:1..1", "expected low below high"),
        ("n=i32[4]:0..0.5", "expected whole numbers for int32"),
        ("n=i8[4]:0..1000", "expected a range within -128..127 of int8"),
        ("x=f32[0,8]", "expected sizes above 0"),
        ("x=f64[8]", "expected a dtype of f32"),
    ],
)
def test_what_does_not_parse_is_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_input(text)


def test_functions_become_a_workload_called_with_the_inputs_in_order(tmp_path: Path) -> None:
    (tmp_path / "t.py").touch()
    (tmp_path / "j.py").touch()
    workload = from_functions(f"{tmp_path}/t.py:f", f"{tmp_path}/j.py:g", ["b=f32[2]", "a=i32[3]"])
    assert workload.name == "g"
    assert list(workload.input_specs({})) == ["b", "a"]
    assert not workload.builds


@pytest.mark.parametrize(
    ("tf", "inputs", "message"),
    [
        ("t.py", ["x=f32[2]"], "expected --tf FILE.py:FUNCTION, found 't.py'"),
        ("t.py:1f", ["x=f32[2]"], "expected --tf FILE.py:FUNCTION"),
        ("absent.py:f", ["x=f32[2]"], "expected a Python file at absent.py for --tf, found nothing"),
        ("module:f", [], "expected at least one --input"),
        ("module:f", ["x=f32[2]", "x=f32[3]"], "found 'x' twice"),
    ],
)
def test_references_and_inputs_that_lead_nowhere_are_refused(tf: str, inputs: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        from_functions(tf, "module:g", inputs)


def test_types_are_written_as_xla_writes_them() -> None:
    assert describe((8, 128), "float32") == "f32[8,128]"
    assert describe((), "bool") == "pred[]"
    assert describe((2,), "uint8") == "u8[2]"
