"""A limit: a pair of functions that differ in one line, on either side of it; and where to find one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass

from workloads.core.spec import ArraySpec, Workload

WITHIN = "within_"
"""Before the name of the function that stays within the limit."""

PACKAGE = "workloads.limits"


@dataclass(frozen=True)
class Limit:
    """A limit of TensorFlow's compiling, and the edit that crosses it.

    The code is not here: tf_reference/limits/THEME.py has a function of this name beyond the limit and one more whose
    name starts with `within_`, one line apart; jaxport/limits/THEME.py has the port, which has no such limit.

    Attributes:
      name: identifies it; a Python name.
      why: what the limit is, in one or two sentences.
      inputs: of one call, in the order of the arguments.
    """

    name: str
    why: str
    inputs: Mapping[str, ArraySpec]

    def workload(self, theme: str, within: bool = False) -> Workload:
        """One of the two functions against the port.

        Args:
          theme: the name of the file that declares it.
        """
        name = f"{WITHIN}{self.name}" if within else self.name
        return Workload(
            name=name,
            summary=self.why,
            source="measured",
            tf=f"tf_reference.limits.{theme}:{name}",
            jax=f"jaxport.limits.{theme}:{self.name}",
            inputs=self.inputs,
            builds=False,
        )


def limits() -> dict[str, tuple[str, Limit]]:
    """By name, every limit and its theme: a file of the package that has such pairs has a tuple LIMITS."""
    package = importlib.import_module(PACKAGE)
    themes = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
    limits_by_theme = {theme: getattr(importlib.import_module(f"{PACKAGE}.{theme}"), "LIMITS", ()) for theme in themes}
    return {limit.name: (theme, limit) for theme, pairs in limits_by_theme.items() for limit in pairs}
