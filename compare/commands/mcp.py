"""`jaxport mcp`: the functions of jaxport as tools for coding agents."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare.api import doors, mcp_server
from compare.api.confined import Root
from compare.api.tools import Tools
from compare.commands import _arguments
from compare.commands._parser import Help
from compare.errors import RequestError

HELP = Help(
    description="""\
Serve jaxport to a coding agent by the Model Context Protocol, over standard input and output: check, locate, gotchas,
ops, doctor and write_port, with short replies of declared types. The extra `jaxport[mcp]` brings the SDK.

Files that an agent names lie in --root; a path that leads out of it is refused. Their code is run by workers, as every
command runs it, with the rights of whoever starts the server: it is no sandbox.
""",
    operands="",
    examples="""\
  jaxport mcp                          serves the current folder
  jaxport mcp --root ~/my_port
""",
    holds="the agent ended the session",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "--root", type=Path, default=Path(), metavar="FOLDER",
        help="the folder that files are read in and ports are written to (default: the current one)",
    )  # fmt: skip
    _arguments.add_timeout(command)


def main(options: argparse.Namespace) -> None:
    """Serve until the standard input ends.

    Raises:
      RequestError: there is no such folder, or the SDK is not installed.
    """
    if not options.root.is_dir():
        raise RequestError(f"expected a folder for --root, found none at {options.root}: name the one of the port")
    with doors.workers(options.timeout) as pool:
        tools = Tools(Root(options.root.resolve()), pool, options.timeout)
        mcp_server.server(tools).run("stdio")
