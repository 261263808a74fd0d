"""`jaxport init` of models whose train_step is traced, run: ports that pass, and planted errors that fail."""

import shutil
from pathlib import Path

import pytest
from places import ROOT

from compare.cli import main

pytestmark = pytest.mark.process

MODELS = ROOT / "tests" / "support" / "models_with_steps.py"
QUICK = ("--parity-only", "--modes", "tf/jit", "jax/jit")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("adversarial", "10.0 * jnp", "9.9 * jnp"),
        ("distiller", "    model.teacher.eval()\n", ""),
        ("averaged", "0.9 * model.average.head.bias", "0.91 * model.average.head.bias"),
    ],
)
def test_a_port_whose_step_is_traced_passes_and_a_planted_error_fails(
    name: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(MODELS, "my_tf.py")
    assert main(["init", f"my_tf.py:{name}", "-o", "port", "--steps", "2", "--no-run"]) == 0
    assert main(["run", "port/port.py", *QUICK, "-o", "right"]) == 0
    training = Path("port/training_jax.py")
    text = training.read_text()
    assert old in text
    training.write_text(text.replace(old, new))
    assert main(["run", "port/port.py", *QUICK, "-o", "wrong"]) == 1
