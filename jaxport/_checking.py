"""The public functions that judge: they find jaxport's other packages, whatever a project calls its own, and ask them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxport._neighbours import neighbours

if TYPE_CHECKING:
    from compare.api.check_report import CheckReport
    from workloads._spec import Deviation


class RequestError(ValueError):
    """A check that cannot be carried out: one sentence with what was expected, found, and what to do."""


def check(
    tf_fn: Callable[..., Any],
    jax_fn: Callable[..., Any],
    inputs: Mapping[str, Any],
    *,
    dimensions: Mapping[str, str] | None = None,
    deviations: Sequence[Deviation] = (),
    name: str | None = None,
    timeout_s: float = 300,
) -> CheckReport:
    """Judge a port by all gates of `jaxport run`, on objects of this process.
    """
    with neighbours():
        from compare.api.checking import check
        from compare.errors import Foreseen

        try:
            return check(tf_fn, jax_fn, inputs, dimensions or {}, deviations, name, timeout_s)
        except Foreseen as error:
            raise RequestError(" ".join(str(error).split())) from error.__cause__
