"""Why a node stayed outside of every cluster, as a word; TensorFlow's own words stand beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping

BOUNDARY, NO_KERNEL, REFUSED, DECLUSTERED = "boundary", "no kernel", "refused", "taken out"
SMALL, OFF, UNKNOWN = "too small", "off", "not known"

KINDS: Mapping[str, str] = {
    NO_KERNEL: "XLA has no kernel for it",
    REFUSED: "TensorFlow does not compile it",
    SMALL: "it could be compiled, but no cluster around it is large enough",
    DECLUSTERED: "it was in a cluster, and was taken out again",
    OFF: "autoclustering was off when it was traced",
    BOUNDARY: "an argument or a result of the function",
    UNKNOWN: "no reason was logged",
}
"""The kinds, the most telling first, and what each means."""

_BOUNDARY = "top level _Arg or _Retval"
_NO_KERNEL = re.compile(r"\bNo registered '[^']*' OpKernel for XLA_\w+ devices")


def kind_of(reason: str) -> str:
    """The kind of a reason for which TensorFlow says that a node cannot be compiled."""
    if reason == _BOUNDARY:
        return BOUNDARY
    return NO_KERNEL if _NO_KERNEL.search(reason) else REFUSED
