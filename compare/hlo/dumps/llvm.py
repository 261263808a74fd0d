"""LLVM IR of kernels, before and after LLVM's optimizer, and the MLIR that it was lowered from. Pure text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.hlo.dumps import grammar
from compare.hlo.dumps.directory import DumpedFile, DumpedModule

_DEFINED = re.compile(r"^define .*?@\"?([^\"(]+)\"?\(", re.MULTILINE)
_VECTOR = re.compile(r"<(vscale x )?(\d{1,18}) x (double|float|half|bfloat|ptr|i\d{1,18})>")
_PREFERRED = re.compile(r'"prefer-vector-width"="(\d{1,18})"')
_BITS = {"double": 64, "float": 32, "half": 16, "bfloat": 16, "ptr": 64}
_OPERATION = re.compile(r'^\s+(?:[%\w:, #]+ = )?"?([a-z_]\w*)\.[a-z_][\w.]*"?[ (]', re.MULTILINE)


@dataclass(frozen=True)
class Code:
    """LLVM IR in one file.

    `vector` is the widest vector type, such as "8 x float"; of a scalable one the least that it holds.
    `vector_bits` is its width in bits and `vector_instructions` how many instructions name any vector type.
    """

    file: str
    bytes: int
    functions: tuple[str, ...]
    instructions: int
    vector: str
    vector_bits: int
    vector_instructions: int
    preferred_bits: int | None
    """Vector width that XLA asks LLVM to prefer."""


@dataclass(frozen=True)
class Kernel:
    """One LLVM module by its name, "" where the HLO module has only one, as XLA wrote it and as LLVM left it."""

    name: str
    unoptimized: Code | None
    optimized: Code | None


@dataclass(frozen=True)
class Mlir:
    """One MLIR file: which kernel or program, at which step of lowering, lines, and operations by dialect."""

    file: str
    kernel: str
    step: str
    bytes: int
    lines: int
    operations: Mapping[str, int]


def kernels(module: DumpedModule) -> tuple[Kernel, ...]:
    """The kernels of a module, by name."""
    files = module.of(grammar.LLVM)
    names = sorted({file.details.get("kernel", "") for file in files})
    return tuple(Kernel(name, _code_of(files, name, "no-opt"), _code_of(files, name, "with-opt")) for name in names)


def lowered(module: DumpedModule) -> tuple[Mlir, ...]:
    """The MLIR files of a module: first what the frontend handed over, then its kernels step by step."""
    inputs = [file for file in module.of(grammar.INPUT) if file.path.suffix == ".mlir"]
    order = ("", "pre-optimization", "post-optimization", "post-lowering")
    files = sorted(
        module.of(grammar.MLIR),
        key=lambda file: (file.details.get("kernel", ""), order.index(file.details.get("detail", ""))),
    )
    return tuple(_mlir(file) for file in [*inputs, *files])


def read_code(file: str, text: str, size: int) -> Code:
    """Count one file of LLVM IR.

    Args:
      size: its bytes.
    """
    lines = list(_instructions(text))
    vectors = {vector: _width(vector) for line in lines for vector in _VECTOR.findall(line)}
    widest = max(vectors, key=lambda vector: (vectors[vector], vector), default=None)
    preference = _PREFERRED.search(text)
    return Code(
        file=file,
        bytes=size,
        functions=tuple(_DEFINED.findall(text)),
        instructions=len(lines),
        vector=f"{widest[0]}{widest[1]} x {widest[2]}" if widest else "",
        vector_bits=vectors[widest] if widest else 0,
        vector_instructions=sum(bool(_VECTOR.search(line)) for line in lines),
        preferred_bits=int(preference[1]) if preference else None,
    )


def _code_of(files: Sequence[DumpedFile], kernel: str, step: str) -> Code | None:
    for file in files:
        if (file.details.get("kernel", ""), file.details["detail"]) == (kernel, step):
            return read_code(file.path.name, file.text(), file.bytes)
    return None


def _instructions(text: str) -> Iterator[str]:
    """Lines of function bodies that are instructions: no labels, no comments, no cases of a switch."""
    inside = in_cases = False
    for line in text.splitlines():
        if line.startswith("define "):
            inside = True
        elif line == "}":
            inside = False
        elif in_cases:
            in_cases = line.strip() != "]"
        elif inside and line.startswith(" ") and not line.lstrip().startswith(";"):
            in_cases = line.rstrip().endswith("[")
            yield line


def _width(vector: tuple[str, str, str]) -> int:
    _, elements, kind = vector
    return int(elements) * (_BITS[kind] if kind in _BITS else int(kind[1:]))


def _mlir(file: DumpedFile) -> Mlir:
    text = file.text()
    return Mlir(
        file=file.path.name,
        kernel=file.details.get("kernel", ""),
        step=file.details.get("detail", ""),
        bytes=file.bytes,
        lines=len(text.splitlines()),
        operations=dict(Counter(_OPERATION.findall(text)).most_common()),
    )
