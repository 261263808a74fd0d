"""`jaxport replay`: a module, the programs of a bug report, or every module of a dump directory, run again."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from compare.bundles import bundle, replaying, retargeting
from compare.bundles.replaying import Replayed
from compare.bundles.replaying_dumps import is_dump, replay_dump
from compare.commands import _arguments, _asked, _option_types
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._interpreters import interpreters
from compare.commands._parser import Help
from compare.commands._replay_tables import log_console, show, show_on_targets
from compare.errors import RequestError
from compare.plain_json import to_json
from compare.progress import Reporter, reporter
from compare.record.replay_part import ReplayedDump
from compare.record.target_part import OnTarget
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import numbers, terminal
from compare.report.replay_tables import print_dump
from compare.sides.device_worker import Targets

HELP = Help(
    description="""\
Run one module, or the programs of a bug report, again and compare the results with the recorded ones and between
compilers. Of a directory that --xla_dump_to named, run every module alone on random inputs: read, compiled, called, and
held against its own optimized form.

PATH is a dump directory, a bug report (folder or zip), or one file: StableHLO bytecode, a serialized HloModuleProto or
HloProto, or HLO text with all constants spelled out. A file inside a bug report comes with its recorded inputs and
results. An optimized module is first expanded into what its fusions compute.

Compilers: `here` is the XLA of this process; `interpreter` is StableHLO's reference interpreter, independent of XLA
and for small programs only; `tf` and `jax` are the XLA of each side's worker. The reference is the recorded result of
the program's own compiler, else the interpreter's, else the first compiler's.

With --target it is also compiled for devices that are not here: nothing runs there, and what XLA makes of it is shown.
""",
    operands="PATH",
    examples="""\
  jaxport replay jaxport-bugreport-running_example
  jaxport replay report.zip --compilers here,tf,jax
  jaxport replay optimized/tf@jax.hlo.pb --without-pass fusion
  jaxport replay module_0001.f.before_optimizations.hlo.pb --seed 1
  jaxport replay xla-dump                            every module that was dumped, each alone
  jaxport replay report.zip --target H100            does XLA take it there?
""",
    holds="all results agree",
    fails="a result differs, a compiler or a target rejects a module, or a module of a dump cannot be read or run",
)


_OF_COMPILERS: Mapping[str, tuple[str, object]] = {
    "--compilers": ("compilers", replaying.Request.compilers),
    "--without-pass": ("without_pass", []),
    "--xla": ("xla", []),
    "--inputs": ("inputs", None),
    "--target": ("targets", []),
}
"""Options that a dump directory does not take, with their attributes and default values."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("path", type=Path, metavar="PATH", help="dump directory, bug report or module file")
    compilers = command.add_argument_group("compilers")
    compilers.add_argument(
        "--compilers", type=_compilers, default=replaying.Request.compilers, metavar="NAME,...",
        help=f"compilers to run, of {', '.join(replaying.COMPILERS)} "
        f"(default: {','.join(replaying.Request.compilers)})",
    )  # fmt: skip
    compilers.add_argument(
        "--without-pass", action="append", default=[], metavar="PASS",
        help="also compile here without the XLA pass of this name (repeatable)",
    )  # fmt: skip
    compilers.add_argument(
        "--xla", action="append", default=[], metavar="NAME=VALUE",
        help="also compile here with this XLA debug option (repeatable)",
    )  # fmt: skip
    inputs = command.add_argument_group("inputs and tolerance")
    inputs.add_argument(
        "--inputs", type=Path, metavar="FILE",
        help="safetensors file of arguments, named 0, 1, ... or by parameter (default: recorded, else random)",
    )  # fmt: skip
    inputs.add_argument(
        "--seed",
        type=_option_types.count_or_zero,
        metavar="N",
        help="draw random inputs from this seed, not the recorded ones",
    )
    inputs.add_argument(
        "--tolerance", type=_option_types.tolerance, metavar="T",
        help="largest error of floats, relative to the largest value (default: 2**14 unit roundoffs of the dtype, "
        "1e-3 for float32)",
    )  # fmt: skip
    _arguments.add_targets(command)
    _arguments.add_workers(command, with_recorded=False, device=False)
    _arguments.add_json(command.add_argument_group("output"), "the differences")


