"""`jaxport`: reads the command line, runs a command, and turns every foreseen failure into one line."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from compare import versions
from compare.commands._completion import SHELLS, Printing, completion
from compare.commands._exit_codes import HOLDS, REFUSED
from compare.commands._parser import DEFAULT_TIMEOUT_S, Help, Parser, add_debug
from compare.commands._signals import INTERRUPTED, interruptible
from compare.commands._streams import open_streams
from compare.commands._utf8_mode import ensure_utf8_paths
from compare.errors import FORESEEN, RequestError
from compare.sides import processes

if TYPE_CHECKING:
    from compare.commands._conclusion import Conclusion

PACKAGES = ("jaxport", "tf_reference", "workloads")
"""Jaxport's own beside this one."""


@dataclass(frozen=True)
class Command:
    """What is known of a command before it is imported.

    `foreign_code` says whether it may run port files or programs: these have workers then.
    """

    summary: str
    foreign_code: bool = True


COMMANDS = {
    "run": Command("prove ports: parity, programs and times, with a report"),
    "bench": Command("time ports in depth: threads, phases, memory, limits, peers"),
    "explain": Command("say in at most ten sentences why there is no speed-up, each with its measurement"),
    "crossing": Command("find the size above which compiled code is faster"),
    "blocks": Command("find how many layers to compile in one function"),
    "tune": Command("search XLA options that make a port faster"),
    "ablate": Command("show what each pass and feature of XLA gains, by leaving out one at a time"),
    "calibrate": Command("check whether this machine can tell times apart"),
    "hlo": Command("align two XLA programs and show where they differ"),
    "targets": Command("list the devices that programs can be compiled for", foreign_code=False),
    "plan": Command("bound the time and memory of a training step on clusters that are not here"),
    "recompiles": Command("count what a stream of calls traces and compiles, and say why"),
    "next": Command("say which rung of a port fails first, and what to look at"),
    "locate": Command("find the operation at which a port starts to differ"),
    "distribute": Command("check a training step on several devices, by strategies of both frameworks"),
    "datatypes": Command("show which mode takes which data type, and with what result"),
    "clusters": Command("show what autoclustering compiled of a function, and why not the rest"),
    "limits": Command("list what XLA's documents say of what compiles, and test it"),
    "figures": Command("compare figures that documents on XLA report with those of this machine"),
    "grappler": Command("show what each pass of TensorFlow's graph optimizer changed"),
    "launch": Command("run a TensorFlow program and read what it compiled"),
    "profile": Command("show where the time of a recorded profile went, by kernel, phase and line", foreign_code=False),
    "dump": Command("show an XLA dump directory as pages: programs, passes, buffers"),
    "bugreport": Command("bundle a workload's programs, modules, inputs and results"),
    "replay": Command("run a module or a bug report again and compare compilers"),
    "compare": Command("compare saved runs with a baseline"),
    "history": Command("plot the saved runs and check the last two for regressions"),
    "weights": Command("carry the weights of a Keras model into a Flax module, and back", foreign_code=False),
    "init": Command("write a Flax port of a Keras model, with its weights, and judge it"),
    "export": Command("write a port as StableHLO with a runner, jax.export's form and a SavedModel"),
    "record": Command("record one side to a file, to be replayed elsewhere"),
    "report": Command("render a report again from its record"),
    "results": Command("write records as a Markdown page"),
    "doctor": Command("list what is in a TensorFlow model, and what will be hard to port", foreign_code=False),
    "gotchas": Command("look up what TensorFlow and JAX do differently, and how to port it"),
    "ops": Command("list TensorFlow's operations: kernels, what compiles, counterparts in JAX", foreign_code=False),
    "mcp": Command("serve jaxport's functions to a coding agent, by the Model Context Protocol"),
    "docs": Command("open the guide and the reference, offline", foreign_code=False),
    "requirements": Command("list the packages that one side alone needs, for pip", foreign_code=False),
    "environment": Command("print versions, devices and machine, for a problem report", foreign_code=False),
    "list": Command("list the workloads", foreign_code=False),
}
"""By name, in the order of the help. Each is a module of compare.commands, imported once it is asked for."""

