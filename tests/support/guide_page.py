"""One page of the guide, carried out from top to bottom: `python guide_page.py PAGE`.

- pycon: statements with what they print, in one session for the page;
- python with a caption: a file of that name;
- console: each line after `$ ` is a command in the folder of those files, followed by what it prints.

Printed text is compared as doctest does, with `...` for what varies. Exit code 1 where anything differs.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(?:\{code-block\} )?(\w+)\n((?::\w+:[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)
CAPTION = re.compile(r"^:caption: (\S+)$", re.MULTILINE)
TIMEOUT_S = 300
OF_A_TEST_RUN = re.compile(r"CI|BUILD_NUMBER|PYTEST_\w+")  # the first two make pytest print whole messages at its end


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its caption ("" where it has none), its text and its line."""

    language: str
    caption: str
    text: str
    line: int

    @property
    def is_executed(self) -> bool:
        return self.language in ("pycon", "console") or (self.language == "python" and bool(self.caption))


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    for fence in FENCE.finditer(text):
        caption = CAPTION.search(fence[2])
        line = text.count("\n", 0, fence.start(3)) + 1
        found.append(Block(fence[1], caption[1] if caption else "", fence[3], line))
    return found


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output that follows it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command = f"{command[:-1]}{more.strip()}"
        yield command, output


def run(page: Path) -> list[str]:
    """What differs, a message a block or command; files and commands live in the current folder."""
    session: dict[str, Any] = {"__name__": "__main__"}
    problems: list[str] = []
    for block in blocks(page.read_text()):
        if block.language == "pycon":
            problems += _session(block, session, page)
        elif block.language == "console":
            problems += _console(block, page)
        elif block.is_executed:
            Path(block.caption).write_text(block.text)
    return problems


def _session(block: Block, session: dict[str, Any], page: Path) -> list[str]:
    said: list[str] = []
    example = doctest.DocTestParser().get_doctest(block.text, session, page.name, str(page), block.line - 1)
    doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append, clear_globs=False)
    session.update(example.globs)
    return ["".join(said)] if said else []


def _console(block: Block, page: Path) -> list[str]:
    return [said for command, expected in commands(block.text) if (said := _command(command, expected, page, block))]


def _command(command: str, expected: str, page: Path, block: Block) -> str:
    inherited = {name: value for name, value in os.environ.items() if not OF_A_TEST_RUN.fullmatch(name)}
    environment = inherited | {"COLUMNS": "120", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False
    )
    checker = doctest.OutputChecker()
    if checker.check_output(expected, done.stdout, FLAGS):
        return ""
    example = doctest.Example(command, expected)
    difference = checker.output_difference(example, done.stdout, FLAGS)
    return f"{page.name}:{block.line}: $ {command}\n{difference}standard error ended with:\n{done.stderr[-1500:]}"


if __name__ == "__main__":
    asked = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="guide-") as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        wrong = run(asked)
    print("\n".join(wrong))
    sys.exit(bool(wrong))
