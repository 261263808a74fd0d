"""A whole dump directory as one record: every module with what each kind of its files says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import buffers, gpu, grammar, llvm, stages
from compare.hlo.dumps.directory import DumpedFile, DumpedModule, listing
from compare.hlo.dumps.stages import ModuleStages, UnreadFile

SCHEMA = 1


@dataclass(frozen=True)
class FileEntry:
    """A file below the directory, its bytes, and what kind it is, in words."""

    path: str
    bytes: int
    kind: str


@dataclass(frozen=True)
class ModuleSummary:
    """All that is known of one module.

    `options` are XLA's debug options that were not at their default, `attributes` those of the call of TensorFlow.
    """

    number: int
    name: str
    framework: str
    function: str
    cluster: int | None
    direction: str
    attributes: dict[str, str]
    stages: ModuleStages
    kernels: tuple[llvm.Kernel, ...]
    mlir: tuple[llvm.Mlir, ...]
    ptx: tuple[gpu.Ptx, ...]
    thunks: tuple[gpu.Thunks, ...]
    buffers: buffers.Buffers | None
    options: tuple[str, ...]
    files: tuple[FileEntry, ...]
    problems: tuple[UnreadFile, ...]


@dataclass(frozen=True)
class Dump:
    """The record of a directory; `unknown` are the files and folders of no module."""

    schema: int
    directory: str
    modules: tuple[ModuleSummary, ...]
    unknown: tuple[FileEntry, ...]


def summarize(directory: Path, besides: Path | None = None) -> Dump:
    """Read everything in a dump directory, `besides` left out.

    Raises:
      UnreadableProgram: it is not there, no directory, or holds no module.
    """
    contents = listing(directory, besides)
    return Dump(
        schema=SCHEMA,
        directory=str(directory),
        modules=tuple(_module(directory, module) for module in contents.modules),
        unknown=tuple(
            FileEntry(f"{path.name}/" if path.is_dir() else path.name, size, "of no module")
            for path, size in contents.unknown
        ),
    )


def _module(directory: Path, module: DumpedModule) -> ModuleSummary:
    read = stages.read_stages(module)
    buffer_report, problems = _buffers(module)
    return ModuleSummary(
        number=module.number,
        name=module.name,
        framework=module.origin.framework,
        function=module.function,
        cluster=module.origin.cluster,
        direction=module.origin.direction,
        attributes=grammar.attributes(module.name),
        stages=read,
        kernels=llvm.kernels(module),
        mlir=llvm.lowered(module),
        ptx=gpu.ptx(module),
        thunks=gpu.thunks(module),
        buffers=buffer_report,
        options=tuple(line for file in module.of(grammar.OPTIONS) for line in file.text().splitlines() if line.strip()),
        files=tuple(_entry(directory, file) for files in module.files.values() for file in files),
        problems=(*read.problems, *problems, *_unread_files(module)),
    )


def _buffers(module: DumpedModule) -> tuple[buffers.Buffers | None, tuple[UnreadFile, ...]]:
    try:
        return buffers.read_buffers(module), ()
    except UnreadableProgram as error:
        return None, (UnreadFile("buffer assignment", str(error)),)


def _unread_files(module: DumpedModule) -> tuple[UnreadFile, ...]:
    return tuple(UnreadFile(file.path.name, f"found {file.unread}") for file in module.of(grammar.OTHER) if file.unread)


def _entry(directory: Path, file: DumpedFile) -> FileEntry:
    return FileEntry(str(file.path.relative_to(directory)), file.bytes, grammar.KINDS[file.kind])
