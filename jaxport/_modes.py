"""How JAX runs a pass: as it is, of compiled parts, compiled, with its state donated, with options of the twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from jaxport._model import Model
from workloads.core.target import TargetError
from workloads.protocol.framework import CompilerOptions

EAGER, APART, JIT, DONATED, TUNED = "eager", "apart", "jit", "donated", "tuned"


def in_mode(function: Callable[..., Any], mode: str, options: CompilerOptions | None = None) -> Any:
    """The function as that mode runs it; `options` are those of XLA, for a mode that has some.

    Args:
      function: a pass; in mode "donated" its first two arguments are overwritten.
      mode: "eager" and "apart" return the function itself; all others jit it.
      options: XLA's compiler options by name.

    Raises:
      RuntimeError: `jax_disable_jit` is set, so that all modes would be mode "eager".
    """
    if mode in (EAGER, APART):
        return function
    if getattr(jax.config, "jax_disable_jit", False):
        raise RuntimeError("expected jax.jit to compile, found jax_disable_jit: take it out of the port's code")
    # JAX keeps what it compiled by function: one of its own, so that a mode never runs the code of another.
    stage = function if mode in (JIT, DONATED) else lambda *arguments: function(*arguments)
    # An empty mapping is another key of JAX's cache than None: what has no options must stay what users run.
    return jax.jit(
        stage, donate_argnums=(0, 1) if mode == DONATED else (), compiler_options=dict(options or {}) or None
    )


def declared_options(model: Model) -> CompilerOptions:
    """The compiler options that a twin declares for the platform at hand, known to be taken.

    Raises:
      TargetError: XLA does not take one of them.
    """
    platform = jax.default_backend()
    options = dict(model.compiler_options.get(platform, {}))
    if refusal := find_refusal(options):
        raise TargetError(
            f"expected options that this XLA takes in Model.compiler_options[{platform!r}], found {refusal}: "
            "correct or remove it"
        )
    return options


def find_refusal(options: CompilerOptions) -> str:
    """XLA's message that refuses an option, which it reads when it compiles; empty where it accepts all."""
    if not options:
        return ""
    try:
        in_mode(lambda x: x + 1, JIT, options).lower(0.0).compile()
    except jax.errors.JaxRuntimeError as error:
        return str(error).splitlines()[0].removeprefix("INVALID_ARGUMENT: ").rstrip(".")
    return ""
