"""Runs that specifications look at, and the workloads that are judged in which way."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from compare.inputs.request import Request
from compare.plain_json import to_json
from compare.progress import Silent
from compare.run import whole_run
from compare.sides.remembering import RememberingPool
from workloads.core import registry
from workloads.core.modes import JAX_DONATED, JAX_TUNED, TF, TF_JIT, TF_KERAS


def record_of(*references: str, one_original: bool = False, **asked: Any) -> dict[str, Any]:
    """The record of a run, as it would be read back from results.json; ports of one original ask it once."""
    request = Request([registry.get(reference) for reference in references], **asked)
    if not one_original:
        return to_json(whole_run.run(request, Silent()).record)
    with (
        tempfile.TemporaryDirectory(prefix="jaxport-") as folder,
        RememberingPool(dict(request.sources), Path(folder), request.timeout_s, remembering=(TF,)) as pool,
    ):
        return to_json(whole_run.run(request, Silent(), pool).record)


WHOLE = (*registry.TOUR, "lstm_cell", "softmax")
"""Judged in every mode, with programs, cells and profiles: small enough that it takes seconds."""
LEAN = ("conv_mnist",)
"""Judged by the gates alone, in fewer modes."""
LEAN_MODES = (TF_JIT, TF_KERAS, JAX_DONATED, JAX_TUNED)
LARGE = tuple(name for name in registry.names() if name not in WHOLE + LEAN)
"""Held to one another in float64 alone: test_large_models.py. With JAXPORT_ZOO set they are judged as the lean are."""
ZOO = bool(os.environ.get("JAXPORT_ZOO"))
JUDGED = (*WHOLE, *LEAN, *(LARGE if ZOO else ()))
IN_ZOO = pytest.mark.skipif(not ZOO, reason="takes minutes: make zoo")
