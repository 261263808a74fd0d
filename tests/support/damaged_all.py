"""Damaged files of every kind, jaxport run on each in a process of its own: by hand, since it takes minutes.

`python tests/support/damaged_all.py SIDES 400 [KIND ...]` takes that many of each kind and counts what became of them.
SIDES holds tf.side and jax.side: `jaxport record add --size smoke --side tf -o SIDES/tf.side`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from damaged import SCALED, Case, in_fork, some
from damaged_bundles import bundles, dumps
from damaged_files import arrays, data_sets, histories, records, sides
from damaged_profiles import profiles
from damaged_programs import messages, programs
from places import ROOT


def makers(recorded: Path) -> dict[str, Callable[[], Iterator[Case]]]:
    """By name, what makes the cases of one kind of file."""
    return {
        "records": records, "histories": histories, "arrays": arrays, "data_sets": data_sets,
        "sides": lambda: sides(recorded), "bundles": bundles, "dumps": dumps, "programs": programs,
        "messages": messages, "profiles": profiles,
    }  # fmt: skip


def main(recorded: Path, most: int, chosen: list[str]) -> int:
    """Some cases of every kind, and a row of a table for each; what is neither refused nor accepted in full."""
    import compare.cli  # noqa: F401 - before the first fork: each would take seconds to import it
    from compare.hlo import bindings

    bindings.artifact(SCALED)
    wrong = 0
    for maker, make in makers(recorded).items():
        if chosen and maker not in chosen:
            continue
        counts: Counter[str] = Counter()
        slowest = 0.0
        for case in some(make(), most):
            with tempfile.TemporaryDirectory(prefix="damaged-") as name:
                start = time.monotonic()
                found = in_fork(case, Path(name))
            counts[found.verdict] += 1
            slowest = max(slowest, time.monotonic() - start)
            if found.verdict not in ("refused", "accepted"):
                said = found.said.strip()[-400:]
                print(
                    f"{case.kind}: {case.damage}: {found.verdict} {found.code} {found.written}\n    {said}", flush=True
                )
        print(f"{maker}: {counts.total()} files, {dict(counts)}, slowest {slowest:.1f} s", flush=True)
        wrong += len(set(counts) - {"refused", "accepted"})
    return int(bool(wrong))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
