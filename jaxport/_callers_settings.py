"""JAX's settings in a process that is not jaxport's own: what a check needs, and afterwards what was there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import jax


@contextmanager
def settings_for_check() -> Iterator[None]:
    """Let functions be compiled, and return NaNs and infinities; in this thread, and afterwards all is as it was.

    64-bit types are switched for each call (`jaxport._session.Session.precision`).
    """
    with ExitStack() as settings:
        settings.enter_context(jax.disable_jit(False))
        settings.enter_context(jax.debug_nans(False))
        settings.enter_context(jax.debug_infs(False))
        settings.enter_context(jax.transfer_guard("allow"))
        yield
