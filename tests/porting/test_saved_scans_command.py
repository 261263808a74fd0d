"""`jaxport init` of a recurrent export, run: it passes, and a scan that is changed in what it wrote does not."""

from pathlib import Path

import pytest
from runs import record_of
from saved_graphs import save_recurrent

from compare.cli import main
from workloads.core.modes import TF_JIT

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CHANGES = {
    "reversed_order": ("jnp.flip(x.transpose(1, 0, 2), 0)", "x.transpose(1, 0, 2)"),
    "wrong_offset": ("x.transpose(1, 0, 2), 0)", "jnp.roll(x, 1, 1).transpose(1, 0, 2), 0)"),
    "dropped_carry": (" * lstm_cell_2 + ", " * 0.0 + "),
    "no_gradient": ("jax.nn.sigmoid(split_2) * lstm", "jax.lax.stop_gradient(jax.nn.sigmoid(split_2)) * lstm"),
}


def test_it_passes_and_what_is_changed_in_it_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, port = tmp_path / "saved", tmp_path / "port"
    save_recurrent(saved)
    assert main(["init", str(saved), "-o", str(port)]) == 0
    written = capsys.readouterr()
    assert "every gate holds" in written.out + written.err
    text = (port / "function_jax.py").read_text()
    assert text.count("jax.lax.scan(step, ") == 2
    assert "while_loop" not in text
    record = record_of(*changed_ports(port), one_original=True, plans=(), modes=(TF_JIT,), parity_only=True)
    assert list(record["workloads"]) == list(CHANGES)
    for name, part in record["workloads"].items():
        # What is changed is computed, and is wrong.
        assert (part["parity"]["verdict"], part["failures"]) == ("fail", []), name


def changed_ports(port: Path) -> list[str]:
    """For each change a port file beside the one that was written; all have its original."""
    files = {name: (port / f"{name}.py").read_text() for name in ("port", "function_jax")}
    paths: list[str] = []
    for name, (old, new) in CHANGES.items():
        assert old in files["function_jax"]
        named = files["port"].replace('"serving_default"', f'"{name}"').replace("port.py:", f"{name}.py:")
        texts = {
            name: named.replace("function_jax", f"function_{name}"),
            f"function_{name}": files["function_jax"].replace(old, new),
        }
        for module, text in texts.items():
            (port / f"{module}.py").write_text(text)
        paths.append(str(port / f"{name}.py"))
    return paths
