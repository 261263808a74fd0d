"""What it costs when a worker is killed or stopped, at twenty moments a side: a table. Takes minutes, and asserts it.

Run as `python tests/support/kills.py`. Every kill befalls a workload of its own, and an unharmed one stands after each.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compare.commands._signals import interruptible
from compare.inputs.request import Plan
from compare.plain_json import to_json
from compare.progress import Silent
from compare.run import whole_run
from compare.sides.client import STARTS, LiveSide
from workloads.core import registry
from workloads.core.modes import TF_GRAPH
from workloads.core.spec import Workload

STALLED_AFTER_S, PATIENCE_S = 3.0, 300.0
LIBRARIES = {"tf": "_pywrap_tensorflow", "jax": "jaxlib/"}
"""What the process has mapped once it is amid its import."""


@dataclasses.dataclass(frozen=True)
class Kill:
    """Which signal, at which request; `nth` of the requests of that method, or so many imports in a row."""

    side: str
    at: str
    signal: signal.Signals = signal.SIGKILL
    nth: int = 1

    @property
    def name(self) -> str:
        return f"{self.side}_{self.moment}"

    @property
    def moment(self) -> str:
        return f"{self.at}_{self.signal.name}_{self.nth}".lower()

    @property
    def free(self) -> bool:
        """Whether nothing is lost: the worker had nothing yet, and another one is started."""
        return self.at in ("idle", "start", "import") and self.nth < STARTS


def judging(side: str) -> list[Kill]:
    kill, stop, term, abort = signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGABRT
    asked: list[tuple[str, signal.Signals, int]] = [
        ("idle", kill, 1), ("start", kill, 1), ("start", stop, 1), ("import", kill, 1), ("import", term, 1),
        ("import", abort, 2), ("import", kill, STARTS), ("load", kill, 1), ("load", stop, 1), ("outputs", kill, 1),
        ("outputs", stop, 5), ("outputs", term, 8), ("program", kill, 1), ("program", stop, 2), ("compile", kill, 1),
        ("optimized", term, 1), ("execute", abort, 1), ("profile", kill, 1), ("profile", stop, 2), ("compile", stop, 2),
    ]  # fmt: skip
    return [Kill(side, *each) for each in asked]


def timing(side: str) -> list[Kill]:
    asked = [("prepare", signal.SIGKILL, 1), ("round", signal.SIGTERM, 3), ("round", signal.SIGSTOP, 9)]
    return [Kill(side, *each) for each in asked]


class Killer(Silent):
    """Knows which workload is in hand, and strikes once in each."""

    def __init__(self, kills: Sequence[Kill], names: Collection[str]) -> None:
        self._names = set(names)
        self._kills = {each.name: each for each in kills}
        self._left: Kill | None = None
        self._seen = self._struck = 0
        self._living: dict[str, LiveSide] = {}

    def stage(self, text: str, steps: int) -> None:
        print(f"[{time.monotonic() - BEGAN:5.0f} s] {text}", file=sys.stderr, flush=True)
        if text.endswith("parity and programs"):
            self._take(text.partition(":")[0])

    def step(self, text: str) -> None:
        if text in self._names:
            self._take(text)

    def _take(self, name: str) -> None:
        self._left, self._seen, self._struck = self._kills.get(name), 0, 0
        side = self._living.get(self._left.side) if self._left else None
        if self._left and self._left.free | (self._left.at == "import") and side is not None and side.alive:
            side._process.kill()
            side._process.wait()
            if self._left.at == "idle":
                self._done(self._left)

    def _done(self, kill: Kill) -> None:
        self._left = None
        del self._kills[kill.name]

    def started(self, side: LiveSide) -> None:
        self._living[side.name] = side
        kill = self._left
        side._timeout_s = PATIENCE_S
        if kill is None or side.name != kill.side or kill.at not in ("start", "import"):
            return
        process = side._process
        side._timeout_s = STALLED_AFTER_S if kill.signal == signal.SIGSTOP else PATIENCE_S
        threading.Thread(target=self._strike_import, args=(process.pid, kill), daemon=True).start()
        self._struck += 1
        if self._struck == kill.nth:
            self._done(kill)

    def _strike_import(self, process_id: int, kill: Kill) -> None:
        maps = Path(f"/proc/{process_id}/maps")
        while kill.at == "import" and LIBRARIES[kill.side] not in maps.read_text():
            time.sleep(0.005)
        os.kill(process_id, kill.signal)

    def asked(self, side: LiveSide, doing: str) -> None:
        side._timeout_s = PATIENCE_S
        kill = self._left
        if kill is None or side.name != kill.side or doing.split(" ")[0] != kill.at:
            return
        self._seen += 1
        if self._seen == kill.nth:
            self._done(kill)
            side._timeout_s = STALLED_AFTER_S if kill.signal == signal.SIGSTOP else PATIENCE_S
            os.kill(side._process.pid, kill.signal)


@contextmanager
def watched(killer: Killer) -> Iterator[None]:
    """Every worker that is started, and every request once it was sent, is told to the killer."""
    start, answer = LiveSide._start, LiveSide._answer

    def _start(side: LiveSide) -> None:
        start(side)
        killer.started(side)

    def _answer(side: LiveSide, doing: str) -> dict[str, Any]:
        if not doing.startswith("import "):
            killer.asked(side, doing)
        return answer(side, doing)

    LiveSide._start, LiveSide._answer = _start, _answer
    yield
    LiveSide._start, LiveSide._answer = start, answer


def workloads(kills: Sequence[Kill]) -> list[Workload]:
    """A tiny workload for each kill; after those of one moment, a side each, one that nothing befalls."""
    add, beside = built_in("add"), built_in("scale_and_add")
    found = [named(beside, "before")]
    for each in kills:
        found.append(named(add, each.name))
        if each.side == kills[-1].side:
            found.append(named(beside, f"after_{each.moment}"))
    return found


def built_in(name: str) -> Workload:
    found = registry.get(name)
    assert isinstance(found, Workload)
    return found


def named(workload: Workload, name: str) -> Workload:
    of = workload.name
    return dataclasses.replace(workload, name=name, tf=f"tf_reference.{of}:build", jax=f"jaxport.{of}:build")


def in_turn(of_sides: Sequence[Sequence[Kill]]) -> list[Kill]:
    return [each for moment in zip(*of_sides, strict=True) for each in moment]


def lost(part: dict[str, Any]) -> str:
    failures = [f"{each['doing']}: {each['reason']}" for each in part["failures"]]
    return "; ".join(dict.fromkeys(failures)) or "nothing"


def tried(kills: Sequence[Kill], plans: tuple[Plan, ...]) -> bool:
    """Print a row for each kill; whether each cost its workload and nothing else."""
    asked = workloads(kills)
    killer = Killer(kills, [each.name for each in asked])
    request = whole_run.Request(asked, "smoke", plans=plans, modes=(TF_GRAPH,), alignment=False)
    with watched(killer):
        found = to_json(whole_run.run(request, killer).record)["workloads"]
    holds = True
    for each in kills:
        part, after = found[each.name], found[f"after_{each.moment}"]
        verdicts = part["parity"]["verdict"], after["parity"]["verdict"]
        whole = verdicts[1] == "pass" and not after["failures"]
        expected = whole and bool(part["failures"]) != each.free
        holds &= expected
        row = (
            each.side,
            each.at,
            each.signal.name,
            each.nth,
            verdicts[0],
            lost(part),
            "whole" if whole else lost(after),
        )
        print(f"| {' | '.join(map(str, row))} |{'' if expected else ' <-- unexpected'}", flush=True)
    return holds


def main() -> int:
    print("| side | at | signal | nth | its parity | lost of its workload | the workload after |")
    print("|---|---|---|---|---|---|---|", flush=True)
    sides = sys.argv[1:] or ["jax", "tf"]
    plan = Plan(1, 1, budget_s=0.05, threads=1)
    with interruptible(to_the_end=False):
        judged = tried(in_turn([judging(side) for side in sides]), ())
        timed = tried(in_turn([timing(side) for side in sides]), (plan,))
    print(f"\n{time.monotonic() - BEGAN:.0f} s")
    return 0 if judged and timed else 1


BEGAN = time.monotonic()

if __name__ == "__main__":
    sys.exit(main())
