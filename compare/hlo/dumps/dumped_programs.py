"""Dumped HLO as messages and bytes: protos as they are, text through XLA's parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from compare.hlo import proto
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import grammar
from compare.hlo.dumps.directory import DumpedFile, DumpedModule
from compare.hlo.executing import hlo_from_text

_TEXT = "txt"
# XLA's parser takes the dots for values and fills in whatever lay in memory.
_LEFT_OUT = re.compile(r"^\s*(?:ROOT )?%?(\S+) = .*\bconstant\(\{\.\.\.\}\)", re.MULTILINE)


@dataclass(frozen=True)
class DumpedProgram:
    """An HloModuleProto, and the names of the constants whose values the text that it was read from left out."""

    module: Any
    left_out: frozenset[str] = frozenset()


def read_file(file: DumpedFile) -> DumpedProgram:
    """The HLO in one file of a stage or pass.

    Raises:
      UnreadableProgram: it is cut off, or this jaxlib's XLA does not take the text.
    """
    if file.details.get("format") != _TEXT:
        return DumpedProgram(proto.read_module(file.data()))
    text = file.text()
    return DumpedProgram(proto.read_module(_parse(text)), frozenset(_LEFT_OUT.findall(text)))


def stage_file(module: DumpedModule, stage: str) -> DumpedFile:
    """The file of "before_optimizations" or "after_optimizations": a proto rather than text, the newest of several.

    Raises:
      UnreadableProgram: the stage was not dumped.
    """
    files = [file for file in module.of(grammar.STAGE) if file.details["stage"] == stage]
    if not files:
        raise UnreadableProgram(f"expected {stage} of {module.name}, found no such file: dump it again")
    return max(files, key=lambda file: (file.timestamp, file.details["format"] != _TEXT))


def stage_bytes(module: DumpedModule, stage: str) -> tuple[bytes, frozenset[str]]:
    """One stage as a serialized HloModuleProto, and the names of the constants whose values its text left out.

    The values of those constants in the bytes mean nothing.

    Raises:
      UnreadableProgram: the stage was not dumped, is cut off, or this jaxlib's XLA does not take its text.
    """
    program = read_file(stage_file(module, stage))
    return program.module.SerializeToString(), program.left_out


def pass_files(module: DumpedModule) -> list[DumpedFile]:
    """The HLO after each dumped pass, in order: of text and proto the proto, of several dumps the newest."""
    newest: dict[str, DumpedFile] = {}
    for file in sorted(
        module.of(grammar.PASS), key=lambda dump_file: (dump_file.timestamp, dump_file.details["format"] != _TEXT)
    ):
        newest[file.details["order"]] = file
    return [newest[order] for order in sorted(newest)]


def _parse(text: str) -> bytes:
    # Before jaxlib has registered its own error, XLA's parser raises a plain RuntimeError.
    try:
        return hlo_from_text(text)
    except (RuntimeError, UnreadableProgram) as error:
        lines = [line for line in str(error.__cause__ or error).splitlines() if line.strip()]
        raise UnreadableProgram(
            f"expected HLO text that this jaxlib's XLA reads, found {' '.join(lines[:2])}: "
            "dump with --xla_dump_hlo_as_proto"
        ) from error
