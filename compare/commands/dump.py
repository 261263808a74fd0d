"""`jaxport dump`: what XLA wrote about the modules that it compiled, as pages."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare import records
from compare.commands._exit_codes import HOLDS
from compare.commands._output import writable_folder
from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import summary
from compare.report import terminal
from compare.report.dump_pages import print_modules, write_pages

DEFAULT_OUT = Path("jaxport-dump")

TEXT = """\
Read what XLA wrote about every module that it compiled, for TensorFlow or JAX: the program before and after
optimization, which pass changed what, the kernels, the buffers. A page a module, an index, and dump.json.

examples:
  jaxport dump xla-dump                     after `XLA_FLAGS=--xla_dump_to=xla-dump python train.py`
  jaxport dump xla-dump -o pages --json

Flags that say more: `--xla_dump_hlo_pass_re=.*` for every pass, `--xla_dump_hlo_as_proto` for constants.

exit codes: 0 read; 2 the request cannot be carried out
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    command.add_argument("directory", type=Path, metavar="DIR", help="what --xla_dump_to named")
    command.add_argument(
        "-o", "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help="where to write (default: %(default)s)"
    )
    command.add_argument("--json", action="store_true", help="print the record, and nothing else, on standard output")


def main(options: argparse.Namespace) -> int:
    """Read, write, print.

    Raises:
      RequestError: there is no dump to read, or nowhere to write.
    """
    if options.out.resolve() == options.directory.resolve():
        raise RequestError(f"expected --out apart from the dump, found {options.out} for both: choose another --out")
    try:
        found = records.to_json(summary.summarize(options.directory, besides=options.out))
    except UnreadableProgram as error:
        raise RequestError(str(error)) from error
    out = writable_folder(options.out)
    index = write_pages(found, out)
    records.save(found, out / "dump.json")
    if options.json:
        terminal.print_json(found)
        return HOLDS
    print_modules(found, terminal.console())
    terminal.say(index)
    return HOLDS
