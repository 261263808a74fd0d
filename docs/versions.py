"""Runs parity, programs, hlo and locate over pairs of releases, and writes docs/versions.md.

usage: make matrix, or python docs/versions.py FOLDER [TF,JAX ...]; FOLDER keeps an environment for each release (1.5 GB
for a TensorFlow), and what was found of each pair. A pair that was tried already is not tried again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "versions.md"
HERE = "here"
"""Names the release that this environment has."""

PAIRS = (("2.16.2", HERE), ("2.17.1", HERE), ("2.18.1", HERE), (HERE, HERE), (HERE, "0.6.2"), ("2.18.1", "0.6.2"))
WORKLOADS = ("add", "mnist_mlp")
WORKER = ("msgspec", "safetensors", "ml_dtypes", "scipy", "threadpoolctl", "typing_extensions", "scikit-learn")
"""What a worker needs beside its framework."""

PACKAGES = {"tf": ("tensorflow-cpu=={0}",), "jax": ("jax=={0}", "jaxlib=={0}", "flax", "optax")}
COMMANDS = {
    "run": ("run", *WORKLOADS, "--size", "smoke", "--no-timing"),
    "hlo": ("hlo", "scale_and_add", "--size", "smoke"),
    "locate": ("locate", "add", "--size", "smoke"),
}


HEAD = """# Versions

A side runs by its own interpreter (`--tf-python`, `--jax-python`): releases that cannot be installed together can be
held against each other. `make matrix` tries pairs of releases and writes this page: parity, programs and profiles of
{workloads}, then `jaxport hlo scale_and_add` and `jaxport locate add`, all at size smoke.
0 is an exit code: every verdict holds.

| TensorFlow side | JAX side | run | hlo | locate | lost |
|---|---|---|---|---|---|"""

FOOT = """
A TensorFlow that writes its program as HLO alone has it turned into StableHLO by jaxport. Such a one cannot read
back what today's jaxlib writes: the cells `@tf` are empty then. JAX 0.11 wants Python 3.12, which the machine of this
table has not.

An environment for a side needs its framework and these; jaxport itself need not be in it:

```
pip install {worker}
```
"""


@dataclass(frozen=True)
class Found:
    """Of one pair: versions by side, seconds, the exit code of each command, and what a run says is missing."""

    sides: Mapping[str, str]
    seconds: float
    codes: Mapping[str, int]
    lost: Sequence[str]


def interpreter(folder: Path, side: str, release: str) -> str | None:
    """The Python of an environment with this release, made where it is missing; None for the release that is here."""
    if release == HERE:
        return None
    place = folder / f"{side}-{release}"
    python = place / "bin" / "python"
    if not (place / "complete").exists():
        venv.create(place, with_pip=True)
        wanted = [package.format(release) for package in PACKAGES[side]]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted, *WORKER], check=True)
        (place / "complete").touch()
    return str(python)


def tried(tf: str | None, jax: str | None) -> Found:
    """What the commands make of a pair."""
    pythons = [*(["--tf-python", tf] if tf else []), *(["--jax-python", jax] if jax else [])]
    began, codes, plain = time.monotonic(), {}, {}
    with tempfile.TemporaryDirectory() as name:
        for command, asked in COMMANDS.items():
            out = ["-o", str(Path(name) / command)] if command != "locate" else []
            process = subprocess.run(
                [sys.executable, "-P", "-m", "compare", *asked, *pythons, *out],
                cwd=name,
                capture_output=True,
                text=True,
            )
            codes[command] = process.returncode
            if command == "run":
                results = Path(name) / "run" / "results.json"
                plain = json.loads(results.read_text()) if results.exists() else {"refused": process.stderr}
    return Found(dict(versions(plain)), round(time.monotonic() - began, 1), codes, sorted(set(missing(plain))))


def versions(plain: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of each side, as its own interpreter told them."""
    packages = {"tf": ("tensorflow", "keras"), "jax": ("jax", "flax")}
    for side, told in plain.get("environment", {}).get("sides", {}).items():
        yield side, ", ".join(f"{name} {told[name]}" for name in (*packages[side], "python") if name in told)


def missing(plain: Mapping[str, Any]) -> Iterator[str]:
    """Verdicts that are no pass, results that failed, texts and kernels that are not told."""
    if "refused" in plain:
        yield plain["refused"].strip().splitlines()[-1]
    for name, part in plain.get("workloads", {}).items():
        if (part.get("parity") or {}).get("verdict") != "pass":
            yield f"parity of {name}"
        yield from (f"{each['side']}: {each['doing']}: {each['reason']}" for each in part.get("failures", ()))
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


def page(found: Sequence[Found]) -> str:
    """docs/versions.md."""
    lines = [HEAD.format(workloads=" and ".join(f"`{name}`" for name in WORKLOADS))]
    for each in found:
        codes = " | ".join(str(each.codes[command]) for command in COMMANDS)
        first = dict.fromkeys(text.partition(";")[0].replace("|", "\\|") for text in each.lost)
        lost = "; ".join(first) or "nothing"
        lines.append(f"| {each.sides.get('tf', '')} | {each.sides.get('jax', '')} | {codes} | {lost} |")
    lines.append(FOOT.format(worker=" ".join(WORKER)))
    return "\n".join(lines)


def main() -> int:
    """Try every pair, write the page; 1 where a pair loses a verdict."""
    folder = Path(sys.argv[1]).resolve()
    asked = [tuple(pair.split(",")) for pair in sys.argv[2:]] or list(PAIRS)
    found = []
    for tf, jax in asked:
        kept = folder / f"{tf}-{jax}.json"
        if not kept.exists():
            print(f"TensorFlow {tf}, JAX {jax}", flush=True)
            pair = tried(interpreter(folder, "tf", tf), interpreter(folder, "jax", jax))
            kept.write_text(json.dumps(asdict(pair), indent=1))
        found.append(Found(**json.loads(kept.read_text())))
    PAGE.write_text(page(found))
    return int(any(code for each in found for code in each.codes.values()))


if __name__ == "__main__":
    sys.exit(main())
