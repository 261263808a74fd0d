"""The one target of a command that asks TensorFlow alone; the nearest names where there is none."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType

from compare.errors import RequestError
from compare.inputs import functions, port_files
from compare.limits.naming_limits import offer
from compare.record.limit_part import Limit
from workloads.core import registry
from workloads.core.declared import AnyWorkload


def of_tensorflow(
    target: str, options: argparse.Namespace, beside: Mapping[str, Limit] = MappingProxyType({})
) -> AnyWorkload:
    """The workload that a target names: one by its name, a port file, or FILE.py:FUNCTION of TensorFlow with --input.

    Args:
      options: the parsed command line, with --input and --dimension.
      beside: limits that the command takes too, by name; the caller has looked there.

    Raises:
      RequestError, RegistryError: there is none; the nearest names are offered.
    """
    if functions.is_reference(target):
        return functions.of_tensorflow(target, options.input, options.dimension)
    if not registry.is_foreign(target) and target not in registry.names():
        otherwise = f"`jaxport list` has the workloads{', `jaxport lookup limits` the limits' if beside else ''}"
        alternatives = f"a workload, a port file{', FILE.py:FUNCTION or a limit' if beside else ' or FILE.py:FUNCTION'}"
        near = offer(target, beside, otherwise, registry.names())
        raise RequestError(f"expected {alternatives}, found {target!r}: {near}")
    return port_files.get(target)
