"""Runs parity, programs, hlo and locate with older and newer releases of either side, and writes docs/versions.md.

usage: make matrix, or python docs/versions.py FOLDER [TRIAL ...]; FOLDER has the environments meanwhile (1.5 GB for a
TensorFlow), each until no trial that was asked for needs it any more, and keeps what was found in each trial, which is
not tried again. What was not asked for stays on the page as docs/results/versions.json has it, with its date. A Python
that is not on PATH as python3.N costs its own trials.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "versions.md"
KEPT = ROOT / "docs" / "results" / "versions.json"
"""What the page was made of."""
PACKAGES = ("compare", "jaxport", "tf_reference", "workloads")
WORKLOADS = ("add", "mnist_mlp")
WORKER = ("msgspec", "safetensors", "ml_dtypes", "scipy", "threadpoolctl", "typing_extensions", "scikit-learn")
"""What a worker needs beside its framework."""


@dataclass(frozen=True)
class Place:
    """An environment: its Python, and requirements as pip takes them; without any, it is the one of this process."""

    requirements: tuple[str, ...] = ()
    python: str = "3.11"

    @property
    def name(self) -> str:
        """A folder's."""
        return re.sub(r"[^\w.]+", "-", "-".join((self.python, *self.requirements)))


HERE = Place()


@dataclass(frozen=True)
class Trial:
    """Where each side runs, and jaxport itself."""

    tf: Place = HERE
    jax: Place = HERE
    own: Place = HERE


def tensorflow(release: str, *more: str) -> Place:
    """A side's environment."""
    return Place((f"tensorflow-cpu=={release}", *more))


def jax(release: str, python: str = "3.11") -> Place:
    """A side's environment."""
    return Place((f"jax=={release}", f"jaxlib=={release}", "flax", "optax"), python)


def together(tensorflow: str, jax: str, python: str) -> Place:
    """Both sides and jaxport in one environment."""
    return Place((f"tensorflow-cpu=={tensorflow}", f"jax=={jax}", f"jaxlib=={jax}"), python)


TRIALS = {
    "tf-2.16": Trial(tf=tensorflow("2.16.2")),
    "tf-2.16-keras-2": Trial(tf=tensorflow("2.16.2", "tf-keras==2.16.0")),
    "tf-2.17": Trial(tf=tensorflow("2.17.1")),
    "tf-2.17-keras-2": Trial(tf=tensorflow("2.17.1", "tf-keras==2.17.0")),
    "tf-2.18": Trial(tf=tensorflow("2.18.1")),
    "tf-2.19": Trial(tf=tensorflow("2.19.1")),
    "tf-2.20": Trial(tf=tensorflow("2.20.0")),
    "here": Trial(),
    "jax-0.6": Trial(jax=jax("0.6.2")),
    "jax-0.8": Trial(jax=jax("0.8.3")),
    "jax-0.11": Trial(jax=jax("0.11.2", "3.12")),
    "jax-0.12": Trial(jax=jax("0.12.0.1", "3.13")),
    "oldest": Trial(tf=tensorflow("2.16.2"), jax=jax("0.6.2")),
    "together-oldest": Trial(own=together("2.19.1", "0.10.2", "3.11")),
    "together-3.12": Trial(own=together("2.20.0", "0.11.2", "3.12")),
    "together-newest": Trial(own=together("2.21.0", "0.12.0.1", "3.13")),
}

KERAS_PORT = {
    "keras_tf.py": """import tensorflow as tf

layers = [
    tf.keras.layers.Dense(8, "gelu", kernel_initializer=tf.keras.initializers.Identity()),
    tf.keras.layers.LayerNormalization(),
]
model = tf.keras.Sequential([tf.keras.Input((8,)), *layers])


def f(x):
    return model(x)
""",
    "keras_jax.py": """import jax
import jax.numpy as jnp


def f(x):
    x = jax.nn.gelu(x @ jnp.eye(8, dtype=x.dtype), approximate=False)
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-3)
""",
}
"""A port of layers of tf.keras: those of Keras 2 where tf-keras is asked for."""

COMMANDS = {
    "run": ("run", *WORKLOADS, "--size", "smoke", "--no-timing"),
    "hlo": ("hlo", "scale_and_add", "--size", "smoke"),
    "locate": ("locate", "add", "--size", "smoke"),
    "tf.keras": ("run", "--tf", "keras_tf.py:f", "--jax", "keras_jax.py:f", "--input", "x=f32[5,8]", "--no-timing"),
}


@dataclass(frozen=True)
class Found:
    """In one trial."""

    sides: Mapping[str, str]
    """Versions, by side."""
    codes: Mapping[str, int]
    """Exit codes, by command."""
    lost: Sequence[str]
    """What a run says is missing."""
    created: str
    """When it was run: ISO 8601, UTC."""
    jaxport: str
    """As `own_release` tells it."""


class PythonAbsent(Exception):
    """There is no such Python on PATH."""


def interpreter(folder: Path, place: Place, own: bool) -> str | None:
    """The Python of an environment, made where it is missing; None for the one that is here.

    Args:
      own: whether jaxport runs in it too, with all that it depends on.

    Raises:
      PythonAbsent: this machine has not its Python.
    """
    if place == HERE:
        return None
    python = folder / place.name / "bin" / "python"
    if not (folder / place.name / "complete").exists():
        maker = shutil.which(f"python{place.python}")
        if maker is None:
            raise PythonAbsent(f"Python {place.python} is not on PATH")
        subprocess.run([maker, "-m", "venv", folder / place.name], check=True)
        wanted = [*place.requirements, *(dependencies() if own else WORKER)]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
        (folder / place.name / "complete").touch()
    return str(python)


