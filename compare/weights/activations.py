"""Activations of Keras by name: the expression in JAX, and the names of the functions that a module may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.protocol.inspection import Plain


@dataclass(frozen=True)
class Activation:
    """One activation.

    Attributes:
      expression: of x, in JAX.
      names: of functions that are it.
    """

    expression: str
    names: tuple[str, ...]

    @property
    def function(self) -> str:
        """The activation as an argument: a function with one of these names, which readers recognize."""
        if self.expression == "x":
            return "jax.nn.identity"
        name, _, rest = self.expression.removesuffix(")").partition("(x")
        return f"jax.tree_util.Partial({name}{rest})" if rest else name


def _nn(name: str, *names: str) -> Activation:
    return Activation(f"jax.nn.{name}(x)", (name, *names))


ACTIVATIONS: Mapping[str, Activation] = {
    "linear": Activation("x", ("identity",)),
    "relu": _nn("relu"),
    "relu6": _nn("relu6"),
    "leaky_relu": Activation("jaxport.activations.leaky_relu(x)", ("leaky_relu(negative_slope=0.2)",)),
    "elu": _nn("elu"),
    "selu": _nn("selu"),
    "celu": Activation("jaxport.activations.celu(x)", ("celu",)),
    "silu": _nn("silu", "swish"),
    "swish": _nn("silu", "swish"),
    "hard_silu": _nn("hard_silu", "hard_swish"),
    "hard_swish": _nn("hard_silu", "hard_swish"),
    "gelu": Activation("jax.nn.gelu(x, approximate=False)", ("gelu(approximate=False)",)),
    "mish": _nn("mish"),
    "softplus": _nn("softplus"),
    "softsign": _nn("soft_sign"),
    "sigmoid": _nn("sigmoid"),
    "hard_sigmoid": _nn("hard_sigmoid"),
    "log_sigmoid": _nn("log_sigmoid"),
    "tanh": Activation("jnp.tanh(x)", ("tanh",)),
    "exponential": Activation("jnp.exp(x)", ("exp",)),
    "softmax": _nn("softmax"),
    "log_softmax": _nn("log_softmax"),
}
"""By the name that a config has."""


def expression_of(name: Plain) -> str:
    """The expression of an activation; for one that is not known, what it is called."""
    activation = ACTIVATIONS.get(str(name))
    return activation.expression if activation else f"the activation {name!r} of x"


def is_activation(name: Plain, function: Plain) -> bool:
    """Whether a function of a module is that activation of Keras."""
    activation = ACTIVATIONS.get(str(name))
    return activation is not None and function in activation.names
