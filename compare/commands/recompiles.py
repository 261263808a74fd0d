"""`jaxport compilation recompiles`: what a stream of calls makes both sides trace and compile, why, and what helps."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare import files
from compare.commands import _arguments, _option_types
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._interpreters import interpreters
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.inputs import call_streams
from compare.inputs.functions import check_reference
from compare.limits.naming_limits import all_limits, offer
from compare.plain_json import to_json
from compare.progress import reporter
from compare.recompilation.keeping import Asked, keep
from compare.record.envelope import SCHEMA
from compare.record.ledger_part import RecompilationLedger
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import ledger_page, page_html, terminal
from compare.report.page_console import print_page
from compare.report.verdicts import INCOMPLETE
from compare.sides._side import SIDES
from workloads.limits.recompilation import STREAMS, jax_target, tf_target
from workloads.protocol.recompiling import Staging

HELP = Help(
    description="""\
Call a function again and again and keep a ledger: which calls were traced and compiled by TensorFlow and by JAX, which
argument caused them, what that cost, how much the process keeps, and what each cure changes. A reason is stated only if
it was found again in an empty cache with every other argument held fixed. Every cure runs the stream once more in a
fresh process, and says so where results are no longer the same.

A function that is neither a tf.function nor jitted is compiled by tf.function(jit_compile=True) and by jax.jit. Give
both functions, one of them, or the NAME of an example.

A call is NAME=VALUE, ... with arrays as f32[8,4], arrays of given values as i32(3), Python values as 3, 0.5, True, None
or 'text', NumPy scalars as np.float32(3), and lists, tuples and dictionaries of these. Arrays of one name and shape
hold the same values.
""",
    operands="[NAME]",
    examples="""\
  jaxport compilation recompiles argmax -o argmax.html
  jaxport compilation recompiles --tf my_tf.py:f --jax my_jax.py:g --call 'x=f32[B,16]' --sizes B=32,32,32,17
  jaxport compilation recompiles --jax my_jax.py:g --static axis --call 'x=f32[8,4], axis=0' --call 'x=f32[8,4], axis=1'
  jaxport compilation recompiles --tf my_tf.py:f --calls epoch.txt --no-cures --expect-compilations 2