_HELP = Help(
    description="""\
Prove a port of a TensorFlow model to JAX: the same numbers, the same program for XLA, and how fast it is.
""",
    operands="COMMAND",
    examples="""\
  jaxport run                    the tour of the small built-in workloads; then open jaxport-report/report.html
  jaxport run my_port.py         your own port
  jaxport run --help             the options and examples of a command
  jaxport --version
  jaxport --print-completion bash > ~/.local/share/bash-completion/completions/jaxport
""",
    holds="every verdict holds",
    fails="a verdict fails, or a side failed to deliver a result",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code, and the last line that it prints, say how its verdicts came out."""
    if arguments is None:
        ensure_utf8_paths()
    given = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    with interruptible(to_the_end=arguments is None):
        try:
            return _run(given)
        except ModuleNotFoundError as error:
            return _incomplete(error, "--debug" in given)


def _run(given: Sequence[str]) -> int:
    try:
        check_packages()
        options = parsed(given)
        with processes.temporary_folder(), _foreign_code_apart(options):
            return _ended(_module(options.command).main(options), options)
    except KeyboardInterrupt as interrupt:
        print(f"jaxport: interrupted; {str(interrupt) or 'nothing was written'}", file=sys.stderr)
        return INTERRUPTED
    except FORESEEN as error:
        return _refuse(error, "--debug" in given)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and _is_foreign(error):
            raise
        what = f"expected no internal error, found {type(error).__name__}: {error}: run with --debug and report it"
        return _refuse(error, "--debug" in given, what)


def _ended(conclusion: Conclusion | None, options: argparse.Namespace) -> int:
    """Print the verdict of a command as its last line; the exit code."""
    if conclusion is None:
        return HOLDS
    # What judges nothing prints no verdict, and need not import what prints one.
    from compare.commands._conclusion import conclude

    return conclude(conclusion, quiet=getattr(options, "json", False))


def check_packages() -> None:
    """Refuse what would silently run another program's code, or find nothing.

    Raises:
      RequestError: one of the names is that of another package, which comes first on Python's path.
    """
    own = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        places = [Path(place).resolve() for place in (spec and spec.submodule_search_locations) or ()]
        if places != [own / name]:
            other = places[0] if places else spec and spec.origin
            raise RequestError(
                f"expected jaxport's own package {name}, found {other}: "
                "take that folder off PYTHONPATH, or give the package another name"
            )


def parsed(given: Sequence[str]) -> argparse.Namespace:
    """The options of a command line.

    Raises:
      RequestError: it is none; the line names the help of its own command, where argparse would name all of jaxport's.
    """
    options, unknown = parser(given).parse_known_args(given)
    if unknown:
        command = f"jaxport {options.command}"
        raise RequestError(f"expected options of `{command}`, found {' '.join(unknown)}: see `{command} --help`")
    return options


def parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """The parser, with the options of the commands that are named in `given`: to import every command takes seconds."""
    root = Parser(prog="jaxport", **_told(_HELP))
    root.add_argument(
        "--version", action=Printing, nargs=0, text=lambda _: versions.told(),
        help="print the versions of jaxport and of both sides",
    )  # fmt: skip
    root.add_argument(
        "--print-completion", action=Printing, choices=SHELLS, text=_completion,
        help="print a script that completes commands, options and files in this shell",
    )  # fmt: skip
    commands = root.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND", prog=root.prog, parser_class=Parser
    )
    for name, known in COMMANDS.items():
        if name not in given:
            commands.add_parser(name, help=known.summary)
            continue
        module = _module(name)
        command = commands.add_parser(name, help=known.summary, **_told(module.HELP))
        module.add_arguments(command)
        add_debug(command)
    return root


def _completion(shell: str) -> str:
    return completion(parser([*COMMANDS]), shell)


def _told(told: Help) -> dict[str, Any]:
    """How argparse is given a help."""
    return {
        "usage": f"%(prog)s [options] {told.operands}".rstrip(),
        "description": told.description,
        "epilog": told.epilog,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _foreign_code_apart(options: argparse.Namespace) -> AbstractContextManager[None]:
    if not COMMANDS[options.command].foreign_code:
        return nullcontext()
    from compare.inputs.foreign_code import foreign_code_apart

    return foreign_code_apart(getattr(options, "timeout", DEFAULT_TIMEOUT_S))


def _module(command: str) -> ModuleType:
    return importlib.import_module(f"compare.commands.{command}")


def _is_foreign(error: ModuleNotFoundError) -> bool:
    return str(error.name).partition(".")[0] not in (*PACKAGES, "compare")


def _incomplete(error: ModuleNotFoundError, debug: bool) -> int:
    """Said without any package of others: jaxport was installed without what it needs, as for one side alone."""
    if debug:
        traceback.print_exception(error)
    line = (
        f"expected the module {error.name}, which jaxport needs, found none in {sys.prefix}: install jaxport with its "
        "dependencies, or, where TensorFlow cannot be had, run `jaxport requirements jax | pip install -r /dev/stdin`"
    )
    print(f"jaxport: {line}", file=sys.stderr)
    return REFUSED


def _refuse(error: Exception, debug: bool, what: str | None = None) -> int:
    from compare.report import terminal

    if debug:
        terminal.explain("".join(traceback.format_exception(error)) + getattr(error, "details", ""))
    if isinstance(error, OSError) and error.strerror:
        what = (
            f"expected to read or write {error.filename or 'a file'}, found {error.strerror}: "
            "check the path and the free space"
        )
    terminal.complain(" ".join((what or str(error)).split()))
    return REFUSED
