"""Why a node stayed outside of every cluster, as a word; TensorFlow's own words stand beside it."""

from __future__ import annotations

import re

from compare.clusters.log_lines import Refusal
from compare.record.clustering_part import BOUNDARY, NO_KERNEL, REFUSED

_BOUNDARY = "top level _Arg or _Retval"
_NO_KERNEL = re.compile(r"\bNo registered '[^']*' OpKernel for XLA_\w+ devices")


def kind_of(refusal: Refusal) -> str:
    """The kind of a reason for which TensorFlow says that a node cannot be compiled."""
    if refusal == Refusal(_BOUNDARY):
        return BOUNDARY
    return NO_KERNEL if _NO_KERNEL.search(refusal.reason) else REFUSED
