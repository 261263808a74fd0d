"""A worker that is started when it is first asked for something, and replaced once it is lost."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from compare.sides._side import Parameters, Reply, Side
from compare.sides.client import LiveSide
from compare.sides.workers import WorkerSet
from workloads.core.spec import Arrays


class Replaceable(Side):
    """One worker, whichever process it is now. One that died between two requests is replaced.

    Args:
      python: its interpreter; None is this one.

    Attributes:
      asking: held during a request, and by a caller whose requests must all reach the same worker.
    """

    def __init__(self, name: str, timeout_s: float, stack: ExitStack, python: str | None = None) -> None:
        # Made now: a command that starts the worker later may have temporary files of its own, which go with it.
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"jaxport-{name}-")))
        self.name = name
        self._workers = stack.enter_context(WorkerSet(lambda name: LiveSide(name, scratch, python, timeout_s)))
        # Both sides are asked at once, each from a thread, and a worker answers one request after the other. Choosing
        # the worker and asking it is one step: what one thread asks may end the worker that another has just chosen.
        self.asking = threading.RLock()

    def current_worker(self) -> Side:
        """Return the present worker; replace a lost one."""
        with self.asking:
            self._workers.replace_lost()
            return self._workers.ensure(self.name)

    def call(self, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """Ask the worker that there is now.

        Raises:
          SideError: as `LiveSide.call`; where it was lost, the next request finds another worker.
        """
        with self.asking:
            return self.current_worker().call(method, parameters, arrays)

    def close(self) -> None:
        """Close the worker; the next request starts another one."""
        self._workers.close()

    def stop(self) -> None:
        """End the worker without waiting for a request that is under way; the next one finds another worker."""
        for side in self._workers.sides.values():
            side.lost = True
            side.kill()
