"""Tries jaxport where programs like to fail: full disks, no network, odd names, closed streams; prints a table.

usage: make trials, or sudo -E .venv/bin/python docs/trials.py [--quick] [--page] [NAME ...]

`--page` puts the rows into docs/environments.md, in the place of those of the same name.

Each is a shell command in a new folder, with `$jaxport`, `$record` (a results.json) and `$port` (a port file). Those
that mount or unshare need root. The exit code is 1 where one ends otherwise than it should, or says a traceback.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "a b/é😀'\"\nnext"
ODD = shlex.quote(NAME)
LIMIT_S = 300
PAGE = ROOT / "docs/environments.md"
_SPLIT = re.compile(r"(?<!\\)\|")

PORT = """from workloads import ArraySpec, Workload
tiny = Workload(name="tiny", tf="both_tf.py:tiny", jax="both_jax.py:tiny", inputs={"x": ArraySpec((4,))}, builds=False)
"""
FUNCTION = "import {module} as np\n\ndef tiny(x):\n    return np.tanh(x) * 2.5\n"
KERAS = """import keras
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="d")])
"""
FLAX = """from flax import nnx

class Model(nnx.Module):
    def __init__(self, rngs):
        self.d = nnx.Linear(3, 2, rngs=rngs)
"""
REPORT, RUN = "$jaxport report $record -o out", "$jaxport run $port --parity-only -o out"


@dataclass(frozen=True)
class Trial:
    """One place to fail.

    Attributes:
      name: as the table says it.
      command: of a POSIX shell.
      codes: exit codes that are right. The record that `report` reads has a failing verdict: 1.
      says: what standard error has to hold.
      root: whether it takes root.
      live: whether it starts both frameworks.
    """

    name: str
    command: str
    codes: tuple[int, ...] = (1,)
    says: str = ""
    root: bool = False
    live: bool = False


@dataclass(frozen=True)
class Ended:
    """How a trial ended."""

    code: int
    said: str
    seconds: float

    def is_right(self, trial: Trial) -> bool:
        """Whether it did as it should."""
        wrong = ("Traceback", "internal error", "Exception ignored", "expected no ")
        return self.code in trial.codes and trial.says in self.said and not any(text in self.said for text in wrong)


def mounted(options: str, where: str, then: str) -> str:
    """A command that sees another file system, alone, at a folder."""
    mount = f"mkdir -p {where}; mount -t tmpfs -o {options} tmpfs {where}; {then}"
    return f"unshare -m sh -c {shlex.quote(mount)}"


def read_only(where: str, then: str) -> str:
    """A command to which a folder is read-only, be it root's."""
    bound = f"mkdir -p {where}; mount --bind {where} {where}; mount -o remount,ro,bind {where}; {then}"
    return f"unshare -m sh -c {shlex.quote(bound)}"


def small(megabytes: int, then: str) -> str:
    """A command all of whose processes together get so much memory, and no swap (control groups, version 1)."""
    group = "/sys/fs/cgroup/memory/jaxport-trial-$$"
    limit = f"mkdir {group} && echo {megabytes}M > {group}/memory.limit_in_bytes && echo $$ > {group}/cgroup.procs"
    after = f"echo $$ > /sys/fs/cgroup/memory/cgroup.procs; rmdir {group}"
    return f"sh -c {shlex.quote(f'{limit} || exit 9; {then}; code=$?; {after}; exit $code')}"


