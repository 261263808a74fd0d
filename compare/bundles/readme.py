"""README.md of a bug report: the differences, how to run each module again, the files, the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from compare import files
from compare.files import Json
from compare.record.target_part import Target
from compare.report.markdown import code, escape, plain, table
from compare.report.target_rows import sentence
from compare.writing import write_atomically

_FILES = """\
| file | what it is |
|---|---|
| `programs/SIDE.mlirbc`, `.mlir` | the StableHLO that the frontend hands to XLA, and the same as text |
| `optimized/PROGRAM@COMPILER.hlo.pb`, `.txt` | a side's program compiled by a side's XLA: HloModuleProto, text |
| `inputs/SIDE.safetensors` | the program's arguments, by position |
| `outputs/PROGRAM@COMPILER.safetensors` | its results, by position |
| `outputs/SIDE-MODE.safetensors` | results of each of the side's modes, by name |
| `dumps/SIDE/` | XLA's dumps from that side's process |
| `targets/DEVICE/PROGRAM@jax.hlo.pb`, `.txt` | a side's program compiled for a device that was not here |
| `targets/DEVICE/SIDE/` | what XLA dumped of it for a GPU: PTX, the sequence of launches |
| `clustering/` | TensorFlow's graphs: `mark_for_compilation_annotated*.pbtxt` names the cluster of each node |
| `bundle.json` | the same for scripts: signatures, versions, flags, differences, lines of TensorFlow's operations |

Dumps and programs contain paths of the machine that made them; this page and `bundle.json` do not.
"""


def save(index: Json, folder: Path) -> None:
    """Write README.md."""
    write_atomically(folder / "README.md", text(index))


def text(index: Json) -> str:
    """README.md as text."""
    safe = escape({key: index[key] for key in ("workload", "summary", "size", "dimensions", "failures")})
    dimensions = ", ".join(f"{name} {value}" for name, value in safe["dimensions"].items()) or "none"
    parts = [
        f"# {safe['workload']}: {safe['summary']}",
        f"Size {safe['size']}; dimensions: {dimensions}.",
        *_section("Differences", _differences(index["differences"])),
        *_section("Targets", _targets(index.get("targets", {}))),
        *_section("Missing results", _failures(safe["failures"])),
        *_section("Run it again", _replays(index["modules"])),
        *_section("Files", [_FILES]),
        *_section("Environment", _environment(index["environment"])),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _section(title: str, parts: Sequence[str]) -> list[str]:
    return [f"## {title}", *parts] if parts else []


def _differences(differences: Sequence[Json]) -> list[str]:
    if not differences:
        return ["No two cells have a result in common: there is nothing to compare."]
    rows = [
        (
            code(row["cell"]),
            code(row["result"]),
            f"{float(row['absolute']):.3g}",
            f"{float(row['relative']):.3g}",
            "" if row["ulp"] is None else plain(str(row["ulp"])),
            "same" if row["alike"] else "differ",
            "" if row["agrees"] else "differs",
        )
        for row in differences
    ]
    head = ("program@compiler", "result", "absolute", "relative", "ULP", "shape, dtype, NaN, inf", "")
    return ["Largest errors against `tf@tf`, TensorFlow's program in TensorFlow's XLA.", _table(head, rows)]


def _targets(targets: Json) -> list[str]:
    lines = [f"- {escape(sentence(name, files.convert_plain(target, Target)))}." for name, target in targets.items()]
    return ["Compiled, not run.", "\n".join(lines)] if lines else []


def _failures(failures: Sequence[Mapping[str, str]]) -> list[str]:
    lines = [f"- {failure['side']}: {failure['doing']}: {failure['reason']}" for failure in failures]
    return ["\n".join(lines)] if lines else []


def _replays(modules: Sequence[Json]) -> list[str]:
    commands = ["jaxport replay .", *(f"jaxport replay {module['file']}" for module in modules)]
    return [
        "In this folder: all programs, then each module alone, on the recorded inputs, against the recorded results.",
        "```\n" + "\n".join(commands) + "\n```",
        "`--compilers here,interpreter,tf,jax` adds compilers; `--without-pass fusion` or "
        "`--xla xla_backend_optimization_level=0` also compiles with other options.",
    ]


def _environment(environment: Json) -> list[str]:
    rows = [(key, value) for key, value in environment.items() if key not in ("sides", "flags")]
    for side, versions in environment["sides"].items():
        rows.append((side, ", ".join(f"{key} {value}" for key, value in versions.items()) or "missing"))
    cells = [(plain(str(key)), plain(str(value))) for key, value in rows]
    return [_table(("", ""), [*cells, *((code(name), code(value)) for name, value in environment["flags"].items())])]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(table(head, rows, left_columns=len(head)))
