"""The buffers that XLA assigned: bytes by what they hold, the largest, and what is live at the peak."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from google.protobuf import message

from compare.hlo import proto
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import dumped_programs, grammar
from compare.hlo.dumps.directory import DumpedFile, DumpedModule

PARAMETER, OUTPUT, CONSTANT, THREAD_LOCAL, TEMP = "parameter", "output", "constant", "thread-local", "temp"
USES = (PARAMETER, OUTPUT, TEMP, CONSTANT, THREAD_LOCAL)

# Up to 18 digits: what XLA counts in 64 bits. Python refuses to convert thousands of them.
_TOTAL = re.compile(r"^Total bytes(?: used)?: (\d{1,18})\b", re.MULTILINE)
_ALLOCATION = re.compile(r"^allocation (\d{1,18}): size (\d{1,18}), (.*?):? *$", re.MULTILINE)
_VALUE = re.compile(
    r"^ value: <(\d+) (\S+?)(\{[\d,]*\})?(?: \(phi\))? @\d+> \(size=(\d{1,18}),offset=(\d{1,18})\): (.+)$", re.MULTILINE
)
_DEFINED = re.compile(r"^<(\d+) .*\n(?: .*\n)*? from instruction: (.+)$", re.MULTILINE)
_OPCODE = re.compile(r"= (?:\(.*?\)|\S+) ([\w-]+)\(")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_PEAK = re.compile(r"^ *Live ranges at (\d+) \(peak\):\n((?: +\S+: \d+ bytes.*\n?)*)", re.MULTILINE)
_LIVE = re.compile(r"^ +(\S+?)(?:\{[\d,]*\})?: (\d{1,18}) bytes", re.MULTILINE)


@dataclass(frozen=True)
class Value:
    """One value in an allocation, and the instruction that defines it; opcode and op_name "" where nothing says them.

    Values of one allocation may share its bytes.
    """

    instruction: str
    index: str
    bytes: int
    offset: int
    shape: str
    opcode: str
    op_name: str


@dataclass(frozen=True)
class Allocation:
    """One buffer: what it is for (one of USES), what XLA says of it in its words, and the values in it."""

    number: int
    bytes: int
    use: str
    said: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class LiveValue:
    """A value that is live when most is."""

    instruction: str
    bytes: int


@dataclass(frozen=True)
class Buffers:
    """Bytes in all, bytes by use, allocations from the largest on, and what is live at the peak.

    `total` is the sum of the allocations, or what the memory report says where no assignment was dumped;
    `reported` is what XLA's memory report says, None without one.
    """

    files: tuple[str, ...]
    total: int
    reported: int | None
    by_use: Mapping[str, int]
    allocations: tuple[Allocation, ...]
    peak: tuple[LiveValue, ...]


def read_buffers(module: DumpedModule) -> Buffers | None:
    """The buffers by a module's reports, or by the assignment in its proto; None without either.

    Raises:
      UnreadableProgram: the proto is broken.
    """
    reports = [file for file in module.of(grammar.REPORT) if file.details["format"] == "txt"]
    if not reports:
        return _from_proto(module)
    newest = {file.details["detail"]: file for file in sorted(reports, key=lambda file: file.timestamp)}
    texts = {detail: file.text() for detail, file in newest.items()}
    return from_texts(texts, tuple(file.path.name for file in newest.values()))


def from_texts(texts: Mapping[str, str], files: tuple[str, ...] = ()) -> Buffers:
    """The buffers by texts of reports, by the ends of their names: "buffer-assignment", "memory-usage-report", ..."""
    everything = "\n".join(texts.values())
    definitions = dict(_DEFINED.findall(everything))
    allocations = list(_allocations(texts.get("buffer-assignment", ""), definitions))
    totals = [int(total) for total in _TOTAL.findall(texts.get("memory-usage-report", ""))]
    peak = _PEAK.search(everything)
    live = _LIVE.findall(peak[2]) if peak else []
    return _buffers(
        files, allocations, sum(totals) if totals else None, [LiveValue(name, int(size)) for name, size in live]
    )


def _allocations(text: str, definitions: Mapping[str, str]) -> Iterable[Allocation]:
    heads = list(_ALLOCATION.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        values = tuple(_value(match, definitions.get(match[1], "")) for match in _VALUE.finditer(text, head.end(), end))
        yield Allocation(int(head[1]), int(head[2]), _use(head[3]), head[3], values)


def _use(use_text: str) -> str:
    for word, use in ((r"parameter \d", PARAMETER), ("constant", CONSTANT), ("thread-local", THREAD_LOCAL)):
        if re.search(rf"\b{word}", use_text):
            return use
    return OUTPUT if "maybe-live-out" in use_text else TEMP


def _value(match: re.Match[str], definition: str) -> Value:
    opcode, op_name = _OPCODE.search(definition), _OP_NAME.search(definition)
    return Value(
        instruction=match[2],
        index=match[3] or "",
        bytes=int(match[4]),
        offset=int(match[5]),
        shape=match[6],
        opcode=opcode[1] if opcode else "",
        op_name=op_name[1] if op_name else "",
    )


def _from_proto(module: DumpedModule) -> Buffers | None:
    files = [file for file in module.of(grammar.STAGE) if file.details["stage"] == grammar.AFTER]
    if not files:
        return None
    file: DumpedFile = dumped_programs.stage_file(module, grammar.AFTER)
    if file.details["format"] == "txt":
        return None
    hlo = proto.new("HloProto")
    try:
        hlo.ParseFromString(file.data())
    except (message.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableProgram(f"expected an HloProto, found {file.bytes} other bytes: dump it again") from error
    return _buffers(
        (file.path.name,), [_read_allocation(allocation) for allocation in hlo.buffer_assignment.buffer_allocations]
    )


def _read_allocation(allocation: object) -> Allocation:
    flags = {
        PARAMETER: getattr(allocation, "is_entry_computation_parameter", False),
        CONSTANT: getattr(allocation, "is_constant", False),
        THREAD_LOCAL: getattr(allocation, "is_thread_local", False),
        OUTPUT: getattr(allocation, "maybe_live_out", False),
    }
    uses = [use for use, holds in flags.items() if holds] or [TEMP]
    number, size = getattr(allocation, "index", 0), getattr(allocation, "size", 0)
    return Allocation(number, size, uses[0], ", ".join(uses), ())


def _buffers(
    files: tuple[str, ...],
    allocations: list[Allocation],
    reported_bytes: int | None = None,
    peak: Iterable[LiveValue] = (),
) -> Buffers:
    by_use = {use: sum(allocation.bytes for allocation in allocations if allocation.use == use) for use in USES}
    total = sum(by_use.values()) if allocations or reported_bytes is None else reported_bytes
    sorted_allocations = sorted(allocations, key=lambda allocation: (-allocation.bytes, allocation.number))
    return Buffers(files, total, reported_bytes, by_use, tuple(sorted_allocations), tuple(peak))
