"""Reads the few fields of a serialized HloModuleProto that have no binding: who calls whom.

Field numbers are those of xla/service/hlo.proto; protobuf never reuses a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from compare.hlo.bindings import UnreadableProgram

_VARINT, _BYTES = 0, 2
_FIXED_SIZES = {1: 8, 5: 4}
_MODULE_COMPUTATIONS, _MODULE_ENTRY_ID = 3, 6
_COMPUTATION_NAME, _COMPUTATION_INSTRUCTIONS, _COMPUTATION_ID = 1, 2, 5
_INSTRUCTION_NAME, _INSTRUCTION_OPCODE, _INSTRUCTION_ID = 1, 2, 35
_INSTRUCTION_OPERANDS, _INSTRUCTION_CALLED = 36, 38


@dataclass(frozen=True)
class Instruction:
    """One HLO instruction; operands and called computations by name."""

    name: str
    opcode: str
    operands: tuple[str, ...]
    called: tuple[str, ...]


@dataclass(frozen=True)
class Computation:
    """One HLO computation, its instructions in the order of the module."""

    name: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Module:
    """An HLO module: computations by name, and the name of the one that is run."""

    computations: dict[str, Computation]
    entry: str


@dataclass(frozen=True)
class _Message:
    numbers: dict[int, list[int]]
    chunks: dict[int, list[bytes]]

    def text(self, field: int) -> str:
        return self.chunks[field][0].decode() if field in self.chunks else ""

    def number(self, field: int) -> int:
        return self.numbers[field][0] if field in self.numbers else 0

    def repeated_numbers(self, field: int) -> Iterator[int]:
        yield from self.numbers.get(field, ())
        for packed in self.chunks.get(field, ()):
            at = 0
            while at < len(packed):
                value, at = _varint(packed, at)
                yield value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] >= 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def _message(data: bytes) -> _Message:
    numbers: dict[int, list[int]] = defaultdict(list)
    chunks: dict[int, list[bytes]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at)
            numbers[field].append(value)
        elif wire_type == _BYTES:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise IndexError
            chunks[field].append(data[at : at + length])
            at += length
        elif wire_type in _FIXED_SIZES:
            at += _FIXED_SIZES[wire_type]
        else:
            raise IndexError
    return _Message(dict(numbers), dict(chunks))


def _computation(message: _Message, computation_names: dict[int, str]) -> Computation:
    parts = [_message(chunk) for chunk in message.chunks.get(_COMPUTATION_INSTRUCTIONS, ())]
    names = {part.number(_INSTRUCTION_ID): part.text(_INSTRUCTION_NAME) for part in parts}
    instructions = tuple(
        Instruction(
            name=part.text(_INSTRUCTION_NAME),
            opcode=part.text(_INSTRUCTION_OPCODE),
            operands=tuple(names[key] for key in part.repeated_numbers(_INSTRUCTION_OPERANDS)),
            called=tuple(computation_names[key] for key in part.repeated_numbers(_INSTRUCTION_CALLED)),
        )
        for part in parts
    )
    return Computation(message.text(_COMPUTATION_NAME), instructions)


def read(proto: bytes) -> Module:
    """The computations of a serialized HloModuleProto.

    Raises:
      UnreadableProgram: the bytes are no HloModuleProto.
    """
    try:
        module = _message(proto)
        parts = [_message(chunk) for chunk in module.chunks.get(_MODULE_COMPUTATIONS, ())]
        names = {part.number(_COMPUTATION_ID): part.text(_COMPUTATION_NAME) for part in parts}
        computations = (_computation(part, names) for part in parts)
        return Module({part.name: part for part in computations}, names[module.number(_MODULE_ENTRY_ID)])
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise UnreadableProgram(f"expected a serialized HloModuleProto, found {len(proto)} other bytes") from error
