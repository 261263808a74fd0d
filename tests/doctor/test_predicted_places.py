"""What doctor says that `jaxport init` leaves is exactly what raises in the files that `jaxport init` writes."""

import ast
import html
from pathlib import Path
from typing import Any

import keras
import models_by_kind
import msgspec
import pytest
import tensorflow as tf

from compare.api.diagnosis import command_of_init
from compare.api.named_model import NamedModel
from compare.doctor import diagnosing
from compare.porting.functions import function_ports
from compare.porting.port_builders import Original
from compare.porting.port_source import Sizes
from compare.porting.writing_ports import TRAINING, predict_port, texts
from compare.record.diagnosis_part import Diagnosis
from compare.report import doctor_page, page_html, terminal
from compare.report.page_console import print_page
from compare.sides.model_worker import ModelWorker
from tf_reference import _function_graph, _inspecting, _keras_compiled
from tf_reference._keras_weights import Given
from workloads.protocol.architecture import Architecture
from workloads.protocol.inspection import Inspection

KINDS = {
    "autoencoder": 0, "preprocessing": 0, "partly_frozen": 0, "over_edges": 0, "sound": 0, "stateful": 0,
    "distilled": 0, "dropping_always": 1, "own_schedule": 0, "own_loss_of_python": 1, "noisy": 0, "averaged": 0,
    "quantized": 0, "shared_in_wrappers": 0, "holding": 2, "whole": 0,
}  # fmt: skip
"""A kind of model -> how many places `jaxport init` leaves of it."""


_LEFT = NotImplementedError.__name__


def architecture_of(kind: str, scratch: Path) -> tuple[str, Architecture]:
    """Where a model is, and its architecture as it comes from the worker."""
    keras.utils.clear_session(free_memory=False)
    reference = f"{models_by_kind.__file__}:{kind}"
    sent = msgspec.json.encode(msgspec.to_builtins(_keras_compiled.read(Given(reference, compiled=True), scratch)))
    return reference, msgspec.convert(msgspec.json.decode(sent), Architecture)


def raised(files: dict[str, str]) -> list[str]:
    """What the methods and functions say that raise in what is written."""
    errors = [node.exc for text in files.values() for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Raise)]
    places = [error for error in errors if isinstance(error, ast.Call) and ast.unparse(error.func) == _LEFT]
    messages = [ast.literal_eval(error.args[0]) for error in places]
    return [message.removesuffix(": write it here") for message in messages]


def diagnosed(kind: str, scratch: Path) -> tuple[Diagnosis, Architecture]:
    reference, architecture = architecture_of(kind, scratch)
    keras.utils.clear_session(free_memory=False)
    port = predict_port(architecture)
    return diagnosing.diagnose(reference, _inspecting.code(reference, ()), port=port, command="it"), architecture


@pytest.mark.parametrize("kind", KINDS)
def test_doctor_names_exactly_what_raises_in_the_port(kind: str, tmp_path: Path) -> None:
    diagnosis, architecture = diagnosed(kind, tmp_path)
    assert diagnosis.places is not None
    assert len(diagnosis.places) == KINDS[kind], diagnosis.places
    written, _, files = texts(architecture, Original("original.py:build"), Sizes())
    has_no_training = architecture.compiled is not None and TRAINING not in files
    of_training = [place for place in diagnosis.places if has_no_training and place.startswith("the training step: ")]
    assert len(of_training) == has_no_training
    assert sorted({*raised(dict(files)), *of_training}) == sorted(diagnosis.places)
    left = {place.layer for place in written.places} - {""}
    own = [each for each in diagnosis.layers if "own" in each.means]
    assert {line for each in own for line in each.left} == {
        place.description for place in written.places if place.layer
    }
    assert sum(each.means["own"] for each in own) >= len(left), "each is counted in the table"


