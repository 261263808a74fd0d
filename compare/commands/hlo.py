"""`jaxport hlo`: compares two programs value by value."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compare.api.program_equality import unequal
from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.files import Json
from compare.hlo.levels import ALGEBRA
from compare.inputs import port_files
from compare.plain_json import to_json
from compare.progress import Reporter, reporter
from compare.prove import program_pairs
from compare.prove.batches_on_targets import USUALLY_TRIED, Batches, with_largest
from compare.prove.on_targets import compile_for_all, target_view
from compare.prove.program_alignment import OPTIMIZED, SHOWN, RegionSearch, Scope, examine
from compare.prove.program_pairs import Pair
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS, compose
from compare.report import terminal
from compare.report.alignments import print_alignments, write_alignments
from compare.report.program_texts import file_stem
from compare.report.region_tables import print_regions
from compare.sides._side import SIDES
from compare.sides.device_worker import Targets
from compare.sides.pool import Pool
from workloads.core.spec import Workload

HELP = Help(
    description="""\
Align two XLA programs value by value and say why they differ: how many results are equal, the reasons for which the
programs differ, each with its places and the source lines of both, and last the places without a known reason.

Programs are compared at the levels raw, structural, algebraic and unfused (both compiled by one XLA without fusion);
the two programs of a workload also at the level optimized (each compiled by its own side's XLA). docs/hlo.md explains
them.

A WORKLOAD or port file stands for its TensorFlow program against its JAX program. A PROGRAM is WORKLOAD:tf,
WORKLOAD:jax, a file of StableHLO bytecode or of an HLO proto, or an --xla_dump_to directory (DIR, or DIR:MODULE
where it holds several modules).
""",
    operands="WORKLOAD ... | PROGRAM PROGRAM",
    examples="""\
  jaxport hlo running_example
  jaxport hlo examples/alignment/*.py                   a table: every port at every level
  jaxport hlo mnist_mlp --pass gradients
  jaxport hlo bert --target H100 --target v5e:2x2       what XLA makes of both on devices that are not here
  jaxport hlo mnist_mlp --target T4 --largest-batch     how many examples fit into its memory?
  jaxport hlo mnist_mlp --regions                       which pieces of both are proved equal, and which are open?
  jaxport hlo mnist_mlp --compiler-passes               after which compiler pass do the programs first agree?
  jaxport hlo my_port.py --expect-equal algebraic       for CI: exit code 1 unless they are equal
  jaxport hlo my_port.py --expect-equal algebraic --only-level       the same, sooner: no other level
  jaxport hlo my_port.py --expect-equal optimized --target H100
  jaxport hlo --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
  jaxport hlo before.mlirbc after.mlirbc
  jaxport hlo dump_tf:cluster_0 dump_jax:jit_f
  jaxport hlo running_example:jax running_example:tf --pass forward
""",
    holds="the programs were compared, and --expect-equal holds if given",
    fails="--expect-equal does not hold, or programs could not be aligned",
)

DEFAULT_OUT = Path("jaxport-hlo")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("programs", nargs="*", metavar="WORKLOAD|PROGRAM", help="workloads, or two programs")
    _arguments.add_size_and_data(command)
    _arguments.add_functions(command)
    scope = command.add_argument_group("scope")
    _arguments.add_pass(scope, "program to compare")
    scope.add_argument(
        "--level", choices=SHOWN, default=ALGEBRA, metavar="LEVEL",
        help=f"level to show: {', '.join(SHOWN)} (default: %(default)s)",
    )  # fmt: skip
    scope.add_argument(
        "--only-level", action="store_true",
        help="align at --level alone, and leave out kernels, compilers and donation. Faster for large models",
    )  # fmt: skip
    scope.add_argument(
        "--expect-equal", choices=SHOWN, metavar="LEVEL", help="exit with 1 unless the programs are equal at this level"
    )
    scope.add_argument(
        "--compiler-passes",
        action="store_true",
        help="compile both programs here and compare them after every XLA pass",
    )
    scope.add_argument(
        "--regions",
        action="store_true",
        help="list the regions of both programs that are not proved equal; those without a partner run again for it",
    )
    targets = _arguments.add_targets(command)
    targets.add_argument(
        "--largest-batch", action="store_true",
        help="with --target, find the largest batch of each training step that fits into the device",
    )  # fmt: skip
    _arguments.add_workers(command)
    _arguments.add_output(command, DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion | None:
    """Align, write, print; the verdict on what --expect-equal expects."""
    own = _asked.own_functions(options, options.programs)
    if own is None and not options.programs:
        raise RequestError("expected workloads, two programs, or --tf and --jax, found none: name what to align")
    out = writable_folder(options.out)
    if options.targets and any(map(program_pairs.is_program, options.programs)):
        raise RequestError(
            "expected workloads with --target, found programs: a frontend writes another program for another platform"
        )
    if options.largest_batch:
        _check_batches(options, own)
    if OPTIMIZED in (options.level, options.expect_equal) and any(map(program_pairs.is_program, options.programs)):
        raise RequestError(
            f"expected workloads with level {OPTIMIZED}, found programs: name the workload without :tf or :jax"
        )
    choice = _choice(options)
    scope = Scope.SHOWN_ALONE if options.only_level else Scope.EVERY_LEVEL
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = Pool(_asked.sources(options), scratch, options.timeout)
        stack.callback(pool.close)
        elsewhere = _asked.targets(options, stack)
        batches_in = scratch if options.largest_batch else None
        pairs = []
        for pair in program_pairs.choose_pairs([own] if own else options.programs, pool, choice, scratch, progress):
            # For a target the sides lower what they have loaded.
            if elsewhere is None:
                pool.close_grown()
            search = RegionSearch.FED if options.regions else RegionSearch.MATCHED
            view = examine(pair, options.level, progress, scope, options.compiler_passes, search).view
            targets = _on_targets(elsewhere, pool, pair, out, batches_in, options.data, progress)
            pairs.append({**view, "targets": targets})
    record = {"schema": SCHEMA, "pairs": pairs}
    plain = to_json(record)
    paths = write_alignments(plain, out)
    if options.json:
        terminal.print_json(plain)
    else:
        print_alignments(plain, terminal.console())
        print_regions(plain, terminal.console(), options.regions)
        terminal.say(*paths)
    return conclude(pairs, options.expect_equal) if options.expect_equal else conclude_unaligned(pairs)


def _choice(options: argparse.Namespace) -> program_pairs.Choice:
    """The chosen parts of a workload: no side compiles what one level alone does not show."""
    alone = options.only_level
    if alone and options.expect_equal not in (None, options.level):
        raise RequestError(
            f"expected --expect-equal {options.level}, the level of --only-level, found {options.expect_equal}: "
            f"add --level {options.expect_equal}"
        )
    compiled = not alone or options.level == OPTIMIZED
    return program_pairs.Choice(options.main_pass, options.size, options.data, compiled, donated=not alone)


def _check_batches(options: argparse.Namespace, own: Workload | None) -> None:
    if not options.targets:
        raise RequestError("expected a device with --largest-batch, found none: name one, as in --target H100")
    workloads = [own] if own else [port_files.get(name) for name in options.programs]
    _asked.check_batches(workloads, options, "--largest-batch")


def _on_targets(
    elsewhere: Targets | None,
    pool: Pool,
    pair: Pair,
    out: Path,
    batches_in: Path | None,
    data: Path | None,
    progress: Reporter,
) -> Json:
    """By target, both programs there, as pages and hlo.json show them. What XLA dumped stays beside the pages."""
    if elsewhere is None:
        return {}
    progress.stage(f"{pair.name}: targets", len(elsewhere.devices))
    folder = out / f"{file_stem(pair.name)}.targets"
    programs = compile_for_all(elsewhere, {side: pool.get(side) for side in SIDES}, pair.pass_, folder, progress)
    if batches_in is not None and pair.instance is not None and pair.instance.workload.training is not None:
        progress.stage(f"{pair.name}: largest batch", len(elsewhere.devices) * len(SIDES) * USUALLY_TRIED)
        batches = Batches(pool, pair.instance, data, batches_in)
        parts = with_largest(
            elsewhere, {name: one.part for name, one in programs.items()}, batches, batches_in, progress
        )
        programs = {name: dataclasses.replace(one, part=parts[name]) for name, one in programs.items()}
    return {name: target_view(target) for name, target in programs.items()}


def conclude(pairs: Sequence[Json], expected: str) -> Conclusion:
    """The verdict on programs that have to be equal; of those that could not be aligned there is none."""
    apart = [one for pair in pairs for one in unequal(pair, expected)]
    for _, _, line in apart:
        terminal.complain(line)
    verdict = compose(verdict for verdict, _, _ in apart) if pairs else NOT_JUDGED
    outcome = {PASS: "equal", FAIL: "not equal", NOT_JUDGED: "not known to be equal"}[verdict]
    names = [name for one, name, _ in apart if one == verdict] or [pair["name"] for pair in pairs]
    return Conclusion(verdict, f"{outcome} at {expected}: {list_names(names)}")


def conclude_unaligned(pairs: Sequence[Json]) -> Conclusion | None:
    """A conclusion if programs could not be compared at any level; None if they were, equal or not."""
    names = [pair["name"] for pair in pairs if all(level.get("reason") for level in pair["levels"].values())]
    return Conclusion(NOT_JUDGED, f"could not be aligned at any level: {list_names(names)}") if names else None
