"""Writes docs/results/keras_applications.md: `jaxport init` on models of keras.applications, with random weights.

    python docs/keras_applications.py                      the page of what is recorded
    python docs/keras_applications.py VGG16 ResNet50       write and judge these first: minutes each

A record a model is kept beside the page; a model without one is listed as not judged yet.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).parent / "results" / "keras_applications.md"
RECORDS = PAGE.with_suffix("")
HOLDS = ("pass", "not_applicable")
GATES = ("structure", "semantics", "rounding", "gradients", "training", "stability")

SIDES = {
    "VGG16": 32, "VGG19": 32, "MobileNet": 32, "MobileNetV2": 32, "MobileNetV3Small": 32, "MobileNetV3Large": 32,
    "ResNet50": 32, "ResNet50V2": 32, "DenseNet121": 32, "EfficientNetB0": 32, "EfficientNetV2B0": 32,
    "ConvNeXtTiny": 32, "Xception": 71, "InceptionV3": 75, "InceptionResNetV2": 75, "NASNetMobile": 32,
}  # fmt: skip
"""The smallest of each family, and the side of its images."""

SOURCE = """import keras


def build():
    model = keras.applications.{name}(weights=None, input_shape=({side}, {side}, 3), classes=10)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
"""

HEAD = """# keras.applications, written

Each family's smallest model with random weights and 10 classes, compiled with SGD and sparse categorical cross-entropy:
`jaxport init model.py:build -o port --batch {batch} --steps {steps}`, with no line by hand. A gate is told as
`jaxport run` judges it: forward pass and gradients in float64 and float32, steps of training, far inputs. Seconds are
those of the whole command, on a machine that had other work; without gates, those of writing and carrying.
`python docs/keras_applications.py NAME` makes a row anew, and this page.

| model | side | written | weights | {gates} | seconds |
|---|---|---|---|{line}---|
"""
BATCH, STEPS = 8, 2


def judged(name: str, written_only: bool) -> dict[str, object]:
    """The record of one model: what was written, and how each gate came out."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.py").write_text(SOURCE.format(name=name, side=SIDES[name]))
        options = ["--batch", f"{BATCH}", "--steps", f"{STEPS}", "--timeout", "3000"]
        command = [sys.executable, "-m", "compare", "init", "model.py:build", "-o", "port", *options]
        start = time.monotonic()
        done = subprocess.run(
            [*command, "--no-run" if written_only else "--json"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - start
        receipt, source = Path(folder) / "port/weights.receipt.json", Path(folder) / "port/model_jax.py"
        weights = len(json.loads(receipt.read_text())["leaves"]) if receipt.exists() else 0
        whole = source.exists() and "NotImplementedError" not in source.read_text()
    found: dict[str, object] = {
        "side": SIDES[name],
        "written": whole,
        "weights": weights,
        "seconds": round(seconds),
        "gates": {},
    }
    if not written_only and done.stdout.startswith("{"):
        (part,) = json.loads(done.stdout)["workloads"].values()
        found["gates"] = {gate: told["verdict"] for gate, told in part["parity"]["gates"].items()}
        held = [each for gate in part["parity"]["gates"].values() for each in gate["comparisons"]]
        found["failures"] = [each["message"] for each in held if each["verdict"] == "fail"][:3]
    elif done.returncode == 2 or not whole:
        found["failures"] = done.stderr.strip().splitlines()[-1:]
    return found


def page() -> str:
    """The page of all records."""
    rows, passed, known = [], 0, 0
    for name, side in SIDES.items():
        path = RECORDS / f"{name}.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        gates = found.get("gates", {})
        known += bool(gates)
        passed += bool(gates) and all(gates.get(gate) in HOLDS for gate in GATES)
        written = {True: "yes", False: "no"}.get(found.get("written"), "not tried")
        cells = [
            name,
            found.get("side", side),
            written,
            found.get("weights", "-"),
            *(gates.get(gate, "-") for gate in GATES),
        ]
        rows.append(f"| {' | '.join(map(str, cells))} | {found.get('seconds', '-')} |\n")
    line, gates = "---|" * len(GATES), " | ".join(GATES)
    told = f"\n{passed} of {known} that were judged pass every gate; - was not judged on this machine yet.\n"
    return HEAD.format(batch=BATCH, steps=STEPS, gates=gates, line=line) + "".join(rows) + told


def main(names: list[str]) -> None:
    """Judge models, and write the page."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    written_only = "--no-run" in names
    for name in (each for each in names if each != "--no-run"):
        (RECORDS / f"{name}.json").write_text(f"{json.dumps(judged(name, written_only), indent=1)}\n")
        PAGE.write_text(page())
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