ASCII = "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0"
BENCH = "$jaxport bench $port --pairs 1 --budget 0.05 -o out"
TO_FULL = "$jaxport run $port --parity-only -o full/out"
WEIGHTS = "$jaxport weights keras_model.py:model flax_model.py:Model"
FULL = "dd if=/dev/zero of=full/fill bs=1k 2> /dev/null; "
QUICK = (
    Trial("a reader that went away (`| head -1`)", "set -o pipefail; $jaxport report $record -o out | true"),
    Trial("standard output closed", f"{REPORT} >&-"),
    Trial("standard input closed", f"{REPORT} <&-"),
    Trial("all three closed", f"{REPORT} <&- >&- 2>&-"),
    Trial("standard error closed, and a refusal", "test -z \"$($jaxport report none.json 2>&-)\"", (0,)),
    Trial("standard output on a full disk", f"{REPORT} > /dev/full", (2,), "standard output, found No space left"),
    Trial("standard error on a full disk", "$jaxport report none.json 2> /dev/full", (2,)),
    Trial("LC_ALL=C", f"LC_ALL=C {REPORT}"),
    Trial("LC_ALL=C, no UTF-8 mode", f"{ASCII} {REPORT}"),
    Trial("output in Latin-1", f"PYTHONIOENCODING=latin-1 {REPORT}"),
    Trial("output in strict ASCII", f"PYTHONIOENCODING=ascii:strict {REPORT}"),
    Trial("HOME unset", f"env -u HOME {REPORT}"),
    Trial("HOME missing", f"HOME=/nonexistent {REPORT}"),
    Trial("TMPDIR missing", f"TMPDIR=/nonexistent {REPORT}"),
    Trial("TERM=dumb", f"TERM=dumb {REPORT}"),
    Trial("20 columns", f"COLUMNS=20 {REPORT}"),
    Trial("`python -O`", f"$python -O -m compare {REPORT.removeprefix('$jaxport ')}"),
    Trial("PYTHONSAFEPATH=1", f"PYTHONSAFEPATH=1 {REPORT}"),
    Trial("warnings are errors", f"PYTHONWARNINGS=error {REPORT}"),
    Trial("a path with spaces, quotes, a line break and an emoji", f"$jaxport report $record -o {ODD}"),
    Trial("such a current folder", "$jaxport report $record -o out"),
    Trial("a path with a leading dash", "$jaxport report -o=-out -- $record"),
    Trial("a path that is no UTF-8", "$jaxport report $record -o \"$(printf 'b\\377')\""),
    Trial("a port in a folder that is no UTF-8",
          "d=$(printf 'b\\377'); mkdir $d; cp $port both_*.py $d; cd $d; $jaxport run $port --parity-only", (2,),
          "expected code at a path in UTF-8"),
    Trial("a missing file of such a name", "$jaxport report \"$(printf 'b\\377')\"", (2,), "expected a results.json"),
    Trial("output on a full disk", mounted("size=64k", "full", "$jaxport report $record -o full/out"), (2,),
          "No space left on device: make room", root=True),
    Trial("TMPDIR on a full disk", mounted("size=64k", "full", f"{FULL}TMPDIR=$PWD/full {REPORT}"), root=True),
    Trial("dump: odd folder", f"mkdir -p {ODD}; cp $dump/* {ODD}; $jaxport dump {ODD} -o out", (0,)),
    Trial("dump: output on a full disk", mounted("size=16k", "full", "$jaxport dump $dump -o full/out"), (2,),
          "No space left on device: make room", root=True),
    Trial("dump: LC_ALL=C, no UTF-8 mode", f"{ASCII} $jaxport dump $dump -o out", (0,)),
    Trial("a read-only current folder", read_only("ro", f"cd ro; {REPORT}"), (2,), "expected a writable folder",
          root=True),
    Trial("a read-only home", read_only("ro", f"HOME=$PWD/ro {REPORT}"), root=True),
    Trial("a read-only TMPDIR", read_only("ro", f"TMPDIR=$PWD/ro {REPORT}"), root=True),
    Trial("no network", f"unshare -n {REPORT}", root=True),
    Trial("no /dev/shm", mounted("size=4k,mode=000", "/dev/shm", REPORT), root=True),
)  # fmt: skip
LIVE = (
    Trial("run: nothing wrong", RUN, (0,), live=True),
    Trial("run: output on a full disk", mounted("size=16k", "full", TO_FULL), (2,),
          "results kept as", root=True, live=True),
    Trial("run: TMPDIR on a full disk", mounted("size=64k", "full", f"{FULL}TMPDIR=$PWD/full {RUN}"), (0, 1, 2),
          root=True, live=True),
    Trial("run: TMPDIR of 2 MB", mounted("size=2m", "full", f"TMPDIR=$PWD/full {RUN}"), (0, 1, 2), root=True,
          live=True),
    Trial("run: a read-only home", read_only("ro", f"HOME=$PWD/ro {RUN}"), (0,), root=True, live=True),
    Trial("run: no network, no /dev/shm", f"unshare -n {mounted('size=4k,mode=000', '/dev/shm', RUN)}", (0,), root=True,
          live=True),
    Trial("run: LC_ALL=C, HOME unset, odd folder", f"{ASCII} env -u HOME {RUN}", (0,), live=True),
    Trial("run: all three closed", f"{RUN} <&- >&- 2>&-", (0,), live=True),
    Trial("run: warnings are errors", f"PYTHONWARNINGS=error {RUN}", (0,), live=True),
    Trial("run: `python -O`", f"$python -O -m compare {RUN.removeprefix('$jaxport ')}", (0,), live=True),
    Trial("run: 2 GB of memory", small(2048, RUN), (0,), root=True, live=True),
    Trial("run: 512 MB of memory", small(512, RUN), (0, 1, 2), root=True, live=True),
    Trial("hlo: odd folder", "$jaxport hlo $port -o out", (0,), live=True),
    Trial("weights: odd folder", f"{WEIGHTS} -o w.safetensors", (0,), live=True),
    Trial("weights: output on a full disk",
          mounted("size=64k", "full", f"{FULL}{WEIGHTS} -o full/w.safetensors"), (2,), "No space left on device",
          root=True, live=True),
    Trial("weights: LC_ALL=C, HOME unset, odd folder", f"{ASCII} env -u HOME {WEIGHTS} -o w.safetensors", (0,),
          live=True),
    Trial("bench: 2 GB of memory", small(2048, BENCH), (0, 1), root=True,
          live=True),
)  # fmt: skip


