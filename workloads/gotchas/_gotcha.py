"""What an entry of the catalogue is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from workloads._spec import GATES, ArraySpec, Deviation, Workload

NAIVE = "naive_"
"""Before the name of a function in jaxport/gotchas: the port that one would write first."""


@dataclass(frozen=True)
class Gotcha:
    """One behaviour of TensorFlow, the likely port that differs from it, and the right one.

    The code is not here: the theme's files in tf_reference/gotchas and jaxport/gotchas have a function of this name
    each, and the latter one more whose name starts with `naive_`.

    Attributes:
      name: identifies it; a Python name.
      why: what differs, and what to write. One or two sentences.
      concerns: operations and layers by their public names, such as "tf.nn.gelu" and "jax.nn.gelu".
      inputs: of one call, in the order of the arguments.
      fails: the gate at which the naive port fails; empty of a control, whose likely port is right.
      source: who says so, or "measured".
      deviations: what is known to differ in the right port too.
    """

    name: str
    why: str
    concerns: tuple[str, ...]
    inputs: Mapping[str, ArraySpec]
    fails: str = ""
    source: str = "measured"
    deviations: tuple[Deviation, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name) or self.name.startswith(NAIVE):
            raise ValueError(f"expected a name of small letters, digits and '_', found {self.name!r}")
        if self.fails and self.fails not in GATES:
            raise ValueError(f"expected one of the gates {', '.join(GATES)}, or none, found {self.fails!r}")

    @property
    def is_control(self) -> bool:
        """Whether the likely port is the right one."""
        return not self.fails

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
        return Workload(
            name=port,
            summary=self.why,
            source=self.source,
            tf=f"tf_reference.gotchas.{theme}:{self.name}",
            jax=f"jaxport.gotchas.{theme}:{port}",
            inputs=self.inputs,
            builds=False,
            deviations=self.deviations,
        )
