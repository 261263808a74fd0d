"""Hosts port files in a worker: each request is answered by a child process, which a file may end as it likes."""

from __future__ import annotations

import inspect
import json
import os
import traceback
from typing import Any, NoReturn

from compare.errors import RequestError
from compare.inputs import at_size
from compare.sides import wire
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.explained import explain
from compare.sides.last_words import describe_end
from compare.sides.methods import Method
from compare.sides.records import to_plain
from compare.sides.replies import PortRequest
from workloads._digits import DataError
from workloads.core import registry
from workloads.core.declared import declare
from workloads.protocol.framework import Unsupported

REFUSALS = (RequestError, registry.RegistryError, DataError)
"""Errors whose message is already one line that says what to do."""


def create() -> Host:
    """A host that has imported what every port file needs, and no port file."""
    return Ports()


class _InChildren(Host):
    """Forks for each request: foreign code finds a fresh process, and leaves nothing behind in the next."""

    def _answer(self, method: Method, arguments: inspect.BoundArguments) -> Reply:
        """The reply of a child.

        Raises:
          Unsupported: the request is refused, foreign code raised, or it ended the child.
        """
        (request,) = arguments.args
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._answer_in_child(writer, method, request)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        if not text:
            how = describe_end(os.waitstatus_to_exitcode(status))
            raise Unsupported(f"expected a workload in {request.reference}, found that its code ended {how}")
        answer = json.loads(text)
        if "refused" in answer:
            raise Unsupported(answer["refused"])
        return Reply(answer["value"])

    def _answer_in_child(self, writer: int, method: Method, request: PortRequest) -> NoReturn:
        try:
            os.chdir(request.folder)
            reply = {"value": method.pack_result(getattr(self, method.name)(request)).value}
        except REFUSALS as error:
            reply = {"refused": str(error)}
        except BaseException as error:  # noqa: BLE001 - whatever foreign code raises, sys.exit() included, is reported
            traceback.print_exc()
            reply = {"refused": f"expected a workload in {request.reference}, found {explain(error)}"}
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(wire.encode(reply))
        os._exit(0)


class Ports(_InChildren):
    """Port files and entry points, each request in a child process."""

    host = "ports"

    def describe(self, request: PortRequest, /) -> dict[str, Any]:
        """Return the declared fields of a workload."""
        return to_plain(declare(registry.get(request.reference), request.reference))

    def prepare_both(self, request: PortRequest, /) -> list[Any]:
        """Draw the arrays for parity and those for timing."""
        workload = registry.get(request.reference)
        pair = at_size.prepare_both(workload, request.size or None, request.data, request.scratch, request.judge_at)
        return [instance.without_workload for instance in pair]

    def prepare_one(self, request: PortRequest, /) -> dict[str, Any]:
        """Draw the arrays of one case at a size."""
        workload = registry.get(request.reference)
        return to_plain(at_size.prepare_one(workload, request.size, request.data, request.scratch).without_workload)

    def prepare_others(self, request: PortRequest, /) -> list[Any]:
        """Draw the arrays at other values of the dimensions."""
        workload = registry.get(request.reference)
        others = at_size.prepare_others(workload, request.size, request.dimensions, request.others, request.scratch)
        return [other if isinstance(other, str) else other.without_workload for other in others]

    def check_batch(self, request: PortRequest, /) -> None:
        """Check that the workload has a batch whose size can grow."""
        at_size.check_batch(registry.get(request.reference), request.size, request.data)

    def prepare_batch(self, request: PortRequest, /) -> dict[str, Any]:
        """Draw the arrays of a training step at a batch size."""
        workload = registry.get(request.reference)
        batch = at_size.prepare_batch(workload, request.size, request.batch, request.data, request.scratch)
        return to_plain(batch.without_workload)