def test_layers_in_a_layer_of_which_the_call_alone_is_left_are_written(tmp_path: Path) -> None:
    diagnosis, _ = diagnosed("holding", tmp_path)
    means = {each.class_name: set(each.means) for each in diagnosis.layers}
    assert means["Holding"] == {"own"} and means["Cross"] == {"init"} and means["Dense"] == {"flax"}
    assert means["TimeDistributed"] == means["Lambda"] == {"own"}
    assert {each.subject: each.severity for each in diagnosis.findings if each.kind == "custom"} == {
        "Holding": "attention", "Cross": "note",
    }  # fmt: skip


def shown(kind: str, scratch: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """What doctor prints of a port, and what its page shows of it."""
    diagnosis, _ = diagnosed(kind, scratch)
    print_page(doctor_page.console_page(diagnosis), terminal.console())
    page = html.unescape(page_html.render(doctor_page.page(diagnosis)))
    printed = capsys.readouterr().out
    return printed[printed.index("The port: ") :].splitlines(), page[page.index(">The port</h2>") :]


def test_console_and_page_list_the_places_and_end_with_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, page = shown("holding", tmp_path, capsys)
    assert lines[0] == "The port: `jaxport init` writes all but 2 places:" and lines[-2:] == ["it", ""]
    assert "models_by_kind.py:" in lines[1] and "RandomGamma" in lines[1], "its line and its reason"
    assert [f"<p>{line}</p>" in page for line in lines[1:-2]] == [True, True]
    assert page.index('<p class="strong">it</p>') > page.index(f"<p>{lines[1]}</p>")
    lines, page = shown("whole", tmp_path, capsys)
    assert lines == ["The port: `jaxport init` writes all of it.", "it", ""]
    assert "`jaxport init` writes all of it.</p>" in page


def test_of_a_model_that_init_does_not_read_the_reason_is_said_and_no_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    diagnosis = diagnosing.diagnose("it", Inspection("keras model"), no_port="never called", command="jaxport init it")
    print_page(doctor_page.console_page(diagnosis), terminal.console())
    assert capsys.readouterr().out.endswith("The port: `jaxport init` does not write it: never called\n\n")
    assert "jaxport init it" not in page_html.render(doctor_page.page(diagnosis))


def test_the_command_has_all_that_doctor_was_given() -> None:
    model = NamedModel("my models.py:f", ("x=f32[B,2]",))
    assert command_of_init(model) == "jaxport init 'my models.py:f' --input 'x=f32[B,2]' -o port"
    model = NamedModel("m.keras", custom=("layers.py:Scale",))
    assert command_of_init(model) == "jaxport init m.keras --custom layers.py:Scale -o port"


class WorkerHere(ModelWorker):
    """Reads a function in this process."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def function_graph(self, target: str, inputs: Any) -> Any:
        return _function_graph.of_function(self._function, inputs, target)


def test_of_a_function_exactly_the_operations_that_raise_are_predicted(tmp_path: Path) -> None:
    worker = WorkerHere(lambda x: tf.random.shuffle(tf.tanh(x)) + tf.random.normal([3]))
    port = function_ports.predict_port("f.py:f", ["x=f32[B,3]"], worker)
    written = function_ports.write("f.py:f", ["x=f32[B,3]"], tmp_path / "port", worker).written
    assert len(port.places) == 2 and list(port.places) == [place.description for place in written.unwritten]
    messages = raised({"function_jax.py": (tmp_path / "port" / "function_jax.py").read_text()})
    assert len(messages) == 2 and all(any(place in message for message in messages) for place in port.places)
    assert function_ports.predict_port("f.py:f", ["x=f32[B,3]"], WorkerHere(tf.tanh)).places == ()


def test_lookups_that_stay_in_the_input_pipeline_are_no_blockers_and_no_code_of_your_own(tmp_path: Path) -> None:
    diagnosis, _ = diagnosed("preprocessing", tmp_path)
    means = {each.class_name: set(each.means) for each in diagnosis.layers}
    assert means["StringLookup"] == means["IntegerLookup"] == {"pipeline"} and "pipeline" not in means["Dense"]
    severities = {each.subject: each.severity for each in diagnosis.findings if each.kind == "strings"}
    assert severities["StringLookup"] == severities["input"] == "note"
