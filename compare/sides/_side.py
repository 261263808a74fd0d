"""The interface of a side, live or recorded, and its errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from compare.errors import Foreseen, RequestError
from workloads.core.spec import Arrays

SIDES = ("tf", "jax")

Parameters = Mapping[str, Any]
"""The parameters of a request by name; `to_plain` converts them to JSON."""


class SideError(Foreseen):
    """A side did not deliver. `reason` is one line; `details` is what the worker said, for --debug."""

    def __init__(self, side: str, doing: str, reason: str, details: str = "", is_lost: bool = False) -> None:
        super().__init__(f"{side}: {doing}: {reason}")
        self.side, self.doing, self.reason, self.details = side, doing, reason, details
        self.lost = is_lost
        """Whether the worker is gone, and what it had loaded with it."""
        self.mode = self.pass_ = ""
        """Whose result did not come; empty where it is that of no mode or of no pass."""

    def of(self, parameters: Parameters) -> Self:
        """The error with the mode, pass and case of the missing result."""
        self.mode, self.pass_ = str(parameters.get("mode", "")), str(parameters.get("pass_", ""))
        return self


class Foretold(SideError):
    """The side knows what it cannot do: the reason is its own sentence, not one of a framework or a user's code."""


class Unavailable(Foretold):
    """The side says that it cannot do this for this workload, and why; nothing is wrong with it."""


class Missing(SideError):
    """The framework is not installed where the side was looked for: it will not be there the next time either."""


class NoDevice(Foretold):
    """The device that was asked for is not there for this framework: it will not be there the next time either."""


class NotRecorded(SideError):
    """A recorded side lacks the request, or what it holds is damaged: whether the side can do it is not known."""


class BadTarget(Foretold):
    """The function or file that was named for this side does not exist."""


class BadWeights(BadTarget):
    """The function that was named for this side has other weights than the workload."""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Requests to read a file or a function: what the worker says of one that it cannot read is the user's error.

    Args:
      what: the file or function. A sentence of the worker's own stands as it is.

    Raises:
      RequestError: it cannot be read.
    """
    try:
        yield
    except SideError as error:
        reason = error.reason if isinstance(error, Foretold) else f"expected to read {what}, found {error.reason}"
        raise RequestError(reason) from error


@dataclass(frozen=True)
class Reply:
    """Plain JSON data, and arrays."""

    value: Any = None
    arrays: Arrays = field(default_factory=dict)


class Side(ABC):
    """One side. Requests are method names with plain JSON parameters, so that replies can be kept and replayed."""

    name: str
    lost = False
    """Whether a caller has learned that the worker is gone, with all that it had loaded."""

    @property
    def alive(self) -> bool:
        """Whether the worker still runs; of a side without one, always."""
        return True

    @property
    def answering(self) -> Side:
        """The side that answers: the inner one of a side that wraps another."""
        return self

    def wait_until_started(self) -> None:  # noqa: B027 - a side without a worker has nothing to wait for
        """Wait until the worker can be asked.

        Raises:
          SideError: it does not come up.
        """

    def kill(self) -> None:  # noqa: B027 - a side without a worker has nothing to kill
        """End the worker, if there is one, without waiting for it."""

    @abstractmethod
    def call(self, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """Ask for something.

        Raises:
          SideError: it did not come, and why.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the worker, if there is one."""
