"""The docs: every path they name exists, every link resolves, every command line is one that jaxport takes."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
from places import ROOT

from compare import cli
from compare.commands._names import module_of
from compare.errors import Foreseen

PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/**/*.md")]
)
"""Without docs/results/: those are records of runs, with the command lines of their day."""

FOLDERS = "workloads|tf_reference|jaxport|compare|tests|examples|docs"
PATH = re.compile(rf"(?<![\w/.-])(?:{FOLDERS})/[\w./*-]*[\w/*]")
"""A path from the root of the repository, named in code or in a link."""

CODE = re.compile(r"```\w*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)

COMMAND = re.compile(r"^(?:\.venv/bin/)?jaxport (?P<rest>(?:--help|\w).*)$")
COMMENT = re.compile(r" {2,}\S.*$| +# .*$")
"""What stands behind a command line: two spaces or a # part it."""

GENERATED = re.compile(r"(\.\./)?(gotchas/|library/|operations\.md|layers\.md)")
"""Pages that `make docs` makes: its own check of links finds one that is missing."""

FORMS = ("...", "jaxport COMMAND")
"""A command line with these is a form, and no example."""


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_of(page: Path) -> list[str]:
    return [block or inline for block, inline in CODE.findall(page.read_text())]


def command_lines(text: str) -> list[str]:
    """Each command line of a text without what stands behind it, several on one line apart."""
    lines = (COMMENT.sub("", line.strip()) for line in text.splitlines())
    parts = (part.strip() for line in lines for part in re.split(r" && |; | \| ", line))
    found = (COMMAND.match(part) for part in parts)
    return [match["rest"] for match in found if match and not any(form in match[0] for form in FORMS)]


def parsed(command_line: str) -> None:
    words = shlex.split(command_line)
    if words[0].startswith("-"):
        assert words == ["--help"]
        return
    assert words[0] in cli.TOP, command_line
    options = words[2:] if " ".join(words[:2]) in cli.COMMANDS else words[1:]
    if options not in ([], ["--help"]):
        cli.parse_options(words)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_command_line_parses(page: Path) -> None:
    for text in code_of(page):
        for command_line in command_lines(text):
            parsed(command_line)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_example_of_a_help_parses(command: str) -> None:
    told = importlib.import_module(module_of(command)).HELP
    lines = command_lines(told.examples)
    assert lines and all(len(line) <= 120 for line in told.description.splitlines())
    for command_line in lines:
        parsed(command_line.partition(" | ")[0])


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_path_exists(page: Path) -> None:
    assert not [path for text in code_of(page) for path in missing_paths(text)]


def missing_paths(text: str) -> list[str]:
    named = {path for path in PATH.findall(text) if not {"NAME", "THEME"} & set(re.split(r"\W", path))}
    return [path for path in sorted(named) if not list(ROOT.glob(path.rstrip("/")))]


def test_a_path_that_does_not_exist_is_found() -> None:
    assert missing_paths("compare/cli.py, compare/run/, compare/hlo/*.py and compare/absent.py") == [
        "compare/absent.py"
    ]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        if target.startswith(("http:", "https:")):
            continue
        file, _, anchor = target.partition("#")
        if GENERATED.match(file):
            continue
        path = page.parent / file if file else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), target


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to headings."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(page.read_text())}


def test_the_architecture_is_no_book() -> None:
    assert len((ROOT / "docs/architecture.md").read_text().split()) < 3500


def test_a_command_line_that_is_wrong_is_found() -> None:
    for wrong in ("run add --passes", "prove add", "record add"):
        with pytest.raises((AssertionError, Foreseen)):
            parsed(wrong)
    assert command_lines("jaxport run add   the smallest\n$ ls\njaxport hlo a b  # two") == ["run add", "hlo a b"]
