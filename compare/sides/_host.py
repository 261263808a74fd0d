"""What a worker answers requests with: an object that implements the methods of one host in the protocol's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec

from compare.sides import protocol
from compare.sides._side import Reply
from compare.sides.protocol import HostName, Method, ProtocolError
from workloads._spec import Arrays

_OWN = frozenset({"host", "reply"})


class Host:
    """Answers the methods that the protocol gives to `host`: each takes its parameters and arrays, and gives a reply.

    Raises:
      ProtocolError: a public method is missing, or is not in the table.
    """

    host: ClassVar[HostName]

    def __init__(self) -> None:
        self._methods = protocol.methods_of(self.host)
        public = {name for name in dir(type(self)) if not name.startswith("_")} - _OWN
        missing, extra = sorted(self._methods.keys() - public), sorted(public - self._methods.keys())
        if missing or extra:
            raise ProtocolError(
                f"expected {type(self).__name__} to implement the methods of host {self.host!r} and no others, found "
                f"missing: {', '.join(missing) or 'none'}; extra: {', '.join(extra) or 'none'}"
            )
        self._answers: dict[str, Callable[[Any, Arrays], Reply]] = {name: getattr(self, name) for name in self._methods}

    def reply(self, name: str, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """The reply to one request.

        Args:
          name: of a method.
          parameters: plain data, as it came.
          arrays: those that came with the request.

        Raises:
          ProtocolError: the host has no such method, or the parameters are not those that it declares.
        """
        method = self._methods.get(name)
        if method is None:
            raise ProtocolError(f"expected a method of host {self.host!r}, found {name!r}: see docs/protocol.md")
        return self._answer(method, protocol.validated(method, parameters), arrays)

    def _answer(self, method: Method, parameters: msgspec.Struct, arrays: Arrays) -> Reply:
        return self._answers[method.name](parameters, arrays)
