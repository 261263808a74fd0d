"""What a worker answers requests with: an object with a method a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compare.sides._side import Reply
from workloads._spec import Arrays


class Host:
    """Each public method of a subclass is a request: it takes JSON parameters and arrays, and gives a reply."""

    def reply(self, method: str, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """The reply to one request."""
        answer: Callable[[Mapping[str, Any], Arrays], Reply] = getattr(self, method)
        return answer(parameters, arrays)
