"""An exception of a framework in one line: its explanation, and the line of the user's code that led to it."""

from __future__ import annotations

import pkgutil
import re
import traceback
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

import compare
from workloads.core.errors import message

MOST_CHARACTERS = 500
"""The most characters of an explanation; the traceback that --debug shows has the rest."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_ROOMS = "|".join(module.name for module in pkgutil.iter_modules(compare.__path__))
_LIBRARY = re.compile(
    rf"^<|/(site|dist)-packages/|/lib/python3[.\d]*/|/compare/({_ROOMS})[/.]|/(jaxport|tf_reference|workloads)/_"
)
_FRAME = re.compile(r'^File "(?P<file>[^"]*)", line \d+(, in \S+)?')
_FILE = re.compile(r'File "(?P<file>[^"]*)"')
_TAIL = re.compile(r"^Arguments received by ")
_NOISE = re.compile(
    r"^-+$|^See https?://|^For simplicity, JAX has removed|^<stack traces unavailable>$|^in user code:$"
    r"|^Graph execution error:$|^Detected at node .*:$|^\[\[\{\{node |^To catch the leak earlier"
    r"|^When the value was created, |^The leaked intermediate value was created on line \. *$"
)
"""Headings and advice that are the same for every error."""
_INSIDE = re.compile(r"\{\{function_node [^}]*\}\} ?|Traceback \(most recent call last\):|\s*\[Op:\w+\] name: *$")
_NAMED = re.compile(r"^[A-Z]\w*(Error|Exception|Interrupt|Exit|Warning): ")
_OWN = "compare|jaxport|tf_reference|workloads"
_MISTAKEN = re.compile(rf"module '({_OWN})[.']|from '({_OWN})[.']|No module named '({_OWN})[.']")
"""Python's messages about a module that is not the intended one."""
_BEYOND_32_BITS = re.compile(r"^OverflowError: .*out of bounds for u?int32\b")
_OUT_OF_TABLE = re.compile(r"= -?\d+ is (?:not in|out of range) \[0, (\d+)\)")
_PLACED = re.compile(r"\.py:\d+|\.py\", line \d+")


def in_library(file: str) -> bool:
    """Whether a file is a library's or jaxport's own: a line of the user's code explains more."""
    return bool(_LIBRARY.search(file))


def without_colours(text: str) -> str:
    """The text without terminal escape sequences."""
    return _ANSI.sub("", text)


def explain(error: BaseException) -> str:
    """The error's class, its explanation, and the line of the user's code unless that raised it."""
    lines = without_colours(message(error)).splitlines()
    frames = [number for number, line in enumerate(lines) if _FRAME.match(line.strip())]
    whole_message = _join([*_before(lines, frames), *_after(lines, frames)]) or "no message"
    name = type(error).__name__
    text = _clip(
        whole_message if _NAMED.match(whole_message) or whole_message.startswith(name) else f"{name}: {whole_message}"
    )
    place = _place([lines[number].strip() for number in frames], error)
    with_place = f"{text} ({place})" if place and not _PLACED.search(text) else text
    return with_place + _same_name(whole_message, place or text) + _narrow_integer(text) + _out_of_table(text)


def _out_of_table(text: str) -> str:
    """Advice if TensorFlow refuses an index, which may be an input that was drawn without a range."""
    table = _OUT_OF_TABLE.search(text)
    if table is None:
        return ""
    return f": where an input holds it, declare low and high, as in --input 'NAME=i32[...]:0..{table[1]}'"


def _narrow_integer(text: str) -> str:
    """Advice if a number needs 64 bits in a port that has not enabled them."""
    if not _BEYOND_32_BITS.search(text):
        return ""
    return (
        ": without jax_enable_x64 JAX has 32 bits where TensorFlow has 64: "
        'a port that needs 64 says jax.config.update("jax_enable_x64", True)'
    )


def _same_name(message: str, place: str) -> str:
    """Advice if the user's code has a module with the name of one of jaxport's."""
    attribute, file = _MISTAKEN.search(message), _FILE.search(place)
    if not attribute or not file:
        return ""
    name = next(filter(None, attribute.groups()))
    beside = Path(file["file"]).parent / name
    if not (beside.is_dir() or beside.with_suffix(".py").is_file()):
        return ""
    return f": `{name}` is a package of jaxport's, and hides the one in {beside.parent}: give that one another name"


def _before(lines: Sequence[str], frames: Sequence[int]) -> list[str]:
    return list(lines[: frames[0]]) if frames else list(lines)


def _after(lines: Sequence[str], frames: Sequence[int]) -> list[str]:
    """The text behind the frames that a message lists, without the source line below the last frame."""
    if not frames:
        return []
    rest = list(lines[frames[-1] + 1 :])
    return rest[1:] if rest and _indent(rest[0]) > _indent(lines[frames[-1]]) else rest


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _join(lines: Sequence[str]) -> str:
    bare_lines = (_INSIDE.sub("", line).strip() for line in lines)
    kept_lines = [
        line for line in takewhile(lambda line: not _TAIL.match(line), bare_lines) if line and not _NOISE.match(line)
    ]
    sentences = [line if line[-1] in ".:;,!?" else f"{line};" for line in kept_lines[:-1]]
    return " ".join([*sentences, *kept_lines[-1:]])


def _place(frames: Sequence[str], error: BaseException) -> str:
    """The innermost line of the user's: of those that the message lists, else of the traceback."""
    own = [frame for line in frames if (frame := _FRAME.match(line)) and not in_library(frame["file"])]
    if own:
        return own[-1].group()
    users = [frame for frame in traceback.extract_tb(error.__traceback__) if not in_library(frame.filename)]
    # The text of an error that the user's code raises is enough.
    if not users or (users[-1].line or "").startswith("raise"):
        return ""
    return f'File "{users[-1].filename}", line {users[-1].lineno}, in {users[-1].name}'


def _clip(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3].rstrip()}..."
