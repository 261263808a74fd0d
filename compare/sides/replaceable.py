"""A worker that is started when it is first asked for something, and another one in its place once it is gone."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from compare.sides._side import Reply, SideError
from compare.sides.client import LiveSide
from workloads._spec import Arrays


class Replaceable:
    """The worker of a name, whichever process it is now. One that died idle had nothing to lose, and is replaced.

    Args:
      stack: closes the worker.

    Attributes:
      asking: held from `started` to `call`, so that the worker is the same one.
    """

    def __init__(self, name: str, timeout_s: float, stack: ExitStack) -> None:
        self._name = name
        self._timeout_s = timeout_s
        # Made now: a command that starts the worker later may have temporary files of its own, which go with it.
        self._scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"jaxport-{name}-")))
        self._side: LiveSide | None = None
        # Both sides are asked at once, each from a thread, and a worker answers one request after the other. Choosing
        # the worker and asking it is one step: what one thread asks may end the worker that another has just chosen.
        self.asking = threading.RLock()
        stack.callback(self._close)

    def started(self) -> LiveSide:
        """The worker that there is now."""
        with self.asking:
            if self._side is not None and not self._side.alive:
                self._close()
            if self._side is None:
                self._side = LiveSide(self._name, self._scratch, timeout_s=self._timeout_s)
            return self._side

    def call(self, side: LiveSide, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        """Ask a worker that `started` gave.

        Raises:
          SideError: as `LiveSide.call`; where it was lost, the next request finds another worker.
        """
        with self.asking:
            try:
                return side.call(method, parameters, arrays)
            except SideError as error:
                if error.lost and side is self._side:
                    self._close()
                raise

    def _close(self) -> None:
        if self._side is not None:
            self._side.close()
            self._side = None
