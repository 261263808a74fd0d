"""`jaxport compilation launch`: any TensorFlow program with the flags set that make it say what it compiled."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare.commands import _arguments
from compare.commands._conclusion import Conclusion
from compare.commands._option_types import seconds
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.plain_json import to_json, write_json
from compare.prove import launching
from compare.prove.launching import Launch
from compare.record.clustering_part import Launched
from compare.record.vocabulary import FAIL, PASS
from compare.report import terminal
from compare.report.cluster_pages import write_launch
from compare.report.page_console import print_page

DEFAULT_OUT = Path("jaxport-launch")

PROFILE_S = 60.0

HELP = Help(
    description="""\
Run a program of yours with the documented flags of TensorFlow and XLA set, and read what came out: which functions were
clustered, what stayed outside and why, what XLA compiled, how often and for how long; with --profile also the share of
its time that is compiled, and your lines that are not. The program needs no change; it reads and prints what it
always does. Compiling and running are slower meanwhile: measure times without.

Without --auto-jit the program's own choice stands: functions of jit_compile=True are compiled, and others where it
calls tf.config.optimizer.set_jit. What your environment sets in TF_XLA_FLAGS, XLA_FLAGS and TF_CPP_VMODULE is kept.
""",
    operands="-- PROGRAM [ARGUMENT ...]",
    examples="""\
  jaxport compilation launch -- python train.py --epochs 1    what does it compile as it is?
  jaxport compilation launch --auto-jit -- python train.py    what would autoclustering compile?
  jaxport compilation launch --profile -- python train.py     and what share of its time, on which lines?
  jaxport compilation launch -o first -- python train.py && jaxport dump first/xla
""",
    holds="the program ended with 0, and its dumps were read",
    fails="the program failed: its exit code or signal is shown, and its dumps were read",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("command_line", nargs="*", metavar="PROGRAM", help="the program and its arguments, after --")
    command.add_argument(
        "--auto-jit", action="store_true", help=f"switch autoclustering on: TF_XLA_FLAGS={launching.AUTO_JIT!r}"
    )
    command.add_argument(
        "--profile", type=seconds, nargs="?", const=PROFILE_S, metavar="SECONDS",
        help="have the program profile itself for so long at most, and note the lines of what it traces: a "
        "sitecustomize.py on its PYTHONPATH does (default without a number: "
        f"{PROFILE_S:g})",
    )  # fmt: skip
    _arguments.add_output(command, DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion:
    """Run, read, write, print; how the program ended.

    Raises:
      RequestError: there is no program, or the folder has something in it.
    """
    if not options.command_line:
        raise RequestError("expected a program after --, found none: jaxport compilation launch -- python train.py")
    out = writable_folder(options.out)
    if out.exists() and any(out.iterdir()):
        raise RequestError(
            f"expected an empty folder at {out}, found files, which would be read too: choose another --out"
        )
    record = launching.run(Launch(options.command_line, out, options.auto_jit, options.profile))
    plain = to_json(record)
    page, paths = write_launch(record, out, options.auto_jit)
    write_json(out / "launch.json", plain)
    terminal.print_answer(plain, options.json, lambda console: print_page(page, console), *paths)
    return conclude(record)


def conclude(record: Launched) -> Conclusion:
    """How the program ended."""
    if record.exit_code == 0:
        return Conclusion(PASS, "the program ended with 0, and its dumps were read")
    end = f"was ended by {record.signal}" if record.signal else f"ended with {record.exit_code}"
    return Conclusion(FAIL, f"the program {end}; its dumps were read")
