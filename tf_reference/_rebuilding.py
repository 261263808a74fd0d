"""A model that kept a tensor of an earlier graph is built anew, and asked again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

_OUT_OF_SCOPE = "is out of scope and cannot be used here"
"""TensorFlow's message for a tensor of another graph, in a TypeError or a ValueError."""


class Rebuilt(Protocol):
    """An object with models that can be built anew."""

    def rebuild(self) -> None:
        """Build every model anew."""


Host = TypeVar("Host", bound=Rebuilt)
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def rebuilt_once(request: Callable[Concatenate[Host, Asked], Answer]) -> Callable[Concatenate[Host, Asked], Answer]:
    """A request that is asked again, of a model built anew, where this one kept a tensor of an earlier graph."""

    @functools.wraps(request)
    def ask(host: Host, /, *positional: Asked.args, **keywords: Asked.kwargs) -> Answer:
        try:
            return request(host, *positional, **keywords)
        except (TypeError, ValueError) as error:
            if _OUT_OF_SCOPE not in str(error):
                raise
        host.rebuild()
        return request(host, *positional, **keywords)

    return ask
