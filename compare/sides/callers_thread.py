"""Calls that run in the thread of the caller of a check, while the judges wait for them in threads of their own.

A debugger stops there, an interrupt arrives there, and settings of a framework that hold for one thread hold there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

Returned = TypeVar("Returned")


class CallersThread:
    """Runs a job in another thread, and in this one the calls that the job hands over."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._is_interrupted = False

    def run(self, call: Callable[[], Returned]) -> Returned:
        """Run a call in the thread that serves, and return what it returns.

        Raises:
          KeyboardInterrupt: that thread was interrupted.
        """
        self.check()
        result: Future[Returned] = Future()
        self._calls.put((result, call))
        return result.result()

    def check(self) -> None:
        """Raise KeyboardInterrupt once the thread that serves was interrupted: the job is to end."""
        if self._is_interrupted:
            raise KeyboardInterrupt

    def serve(self, job: Callable[[], Returned], stop: Callable[[], object]) -> Returned:
        """Run a job in another thread; what it returns, or raises.

        Args:
          job: hands over calls by `run`.

        Raises:
          KeyboardInterrupt: this thread was interrupted; the job has ended.
        """
        with ThreadPoolExecutor(1, "jaxport") as thread:
            running = thread.submit(job)
            running.add_done_callback(lambda _: self._calls.put(None))
            try:
                while (call := self._calls.get()) is not None:
                    _answer(*call)
            except BaseException:
                self._is_interrupted = True
                stop()
                while (call := self._calls.get()) is not None:
                    call[0].set_exception(KeyboardInterrupt())
                raise
            return running.result()


def _answer(result: Future[Any], call: Callable[[], Any]) -> None:
    """Answer with the result of a call; an interrupt or an exit is also raised in this thread."""
    try:
        result.set_result(call())
    except BaseException as error:
        result.set_exception(error)
        if not isinstance(error, Exception):
            raise
