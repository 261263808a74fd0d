"""`python -m compare` is `jaxport`."""

import os
import sys


def _forget_current_folder() -> None:
    """Without -P, Python puts the current folder first on the path and would import files of strangers in it."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not sys.flags.safe_path and sys.path[0] != home:
        del sys.path[0]


def main() -> int:
    """Run one command."""
    _forget_current_folder()
    from compare.starting import start

    return start()


if __name__ == "__main__":
    raise SystemExit(main())
