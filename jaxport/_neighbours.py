"""The packages beside this one under their names, whatever a user's project calls `compare` or `workloads` at its root.

`jaxport` is a name of its own; the other three are words that anybody may use. What the console script and pytest load
first is therefore in this package, and asks for the others here.

Why a wheel has four top-level names and not one: the folders stay beside each other in a checkout, and one name for a
module has to hold there and in a wheel. `package_dir` could map `compare` to `jaxport.compare` when a wheel is built,
but then `from compare...` finds nothing in a wheel, and `from jaxport.compare...` nothing in a checkout without an
import hook, which pyright does not run; relative imports cannot leave a top-level package. Port files import
`workloads` besides, and go on to.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

NAMES = ("compare", "tf_reference", "workloads")
HOME = Path(__file__).resolve().parents[1]
"""The folder of all four packages: a checkout, or where they are installed."""


class _Finder:
    """Finds them at home, before anything on Python's path."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Of one of the packages; None of anything else, their modules too: a package says itself where these are.

        Args:
          path: of its package; None of what lies in none.
          target: as `importlib` hands it on.
        """
        return PathFinder.find_spec(name, [str(HOME)], target) if path is None and name in NAMES else None


_finder = _Finder()
_own_modules: dict[str, ModuleType] = {}
"""Modules of the packages while their names are another's: there is one of each in a process."""


@contextmanager
def neighbours() -> Iterator[None]:
    """Inside, the names are jaxport's packages. Outside, a name that is another's on Python's path is that one's.

    Inside of another such block nothing changes.
    """
    if _finder in sys.meta_path:
        yield
        return
    foreign = {name for name in NAMES if name in sys.modules and not _is_own(sys.modules[name].__spec__)}
    theirs = _taken_out(foreign)
    sys.modules.update(_own_modules)
    sys.meta_path.insert(0, _finder)
    try:
        yield
    finally:
        sys.meta_path.remove(_finder)
        hidden = {name for name in NAMES if not _is_own(PathFinder.find_spec(name))}
        _own_modules.update(_taken_out(foreign | hidden))
        sys.modules.update(theirs)


def _taken_out(packages: Collection[str]) -> dict[str, ModuleType]:
    """The modules of packages that are loaded, which are not any more."""
    names = [name for name in sys.modules if name.partition(".")[0] in packages]
    return {name: sys.modules.pop(name) for name in names}


def _is_own(spec: ModuleSpec | None) -> bool:
    """Whether a module with one of these names belongs to jaxport and to no other package on Python's path."""
    places = spec and spec.submodule_search_locations
    return spec is None or [Path(place).resolve() for place in places or ()] == [HOME / spec.name]
