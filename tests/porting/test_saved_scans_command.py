"""`jaxport init` of a recurrent export, run: it passes, and a scan that is changed in what it wrote does not."""

from pathlib import Path

import pytest
from saved_graphs import save_recurrent

from compare.cli import main

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CHANGES = {
    "reversed order": ("jnp.flip(x.transpose(1, 0, 2), 0)", "x.transpose(1, 0, 2)"),
    "wrong offset": ("x.transpose(1, 0, 2), 0)", "jnp.roll(x, 1, 1).transpose(1, 0, 2), 0)"),
    "dropped carry": (" * lstm_cell_2 + ", " * 0.0 + "),
    "no gradient": ("jax.nn.sigmoid(split_2) * lstm", "jax.lax.stop_gradient(jax.nn.sigmoid(split_2)) * lstm"),
}


def test_it_passes_and_what_is_changed_in_it_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, port = tmp_path / "saved", tmp_path / "port"
    save_recurrent(saved)
    assert main(["init", str(saved), "-o", str(port)]) == 0
    written = capsys.readouterr()
    assert "every gate holds" in written.out + written.err
    module = port / "function_jax.py"
    text = module.read_text()
    assert text.count("jax.lax.scan(step, ") == 2
    assert "while_loop" not in text
    for name, (old, new) in CHANGES.items():
        assert old in text
        module.write_text(text.replace(old, new))
        assert main(["run", str(port / "port.py"), "--parity-only", "-o", str(tmp_path / "changed")]) == 1, name
        output = capsys.readouterr()
        assert "parity fails" in output.out + output.err, name
