"""The entry of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from workloads.core.spec import GATES, ArraySpec, Deviation, Workload

NAIVE = "naive_"
"""Before the name of a function in jaxport/gotchas: the port that one would write first."""
TENSORFLOW, JAX = "tf_reference", "jaxport"
"""The packages of the twins."""


@dataclass(frozen=True)
class Gotcha:
    """One behaviour of TensorFlow, the likely port that differs from it, and the right one.

    A side whose code is one expression has it here. Of any other, the theme's file in tf_reference/gotchas or
    jaxport/gotchas has a function of this name, and the latter one more whose name starts with `naive_`.

    Attributes:
      name: identifies it; a Python name.
      why: what differs, and what to write. One or two sentences.
      concerns: operations and layers by their public names, such as "tf.nn.gelu" and "jax.nn.gelu".
      inputs: of one call, in the order of the arguments.
      fails: the gate at which the naive port fails; empty of a control, whose likely port is right.
      source: who says so, or "measured".
      deviations: what is known to differ in the right port too.
      tf: the expression in TensorFlow, of the inputs, of what the theme's file in tf_reference/gotchas defines, and of
        the names that _expressions.py beside it has.
      jax: the right port, likewise of jaxport/gotchas.
      naive: the port that one would write first.
    """

    name: str
    why: str
    concerns: tuple[str, ...]
    inputs: Mapping[str, ArraySpec]
    fails: str = ""
    source: str = "measured"
    deviations: tuple[Deviation, ...] = ()
    tf: str = ""
    jax: str = ""
    naive: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name) or self.name.startswith(NAIVE):
            raise ValueError(f"expected a name of small letters, digits and '_', found {self.name!r}")
        if self.fails and self.fails not in GATES:
            raise ValueError(f"expected one of the gates {', '.join(GATES)}, or none, found {self.fails!r}")
        if bool(self.jax) != bool(self.naive or (self.jax and self.is_control)):
            raise ValueError(f"expected both ports of {self.name} as expressions, or none, found one: write the other")

    @property
    def is_control(self) -> bool:
        """Whether the likely port is the right one."""
        return not self.fails

    def functions(self, side: str) -> dict[str, str]:
        """By name, the code of functions that are one expression each; none where the theme's file has them."""
        texts = {self.name: self.tf} if side == TENSORFLOW else {self.name: self.jax, f"{NAIVE}{self.name}": self.naive}
        arguments = ", ".join(self.inputs)
        return {name: f"def {name}({arguments}):\n    return {text}" for name, text in texts.items() if text}

    def workload(self, theme: str, naive: bool = False) -> Workload:
        """The right port against TensorFlow as a workload, or the naive one.

        Args:
          theme: the name of the file that declares it.
          naive: whether the port that one would write first is meant.

        Raises:
          ValueError: a control has no naive port.
        """
        if naive and self.is_control:
            raise ValueError(f"expected an entry that differs, found the control {self.name}")
        port = f"{NAIVE}{self.name}" if naive else self.name
        original, ports = (f"gotchas.{'_expressions' if text else theme}" for text in (self.tf, self.jax))
        return Workload(
            name=port,
            summary=self.why,
            source=self.source,
            tf=f"{TENSORFLOW}.{original}:{self.name}",
            jax=f"{JAX}.{ports}:{port}",
            inputs=self.inputs,
            builds=False,
            deviations=self.deviations,
        )
