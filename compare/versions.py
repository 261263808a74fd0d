"""The versions of jaxport and of both sides' packages, without importing any of them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = {"tf": ("tensorflow", "keras"), "jax": ("jax", "jaxlib", "flax", "optax")}
"""By side, what it is made of."""

OTHER_BUILDS = {"tensorflow": ("tensorflow-cpu", "tensorflow-rocm", "tf-nightly")}
"""Distributions that bring the same package under another name."""


def own() -> str:
    """The version of jaxport; only pyproject.toml states it."""
    return find_version("jaxport") or "unknown: not installed"


def of_sides() -> dict[str, dict[str, str | None]]:
    """By side, the version of each of its packages in this interpreter; None of one that is not installed."""
    return {side: {name: find_version(name) for name in names} for side, names in PACKAGES.items()}


def version_lines() -> str:
    """Lines for people: jaxport and Python, then each side in this interpreter."""
    sides = (
        ", ".join(f"{name} {version or 'not installed'}" for name, version in packages.items())
        for packages in of_sides().values()
    )
    return "\n".join((f"jaxport {own()} on Python {platform.python_version()}", *sides))


def find_version(name: str) -> str | None:
    """The version of a package in this interpreter; None where it is not installed."""
    for distribution in (name, *OTHER_BUILDS.get(name, ())):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return None
