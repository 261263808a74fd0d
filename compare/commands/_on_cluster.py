"""A command line as tasks for the nodes of a cluster: what travels, what stays here, and what cannot go."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compare.commands import _asked
from compare.errors import RequestError
from compare.inputs.at_size import named_apart
from compare.inputs.port_files import Unreadable
from compare.inputs.sizes import choose_size
from compare.machines.carried_files import Carried
from compare.machines.suite_on_cluster import Suite, Task, Where, run
from compare.progress import reporter
from compare.report import terminal
from compare.run.whole_run import RunResult
from workloads.core.declared import AnyWorkload
from workloads.core.device import CPU

REFUSED = ("tf_python", "jax_python", "tf_recorded", "jax_recorded", "target_python", "resume")
"""Options that name something of this machine."""

HERE = (
    *("workloads", "tf", "jax", "size", "data"),
    *("ray", "ray_limit", "ray_attempts", "out", "json", "baseline", "save", "history", "command", "debug"),
)
"""Options that become tasks, or concern this machine."""

_VALUES = (
    *("parity_size", "pairs", "max_pairs", "precision", "budget", "seed", "threads", "phases", "memory_limit"),
    *("timeout", "matmul_precision", "allocator", "dispatch"),
)
_FLAGS = (
    *("no_alignment", "parity_only", "no_timing", "no_limits", "no_peers", "deterministic", "fail_fast"),
    "thorough",
)
_REPEATED = {"input": "--input", "dimension": "--dimension", "targets": "--target"}

_WRITTEN: Mapping[str, Callable[[Any], list[str]]] = {
    "main_pass": lambda value: ["--pass", value],
    "unroll": lambda value: ["--unroll", str(value)] if value else [],
    "modes": lambda value: ["--modes", *map(str, value)] if value else [],
    "batches": lambda value: ["--batches", ",".join(map(str, value))] if value else [],
    "device": lambda value: ["--device", value[0] if value[0] == CPU else f"{value[0]}:{value[1]}"],
}

TRAVELS = (*_VALUES, *_FLAGS, *_REPEATED, *_WRITTEN)
"""The options that a node gets unchanged."""


def on_cluster(options: argparse.Namespace, with_timing: bool) -> RunResult:
    """Give the workloads of a command line to the nodes of --ray; the record of all.

    Args:
      options: of `jaxport run` or `jaxport bench`.
      with_timing: whether times are taken.

    Raises:
      RequestError: something does not travel, or the cluster cannot do it.
    """
    _check(options)
    files = Carried(without=options.out)
    sizes = options.size.split(",") if options.size else [None]
    tasks = [
        _task(options, workload, reference, size, len(sizes) > 1, files)
        for workload, reference in _named_workloads(options)
        for size in dict.fromkeys(sizes)
    ]
    suite = Suite(tasks, files.pack(), options.size, with_timing)
    with (
        TemporaryDirectory(prefix="jaxport-") as scratch,
        reporter(terminal.console(stderr=True), quiet=options.json) as progress,
    ):
        return run(suite, Where(options.ray, options.ray_limit, options.ray_attempts), Path(scratch), progress)


def _check(options: argparse.Namespace) -> None:
    for name in REFUSED:
        if getattr(options, name, None):
            option = f"--{name.replace('_', '-')}"
            raise RequestError(f"expected --ray without {option}, found both: {option} names something of this machine")
    for target in getattr(options, "targets", ()):
        if Path(target).exists():
            raise RequestError(f"expected names of devices with --ray, found the file {target}: drop that --target")


def _named_workloads(options: argparse.Namespace) -> list[tuple[AnyWorkload, str]]:
    """Workloads, and how each was named; two functions have no name."""
    own = _asked.own_functions(options, options.workloads)
    if own is not None:
        return [(own, "")]
    selection = _asked.workloads(options)
    named_apart(selection)
    return list(zip(selection, _asked.references(options), strict=True))


def _task(
    options: argparse.Namespace,
    workload: AnyWorkload,
    reference: str,
    size: str | None,
    several: bool,
    files: Carried,
) -> Task:
    if not isinstance(workload, Unreadable):
        for size_name in (size, options.parity_size):
            choose_size(workload, size_name)
    name = f"{workload.name}@{size}" if several else workload.name
    arguments = [*options.command.split(), *_reference_words(options, reference, files), *_option_words(options)]
    arguments += ["--size", size] if size else []
    arguments += ["--data", files.file(options.data)] if options.data else []
    return Task(name, workload, size, tuple(arguments))


def _reference_words(options: argparse.Namespace, reference: str, files: Carried) -> list[str]:
    """The workload as a node finds it."""
    if reference:
        return [files.port(Path(reference)) if reference.endswith(".py") else reference]
    return [argument for side in ("tf", "jax") for argument in (f"--{side}", _function(getattr(options, side), files))]


def _function(reference: str, files: Carried) -> str:
    where, _, name = reference.rpartition(":")
    if not where.endswith(".py"):
        top = Path(where.partition(".")[0])
        if top.is_dir() or top.with_suffix(".py").is_file():
            raise RequestError(
                f"expected FILE.py:NAME, or a module that is installed on every node, with --ray, found {reference}, "
                "which lies in the current folder: name its file"
            )
        return reference
    return f"{files.port(Path(where))}:{name}"


def _option_words(options: argparse.Namespace) -> Iterator[str]:
    values = vars(options)
    for name in _VALUES:
        if values.get(name) is not None:
            yield from (f"--{name.replace('_', '-')}", str(values[name]))
    for name in _FLAGS:
        if values.get(name):
            yield f"--{name.replace('_', '-')}"
    for name, option in _REPEATED.items():
        for value in values.get(name) or ():
            yield from (option, value)
    for name, write in _WRITTEN.items():
        if values.get(name):
            yield from write(values[name])
