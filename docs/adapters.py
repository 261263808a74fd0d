"""Tells which private names of the frameworks, as jaxport's adapters write them, this environment has not.

usage: python docs/adapters.py; exit code 1 where one is missing, and 2 where a framework is. It imports what the
adapters name and runs nothing: seconds, where `make matrix` takes half an hour. .github/workflows/adapters.yml runs it
every week with the newest releases.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADAPTERS = (
    "jaxport/_private.py",
    "compare/hlo/bindings.py",
    "compare/bundles/run_exported.py",
    "tf_reference/_private.py",
)
READERS = ("_require", "_private")
"""What an adapter looks a private name up with."""


@dataclass(frozen=True)
class Named:
    """A private name in an adapter; `attribute` is "" where the module is all that is asked for."""

    adapter: str
    module: str
    attribute: str

    @property
    def framework(self) -> str:
        """The package that has it."""
        return self.module.partition(".")[0]

    def __str__(self) -> str:
        return ".".join(filter(None, (self.module, self.attribute)))


def named(adapter: str, source: str) -> Iterator[Named]:
    """The names that an adapter's source looks up; what it puts together while it runs is not among them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in READERS:
            texts = [
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            ]
            if texts and len(texts) == len(node.args):
                yield Named(adapter, texts[0], texts[1] if len(texts) > 1 else "")
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("jaxlib"):
            yield from (Named(adapter, str(node.module), alias.name) for alias in node.names)


def moved(name: Named) -> str:
    """Why a name is not to be had; "" where it is."""
    try:
        module = importlib.import_module(name.module)
    except ImportError as error:
        return str(error)
    if not name.attribute or hasattr(module, name.attribute):
        return ""
    is_module = importlib.util.find_spec(f"{name.module}.{name.attribute}") if hasattr(module, "__path__") else None
    return "" if is_module else f"{name.module} has no {name.attribute}"


def main() -> int:
    """Print a line for each name that has moved, and a line of counts; the exit code."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    names = sorted({name for path in ADAPTERS for name in named(path, (ROOT / path).read_text())}, key=str)
    absent = sorted({name.framework for name in names if importlib.util.find_spec(name.framework) is None})
    if absent:
        print(f"expected {', '.join(absent)} in {sys.prefix}, found none: install what is to be probed")
        return 2
    reasons = {name: moved(name) for name in names}
    for name in (name for name in names if reasons[name]):
        print(f"{name.adapter}: {name}: {reasons[name]}")
    releases = ", ".join(_release(framework) for framework in ("tensorflow", "jax", "jaxlib"))
    print(f"{sum(not why for why in reasons.values())} of {len(reasons)} private names are there in {releases}")
    return int(any(reasons.values()))


def _release(framework: str) -> str:
    names = importlib.metadata.packages_distributions().get(framework, [framework])
    return f"{framework} {importlib.metadata.version(names[0])}"


if __name__ == "__main__":
    sys.exit(main())
