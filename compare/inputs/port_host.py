"""Hosts port files in a worker: each request is answered by a child process, which a file may end as it likes."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from compare import files
from compare.errors import RequestError
from compare.inputs import at_size
from compare.sides import wire
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.explained import explained
from compare.sides.last_words import ended
from workloads import _registry
from workloads._declared import declared
from workloads._digits import DataError
from workloads._framework import Unsupported
from workloads._spec import Arrays, Workload

REFUSALS = (RequestError, _registry.RegistryError, DataError)
"""What already is one line that says what to do."""


def create() -> Host:
    """A host that has imported what every port file needs, and no port file."""
    return Ports()


class _InChildren(Host):
    """Forks for each request: foreign code finds a fresh process, and leaves nothing behind in the next."""

    def reply(self, method: str, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """The reply of a child.

        Raises:
          Unsupported: the request is refused, foreign code raised, or it ended the child.
        """
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._answer(writer, method, parameters)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            text = said.read()
        _, status = os.waitpid(child, 0)
        if not text:
            how = ended(os.waitstatus_to_exitcode(status))
            raise Unsupported(f"expected a workload in {parameters['reference']}, found that its code ended {how}")
        answer = json.loads(text)
        if "refused" in answer:
            raise Unsupported(answer["refused"])
        return Reply(answer["value"])

    def _answer(self, writer: int, method: str, parameters: Mapping[str, Any]) -> NoReturn:
        try:
            os.chdir(parameters["folder"])
            said = {"value": super().reply(method, parameters, {}).value}
        except REFUSALS as error:
            said = {"refused": str(error)}
        except BaseException as error:  # noqa: BLE001 - whatever foreign code raises, sys.exit() included, is reported
            traceback.print_exc()
            said = {"refused": f"expected a workload in {parameters['reference']}, found {explained(error)}"}
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(wire.encode(said))
        os._exit(0)


@dataclass(frozen=True)
class Asked:
    """What is asked of a workload; a request leaves out what it has no use for.

    Attributes:
      reference: a port file, or the name of an entry point.
      folder: where paths start: the current folder of who asks.
      scratch: where arrays are drawn into.
    """

    reference: str
    folder: Path
    size: str = ""
    data: Path | None = None
    scratch: Path = Path()
    judge_at: str | None = None
    batch: int = 0
    dimensions: Mapping[str, int] = field(default_factory=dict)
    others: tuple[Mapping[str, int], ...] = ()


class Ports(_InChildren):
    """What can be asked of a port file, or of a workload behind an entry point."""

    def describe(self, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """What the workload says of itself."""
        asked, workload = _found(parameters)
        return _plain(declared(workload, asked.reference))

    def prepare_both(self, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """What parity is judged on and what is timed, drawn into a folder."""
        asked, workload = _found(parameters)
        found = at_size.prepare_both(workload, asked.size or None, asked.data, asked.scratch, asked.judge_at)
        return _plain([each.drawn for each in found])

    def prepare_one(self, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """One random case at a size, drawn into a folder."""
        asked, workload = _found(parameters)
        return _plain(at_size.prepare_one(workload, asked.size, asked.data, asked.scratch).drawn)

    def prepare_others(self, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """The workload at other sizes of its named dimensions, drawn into a folder."""
        asked, workload = _found(parameters)
        found = at_size.prepare_others(workload, asked.size, asked.dimensions, asked.others, asked.scratch)
        return _plain([each if isinstance(each, str) else each.drawn for each in found])

    def check_batch(self, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """Whether there is a batch to enlarge."""
        asked, workload = _found(parameters)
        at_size.check_batch(workload, asked.size, asked.data)
        return Reply()

    def prepare_batch(self, parameters: Mapping[str, Any], arrays: Arrays) -> Reply:
        """One training step at another batch size, drawn into a folder."""
        asked, workload = _found(parameters)
        return _plain(at_size.prepare_batch(workload, asked.size, asked.batch, asked.data, asked.scratch).drawn)


def _found(parameters: Mapping[str, Any]) -> tuple[Asked, Workload]:
    asked = files.converted(parameters, Asked)
    return asked, _registry.get(asked.reference)


def _plain(value: Any) -> Reply:
    return Reply(msgspec.to_builtins(value, enc_hook=str))
