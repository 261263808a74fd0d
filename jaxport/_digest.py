"""Whether two compilations made the same: a digest of what runs, and of nothing that only names it.

The optimized module alone would not do: an option may act below it, on the vectors of the machine code or on which
library is called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from jaxport import _private

# Fields of XLA's CompilationResultProto for the CPU, and of the message around it.
_RESULT, _CALLS, _SYMBOL, _OBJECT = 1, 6, 7, 8
_MODULE_NAME, _MODULE_NUMBER = 2, 3

_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
"""Bytes of the kinds that always have as many."""

Content = bytes | int


def digest(executable: Any) -> str:
    """A digest of the optimized module without source lines, of the machine code, and of the order of calls.

    Empty where this is no executable of XLA's CPU compiler: then nothing can be said.
    """
    try:
        result = dict(_fields(_after_header(executable.serialize())))[_RESULT]
        parts = list(_fields(result if isinstance(result, bytes) else b""))
    except (ValueError, KeyError, IndexError, TypeError):
        return ""
    # Kernels are compiled by several threads, and stand in the order in which these were done.
    code = sorted(content for number, content in parts if number in (_SYMBOL, _OBJECT) and isinstance(content, bytes))
    module = executable.hlo_modules()[0]
    calls = [_nest(content, module.name.encode()) for number, content in parts if number == _CALLS]
    if not calls:
        return ""
    hash_state = hashlib.sha256(_private.text_without_lines(module).encode())
    hash_state.update(repr(calls).encode())
    for part in code:
        hash_state.update(part)
    return hash_state.hexdigest()


def _nest(content: Content, module: bytes) -> object:
    """A field with those inside it, without lengths and without the module's number.

    Every compilation counts that number up, field 3 beside the module's name, and lengths grow with its digits. Bytes
    that are no message stay what they are; text that looks like one is taken apart, and the same text alike.
    """
    if not isinstance(content, bytes):
        return content
    try:
        inside = list(_fields(content))
    except (ValueError, IndexError):
        return content
    has_number = (_MODULE_NAME, module) in inside
    return [(number, _nest(inner, module)) for number, inner in inside if not (has_number and number == _MODULE_NUMBER)]


def _after_header(data: bytes) -> bytes:
    length, start = _varint(data, 0)
    return data[start + length :]


def _fields(message: bytes) -> Iterator[tuple[int, Content]]:
    """Number and content of each field of a protocol buffer.

    Raises:
      ValueError, IndexError: these bytes are none.
    """
    offset = 0
    while offset < len(message):
        key, offset = _varint(message, offset)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, offset = _varint(message, offset)
            yield number, value
            continue
        length, offset = (_FIXED[kind], offset) if kind in _FIXED else _varint(message, offset)
        if not number or kind not in (_BYTES, *_FIXED) or offset + length > len(message):
            raise ValueError(f"no field {number} of kind {kind} and {length} bytes")
        yield number, message[offset : offset + length]
        offset += length


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """A number in groups of 7 bits, the lowest first, and the place after it."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, offset
