"""Hosts port files in a worker: each request is answered by a child process, which a file may end as it likes."""

from __future__ import annotations

import json
import os
import traceback
from typing import Any, NoReturn

import msgspec

from compare.errors import RequestError
from compare.inputs import at_size
from compare.sides import wire
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.explained import explained
from compare.sides.host_parameters import PortRequest
from compare.sides.last_words import ended
from compare.sides.protocol import Method
from workloads import _registry
from workloads._declared import declared
from workloads._digits import DataError
from workloads._framework import Unsupported
from workloads._spec import Arrays

REFUSALS = (RequestError, _registry.RegistryError, DataError)
"""What already is one line that says what to do."""


def create() -> Host:
    """A host that has imported what every port file needs, and no port file."""
    return Ports()


class _InChildren(Host):
    """Forks for each request: foreign code finds a fresh process, and leaves nothing behind in the next."""

    def _answer(self, method: Method, parameters: msgspec.Struct, arrays: Arrays) -> Reply:
        """The reply of a child.

        Raises:
          Unsupported: the request is refused, foreign code raised, or it ended the child.
        """
        assert isinstance(parameters, PortRequest)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._answer_in_child(writer, method, parameters)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            text = said.read()
        _, status = os.waitpid(child, 0)
        if not text:
            how = ended(os.waitstatus_to_exitcode(status))
            raise Unsupported(f"expected a workload in {parameters.reference}, found that its code ended {how}")
        answer = json.loads(text)
        if "refused" in answer:
            raise Unsupported(answer["refused"])
        return Reply(answer["value"])

    def _answer_in_child(self, writer: int, method: Method, parameters: PortRequest) -> NoReturn:
        try:
            os.chdir(parameters.folder)
            said = {"value": super()._answer(method, parameters, {}).value}
        except REFUSALS as error:
            said = {"refused": str(error)}
        except BaseException as error:  # noqa: BLE001 - whatever foreign code raises, sys.exit() included, is reported
            traceback.print_exc()
            said = {"refused": f"expected a workload in {parameters.reference}, found {explained(error)}"}
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(wire.encode(said))
        os._exit(0)


class Ports(_InChildren):
    """Answers about a port file, or about a workload behind an entry point."""

    host = "ports"

    def describe(self, parameters: PortRequest, arrays: Arrays) -> Reply:
        """What the workload says of itself."""
        workload = _registry.get(parameters.reference)
        return _plain(declared(workload, parameters.reference))

    def prepare_both(self, parameters: PortRequest, arrays: Arrays) -> Reply:
        """What parity is judged on and what is timed, drawn into a folder."""
        workload = _registry.get(parameters.reference)
        pair = at_size.prepare_both(
            workload, parameters.size or None, parameters.data, parameters.scratch, parameters.judge_at
        )
        return _plain([prepared.drawn for prepared in pair])

    def prepare_one(self, parameters: PortRequest, arrays: Arrays) -> Reply:
        """One random case at a size, drawn into a folder."""
        workload = _registry.get(parameters.reference)
        return _plain(at_size.prepare_one(workload, parameters.size, parameters.data, parameters.scratch).drawn)

    def prepare_others(self, parameters: PortRequest, arrays: Arrays) -> Reply:
        """The workload at other sizes of its named dimensions, drawn into a folder."""
        workload = _registry.get(parameters.reference)
        others = at_size.prepare_others(
            workload, parameters.size, parameters.dimensions, parameters.others, parameters.scratch
        )
        return _plain([other if isinstance(other, str) else other.drawn for other in others])

    def check_batch(self, parameters: PortRequest, arrays: Arrays) -> Reply:
        """Whether there is a batch to enlarge."""
        workload = _registry.get(parameters.reference)
        at_size.check_batch(workload, parameters.size, parameters.data)
        return Reply()

    def prepare_batch(self, parameters: PortRequest, arrays: Arrays) -> Reply:
        """One training step at another batch size, drawn into a folder."""
        workload = _registry.get(parameters.reference)
        return _plain(
            at_size.prepare_batch(
                workload, parameters.size, parameters.batch, parameters.data, parameters.scratch
            ).drawn
        )


def _plain(value: Any) -> Reply:
    return Reply(msgspec.to_builtins(value, enc_hook=str))
