"""What `jaxport init` makes of models that nobody here wrote, as pages: a record a model, and a table of these."""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judged_gates import failing, of_record

from compare.porting.port_source import BATCH, Sizes

RESULTS = "jaxport-report/results.json"
BY_REGIONS = re.compile(r"\d+ of \d+ regions are proved equal(, \d+ round as TF's do)?")
HOLDS = ("pass", "not_applicable")
GATES = ("structure", "semantics", "rounding", "gradients", "training", "stability")
DEFAULTS = {"batch": BATCH, "steps": Sizes.steps}
"""What `jaxport init` judges where no option says otherwise."""
TIMEOUT_S = 3000
"""Of one answer of a worker. A slow machine changes no verdict by it; everything else is at its default."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A page of models.

    Attributes:
      path: of it; the records are in the folder beside it of the same name.
      head: all before the rows of the table.
      sources: the file with a function `build`, by the name of the model.
      columns: the cells between the name and what became of the model, by the name of the model.
      counted: what the models are, in the last sentence.
    """

    path: Path
    head: str
    sources: Mapping[str, str]
    columns: Mapping[str, tuple[object, ...]]
    counted: str

    @property
    def records(self) -> Path:
        """The folder of the records."""
        return self.path.with_suffix("")

    def recorded(self, folder: Path) -> dict[str, Record]:
        """The record of every model, by name; an empty one where there is none."""
        paths = {name: folder / f"{name}.json" for name in self.sources}
        return {name: json.loads(path.read_text()) if path.exists() else {} for name, path in paths.items()}

    def text(self, folder: Path | None = None) -> str:
        """The page of all records in a folder."""
        records = self.recorded(folder or self.records)
        text = self.head + "".join(_row(name, self.columns[name], record) for name, record in records.items())
        by_regions = [
            f"- {name}, {case}: {judged}\n"
            for name, record in records.items()
            for case, judged in record.get("regions", {}).items()
        ]
        if by_regions:
            linked = "[Judged by regions](../parity.md#the-float64-oracle)"
            text += f"\n{linked}, since float32 alone came apart:\n\n{''.join(by_regions)}"
        failures = [f"- {failure}\n" for of in records.values() for failure in of.get("failures", [])[:1]]
        if failures:
            text += f"\nThe first of what fails:\n\n{''.join(failures)}"
        return text + _share(records, self.counted)

    def judge(self, name: str, *, written_only: bool, keep: Path | None) -> None:
        """Write and judge a model, and the page anew.

        Args:
          written_only: whether no gate is asked.
          keep: folder that what was written is left in; None leaves nothing.
        """
        self.records.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            record = _judged(self.sources[name], written_only, (keep or Path(scratch)) / name)
        (self.records / f"{name}.json").write_text(f"{json.dumps(record, indent=1)}\n")
        self.path.write_text(self.text())

    def main(self, about: str) -> None:
        """Judge the models that the command line names, and write the page."""
        asked = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        asked.add_argument("names", nargs="*", metavar="NAME", help="a model of the page")
        asked.add_argument("--no-run", action="store_true", help="write, and judge nothing")
        asked.add_argument("--keep", type=Path, metavar="FOLDER", help="leave what was written there")
        options = asked.parse_args()
        for name in options.names:
            if name not in self.sources:
                asked.error(f"expected one of {', '.join(self.sources)}, found {name}")
        for name in options.names:
            self.judge(name, written_only=options.no_run, keep=options.keep)
        self.path.write_text(self.text())


def table(*columns: str) -> str:
    """The head of the table, behind the name of a model and columns of one's own."""
    names = ("model", *columns, "written", "lines", "weights", *GATES, "wall s", "processor s", "load before")
    return f"| {' | '.join(names)} |\n{'|---' * len(names)}|\n"


def _judged(source: str, written_only: bool, folder: Path) -> Record:
    """The record of one model: what was written, and how each gate came out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(source)
    command = [sys.executable, "-m", "compare", "init", "model.py:build", "-o", "port", "--force"]
    command += ["--no-run"] if written_only else ["--timeout", str(TIMEOUT_S)]
    (folder / "port" / RESULTS).unlink(missing_ok=True)
    load, start, before = os.getloadavg()[0], time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "output.txt").open("w+") as output:
        done = subprocess.run(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, check=False)
        output.seek(0)
        text = output.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    record = {
        "seconds": round(time.monotonic() - start),
        "processor_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime),
        "load_before": round(load, 1),
        **_of_port(folder / "port"),
    }
    if done.returncode not in (0, 1) or not record["written"]:
        record["failures"] = [*text.strip().splitlines()[-1:], f"jaxport init ended with {done.returncode}"]
    return record


def _of_port(port: Path) -> Record:
    """What a folder that `jaxport init` wrote says: whether all of it was written, its weights, each gate."""
    receipt, source, record = (port / name for name in ("weights.receipt.json", "model_jax.py", RESULTS))
    fields: Record = {
        "written": source.exists() and "NotImplementedError" not in source.read_text(),
        "lines": len(source.read_text().splitlines()) if source.exists() else 0,
        "weights": len(json.loads(receipt.read_text())["leaves"]) if receipt.exists() else 0,
        "gates": {},
    }
    if record.exists():
        fields["gates"], held = of_record(record)
        # Lines of the port are told by their paths, and the folder is that of one machine.
        fields["failures"] = [failure.replace(f"{port.resolve()}/", "") for failure in failing(held)[:3]]
        fields["regions"] = {
            comparison["case"]: judged[0] for comparison in held if (judged := BY_REGIONS.search(comparison["message"]))
        }
    return fields


def _row(name: str, columns: tuple[object, ...], record: Mapping[str, Any]) -> str:
    written = {True: "yes", False: "no"}.get(record.get("written", ""), "not tried")
    gates = (record.get("gates", {}).get(gate, "-") for gate in GATES)
    sizes = (record.get(name, "-") for name in ("lines", "weights"))
    times = (record.get(name, "-") for name in ("seconds", "processor_s", "load_before"))
    return f"| {' | '.join(map(str, (name, *columns, written, *sizes, *gates, *times)))} |\n"


def _share(records: Mapping[str, Record], counted: str) -> str:
    """How many models pass, of those that were judged."""
    gates = [record["gates"] for record in records.values() if record.get("gates")]
    passed = sum(all(each.get(gate) in HOLDS for gate in GATES) for each in gates)
    whole = sum(bool(record.get("written")) for record in records.values())
    return (
        f"\nOf {len(records)} {counted} {whole} are written without a place to fill in, {len(gates)} were judged, and "
        f"{passed} pass every gate without a line by hand.\n"
    )
