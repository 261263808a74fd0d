"""JAX's settings in a process that is not jaxport's own: what a check needs, and afterwards what was there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import jax


@contextmanager
def settings_for_check() -> Iterator[None]:
    """Let functions be compiled, return NaNs and infinities, and promote; in this thread alone, and undone afterwards.

    64-bit types are switched for each call (`jaxport._session.Session.precision`).
    """
    with ExitStack() as settings:
        settings.enter_context(jax.disable_jit(False))
        settings.enter_context(jax.debug_nans(False))
        settings.enter_context(jax.debug_infs(False))
        settings.enter_context(jax.transfer_guard("allow"))
        settings.enter_context(jax.numpy_dtype_promotion("standard"))
        settings.enter_context(jax.numpy_rank_promotion("allow"))
        yield
