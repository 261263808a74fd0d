"""`jaxport.doctor` and `jaxport.write_port` of a model of this process, and the port before the gates."""

from __future__ import annotations

from pathlib import Path

import keras
import pytest
from pages import Page

import jaxport


@pytest.mark.process
def test_a_model_of_this_process_is_ported_and_an_error_that_is_planted_in_the_port_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="tanh")], name="small")
    model.compile("sgd", "mse")
    diagnosis = jaxport.doctor(model)
    assert diagnosis.blockers == () and diagnosis.places == () and "small" in str(diagnosis)
    assert "a Keras model, 1 layer" in str(diagnosis) and "a Keras model, 1 layer" in Page(diagnosis._repr_html_()).text
    written = jaxport.write_port(model, "small")
    assert written.unwritten == [] and written.passed and written.report is not None
    assert written.report.gates["training"].verdict == "pass"
    assert "port.py" in str(written) and str(written.report) in str(written)
    assert all(text in Page(written._repr_html_()).text for text in ("port.py", "semantics"))
    source = tmp_path / "small" / "model_jax.py"
    source.write_text(source.read_text().replace("jnp.tanh", "jnp.sin"))
    report = jaxport.check(written.file)
    assert report.verdict == "fail" and report.failures[0].gate == "semantics"
