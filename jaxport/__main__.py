"""`jaxport`, and `python -m jaxport`: the command line, found beside this package whatever else is called `compare`."""

from __future__ import annotations

import sys

from jaxport._neighbours import HOME, neighbours


def main() -> int:
    """Run one command."""
    with neighbours():
        from compare.starting import start

        return start()


if __name__ == "__main__":
    # Without -P, Python puts the current folder first on the path and would import files of strangers in it.
    if not sys.flags.safe_path and sys.path[0] != str(HOME):
        del sys.path[0]
    raise SystemExit(main())
