"""Whose file a line of a call stack stands in: a model's, a framework's, or jaxport's own."""

from __future__ import annotations

import os
import re
import sysconfig
from functools import cache
from pathlib import Path

_FRAMEWORKS = (
    *("tensorflow", "keras", "tf_keras", "wrapt", "jax", "jaxlib", "flax", "optax"),
    *("numpy", "scipy", "ml_dtypes", "opt_einsum"),
)
"""Installed packages that contain no user's model. All others may contain one."""
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]([^/\\.]+)")
_STANDARD = re.compile(r"[/\\]lib[/\\]python3\.\d+[/\\](?!(?:site|dist)-packages[/\\])")
_WORKLOADS = Path(__file__).parent.parent
_JUDGES = tuple(str(_WORKLOADS.with_name(name)) + os.sep for name in ("compare", "workloads"))
_PROTOCOL = re.compile(
    r"[/\\]jaxport[/\\]_(?:session|framework|binding|closures|digest|donation|layouts|modes|model|nnx|private|profiling)\.py$"
)
"""The names of jaxport's files that are no models: layers and optimizers of its twins stand in other files there."""


@cache
def is_framework(file: str) -> bool:
    """Whether a file belongs to a framework, to Python, or was written by one of them."""
    packages = _INSTALLED.findall(file)
    if packages:
        return packages[-1] in _FRAMEWORKS
    standard = bool(_STANDARD.search(file)) or file.startswith(sysconfig.get_path("stdlib") + os.sep)
    return standard or file.startswith("<") or "__autograph_generated_file" in file


@cache
def is_library(file: str) -> bool:
    """Whether a file is of what `import jaxport` offers to ports, or what that is made of: no workload has its name."""
    beside = os.path.dirname(file) == str(_WORKLOADS.with_name("jaxport"))
    return beside and not (_WORKLOADS / os.path.basename(file)).exists()


@cache
def is_machinery(file: str) -> bool:
    """Whether a file is jaxport's own, and no twin."""
    return file.startswith(_JUDGES) or bool(_PROTOCOL.search(file))
