"""The lines of a StableHLO program by what its frontend says of each operation: its name, and where it was called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compare.hlo import bindings
from compare.hlo.read_module import NOBODYS

_LONGEST_CONSTANT = 16
_PLACED = re.compile(r"^\s*(?P<text>.*\S)\s+loc\(#(?P<location>\w+)\)\s*$")
_LOCATION = re.compile(r"^#(?P<location>\w+) = loc\((?P<said>.*)\)\s*$")
_NAME = re.compile(r'"(?P<name>(?:[^"\\]|\\.)*)"(?=$|\()')
_FILE = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+)')
_WITHIN = re.compile(r"#(\w+)")
_TYPE = re.compile(r"tensor<([^>]*)>$")
_ENDS = ("}", "return", "func.return", "stablehlo.return")
_TYPES = {"i1": "pred", "i": "s", "ui": "u"}


@dataclass(frozen=True)
class Line:
    """One operation: its text, op_name, shape as HLO has it, and "file:line" of each call around it."""

    text: str
    name: str
    shape: str
    places: frozenset[str]


def lines(artifact: bytes) -> tuple[Line, ...]:
    """The operations of a program in its order. One with a body is there by the line that ends it.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    text_lines = str(
        module.operation.get_asm(enable_debug_info=True, large_elements_limit=_LONGEST_CONSTANT)
    ).splitlines()
    locations = {match["location"]: match["said"] for match in map(_LOCATION.match, text_lines) if match}
    return tuple(
        _line(match["text"], match["location"], locations)
        for match in map(_PLACED.match, text_lines)
        if match and not match["text"].startswith(_ENDS)
    )


def _line(text: str, location: str, locations: Mapping[str, str]) -> Line:
    type_match = _TYPE.search(text)
    return Line(
        text=text,
        name=_name(location, locations),
        shape=_shape(type_match[1]) if type_match else "",
        places=frozenset(_places(location, locations)),
    )


def _name(location: str, locations: Mapping[str, str]) -> str:
    """The name of a location; TensorFlow fuses it with a line of its own."""
    text = locations.get(location, "")
    name_match = _NAME.match(text)
    if name_match:
        return name_match["name"]
    inner = _WITHIN.findall(text) if text.startswith("fused") else ()
    return next(filter(None, (_name(one, locations) for one in inner)), "")


def _places(location: str, locations: Mapping[str, str]) -> Iterator[str]:
    waiting = [location]
    while waiting:
        text = locations.get(waiting.pop(), "")
        files = (match for match in _FILE.finditer(text) if not match["file"].endswith(NOBODYS))
        yield from (f"{match['file']}:{match['line']}" for match in files)
        waiting += _WITHIN.findall(text)


def _shape(tensor: str) -> str:
    """The type within `tensor<...>` as HLO writes it: "8x4xf32" is "f32[8,4]"."""
    *dimensions, element = tensor.split("x")
    kind = re.match(r"ui|i1$|i(?=\d)", element)
    dtype = _TYPES[kind[0]] + element[kind.end() :] if kind else element
    return f"{dtype}[{','.join(dimensions)}]"
