"""The environment that the process of a worker is started in."""

from __future__ import annotations

import os
from pathlib import Path

from compare.sides import device_variables, processes
from compare.sides.settings import Settings, python_path

PACKAGES = ("workloads", "tf_reference", "jaxport", "compare")


def environment_of(name: str, folder: Path, foreign: bool, settings: Settings) -> dict[str, str]:
    """The variables of a worker's process.

    Args:
      folder: its own, for files that are gone with it.
      foreign: whether another interpreter runs it than this one.
    """
    environment = dict(os.environ)
    shelf = Path(__file__).resolve().parents[2]
    if foreign:
        # Another interpreter must see these packages and nothing else that is installed beside them.
        root, shelf = shelf, folder / "path"
        shelf.mkdir()
        for package in PACKAGES:
            (shelf / package).symlink_to(root / package)
    environment["PYTHONPATH"] = python_path(shelf, environment)
    environment |= device_variables.variables(settings.device, environment)
    # What a worker, or a framework in it, keeps in a temporary file is gone when it is, however it ends.
    (folder / "temporary").mkdir()
    environment["TMPDIR"] = str(folder / "temporary")
    if name == "ray":
        # What runs on this machine already is found by where its files are.
        environment.setdefault("RAY_TMPDIR", str(processes.outside_scratch()))
    if name == "keras_jax":
        environment["KERAS_BACKEND"] = "jax"
    if name != "jax":
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if name in ("models", "tf_strategies"):
        environment["KERAS_BACKEND"] = "tensorflow"
    if name == "modules":
        # Initializers of a module that is only read: each shape is a program, and compiles in half of the time.
        environment["XLA_FLAGS"] = f"--xla_backend_optimization_level=0 {environment.get('XLA_FLAGS', '')}".strip()
    if name == "tf":
        # Whatever keras.json says.
        environment.setdefault("KERAS_BACKEND", "tensorflow")
        # Lets the runtime's own switch cluster on CPU; without the switch it changes nothing.
        flags = environment.get("TF_XLA_FLAGS", "")
        environment["TF_XLA_FLAGS"] = f"{flags} --tf_xla_cpu_global_jit".strip()
    return environment | settings.variables(name, environment)