def main(options: argparse.Namespace) -> Conclusion:
    """Read, run, print; the verdict."""
    if options.inputs and options.seed is not None:
        raise RequestError("expected --inputs or --seed, found both: choose one")
    pythons = interpreters(options)
    if is_dump(options.path):
        return _dump(options)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        targets = _asked.targets(options, stack)
        modules = bundle.modules(options.path, scratch)
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        replays = replaying.replay(modules, _request(options, modules, pythons), scratch, progress)
        elsewhere = _elsewhere(targets, modules, scratch, progress)
    if options.json:
        views = zip(replays, elsewhere, strict=True)
        terminal.print_json(
            [{**to_json(one), "agrees": one.agrees, "targets": to_json(on_targets)} for one, on_targets in views]
        )
    else:
        show(replays, log_console())
        for replay, on_targets in zip(replays, elsewhere, strict=True):
            show_on_targets(replay.module, on_targets, log_console())
    return conclude(replays, elsewhere)


def conclude(replays: Sequence[Replayed], elsewhere: Sequence[Mapping[str, OnTarget]]) -> Conclusion:
    """The verdict on modules that were run again.

    Args:
      elsewhere: of each, what XLA makes of it by device.
    """
    if not replays:
        return Conclusion(NOT_JUDGED, "there is no module")
    wrong = [one.module for one in replays if not one.agrees]
    wrong += [
        f"{one.module} on {name}"
        for one, on_targets in zip(replays, elsewhere, strict=True)
        for name, cell in on_targets.items()
        if cell.reason
    ]
    if wrong:
        return Conclusion(FAIL, f"results differ, or a compiler rejects the module: {list_names(wrong)}")
    return Conclusion(PASS, f"every compiler gives the same results: {list_names(one.module for one in replays)}")


def _elsewhere(
    targets: Targets | None, modules: Sequence[bundle.Module], scratch: Path, progress: Reporter
) -> list[dict[str, OnTarget]]:
    """By module and device, what XLA makes of the one on the other; by module nothing where no device was named."""
    if targets is None:
        return [{} for _ in modules]
    return [
        retargeting.compile_module(targets, module, scratch / f"targets-{index}", progress)
        for index, module in enumerate(modules)
    ]


def _dump(options: argparse.Namespace) -> Conclusion:
    """Every module of a dump directory; the verdict."""
    for option, (name, value) in _OF_COMPILERS.items():
        if getattr(options, name) != value:
            raise RequestError(f"expected no {option} for a dump directory, found one: name a module's file")
    with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
        dump = replay_dump(options.path, options.seed or 0, options.tolerance, progress)
    terminal.print_answer(dump, options.json, lambda console: print_dump(dump, console))
    return concluded_dump(dump)


def concluded_dump(dump: ReplayedDump) -> Conclusion:
    """The verdict on the modules of a dump, each of which is read back at least."""
    if not dump.modules:
        return Conclusion(NOT_JUDGED, "there is no module")
    modules = numbers.count_of(len(dump.modules), "module")
    failing = [module.name for module in dump.modules if module.failure]
    if failing:
        return Conclusion(FAIL, f"{len(failing)} of {modules} fail: {list_names(failing)}")
    missing = sum(module.optimized_agrees is None for module in dump.modules)
    more = f"; {missing} not compared with what was compiled then" if missing else ""
    return Conclusion(PASS, f"{modules} read back and run{more}")


def _request(
    options: argparse.Namespace, modules: list[bundle.Module], pythons: Mapping[str, str | None]
) -> replaying.Request:
    inputs = None
    if options.inputs:
        if len(modules) > 1:
            raise RequestError(f"expected one module with --inputs, found {len(modules)}: name its file")
        inputs = bundle.load_arrays(options.inputs, modules[0].parameters)
    return replaying.Request(
        compilers=options.compilers,
        options=_xla_options(options),
        inputs=inputs,
        seed=options.seed,
        tolerance=options.tolerance,
        pythons=pythons,
        timeout_s=options.timeout,
    )


def _xla_options(options: argparse.Namespace) -> dict[str, int | bool | float | str]:
    values: dict[str, int | bool | float | str] = {}
    for text in options.xla:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise RequestError(f"expected --xla NAME=VALUE, found {text!r}: give both")
        values[name] = _value(value)
    if options.without_pass:
        values["xla_disable_hlo_passes"] = ",".join(options.without_pass)
    return values


def _value(text: str) -> int | bool | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _compilers(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in replaying.COMPILERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected names of {', '.join(replaying.COMPILERS)}, found {unknown[0]!r}")
    return names
