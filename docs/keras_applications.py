"""Writes docs/results/keras_applications.md: `jaxport init` on models of keras.applications, with random weights.

    python docs/keras_applications.py                      the page of what is recorded
    python docs/keras_applications.py VGG16 ResNet50       write and judge these first: minutes each
    python docs/keras_applications.py --no-run VGG16       write it, and judge nothing
    python docs/keras_applications.py --keep FOLDER VGG16  leave what was written, and its whole record, in FOLDER/VGG16

A record a model is kept beside the page; a model without one is listed as not judged yet.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from judged_gates import failing, of_record

PAGE = Path(__file__).parent / "results" / "keras_applications.md"
RECORDS = PAGE.with_suffix("")
RESULTS = "jaxport-report/results.json"
CHOICES = re.compile(r"with (\d+ of [\d,]+) choices made as in float32")
HOLDS = ("pass", "not_applicable")
GATES = ("structure", "semantics", "rounding", "gradients", "training", "stability")

SIDES = {
    "VGG16": 32, "MobileNet": 32, "MobileNetV2": 32, "MobileNetV3Small": 32, "ResNet50": 32, "ResNet50V2": 32,
    "DenseNet121": 32, "EfficientNetB0": 32, "EfficientNetV2B0": 32,
    "ConvNeXtTiny": 32, "Xception": 71, "InceptionV3": 75, "InceptionResNetV2": 75, "NASNetMobile": 32,
}  # fmt: skip
"""The smallest of each family, and the side of its images: the smallest that it takes, or nearly so."""

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
those of the whole command, on a machine that had other work; without gates, those of writing and carrying. - was not
judged on this machine yet. `python docs/keras_applications.py NAME` makes a row anew, and this page.

| model | side | written | weights | {gates} | seconds |
|---|---|---|---|{line}---|
"""
BATCH, STEPS = 8, 2


def judged(name: str, written_only: bool, folder: Path) -> dict[str, object]:
    """The record of one model: what was written, and how each gate came out.

    Args:
      name: of it.
      written_only: whether no gate is asked.
      folder: that the model and its port are written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(SOURCE.format(name=name, side=SIDES[name]))
    options = ["--force", "--batch", f"{BATCH}", "--steps", f"{STEPS}", "--timeout", "3000"]
    command = [sys.executable, "-m", "compare", "init", "model.py:build", "-o", "port", *options]
    (folder / "port" / RESULTS).unlink(missing_ok=True)
    command += ["--no-run"] if written_only else []
    start = time.monotonic()
    with (folder / "output.txt").open("w+") as output:
        done = subprocess.run(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, check=False)
        output.seek(0)
        told = output.read()
    found = {"side": SIDES[name], "seconds": round(time.monotonic() - start), **of_port(folder / "port")}
    if done.returncode not in (0, 1) or not found["written"]:
        found["failures"] = [*told.strip().splitlines()[-1:], f"jaxport init ended with {done.returncode}"]
    return found


def of_port(port: Path) -> dict[str, object]:
    """What a folder that `jaxport init` wrote says: whether all of it was written, its weights, each gate."""
    receipt, source, record = (port / each for each in ("weights.receipt.json", "model_jax.py", RESULTS))
    found: dict[str, object] = {
        "written": source.exists() and "NotImplementedError" not in source.read_text(),
        "weights": len(json.loads(receipt.read_text())["leaves"]) if receipt.exists() else 0,
        "gates": {},
    }
    if record.exists():
        found["gates"], held = of_record(record)
        found["failures"] = failing(held)[:3]
        found["choices"] = {each["case"]: told[1] for each in held if (told := CHOICES.search(each["message"]))}
    return found


def recorded(folder: Path) -> dict[str, dict[str, Any]]:
    """The record of every model, by name; an empty one where there is none."""
    paths = {name: folder / f"{name}.json" for name in SIDES}
    return {name: json.loads(path.read_text()) if path.exists() else {} for name, path in paths.items()}


def row(name: str, found: dict[str, Any]) -> str:
    """The row of a model.

    Args:
      name: of it.
      found: its record, empty where there is none.
    """
    written = {True: "yes", False: "no"}.get(found.get("written", ""), "not tried")
    gates = (found.get("gates", {}).get(gate, "-") for gate in GATES)
    cells = [
        name,
        found.get("side", SIDES[name]),
        written,
        found.get("weights", "-"),
        *gates,
        found.get("seconds", "-"),
    ]
    return f"| {' | '.join(map(str, cells))} |\n"


def share(records: dict[str, dict[str, Any]]) -> str:
    """How many families pass, of those that were judged."""
    judged = [found["gates"] for found in records.values() if found.get("gates")]
    passed = sum(all(gates.get(gate) in HOLDS for gate in GATES) for gates in judged)
    whole = sum(bool(found.get("written")) for found in records.values())
    return (
        f"\nOf {len(records)} families {whole} are written without a place to fill in, {len(judged)} were judged, and "
        f"{passed} pass every gate without a line by hand.\n"
    )


def page(folder: Path = RECORDS) -> str:
    """The page of all records in a folder."""
    records = recorded(folder)
    text = HEAD.format(batch=BATCH, steps=STEPS, gates=" | ".join(GATES), line="---|" * len(GATES))
    text += "".join(row(name, found) for name, found in records.items())
    choices = [
        f"{name}, {case}: {told}" for name, of in records.items() for case, told in of.get("choices", {}).items()
    ]
    if choices:
        listed = "".join(f"- {each}\n" for each in choices)
        text += f"\n[Choices beside an edge](../parity.md#the-float64-oracle) that rounding made:\n\n{listed}"
    failures = [f"- {each}\n" for of in records.values() for each in of.get("failures", [])[:1]]
    if failures:
        text += f"\nThe first of what fails:\n\n{''.join(failures)}"
    return text + share(records)


def main() -> None:
    """Judge models, and write the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("names", nargs="*", metavar="NAME", help="a model of keras.applications")
    asked.add_argument("--no-run", action="store_true", help="write, and judge nothing")
    asked.add_argument("--keep", type=Path, metavar="FOLDER", help="leave what was written there")
    options = asked.parse_args()
    for name in options.names:
        if name not in SIDES:
            asked.error(f"expected one of {', '.join(SIDES)}, found {name}")
    RECORDS.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        with tempfile.TemporaryDirectory() as scratch:
            record = judged(name, options.no_run, (options.keep or Path(scratch)) / name)
        (RECORDS / f"{name}.json").write_text(f"{json.dumps(record, indent=1)}\n")
        PAGE.write_text(page())
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
