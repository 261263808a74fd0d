"""The other doors: `locate`, `doctor` and `write_port`, and what is named by files, in workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import keras
import pytest
import tensorflow as tf
from pages import Page

import jaxport
from compare.api.in_python import in_python

INPUTS = {"x": "f32[4,8]", "scale": "f32[8]"}


def normalized(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * scale


def port(x: jax.Array, scale: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * scale


@pytest.mark.usefixtures("programs_here")
def test_the_operation_to_blame_is_found_in_functions_of_this_process() -> None:
    report = jaxport.locate(normalized, port, INPUTS, passes=["forward"])
    (departure,) = report.departures
    assert report.verdict == "fail" and report.passes == {"forward": "departs"}
    assert (departure.in_pass, departure.operation, departure.cause) == ("forward", "add", "epsilon")
    here = Path(__file__).name
    assert here in departure.tf_line and here in departure.jax_line
    assert departure.tf_value != departure.jax_value and "every result agrees" in departure.proof
    assert "cause" in str(report) and str(report).endswith("JAX departs from TensorFlow in 1 of 1 pass")
    page = Page(report._repr_html_()).text
    assert all(text in page for text in ("fail", here, "1e-5) * scale", "epsilon", "every result agrees"))


@pytest.mark.usefixtures("programs_here")
def test_a_port_that_agrees_has_no_departure() -> None:
    report = jaxport.locate(tf.tanh, jnp.tanh, {"x": "f32[3]"})
    assert report.verdict == "pass" and report.departures == ()
    assert report.passes == {"forward": "agrees", "gradients": "agrees"}
    assert "no departure in 2 passes" in Page(report._repr_html_()).text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((normalized,), "expected a port file, or two functions and inputs, found function alone"),
        (("my_tf.py:f", port, INPUTS), "expected two functions of this process, or two of files"),
        ((normalized, "my_jax.py:f", INPUTS), "expected two functions of this process, or two of files"),
        (("my_tf.py:f", "my_jax.py:f"), "expected inputs by name, such as .*, found none"),
        (("my_tf.py:f", "my_jax.py:f", INPUTS), "expected a Python file at my_tf.py for tf_fn, found nothing"),
        (("nowhere.py",), "expected a port file at nowhere.py, found nothing"),
    ],
)
@pytest.mark.parametrize("door", [jaxport.check, jaxport.locate])
def test_what_is_named_otherwise_is_refused_in_one_sentence(
    door: Any, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(jaxport.RequestError, match=message):
        door(*arguments)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (3, {}, "expected a Keras model, a file of one, a SavedModel or FILE.py:NAME, found int"),
        (keras.layers.Dense(2), {}, "expected a Keras model that has made its weights, found Dense"),
        (
            "model.keras",
            {"inputs": {"x": "f32[2]"}},
            "expected inputs with FILE.py:NAME, found them with model",
        ),
        ("my_tf.py:f", {"custom": ["layers.py:Scale"]}, "expected custom with a .keras or .h5 file"),
    ],
)
@pytest.mark.parametrize("door", [jaxport.doctor, lambda model, **options: jaxport.write_port(model, "out", **options)])
def test_what_is_no_model_is_refused_in_one_sentence(
    door: Any, model: Any, options: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(jaxport.RequestError, match=message):
        door(model, **options)
    assert not list(tmp_path.iterdir())


def test_a_folder_with_files_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    with pytest.raises(jaxport.RequestError, match="found files in it: name another, or force"):
        jaxport.write_port(model, tmp_path)


@pytest.mark.parametrize(
    ("line", "argument"),
    [
        ("expected an --input: name pairs with --tf-python", "expected an input: name pairs with tf_python"),
        ("judge files by `jaxport run --device gpu:0`", "judge files by `jaxport run --device gpu:0`"),
        ("a -- b, x--y\n  and --map", "a -- b, x--y and map"),
    ],
)
def test_options_of_the_command_line_are_named_as_arguments(line: str, argument: str) -> None:
    assert in_python(line) == argument
