"""The base class of hosts: a worker answers requests by the public methods of its host."""

from __future__ import annotations

import functools
import inspect
from typing import Any, ClassVar

from compare.sides._side import Parameters, Reply
from compare.sides.methods import Method, ProtocolError, methods_of
from workloads.core.spec import Arrays


class Host:
    """Answers requests for the methods of its class. The first line of the docstring says what it hosts."""

    host: ClassVar[str]
    """Its name in docs/protocol.md."""

    @classmethod
    @functools.cache
    def methods(cls) -> dict[str, Method]:
        """The requests that it answers, by name."""
        return {name: method for name, method in methods_of(*cls._declaring()).items() if name not in vars(Host)}

    @classmethod
    def _declaring(cls) -> list[type[Any]]:
        """The classes that declare methods; of two methods of one name the later one stands."""
        return [base for base in reversed(cls.__mro__) if issubclass(base, Host) and base is not Host]

    def reply(self, name: str, parameters: Parameters, arrays: Arrays) -> Reply:
        """The reply to one request.

        Raises:
          ProtocolError: the host has no such method, or the parameters are not those that it declares.
        """
        method = self.methods().get(name)
        if method is None:
            raise ProtocolError(f"expected a method of host {self.host!r}, found {name!r}: see docs/protocol.md")
        return self._answer(method, method.unpack(parameters, arrays))

    def _answer(self, method: Method, arguments: inspect.BoundArguments) -> Reply:
        return method.pack_result(getattr(self, method.name)(*arguments.args, **arguments.kwargs))
