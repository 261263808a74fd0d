"""`jaxport lookup docs`: the guide and the reference, offline."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from compare.commands._parser import Help
from compare.errors import RequestError
from compare.report import terminal

HELP = Help(
    description="""\
Open the guide and the reference in a browser: pages that were built with this version and need no network.
""",
    operands="[PAGE]",
    examples="""\
  jaxport lookup docs
  jaxport lookup docs gotchas/activations    one page
  jaxport lookup docs --print-path           where the pages are, for a machine without a browser
""",
    holds="the page was opened, or its path was printed",
)

PAGES = Path(__file__).parents[1] / "documentation"
"""Where `make docs` writes, and what a wheel carries."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("page", nargs="?", default="index", metavar="PAGE", help="such as parity or guide/data")
    command.add_argument("--print-path", action="store_true", help="print the path of the page and open nothing")


def main(options: argparse.Namespace) -> None:
    """Open the page, and say where it is."""
    page = page_of(options.page)
    if not options.print_path:
        webbrowser.open(page.as_uri())
    terminal.say(page)


def page_of(name: str) -> Path:
    """The file of a page.

    Raises:
      RequestError: the pages were not built, or there is none of that name.
    """
    if not (PAGES / "index.html").exists():
        raise RequestError(f"expected the built documentation in {PAGES}, found none: run `make docs` in a checkout")
    page = (PAGES / f"{name.removesuffix('.md').removesuffix('.html')}.html").resolve()
    if not page.is_relative_to(PAGES.resolve()) or not page.is_file():
        names = sorted(str(path.relative_to(PAGES).with_suffix("")) for path in PAGES.rglob("*.html"))
        near = [page for page in names if name.rpartition("/")[2] in page][:4]
        raise RequestError(f"expected a page of the documentation, found {name!r}: {', '.join(near) or 'try index'}")
    return page
