"""Converts the options that commands share: workloads, sources, devices, targets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack

from compare.devices import naming
from compare.errors import RequestError
from compare.inputs import functions, port_files
from compare.inputs.at_size import named_apart
from compare.inputs.sizes import choose_size
from compare.sides._side import SIDES
from compare.sides.device_worker import DeviceWorker, Targets, interpreter
from compare.sides.pool import Source
from compare.sides.sources import require_device, source
from workloads.core import registry
from workloads.core.declared import AnyWorkload
from workloads.core.device import CPU, GPU, HIGHEST, Device
from workloads.core.spec import Workload


def check_batches(workloads: Sequence[AnyWorkload], options: argparse.Namespace, option: str) -> None:
    """Check that there are batches to enlarge, before anything is compiled or measured.

    Args:
      workloads: those that do not train have no batch, and are left out later.

    Raises:
      RequestError: none trains, or the batch of one is no dimension that can be chosen.
    """
    training = [workload for workload in workloads if workload.training]
    if not training:
        names = ", ".join(workload.name for workload in workloads)
        raise RequestError(f"expected a workload that trains with {option}, found {names}: drop {option}")
    for workload in training:
        port_files.check_batch(workload, choose_size(workload, options.size), options.data)


def targets(options: argparse.Namespace, stack: ExitStack) -> Targets | None:
    """The devices that were asked for, and the worker that compiles for them; None where none was.

    Raises:
      RequestError: a name or a file is no device, or --target-python names no interpreter.
    """
    if not options.targets:
        return None
    worker = DeviceWorker(interpreter(options.target_python), options.timeout, stack)
    return Targets(naming.devices(options.targets), worker)


def references(options: argparse.Namespace) -> list[str]:
    """The requested workloads, each once: names, and port files."""
    return list(dict.fromkeys(options.workloads) or (registry.built_in() if options.size else registry.TOUR))


def workloads(options: argparse.Namespace) -> list[AnyWorkload]:
    """The workloads that were asked for.

    Raises:
      RequestError, RegistryError: no such workload, or options that do not go together.
    """
    own = own_functions(options, options.workloads)
    if own is not None:
        return [own]
    selection = port_files.get_each(references(options))
    named_apart(selection)
    if options.data and not any(workload.training and workload.training.takes_data for workload in selection):
        names = ", ".join(workload.name for workload in selection)
        raise RequestError(f"expected a workload that trains on a dataset with --data, found {names}: drop --data")
    return selection


def own_functions(options: argparse.Namespace, beside: Sequence[str]) -> Workload | None:
    """The workload that --tf, --jax and --input make; None where none of them is given.

    Raises:
      RequestError: only some of them are, workloads were named too, or they make none.
    """
    sides = [option for option in ("tf", "jax") if getattr(options, option)]
    if sides and (len(sides) < 2 or beside):
        options_text = " and ".join([*(f"--{option}" for option in sides), *beside])
        raise RequestError(
            f"expected --tf and --jax together and no WORKLOAD, found {options_text}: name both functions"
        )
    for option in ("input", "dimension"):
        if getattr(options, option) and not sides:
            raise RequestError(f"expected --tf and --jax with --{option}, found neither: name both functions")
    return functions.from_functions(options.tf, options.jax, options.input, options.dimension) if sides else None


def device(options: argparse.Namespace) -> Device:
    """The device that both sides compute on.

    Raises:
      RequestError: an option that says something of GPUs alone, for the CPU.
    """
    kind, index = options.device
    for option in ("matmul_precision", "deterministic"):
        if kind == CPU and getattr(options, option):
            name = option.replace("_", "-")
            raise RequestError(f"expected --device {GPU} with --{name}, found {kind}: drop --{name}")
    precision = None if kind == CPU else options.matmul_precision or HIGHEST
    return Device(kind, index, precision, options.deterministic)


def sources(options: argparse.Namespace) -> dict[str, Source]:
    """Where each side comes from.

    Raises:
      RequestError: two places for one side, an interpreter that does not exist, or a device that is not there.
    """
    device_name = device(options)
    by_side = {
        side: source(
            side,
            getattr(options, f"{side}_python"),
            getattr(options, f"{side}_recorded", None),
            device=device_name,
        )
        for side in SIDES
    }
    require_device(by_side, options.timeout)
    return by_side
