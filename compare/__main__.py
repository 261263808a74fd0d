"""`python -m compare` is `jaxport`."""

from compare.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
