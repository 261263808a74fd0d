"""A statement of a document about compiling, as a function in both frameworks, with its known outcome."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from workloads.core.spec import ArraySpec

KNOWN_ISSUES = "TensorFlow's documentation of XLA, Known issues (tensorflow.org/xla/known_issues)"
DOCUMENTATION = "TensorFlow's user documentation of XLA"
LECTURE = "The lecture TensorFlow XLA"

Outcome = Literal["runs", "same", "other", "raises"]
"""`same` and `other` are results that are, or are not, those of TensorFlow eager; `runs` where there are none of it."""

Way = Literal["tf/eager", "tf/autocluster", "tf/jit", "jax/naive", "jax/port"]
"""How a function is run: TensorFlow's in three modes; under jax.jit, what one would write first, and the port."""


@dataclass(frozen=True)
class Raised:
    """A part of an error that is expected, and a part of the source line that it is expected to name."""

    error: str
    line: str


@dataclass(frozen=True)
class Statement:
    """A statement of a document, and a function that tries it.

    The code is not here: tf_reference/limits/THEME.py has a function of this name; jaxport/limits/THEME.py has the port
    under that name and, where `seen` has "jax/naive", what one would write first under `naive_` and that name. A
    function whose name starts with `around_` is what is not compiled around another.

    Attributes:
      name: identifies it; a Python name.
      summary: what the function does.
      statement: what the document says, in other words.
      source: which document.
      inputs: of one call, in the order of the arguments.
      says: by way, what follows from the statement.
      seen: by way, what these versions are known to do.
      raises: by way that raises, the error.
      port: what is written in JAX.
      note: what else to know.
      outside: operations that autoclustering is known to leave outside of every cluster.
      padded: whether the port's results are larger, and begin with those of TensorFlow.
      alone: whether it needs processes in which nothing ran before.
    """

    name: str
    summary: str
    statement: str
    source: str
    inputs: Mapping[str, ArraySpec]
    says: Mapping[Way, Outcome]
    seen: Mapping[Way, Outcome]
    port: str
    raises: Mapping[Way, Raised] = field(default_factory=dict)
    note: str = ""
    outside: tuple[str, ...] = ()
    padded: bool = False
    alone: bool = False


def outcomes(
    jit: Outcome = "same",
    naive: Outcome | None = None,
    port: Outcome = "same",
    autocluster: Outcome = "same",
    eager: Outcome = "runs",
) -> dict[Way, Outcome]:
    """The outcome of a function by way; without a naive port, none for it."""
    by_way: dict[Way, Outcome] = {"tf/eager": eager, "tf/autocluster": autocluster, "tf/jit": jit}
    if naive:
        by_way["jax/naive"] = naive
    by_way["jax/port"] = port
    return by_way


def statements() -> dict[str, tuple[str, Statement]]:
    """By name, every statement and its theme: a file of the package that has some has a tuple STATEMENTS."""
    package = importlib.import_module(__package__ or "")
    themes = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
    statements_by_theme = {
        theme: getattr(importlib.import_module(f"{__package__}.{theme}"), "STATEMENTS", ()) for theme in themes
    }
    return {one.name: (theme, one) for theme, several in statements_by_theme.items() for one in several}
