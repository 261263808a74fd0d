"""Makes a workload of files: a port file, or two functions in files. Workers import them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compare.api.call_inputs import call_inputs
from compare.api.live_workload import Options, check_deviations
from compare.errors import RequestError
from compare.inputs import functions, port_files
from compare.prove.program_pairs import is_program
from compare.sides._side import SIDES
from workloads.core.declared import AnyWorkload


def is_named(tf_fn: object, jax_fn: object, inputs: object) -> bool:
    """Whether files name what is asked for, and no object of this process.

    Args:
      tf_fn: "port.py", "FILE.py:NAME", or an object.
      jax_fn: "FILE.py:NAME", or an object; None beside a port file.
      inputs: None beside a port file.

    Raises:
      RequestError: neither is, or one of each.
    """
    names = [isinstance(function, str | Path) for function in (tf_fn, jax_fn)]
    if jax_fn is None and inputs is None:
        if names[0]:
            return True
        raise RequestError(f"expected a port file, or two functions and inputs, found {type(tf_fn).__name__} alone")
    if names[0] != names[1]:
        raise RequestError(
            "expected two functions of this process, or two of files as FILE.py:NAME, found one of each: name both, "
            "or import both"
        )
    if inputs is None:
        raise RequestError("expected inputs by name, such as {'x': 'f32[8,128]'}, found none: name each argument")
    return names[0]


def named_programs(tf_fn: object, jax_fn: object, inputs: object) -> list[str]:
    """Two programs in files or dump directories, as `jaxport hlo` names them; none where something else is named.

    Args:
      tf_fn: "before.mlirbc", a dump directory, "port.py:tf", or anything else.
      jax_fn: likewise.
      inputs: None beside programs.
    """
    if inputs is not None or not isinstance(tf_fn, str | Path) or not isinstance(jax_fn, str | Path):
        return []
    names = [str(tf_fn), str(jax_fn)]
    return names if all(is_program(name) and not _is_function(name) for name in names) else []


def _is_function(name: str) -> bool:
    """Whether a file of Python has what is named, which is then no program."""
    file, _, attribute = name.rpartition(":")
    return file.endswith(".py") and attribute not in SIDES


def file_workload(
    tf_fn: str | Path, jax_fn: str | Path | None, inputs: Mapping[str, Any] | None, options: Options
) -> AnyWorkload:
    """The workload that files make.

    Args:
      tf_fn: a port file, or FILE.py:NAME of the original.
      jax_fn: FILE.py:NAME of its port; None beside a port file.
      inputs: as of `jaxport.check`; None likewise.
      options: whatever else the caller said; nothing beside a port file, which declares it.

    Raises:
      RequestError, RegistryError: no such file or function, or an input or option does not fit.
    """
    if options.map:
        raise RequestError("expected a Keras model and an nnx module with map, found files: drop map")
    if jax_fn is None or inputs is None:
        return _of_port(str(tf_fn), options)
    check_deviations(options.deviations)
    values = call_inputs(inputs)
    for argument, reference in (("tf_fn", tf_fn), ("jax_fn", jax_fn)):
        functions.check_reference(argument, str(reference))
    name = options.name or str(jax_fn).rpartition(":")[2]
    dimensions = [f"{dimension}={text}" for dimension, text in options.dimensions.items()]
    return functions.of_specs(
        str(tf_fn), str(jax_fn), values.specs, dimensions, name=name, deviations=tuple(options.deviations),
        example=values.example, folder=Path.cwd(), summary=f"{tf_fn} against {jax_fn}", source="given to jaxport.check",
    )  # fmt: skip


def _of_port(reference: str, options: Options) -> AnyWorkload:
    extra_options = [name for name in ("dimensions", "deviations", "name") if getattr(options, name)]
    if extra_options:
        raise RequestError(f"expected a port file alone, found {extra_options[0]} too: declare it in {reference}")
    (workload,) = port_files.get_each([reference])
    return workload