def tried(trial: Trial, folder: Path) -> Ended:
    """How it ends, in a new folder whose own name is odd."""
    inside = folder / NAME
    inside.mkdir(parents=True)
    (inside / "port.py").write_text(PORT)
    for side, module in (("tf", "tensorflow"), ("jax", "jax.numpy")):
        (inside / f"both_{side}.py").write_text(FUNCTION.format(module=module))
    (inside / "keras_model.py").write_text(KERAS)
    (inside / "flax_model.py").write_text(FLAX)
    given = {
        "python": f"{sys.executable} -P", "jaxport": f"{sys.executable} -P -m compare", "port": "port.py",
        "record": str(ROOT / "tests/data/record_small.json"), "PYTHONPATH": str(ROOT),
        "dump": str(ROOT / "tests/data/dumps/jax_proto"),
    }  # fmt: skip
    began = time.monotonic()
    ended = subprocess.run(
        ["bash", "-c", trial.command], cwd=inside, env=os.environ | given, capture_output=True, check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stderr.decode(errors="replace"), time.monotonic() - began)


def row_of(trial: Trial) -> tuple[bool, str]:
    """Whether it ended as it should, and its row."""
    name = in_table(trial.name)
    if trial.root and os.geteuid() != 0:
        return True, f"| {name} | not tried: takes root | | |"
    with tempfile.TemporaryDirectory() as folder:
        ended = tried(trial, Path(folder))
    lines = [line for line in ended.said.splitlines() if line.startswith("jaxport:")]
    told = in_table(lines[-1].replace(folder, "FOLDER")) if lines else "works"
    right = ended.is_right(trial)
    if not right:
        print(json.dumps(ended.said[-2000:]), file=sys.stderr)
    return right, f"| {name} | {ended.code} | {told}{'' if right else ' **wrong**'} | {ended.seconds:.1f} s |"


def in_table(name: str) -> str:
    """A name as a cell of a table."""
    return name.replace("|", "\\|")


def updated(page: str, told: Mapping[str, str]) -> str:
    """The page with rows in its table, by name, in the order of the trials; rows of trials that are no more are gone.

    Args:
      told: rows, by the name of their trial.
    """
    before, head, rest = page.partition("|---|---|")
    underline, _, rest = rest.partition("\n")
    table, end, after = rest.partition("\n\n")
    stood = {_SPLIT.split(row)[1].strip(): row for row in table.splitlines()}
    now = {**stood, **{in_table(name): row for name, row in told.items()}}
    ordered = [now[in_table(trial.name)] for trial in (*QUICK, *LIVE) if in_table(trial.name) in now]
    return before + head + underline + "\n" + "\n".join(ordered) + end + after


def main(arguments: Sequence[str]) -> int:
    """Print a row for each; 1 where one is not as it should be."""
    asked = [argument for argument in arguments if not argument.startswith("-")]
    chosen = [
        trial
        for trial in QUICK + (() if "--quick" in arguments else LIVE)
        if not asked or any(part in trial.name for part in asked)
    ]
    print("| where | exit code | what is said | took |\n|---|---|---|---|", flush=True)
    wrong, told = 0, {}
    for trial in chosen:
        right, told[trial.name] = row_of(trial)
        wrong += not right
        print(told[trial.name], flush=True)
    if "--page" in arguments:
        PAGE.write_text(updated(PAGE.read_text(), told))
    print(f"\n{len(chosen) - wrong} of {len(chosen)} as they should be")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
