"""Every entry of the catalogue, theme by theme."""

from __future__ import annotations

import importlib.util
import linecache
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workloads.core.spec import Workload
from workloads.gotchas._gotcha import Gotcha

PACKAGE = "workloads.gotchas"


@dataclass(frozen=True)
class Entry:
    """A gotcha and the file that declares it.

    Attributes:
      theme: the name of the file, in all three folders.
      gotcha: what it declares.
    """

    theme: str
    gotcha: Gotcha

    @property
    def id(self) -> str:
        """The identifier in commands, messages and the guide: THEME/NAME."""
        return f"{self.theme}/{self.gotcha.name}"

    def workload(self, naive: bool = False) -> Workload:
        """See `Gotcha.workload`."""
        return self.gotcha.workload(self.theme, naive)


def themes() -> list[str]:
    """The files of the catalogue, in alphabetical order."""
    package = importlib.import_module(PACKAGE)
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def entries() -> tuple[Entry, ...]:
    """The whole catalogue: by theme, then in the order of each file."""
    return tuple(
        Entry(theme, gotcha) for theme in themes() for gotcha in importlib.import_module(f"{PACKAGE}.{theme}").GOTCHAS
    )


def build_function(side: str, name: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of an entry whose code is one expression.

    Args:
      names: what expressions of a side may refer to, beside what the theme's file of that side defines.

    Raises:
      AttributeError: no entry has such a function.
    """
    for entry in entries():
        if text := entry.gotcha.functions(side).get(name):
            module = f"{side}.gotchas.{entry.theme}"
            own_names = vars(importlib.import_module(module)) if importlib.util.find_spec(module) else {}
            file, namespace = f"<{entry.theme}/{name}>", {**own_names, **names}
            # AutoGraph and tracebacks read the lines of a function that has no file here.
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
            exec(compile(text, file, "exec"), namespace)
            return namespace[name]
    raise AttributeError(f"expected an entry of the catalogue with a function {name!r}, found none")
