"""The code of each kernel: how wide its vectors are, how many one turn of its loop handles, and its multiply-adds.

Read off the LLVM IR after LLVM's optimizer, and off the disassembled machine code: only that has fused multiply-adds,
which LLVM makes of a product and a sum when it chooses instructions. Pure text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.hlo.dumps import grammar
from compare.hlo.dumps.directory import DumpedModule

_FUNCTION = re.compile(r'^define .*?@"?([^"(]+)"?\(')
_LABEL = re.compile(r'^"?([\w.$-]+)"?:')
_FLOATS = re.compile(r"<(\d{1,9}) x (double|float|half|bfloat)>|\b(double|float|half|bfloat)\b")
_ARITHMETIC = re.compile(
    r"= (?:tail )?(?:f(?:add|sub|mul|div|neg|cmp|ma)\b|call .*@llvm\.(?:fma|fmuladd|max|min|sqrt))"
)
_INDUCTION = re.compile(r'^\s+(%[\w."$-]+) = phi i\d+ (.+)$')
_INCOMING = re.compile(r'\[ ([^,\]]+), %"?([\w.$-]+)"? \]')
_STEP = re.compile(r'^\s+(%[\w."$-]+) = (?:add|or)(?: \w+)* i\d+ (%[\w."$-]+), (-?\d{1,18})')
_BRANCH = re.compile(r'label %"?([\w.$-]+)"?')

_SYMBOL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(\S+)")
# x86 has vfmadd213ps and its kin, ARM fmla, fmls, fmadd and fmsub. Both name integer arithmetic without a type or an f.
_FUSED = re.compile(r"v?fn?m(?:add|sub|la|ls)")
_MACHINE_ARITHMETIC = re.compile(
    r"v?(?:add|sub|mul|div|max|min|sqrt)[sp][sdh]$|f(?:add|sub|mul|div|max|min|neg|sqrt)|v?fn?m(?:add|sub|la|ls)"
)


@dataclass(frozen=True)
class KernelCode:
    """The code of one kernel.

    Attributes:
      kernel: as the optimized module names it.
      vector: the type that its busiest loop computes in, "8 x float"; "float" where that is no vector, and empty where
        it computes no floating-point numbers.
      width: elements of that vector; 1 without one.
      turn: elements that one turn of that loop handles; None where the loop does not say, or there is none.
      fused: multiply-adds that are one instruction; None where nothing was disassembled.
      arithmetic: instructions of floating-point arithmetic in the machine code, these among them.
    """

    kernel: str
    vector: str = ""
    width: int = 1
    turn: int | None = None
    fused: int | None = None
    arithmetic: int | None = None

    @property
    def unroll(self) -> int | None:
        """Vectors that one turn of the loop handles; None where that is no whole number of them."""
        return self.turn // self.width if self.turn and self.turn % self.width == 0 else None


@dataclass(frozen=True)
class _Block:
    label: str
    lines: tuple[str, ...]


def kernels(module: DumpedModule, assembly: Mapping[str, str] | None = None) -> tuple[KernelCode, ...]:
    """The kernels that XLA wrote code for, by name; what a library computes has none.

    Args:
      assembly: by name of an object file, what `objdump -d` says of it; None where nothing disassembles.
    """
    codes: dict[str, KernelCode] = {}
    for file in module.of(grammar.LLVM):
        if file.details["detail"] == "with-opt":
            codes |= {code.kernel: code for code in of_llvm(file.text())}
    for text in (assembly or {}).values():
        for name, (fused_count, arithmetic) in of_assembly(text).items():
            if name in codes:
                codes[name] = replace(codes[name], fused=fused_count, arithmetic=arithmetic)
    return tuple(codes[name] for name in sorted(codes))


def fingerprint(module: DumpedModule) -> str:
    """Equal where XLA wrote the same code for the kernels, under whatever names and in whatever order."""
    texts = (file.text() for file in module.of(grammar.LLVM) if file.details["detail"] == "with-opt")
    return hashlib.sha256("\0".join(sorted(map(_without_names, texts))).encode()).hexdigest()


def _without_names(text: str) -> str:
    """LLVM IR without what names the kernel: functions by their place, and no metadata, which holds names of arrays."""
    lines = [line for line in text.splitlines() if not line.startswith(("!", ";", "source_filename"))]
    names = [match[1].strip() for line in lines if (match := _FUNCTION.match(line))]
    body = "\n".join(lines)
    for place, name in sorted(enumerate(names), key=lambda entry: -len(entry[1])):
        body = body.replace(name, f"function {place}")
    return body


def of_llvm(text: str) -> tuple[KernelCode, ...]:
    """Every function of a file of LLVM IR, in its order."""
    return tuple(_code(name, blocks) for name, blocks in _functions(text))


def of_assembly(text: str) -> dict[str, tuple[int, int]]:
    """By symbol of a disassembly, its fused multiply-adds and all its floating-point arithmetic, in instructions."""
    counts: dict[str, tuple[int, int]] = {}
    name = ""
    for line in text.splitlines():
        if symbol := _SYMBOL.match(line):
            name = symbol[1]
            counts[name] = (0, 0)
        elif name and (instruction := _INSTRUCTION.match(line)):
            fused_count, arithmetic = counts[name]
            mnemonic = instruction[1]
            counts[name] = (
                fused_count + bool(_FUSED.match(mnemonic)),
                arithmetic + bool(_MACHINE_ARITHMETIC.match(mnemonic)),
            )
    return counts


def _functions(text: str) -> Iterator[tuple[str, list[_Block]]]:
    name, blocks, label, lines = "", [], "entry", []
    for line in text.splitlines():
        if function_match := _FUNCTION.match(line):
            name, blocks, label, lines = function_match[1].strip(), [], "entry", []
        elif name and line == "}":
            yield name, [*blocks, _Block(label, tuple(lines))]
            name = ""
        elif name and (label_match := _LABEL.match(line)):
            blocks.append(_Block(label, tuple(lines)))
            label, lines = label_match[1], []
        elif name:
            lines.append(line)


def _code(name: str, blocks: Sequence[_Block]) -> KernelCode:
    """By the loop that computes most in one turn; without one, by the block that does."""
    loops = [block for block in blocks if _repeats(block)]
    busiest = max(loops or blocks, key=_busyness)
    if not _busyness(busiest)[0]:
        busiest = max(blocks, key=_busyness)
    vector, width = _widest(busiest)
    return KernelCode(name, vector, width, _turn(busiest) if busiest in loops else None)


def _repeats(block: _Block) -> bool:
    """Whether a block is a loop by itself, as every innermost one is that LLVM vectorized or unrolled."""
    return any(line.lstrip().startswith("br ") and block.label in _BRANCH.findall(line) for line in block.lines[-3:])


def _busyness(block: _Block) -> tuple[int, int]:
    """Elements that its arithmetic computes, then all that it moves."""
    lanes = sum(_lanes(line) for line in block.lines if _ARITHMETIC.search(line))
    return lanes, sum(_lanes(line) for line in block.lines)


def _lanes(line: str) -> int:
    match = _FLOATS.search(line)
    return 0 if match is None else int(match[1] or 1)


def _widest(block: _Block) -> tuple[str, int]:
    """The types of its arithmetic, or of what it moves where it computes nothing."""
    computing = [line for line in block.lines if _ARITHMETIC.search(line)]
    matches = [match for line in computing or block.lines if (match := _FLOATS.search(line))]
    widest = max(matches, key=lambda match: int(match[1] or 1), default=None)
    if widest is None:
        return "", 1
    return (f"{widest[1]} x {widest[2]}", int(widest[1])) if widest[1] else (widest[3], 1)


def _turn(block: _Block) -> int | None:
    """By how much a turn of the loop moves its counter on."""
    steps = {match[1]: (match[2], abs(int(match[3]))) for line in block.lines if (match := _STEP.match(line))}
    for line in block.lines:
        counter = _INDUCTION.match(line)
        if counter is None:
            continue
        incoming = {label: value for value, label in _INCOMING.findall(counter[2])}
        counter_name, step = steps.get(incoming.get(block.label, ""), ("", 0))
        if counter_name == counter[1]:
            return step
    return None
