"""`jaxport hlo`: two programs held against each other, value by value."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare import records
from compare.commands import _arguments
from compare.commands._exit_codes import FAILS, HOLDS
from compare.commands._output import writable_folder
from compare.errors import RequestError
from compare.hlo.levels import ALGEBRA
from compare.progress import reporter
from compare.prove import program_pairs
from compare.prove.program_alignment import OPTIMIZED, SHOWN, examine
from compare.records import SCHEMA
from compare.report import terminal
from compare.report.alignments import print_alignments, write_alignments
from compare.sides.pool import Pool
from workloads._spec import SIZES

TEXT = """\
Align two programs for XLA value by value, at four canonical levels: raw, structural, algebraic, and unfused (both
compiled by one XLA without fusion); of a workload also optimized, each as its own side compiled it. What comes first:
how many results are equal, the reasons for which the programs differ, each with its places and the lines of both
sources, and last the places for which no reason is known.

A WORKLOAD or port file stands for its TensorFlow program against its JAX program. Any two programs can be named:
WORKLOAD:tf, WORKLOAD:jax, a file of StableHLO bytecode or of an HLO proto, or what --xla_dump_to wrote (DIR, or
DIR:MODULE where it holds several).

examples:
  jaxport hlo running_example
  jaxport hlo examples/alignment/*.py                          a table: every port at every level
  jaxport hlo mnist_mlp --pass gradients
  jaxport hlo --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
  jaxport hlo my_port.py --expect-equal algebraic              exit 1 unless both programs are equal there: for CI
  jaxport hlo before.mlirbc after.mlirbc
  jaxport hlo dump_tf:cluster_0 dump_jax:jit_f
  jaxport hlo running_example:jax running_example:tf --pass forward

exit codes: 0; 1 where --expect-equal does not hold; 2 the request cannot be carried out
"""

DEFAULT_OUT = Path("jaxport-hlo")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    command.add_argument("programs", nargs="*", metavar="WORKLOAD|PROGRAM", help="workloads, or two programs")
    _arguments.add_functions(command)
    command.add_argument(
        "--pass", dest="pass_", choices=program_pairs.PASSES, help="default: the step, or else forward"
    )
    command.add_argument("--size", metavar="SIZE", help=f"{', '.join(SIZES)} (default: the tour's)")
    command.add_argument("--data", type=Path, metavar="PATH", help="examples to train on, such as an mnist.npz")
    command.add_argument("--passes", action="store_true", help="compile both here, and compare after every pass")
    command.add_argument("--level", choices=SHOWN, default=ALGEBRA, help="the level to show (default: %(default)s)")
    command.add_argument("--expect-equal", choices=SHOWN, metavar="LEVEL", help="exit 1 unless equal at this level")
    command.add_argument(
        "-o", "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help="where to write (default: %(default)s)"
    )
    command.add_argument("--json", action="store_true", help="print the record, and nothing else, on standard output")
    _arguments.add_timeout(command)
    _arguments.add_sides(command)


def main(options: argparse.Namespace) -> int:
    """Align, write, print."""
    own = _arguments.own_functions(options, options.programs)
    if own is None and not options.programs:
        raise RequestError("expected workloads, two programs, or --tf and --jax, found none: name what to align")
    out = writable_folder(options.out)
    if OPTIMIZED in (options.level, options.expect_equal) and any(map(program_pairs.is_program, options.programs)):
        raise RequestError(
            f"expected workloads beside {OPTIMIZED}, found programs: name the workload without :tf or :jax"
        )
    choice = program_pairs.Choice(options.pass_, options.size, options.data)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = Pool(_arguments.sources(options), scratch, options.timeout)
        stack.callback(pool.close)
        found = [
            examine(pair, options.level, progress, by_pass=options.passes)
            for pair in program_pairs.chosen([own] if own else options.programs, pool, choice, scratch, progress)
        ]
    record = {"schema": SCHEMA, "pairs": found}
    plain = records.to_json(record)
    written = write_alignments(plain, out)
    if options.json:
        terminal.print_json(plain)
    else:
        print_alignments(plain, terminal.console())
        terminal.say(*written)
    return _exit_code(found, options.expect_equal)


def _assumption(level: Mapping[str, Any]) -> str:
    return f"they are where {' and '.join(level['assumes'])}" if level["assumes"] else ""


def _exit_code(found: Sequence[Mapping[str, Any]], expected: str | None) -> int:
    missing = {"reason": "it has no such level"}
    differing = [pair for pair in found if expected and not pair["levels"].get(expected, missing).get("equal")]
    for pair in differing:
        level = pair["levels"].get(expected, missing)
        why = (
            level.get("reason")
            or _assumption(level)
            or f"{level['left_only']} and {level['right_only']} values have no partner"
        )
        terminal.complain(f"expected {pair['name']} to be equal at {expected}, found that {why}")
    return FAILS if differing else HOLDS
