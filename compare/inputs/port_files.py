"""Workloads whose functions are somebody else's: a worker calls them, and this process sees what they gave."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from compare import files
from compare.errors import RequestError
from compare.inputs import at_size
from compare.inputs.at_size import Drawn, Prepared
from compare.inputs.port_host import Ports
from compare.sides._side import SideError, Unavailable
from compare.sides.client import Stalled
from compare.sides.methods import request
from compare.sides.replaceable import Replaceable
from compare.sides.replies import PortRequest
from workloads.core import registry
from workloads.core.declared import AnyWorkload, Declared
from workloads.core.spec import Workload

Found = TypeVar("Found")


@contextmanager
def ports_apart(timeout_s: float = 300) -> Iterator[None]:
    """Have port files run by a worker meanwhile; inside another such block, by that one's.

    Args:
      timeout_s: how long a file may take to be read, and to give its arrays.
    """
    if _in_use:
        yield
        return
    with ExitStack() as stack:
        host = _PortHost(timeout_s, stack)
        _in_use.append(host)
        stack.callback(_in_use.remove, host)
        yield


def get(reference: str) -> AnyWorkload:
    """The workload of a name, or of a port file ("my_port.py").

    Raises:
      RegistryError: no such name, no such file, or a file that declares no workload.
    """
    if not registry.is_foreign(reference):
        return registry.get(reference)
    if reference.endswith(".py"):
        registry.check_file(Path(reference))
    declaration = _ask(Ports.describe, PortRequest(reference, Path.cwd()))
    try:
        return files.convert_plain(declaration, Declared)
    except msgspec.ValidationError as error:
        raise registry.RegistryError(
            f"expected a Workload whose fields have the declared types in {reference}, found: {error}"
        ) from error


def get_each(references: list[str]) -> list[AnyWorkload]:
    """The workloads of several references. A file that declares none is a workload that refuses everything.

    Raises:
      RegistryError: a name or a file that does not exist; of a single reference, whatever is wrong with it.
    """
    for reference in references:
        if reference.endswith(".py"):
            registry.check_file(Path(reference))
    if len(references) == 1:
        return [get(references[0])]
    return [_got(reference) for reference in references]


@dataclass(frozen=True)
class Unreadable(Declared):
    """A port file that declares no workload, and why."""

    reason: str = ""


def _got(reference: str) -> AnyWorkload:
    try:
        return get(reference)
    except registry.RegistryError as error:
        if not reference.endswith(".py"):
            raise
        return Unreadable(reference, name=_NO_NAME.sub("-", reference).strip("-."), reason=str(error))


_NO_NAME = re.compile(r"[^\w.]+")


def prepare_both(
    workload: AnyWorkload, size: str | None, data: Path | None, scratch: Path, judge_at: str | None = None
) -> tuple[Prepared, Prepared]:
    """See `at_size.prepare_both`; calls foreign functions in a worker.

    Raises:
      RequestError: the workload has no such size, refuses its dimensions, or its code fails.
    """
    if isinstance(workload, Workload):
        return at_size.prepare_both(workload, size, data, scratch, judge_at)
    parameters: dict[str, Any] = {"size": size or "", "data": data, "scratch": scratch, "judge_at": judge_at}
    small, large = _request_drawn(workload, Ports.prepare_both, tuple[Drawn, Drawn], **parameters)
    instance = _as_instance(workload, small)
    return instance, instance if small == large else _as_instance(workload, large)


def prepare_one(workload: AnyWorkload, size: str, data: Path | None, scratch: Path) -> Prepared:
    """See `at_size.prepare_one`; calls foreign functions in a worker.

    Raises:
      RequestError: as `prepare_both` does.
    """
    if isinstance(workload, Workload):
        return at_size.prepare_one(workload, size, data, scratch)
    return _as_instance(
        workload, _request_drawn(workload, Ports.prepare_one, Drawn, size=size, data=data, scratch=scratch)
    )


def prepare_others(instance: Prepared, scratch: Path) -> list[Prepared | str]:
    """See `at_size.prepare_others`; calls foreign functions in a worker.

    Raises:
      RequestError: its code fails.
    """
    workload = instance.workload
    parameters = {"size": instance.size, "dimensions": instance.dimensions, "others": instance.others}
    if not instance.others:
        return []
    if isinstance(workload, Workload):
        return at_size.prepare_others(workload, **parameters, scratch=scratch)
    plain = _request_drawn(workload, Ports.prepare_others, list[Drawn | str], **parameters, scratch=scratch)
    return [other if isinstance(other, str) else _as_instance(workload, other) for other in plain]


def check_batch(workload: AnyWorkload, size: str, data: Path | None) -> None:
    """See `at_size.check_batch`; calls foreign functions in a worker, and returns nothing.

    Raises:
      RequestError: it has none.
    """
    if isinstance(workload, Workload):
        at_size.check_batch(workload, size, data)
    else:
        _request_drawn(workload, Ports.check_batch, type(None), size=size, data=data)


def prepare_batch(workload: AnyWorkload, size: str, batch: int, data: Path | None, scratch: Path) -> Prepared:
    """See `at_size.prepare_batch`; calls foreign functions in a worker.

    Raises:
      RequestError: as `prepare_both` does, or there is no batch that can be enlarged.
    """
    if isinstance(workload, Workload):
        return at_size.prepare_batch(workload, size, batch, data, scratch)
    plain = _request_drawn(workload, Ports.prepare_batch, Drawn, size=size, batch=batch, data=data, scratch=scratch)
    return _as_instance(workload, plain)


def _as_instance(workload: Declared, plain: Drawn) -> Prepared:
    return Prepared(**vars(plain), workload=workload)


def _request_drawn(
    workload: Declared, method: Callable[[Ports, PortRequest], Any], type_: Any, **parameters: Any
) -> Any:
    if isinstance(workload, Unreadable):
        raise RequestError(workload.reason)
    asking = PortRequest(workload.reference, Path.cwd(), **parameters)
    try:
        return files.convert_plain(_ask(method, asking), type_)
    except registry.RegistryError as error:
        raise RequestError(str(error)) from error
    except msgspec.ValidationError as error:
        raise RequestError(
            f"expected {workload.name} to give values of the declared types, found: {error}: correct {asking.reference}"
        ) from error


def _ask(method: Callable[[Ports, PortRequest], Found], port_request: PortRequest) -> Found:
    if not _in_use:
        raise RuntimeError(
            "expected a worker for port files, found none: enter compare.inputs.port_files.ports_apart()"
        )
    return _in_use[-1].ask(method, port_request)


class _PortHost:
    """The worker that port files are read by."""

    def __init__(self, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("ports", timeout_s, stack)

    def ask(self, method: Callable[[Ports, PortRequest], Found], port_request: PortRequest) -> Found:
        """The answer of a child of the worker.

        Raises:
          RegistryError: the file's own code fails, ends its process or does not end; or the request is refused.
        """
        try:
            return request(method)(self._worker, port_request)
        except Unavailable as error:
            raise registry.RegistryError(error.reason) from error
        except Stalled as error:
            problem = f"code that does not finish: {error.reason}"
            raise registry.RegistryError(f"expected a workload in {port_request.reference}, found {problem}") from error
        except SideError as error:
            raise registry.RegistryError(
                f"expected a workload in {port_request.reference}, found {error.reason}"
            ) from error


_in_use: list[_PortHost] = []
"""The last is asked."""
