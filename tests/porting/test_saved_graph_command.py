"""`jaxport init` of a SavedModel, run: it passes, and what is changed in what it wrote does not."""

from pathlib import Path

import pytest
from saved_graphs import save_counter, save_module

from compare.cli import main

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def test_a_port_passes_and_what_is_changed_in_it_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, port = tmp_path / "saved", tmp_path / "port"
    save_module(saved)
    assert main(["init", str(saved), "--input", "x=f32[2,4]", "-o", str(port)]) == 0
    written = capsys.readouterr()
    assert "serving_default in function_jax.py, 16 of 16 operations written, 3 weights carried" in written.out
    assert "every gate holds" in written.out + written.err

    weights, module = port / "weights.safetensors", port / "function_jax.py"
    data, text = weights.read_bytes(), module.read_text()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert main(["run", str(port / "port.py"), "--parity-only", "-o", str(tmp_path / "weight")]) == 1
    output = capsys.readouterr()
    assert "bit by bit, found another value" in output.out + output.err

    weights.write_bytes(data)
    module.write_text(text.replace("jax.nn.relu(", "jax.nn.silu("))
    assert main(["run", str(port / "port.py"), "--parity-only", "-o", str(tmp_path / "operation")]) == 1
    output = capsys.readouterr()
    assert "fail" in output.out + output.err


def test_a_place_is_told_and_nothing_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_counter(tmp_path / "saved")
    assert main(["init", str(tmp_path / "saved"), "-o", str(tmp_path / "port")]) == 1
    output = capsys.readouterr()
    assert "to be written: AssignAddVariableOp" in output.out
    assert "the port was not judged" in output.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none"], "expected a .keras or .h5 file, the folder of a SavedModel, a .pb file or FILE.py:NAME"),
        (["saved", "--signature", "nope"], "expected the signature nope, found "),
        (["none.pb"], "expected a GraphDef at "),
        (["model.keras", "--signature", "a"], "expected --signature with a SavedModel or a .pb file"),
        (["model.keras", "--output", "a"], "expected --output with a SavedModel or a .pb file"),
    ],
)
def test_what_is_bad_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    save_counter(tmp_path / "saved")
    (tmp_path / "model.keras").write_bytes(b"")
    source, *options = arguments
    assert main(["init", str(tmp_path / source), *options, "-o", str(tmp_path / "port")]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "port").exists()