""",
    holds="the ledger was kept",
    fails="a function could not be called at all; with --expect-compilations, a side compiled more, or a call failed",
)

_FILE = files.Expected("a file of calls", "write NAME=VALUE, ... on each line", RequestError)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("name", nargs="?", metavar="NAME", help=f"an example: {', '.join(STREAMS)}")
    own = command.add_argument_group("your own functions")
    own.add_argument("--tf", metavar="FILE.py:NAME", help="the TensorFlow function")
    own.add_argument("--jax", metavar="FILE.py:NAME", help="the JAX function")
    own.add_argument(
        "--call", dest="texts", action="append", default=[], metavar="ARGUMENTS",
        help=f"a call, such as {call_streams.EXAMPLES} (repeat, in the order of the stream)".replace("%", "%%"),
    )  # fmt: skip
    own.add_argument("--calls", type=Path, metavar="FILE", help="a file with calls, one a line, after those of --call")
    own.add_argument(
        "--sizes", action="append", default=[], metavar="NAME=SIZE,...",
        help="make each call that names this size once for every value of it: B=32,32,32,17 (repeatable: several "
        "names vary together)",
    )  # fmt: skip
    own.add_argument(
        "--static", action="append", default=[], metavar="ARGUMENT",
        help="an argument whose value jax.jit compiles in, of a function that is not jitted yet (repeatable)",
    )  # fmt: skip
    command.add_argument("--no-cures", action="store_true", help="do not try what may help")
    command.add_argument(
        "--expect-compilations", type=_option_types.count_or_zero, metavar="N",
        help="exit with 1 if a side compiles more than N programs, or a call fails",
    )  # fmt: skip
    _arguments.add_workers(command, with_recorded=False, device=False)
    output = command.add_argument_group("output")
    _arguments.add_out_file(output, "the ledger as a page")
    _arguments.add_json(output, "the ledger")


def main(options: argparse.Namespace) -> Conclusion | None:
    """Record and print the ledger; return the verdict if there is a limit, or a side was not run."""
    request = _example(options) if options.name else _own(options)
    pythons = interpreters(options)
    if options.out is not None:
        writable_file(options.out)
    with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
        ledger = keep(request, pythons, options.timeout, progress)
    plain, page = {"schema": SCHEMA, "ledger": to_json(ledger)}, ledger_page.page(ledger)
    terminal.print_answer(plain, options.json, lambda console: print_page(page, console))
    if options.out is not None:
        page_html.write_page(page, options.out)
    return conclude(ledger, options.expect_compilations)


def conclude(ledger: RecompilationLedger, most: int | None) -> Conclusion | None:
    """The verdict on the number of programs that each side compiled; a side without a number has none.

    Args:
      most: programs that a side may compile; None of no limit.
    """
    over = [name for name, side in ledger.sides.items() if most is not None and (side.compilations or 0) > most]
    if over:
        return Conclusion(FAIL, f"more than {most} compiled: {list_names(over)}")
    unrun = {name: side.error for name, side in ledger.sides.items() if side.error}
    if unrun:
        name, why = next(iter(unrun.items()))
        return Conclusion(INCOMPLETE, f"{name} could not be called: {why}")
    if most is None:
        return None
    failing = [name for name, side in ledger.sides.items() if side.failed or side.compilations is None]
    if failing:
        return Conclusion(NOT_JUDGED, f"calls failed, and could not be counted: {list_names(failing)}")
    return Conclusion(PASS, f"at most {most} compiled: {list_names(ledger.sides)}")


def _example(options: argparse.Namespace) -> Asked:
    extra_options = [name for name in ("tf", "jax", "texts", "calls", "sizes", "static") if getattr(options, name)]
    if extra_options:
        option = f"--{'call' if extra_options[0] == 'texts' else extra_options[0]}"
        raise RequestError(f"expected NAME alone or your own functions, found {options.name} and {option}: drop one")
    if options.name not in STREAMS:
        advice = offer(
            options.name, all_limits(), f"choose one of {', '.join(STREAMS)}; `jaxport lookup limits` lists all limits"
        )
        raise RequestError(
            f"expected the name of an example, found {options.name!r}: {advice} (your own functions: --tf and --jax)"
        )
    stream = STREAMS[options.name]
    stagings = {
        "tf": Staging(tf_target(options.name)),
        "jax": Staging(jax_target(options.name), stream.static),
    }
    stream_calls = call_streams.stream(stream.calls, stream.sizes)
    texts = {"summary": stream.summary, "statement": stream.statement, "source": stream.source}
    return Asked(options.name, stagings, stream_calls, with_cures=not options.no_cures, **texts)


def _own(options: argparse.Namespace) -> Asked:
    targets = {side: getattr(options, side) for side in SIDES if getattr(options, side)}
    if not targets:
        raise RequestError(f"expected --tf, --jax or an example ({', '.join(STREAMS)}), found none: name one")
    for side, target in targets.items():
        check_reference(f"--{side}", target)
    if options.static and "jax" not in targets:
        raise RequestError("expected --jax with --static, found none: TensorFlow has no static arguments, drop it")
    texts = [*options.texts, *(call_streams.from_file(_read(options.calls)) if options.calls else [])]
    calls = call_streams.stream(texts, options.sizes)
    stagings = {
        side: Staging(target, tuple(options.static) if side == "jax" else ()) for side, target in targets.items()
    }
    name = " and ".join(target.rpartition(":")[2] for target in targets.values())
    return Asked(name, stagings, calls, with_cures=not options.no_cures)


def _read(path: Path) -> str:
    try:
        return files.read(path, _FILE, _MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"expected text in {path}, found other bytes: write one call a line") from error


_MOST_BYTES = 1 << 20
"""The largest file with calls."""
