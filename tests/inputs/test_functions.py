"""`--input` and the two functions: what parses, and what is refused in one line."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare.errors import RequestError
from compare.inputs.at_size import describe
from compare.inputs.functions import from_functions, parse_input
from compare.plain_json import to_json
from compare.progress import Silent
from compare.run import whole_run
from compare.sides.pool import Pool
from workloads import ArraySpec, Workload
from workloads.core.arrays import draw, draw_kinks


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("x=f32[8,128]", "x", ArraySpec((8, 128), "float32")),
        ("n=i32[4]:0..10", "n", ArraySpec((4,), "int32", 0, 10)),
        ("a=f32[]", "a", ArraySpec((), "float32")),
        ("p=f16[3, 4]:-1.5..2e3", "p", ArraySpec((3, 4), "float16", -1.5, 2000)),
        ("flags=bool[7]", "flags", ArraySpec((7,), "bool")),
        ("d=f64[7]:-1e300..1", "d", ArraySpec((7,), "float64", -1e300, 1)),
        ("b=bf16[7]", "b", ArraySpec((7,), "bfloat16")),
        ("c=c64[7]:0..1", "c", ArraySpec((7,), "complex64", 0, 1)),
        ("c=complex64[7]", "c", ArraySpec((7,), "complex64")),
        ("c=c128[7]", "c", ArraySpec((7,), "complex128")),
        ("e=f8e4m3fn[7]:-448..448", "e", ArraySpec((7,), "float8_e4m3fn", -448, 448)),
        ("e=f8e5m2[7]", "e", ArraySpec((7,), "float8_e5m2")),
        ("n=s4[7]:-8..8", "n", ArraySpec((7,), "int4", -8, 8)),
        ("n=u4[7]", "n", ArraySpec((7,), "uint4")),
        ("x=f32[B, 16]:0..1", "x", ArraySpec(("B", 16), "float32", 0, 1)),
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
        ("x=f32[1 2]", "expected integers or dimension names, separated by commas"),
        ("n=i32[4]:10..0", "expected low below high"),
        ("n=i32[4]:1..1", "expected low below high"),
        ("n=i32[4]:0..0.5", "expected whole numbers for int32"),
        ("n=i8[4]:0..1000", "expected a range within -128..127 of int8"),
        ("n=i4[3]:0..9", "expected a range within -8..7 of int4"),
        ("e=f8e4m3fn[3]:0..449", "expected a range within -448..448 of float8_e4m3fn"),
        ("n=i8[3]:-129..0", "expected a range within -128..127 of int8"),
        ("n=i32[4]:0..1e400", "expected whole numbers for int32, found 0 and inf"),
        ("n=u64[4]:0..1e20", "expected a range within 0..18446744073709551615 of uint64"),
        ("x=f16[4]:0..1e6", r"expected a range within -65504..65504 of float16, found 0..1e\+06"),
        ("x=f32[4]:-1e39..0", "expected a range within .* of float32"),
        ("x=f32[4]:0..1e999", "expected a range within .* of float32, found 0..inf"),
        ("x=f32[4]:nan..1", "expected an input like"),
        ("b=bool[4]:0..5", "expected no range for bool"),
        ("x=f32[0,8]", "expected sizes above 0"),
        ("x=f8[8]", "expected a dtype of f32, f64, f16, bf16, f8e4m3fn"),
        ("x=c256[8]", "expected a dtype of f32"),
        ("x=bf16[4]:0..1e39", "expected a range within .* of bfloat16"),
        ("x=c64[4]:0..1e39", "expected a range within .* of complex64"),
    ],
)
def test_what_does_not_parse_is_refused(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_input(text)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"low": math.nan, "high": 1.0}, "expected low below high"),
        ({"scale": math.nan}, "expected a scale"),
        ({"scale": 1e39}, "expected a scale whose multiples float32 can hold"),
        ({"scale": 1e4, "dtype": "float16"}, "expected a scale whose multiples float16 can hold"),
        ({"low": -1e308, "high": 1e308, "dtype": "float64"}, "expected a range within"),
    ],
)
def test_what_a_type_cannot_hold_is_not_drawn(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArraySpec((2,), **changed)


@pytest.mark.parametrize(
    "text",
    [
        "n=u64[9]:0..18446744073709551616",
        "n=i64[9]:-9223372036854775808..9223372036854775808",
        "n=i8[99]:-128..128",
        "x=f16[9]:-65504..65504",
        "x=bf16[9]:-3e38..0",
        "x=c64[9]:-1e38..1e38",
    ],
)
def test_the_whole_range_of_a_type_can_be_drawn(text: str) -> None:
    name, spec = parse_input(text)
    drawn = draw(spec, name, 0)
    assert drawn.dtype == spec.dtype and np.isfinite(drawn).all() and len(set(drawn.tolist())) > 1


def test_both_parts_of_complex_numbers_are_drawn_and_meet_at_kinks() -> None:
    spec = ArraySpec((400,), "complex64")
    drawn, kinks = draw(spec, "c", 0), draw_kinks(spec, "c", 0)
    assert drawn.dtype == kinks.dtype == np.complex64
    for part in (drawn.real, drawn.imag):
        assert abs(part.mean()) < 0.2 and 0.8 < part.std() < 1.2
    assert abs(np.corrcoef(drawn.real, drawn.imag)[0, 1]) < 0.2
    assert {*kinks.real} == {*kinks.imag} == {-1.0, -0.5, 0.0, 0.5, 1.0} and len({*kinks.tolist()}) == 25
    assert {*draw_kinks(ArraySpec((99,), "bfloat16"), "b", 0).astype(float)} == {-1.0, -0.5, 0.0, 0.5, 1.0}


# Every type of float, judged on both frameworks.

T = """
import tensorflow as tf
def real(x): return tf.reduce_sum(tf.tanh(x) * 2 + x * x, axis=-1)
def inside(x): return tf.cast(tf.sin(tf.cast(x, tf.float32)) * 2, tf.bfloat16)
def turned(x): return {"product": x * tf.math.conj(x) * 2 + x * x, "size": tf.abs(x)}
def stored(x): return tf.cast(tf.sin(tf.cast(x, tf.float32)) * 2, x.dtype)
def summed(x): return tf.reduce_sum(x * 3 + x, axis=-1)
"""
J = """
import jax
import jax.numpy as jnp
def real(x): return jnp.sum(x * x + jnp.tanh(x) * 2, axis=-1)
def nearly(x): return jnp.sum(x * x + jnp.tanh(x) * 2.01, axis=-1)
def narrow(x): return real(x.astype(jnp.float32)).astype(x.dtype)
def inside(x): return (jnp.sin(x.astype(jnp.float32)) * 2).astype(jnp.bfloat16)
def outside(x): return (jnp.sin(x.astype(jnp.float32)) * 2.3).astype(jnp.bfloat16)
def turned(x): return {"product": x * x + 2 * x * jnp.conj(x), "size": jnp.abs(x)}
def unturned(x): return {"product": x * x + 2 * x * jnp.conj(x), "size": jnp.abs(x.real)}
def halted(x): return turned(x) | {"size": jax.lax.stop_gradient(jnp.abs(x))}
def stored(x): return (jnp.sin(x.astype(jnp.float32)) * 2).astype(x.dtype)
def spoilt(x): return (jnp.sin(x.astype(jnp.float32)) * 2.9).astype(x.dtype)
def summed(x): return jnp.sum(x * 3 + x, axis=-1)
def exact(x): return jnp.sum(x * 3 + x, axis=-1, dtype=x.dtype)
def one_up(x): return real(x) * (1 + 2**-7) if x.dtype == jnp.bfloat16 else real(x)
def many_up(x): return real(x) * (1 + 20 * 2**-7) if x.dtype == jnp.bfloat16 else real(x)
@jax.custom_vjp
def size(x): return jnp.abs(x)
size.defvjp(lambda x: (jnp.abs(x), x), lambda x, given: (given * x / jnp.abs(x),))
def unconjugated(x): return turned(x) | {"size": size(x)}
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], set[str]]:
    """The gates' verdicts on two functions and an input, by workers that are started once."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "t.py").write_text(T)
    (folder / "j.py").write_text(J)
    cases = {
        (jax, text): from_functions(f"{folder}/t.py:{tf}", f"{folder}/j.py:{jax}", [text])
        for tf, jax, text in (case for case, _ in TYPES)
    }
    named = {key: dataclasses.replace(each, name=f"port{number}") for number, (key, each) in enumerate(cases.items())}
    parity = whole_run.Request([*named.values()], plans=(), parity_only=True)
    programs = whole_run.Request([named[key] for key in WITH_PROGRAMS], plans=(), alignment=False)
    with Pool(dict(parity.sources), folder, parity.timeout_s) as pool:
        found = (
            to_json(whole_run.run(parity, Silent(), pool).record)["workloads"]
            | to_json(whole_run.run(programs, Silent(), pool).record)["workloads"]
        )
    assert all(found[named[key].name]["compiled"]["tf@jax"]["kernels"] for key in WITH_PROGRAMS)
    parities = {key: found[each.name]["parity"] for key, each in named.items()}
    gates = {key: {name: gate["verdict"] for name, gate in each["gates"].items()} for key, each in parities.items()}
    return lambda _, jax, text: {name for name, verdict in gates[jax, text].items() if verdict == "fail"}


TYPES = [
    (("real", "real", "x=f64[4,300]"), set()),
    (("real", "nearly", "x=f64[4,30]"), {"semantics", "rounding", "gradients"}),
    (("real", "narrow", "x=f64[4,30]"), {"rounding", "gradients"}),
    (("real", "real", "x=bf16[4,30]"), set()),
    (("real", "nearly", "x=bf16[4,30]"), {"semantics", "gradients"}),
    (("real", "real", "x=bf16[30]"), set()),
    (("real", "one_up", "x=bf16[4,30]"), set()),
    (("real", "many_up", "x=bf16[4,30]"), {"rounding", "gradients"}),
    (("inside", "inside", "x=bf16[4]"), set()),
    (("inside", "outside", "x=bf16[4]"), {"semantics", "rounding", "gradients"}),
    (("turned", "turned", "x=c64[3,5]:0.1..2"), set()),
    (("turned", "unturned", "x=c64[3,5]:0.1..2"), {"semantics", "rounding", "gradients"}),
    (("turned", "halted", "x=c64[3,5]:0.1..2"), {"gradients"}),
    (("turned", "turned", "x=c128[3,5]:0.1..2"), set()),
    (("turned", "unconjugated", "x=c128[3,5]:0.1..2"), {"gradients"}),
    (("stored", "stored", "x=f8e4m3fn[4,30]"), set()),
    (("stored", "spoilt", "x=f8e4m3fn[4,30]"), {"semantics", "rounding"}),
    (("stored", "stored", "x=f8e5m2[4,30]"), set()),
    (("stored", "spoilt", "x=f8e5m2[4,30]"), {"semantics", "rounding"}),
    # Of integers alone: judged as they are written, where JAX keeps 32 bits of 64, and adds up 8 bits in 32.
    (("summed", "summed", "x=u64[4,30]"), {"structure", "semantics"}),
    (("summed", "summed", "x=s8[4,30]"), {"structure", "semantics"}),
    (("summed", "exact", "x=s8[4,30]"), set()),
]


WITH_PROGRAMS = [("real", "x=bf16[4,30]"), ("turned", "x=c64[3,5]:0.1..2")]


@pytest.mark.parametrize(("port", "failing"), TYPES, ids=lambda each: " ".join(each) if isinstance(each, tuple) else "")
def test_a_port_of_every_type_of_float_is_judged(
    judged: Callable[[str, str, str], set[str]], port: tuple[str, str, str], failing: set[str]
) -> None:
    assert judged(*port) == failing


def test_a_function_whose_name_cannot_be_the_name_of_a_file_is_refused() -> None:
    with pytest.raises(RequestError, match="expected a name of at most 100 bytes"):
        from_functions("m:f", f"m:{'g' * 300}", ["x=f32[2]"])
    with pytest.raises(ValueError, match="expected a size of at most 100 bytes"):
        Workload("w", "m:f", "m:g", {}, sizes={"s" * 300: {}})
    with pytest.raises(ValueError, match="expected a size of letters"):
        Workload("w", "m:f", "m:g", {}, sizes={"a/b": {}})


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
    assert [describe((), dtype) for dtype in ("float64", "bfloat16", "complex64")] == ["f64[]", "bf16[]", "c64[]"]
