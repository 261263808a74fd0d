"""`jaxport dump`: what XLA wrote about the modules that it compiled, as pages."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare import files
from compare.clusters.function_calls import calls_of_files
from compare.commands import _arguments
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import summary
from compare.plain_json import to_json, write_json
from compare.report import terminal
from compare.report.dump_pages import print_files, print_modules, write_pages

DEFAULT_OUT = Path("jaxport-dump")
GRAPH = ".pbtxt"
"""How names of graphs end."""

HELP = Help(
    description="""\
Turn an XLA dump directory, of TensorFlow or JAX, into pages: for every compiled module its program before and after
optimization, what each pass changed, the kernels and the buffers. Writes an index, a page a module and dump.json.
Of graphs that TensorFlow dumped beside, it shows which functions must be compiled, and how each call is to run.

More is dumped with the flags `--xla_dump_hlo_pass_re=.*` (every pass) and `--xla_dump_hlo_as_proto` (constants).
""",
    operands="DIR",
    examples="""\
  jaxport dump xla-dump                     after `XLA_FLAGS=--xla_dump_to=xla-dump python train.py`
  jaxport dump xla-dump --files             what is each of these files?
  jaxport dump xla-dump -o pages --json
  jaxport dump xla-dump --graphs graphs     after `TF_DUMP_GRAPH_PREFIX=graphs`: what must be compiled?
""",
    holds="the dump was read",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("directory", type=Path, metavar="DIR", help="directory that --xla_dump_to named")
    command.add_argument(
        "--graphs", type=Path, metavar="DIR",
        help="directory that TF_DUMP_GRAPH_PREFIX named (default: graphs in the dump itself)",
    )  # fmt: skip
    output = command.add_argument_group("output")
    output.add_argument("--files", action="store_true", help="also list every file with what it is")
    _arguments.add_out_folder(output, DEFAULT_OUT)
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> None:
    """Read the dump, write the pages, print their path.

    Raises:
      RequestError: there is no dump to read, or nowhere to write.
    """
    if files.is_same(options.out, options.directory):
        raise RequestError(
            f"expected an output folder other than the dump, found {options.out} for both: choose another --out"
        )
    try:
        contents = summary.summarize(options.directory, besides=options.out)
    except UnreadableProgram as error:
        raise RequestError(str(error)) from error
    calls, reasons = calls_of_files(_graphs(options.graphs, contents))
    dump = to_json(contents) | {"calls": to_json(calls), "graphs_not_read": reasons}
    out = writable_folder(options.out)
    index = write_pages(dump, out)
    write_json(out / "dump.json", dump)
    if options.json:
        terminal.print_json(dump)
        return
    print_modules(dump, terminal.console())
    if options.files:
        print_files(dump, terminal.console())
    terminal.say(index)


def _graphs(folder: Path | None, dump: summary.Dump) -> dict[str, Path]:
    """Files that may be graphs, by name: of a folder, or else those of the dump that belong to no module.

    Raises:
      RequestError: there is no such folder, or no graph in it.
    """
    if folder is None:
        return {file.path: Path(dump.directory, file.path) for file in dump.unknown if file.path.endswith(GRAPH)}
    graphs = {path.name: path for path in folder.glob(f"*{GRAPH}")} if folder.is_dir() else {}
    if not graphs:
        raise RequestError(f"expected graphs, files *{GRAPH}, in {folder}, found none: check --graphs")
    return graphs
