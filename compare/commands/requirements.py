"""`jaxport list requirements`: what one side alone needs, as pip reads it. Imports nothing that is to be installed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires

from compare.commands._parser import Help
from compare.errors import RequestError

HELP = Help(
    description="""\
List the packages that one side alone needs, as pip reads them: pip cannot leave out one dependency of a package, so
jaxport is installed with none, and then these. Where TensorFlow cannot be installed, its side comes from a recording or
from another interpreter. JAX's XLA is needed either way: programs are read with it.
""",
    operands="SIDE",
    examples="""\
  jaxport list requirements jax | pip install -r /dev/stdin  after: pip install --no-deps jaxport
  jaxport list requirements jax --extra gpu-target
  jaxport list requirements tf
""",
    holds="they are listed",
)

LEFT_OUT = {"jax": frozenset({"tensorflow"}), "tf": frozenset({"jax", "flax", "optax"})}
"""By side, what only the other one needs."""

_NAME = re.compile(r"[\w-]+")
_EXTRA = re.compile(r"""\s*(?:\band)?\s*\bextra\s*==\s*["']([\w-]+)["']""")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "side", choices=tuple(LEFT_OUT), metavar="SIDE", help="jax or tf: the side that is to run here"
    )
    command.add_argument(
        "--extra", action="append", default=[], metavar="NAME", help="an extra of jaxport too, such as gpu-target"
    )


def main(options: argparse.Namespace) -> None:
    """Print them."""
    sys.stdout.write(
        "".join(f"{line}\n" for line in select_requirements(read_requirements(), options.side, options.extra))
    )


def read_requirements() -> Sequence[str]:
    """The dependencies in the metadata of the jaxport that is installed.

    Raises:
      RequestError: it is not installed.
    """
    try:
        return requires("jaxport") or ()
    except PackageNotFoundError:
        raise RequestError(
            "expected jaxport to be installed, found its folders alone: run `pip install --no-deps .` in its checkout"
        ) from None


def select_requirements(requirements: Iterable[str], side: str, extras: Sequence[str]) -> list[str]:
    """The dependencies of a package that belong to one side and to some extras.

    Args:
      requirements: as metadata has them: "libtpu<0.1,>=0.0.42; sys_platform == 'linux' and extra == 'tpu-target'".
      side: "jax" or "tf".

    Raises:
      RequestError: there is no such extra.
    """
    pairs = list(_with_extra(requirements))
    unknown = sorted(set(extras) - {extra for extra, _ in pairs})
    if unknown:
        extra_names = ", ".join(sorted({extra for extra, _ in pairs if extra}))
        raise RequestError(f"expected an extra of jaxport ({extra_names}), found {unknown[0]!r}: name one of those")
    return [text for extra, text in pairs if extra in ("", *extras) and _name(text) not in LEFT_OUT[side]]


def _with_extra(requirements: Iterable[str]) -> Iterator[tuple[str, str]]:
    for requirement in requirements:
        match = _EXTRA.search(requirement)
        yield (match.group(1) if match else "", _EXTRA.sub("", requirement).strip().rstrip(";").strip())


def _name(requirement: str) -> str:
    match = _NAME.match(requirement)
    return match.group().lower() if match else requirement