def dependencies() -> list[str]:
    """Names of what jaxport itself needs, without the releases that it is known to work with."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = (re.match(r"[\w-]+", requirement) for requirement in listed)
    return [name.group() for name in names if name and name.group() != "tensorflow"]


def tried(tf: str | None, jax: str | None, own: str | None, legacy: bool) -> Found:
    """What the commands make of a trial.

    Args:
      tf: its interpreter; None is jaxport's.
      own: jaxport's; None is the one that runs this.
      legacy: whether tf.keras is Keras 2.
    """
    pythons = [*(["--tf-python", tf] if tf else []), *(["--jax-python", jax] if jax else [])]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | ({"TF_USE_LEGACY_KERAS": "1"} if legacy else {})
    codes, lost, sides = {}, [], {}
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with tempfile.TemporaryDirectory() as name:
        for file, text in KERAS_PORT.items():
            (Path(name) / file).write_text(text)
        for command, asked in COMMANDS.items():
            out = ["-o", str(Path(name) / command)] if command != "locate" else []
            process = subprocess.run(
                [own or sys.executable, "-P", "-m", "jaxport", *asked, *pythons, *out],
                cwd=name, env=environment, capture_output=True, text=True,
            )  # fmt: skip
            codes[command] = process.returncode
            results = Path(name) / command / "results.json"
            plain = json.loads(results.read_text()) if results.exists() else {}
            sides = sides or dict(versions(plain))
            lost += missing(plain) if plain else []
            if process.returncode > 1:
                lost.append(f"{command}: {process.stderr.strip().splitlines()[-1]}")
    return Found(sides, codes, list(dict.fromkeys(lost)), created, own_release())


def own_release() -> str:
    """The version of this jaxport and, in a checkout, the last commit of its code, with a mark where it was changed."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    def git(*asked: str) -> str:
        command = ["git", "-C", str(ROOT), *asked, "--", *PACKAGES]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    changed = "-dirty" if git("status", "--porcelain") else ""
    return f"{version} {git('log', '-1', '--format=%h')}{changed}".strip()


def versions(plain: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of each side, as its own interpreter told them; and of jaxport's Python."""
    packages = {"tf": ("tensorflow", "keras", "tf_keras"), "jax": ("jax", "flax", "optax")}
    environment = plain.get("environment", {})
    for side, told in environment.get("sides", {}).items():
        yield side, ", ".join(f"{name} {told[name]}" for name in (*packages[side], "python") if told.get(name))
    if environment.get("python"):
        yield "own", environment["python"]


def missing(plain: Mapping[str, Any]) -> Iterator[str]:
    """Verdicts that are no pass, results that failed, texts and kernels that are not told."""
    for name, part in plain.get("workloads", {}).items():
        if (part.get("parity") or {}).get("verdict") != "pass":
            yield f"parity of {name}"
        yield from (
            f"{failure['side']}: {failure['doing']}: {failure['reason']}" for failure in part.get("failures", ())
        )
        for cell, compiled in part.get("compiled", {}).items():
            if compiled.get("reason"):
                yield f"{cell}: {compiled['reason']}"
            elif compiled.get("temp_bytes") is None:
                yield f"{cell}: temporary memory"
        for mode, profile in part.get("profile", {}).items():
            if not profile.get("kernels"):
                yield f"kernels of {mode}"
        for side, wanted in {"tf": "stablehlo", "jax": "stablehlo"}.items():
            if wanted not in part.get("stages", {}).get(side, {}):
                yield f"the text of stage {wanted} of {side}"


def tried_in(folder: Path, name: str) -> Found:
    """What a trial finds, in environments that are made where they are missing.

    Raises:
      PythonAbsent: this machine has not the Python of one.
    """
    trial = TRIALS[name]
    places = [interpreter(folder, place, place == trial.own) for place in (trial.tf, trial.jax, trial.own)]
    return tried(*places, legacy=any(requirement.startswith("tf-keras") for requirement in trial.tf.requirements))


def places_of(names: Sequence[str]) -> set[Place]:
    """Environments that trials need."""
    trials = [TRIALS[name] for name in names]
    return {place for trial in trials for place in (trial.tf, trial.jax, trial.own)} - {HERE}


def kept() -> dict[str, Found]:
    """What the page shows, by trial, in the order of the trials."""
    plain = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {name: Found(**plain[name]) for name in TRIALS if name in plain}


def main() -> int:
    """Try what was asked for, write the page of all that was ever tried; 1 where a trial loses a verdict."""
    from versions_page import page

    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(exist_ok=True)
    names = sys.argv[2:] or list(TRIALS)
    results = {}
    for number, name in enumerate(names, 1):
        print(name, flush=True)
        file = folder / f"{name}.json"
        try:
            if not file.exists():
                file.write_text(json.dumps(asdict(tried_in(folder, name)), indent=1))
            results[name] = Found(**json.loads(file.read_text()))
        except PythonAbsent as absent:
            print(f"{name}: {absent}", flush=True)
        for place in places_of([name]) - places_of(names[number:]):
            shutil.rmtree(folder / place.name, ignore_errors=True)
    shown = kept() | results
    KEPT.write_text(json.dumps({name: asdict(shown[name]) for name in TRIALS if name in shown}, indent=1) + "\n")
    PAGE.write_text(page(kept()))
    return int(any(code for result in results.values() for code in result.codes.values()))


if __name__ == "__main__":
    sys.exit(main())
