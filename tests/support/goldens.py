"""Writes the golden records of tests/data: `make goldens`. One is a real run of all that is measured, shortened."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from typing import Any

import pytest
from places import DATA, ROOT

from compare.devices import naming
from compare.explaining import further_evidence
from compare.inputs.foreign_code import foreign_code_apart
from compare.inputs.request import Extras, Plan, Request
from compare.measure import machine_limits
from compare.plain_json import to_json, write_json
from compare.progress import Silent
from compare.record.results_file import load
from compare.run import whole_run
from compare.sides.device_worker import DeviceWorker, Targets, interpreter
from compare.sides.settings import available_processors
from workloads.core import registry

MEASURED = DATA / "record_measured.json"
"""A model that trains, at two thread counts, with phases, limits, peers, batches and targets."""

BY_HAND = DATA / "record_full.json"
"""Every part, with the values that pages are tested on."""

EXPLAINED = DATA / "record_add.json"
"""A call so short that compiling makes it slower: what `jaxport explain add` measures."""

LONGEST_TEXT = 400
LONGEST_LIST = 3
TEMPORARY = re.compile(r"/\S*?/jaxport-\w+")


def measured() -> Any:
    """A real record; it takes some minutes."""
    plans = [Plan(1, 1, budget_s=0.05, threads=threads) for threads in (2, 1)]
    extras = Extras(phases=1, limits=True, peers=True, dispatch=1, batches=(8, 16))
    with foreign_code_apart(), pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(machine_limits, "MOST_BYTES", 1 << 25)
        targets = Targets(naming.devices(["H100", "v5e:2x2"]), DeviceWorker(interpreter(None), 300, stack))
        request = Request([registry.get("mnist_mlp")], size="smoke", plans=plans, extras=extras, targets=targets)
        return shortened(to_json(whole_run.run(request, Silent()).record))


def explained() -> Any:
    """A real record of `add`; it takes a minute and a half."""
    plan = Plan(5, 5, threads=available_processors())
    with foreign_code_apart():
        request = Request([registry.get("add")], plans=[plan], extras=Extras(handover=True))
        return shortened(to_json(further_evidence.gather(whole_run.run(request, Silent()).record, request, Silent())))


def shortened(value: Any) -> Any:
    """The value with the beginnings of long texts and lists, and without the folders of this machine."""
    match value:
        case dict():
            return {name: shortened(item) for name, item in value.items()}
        case list():
            return [shortened(item) for item in value[:LONGEST_LIST]]
        case str():
            named = value.replace(f"{sys.prefix}/", "/venv/").replace(f"{ROOT}/", "/jaxport/")
            return TEMPORARY.sub("/tmp/jaxport", named)[:LONGEST_TEXT]
    return value


if __name__ == "__main__":
    write_json(MEASURED, measured())
    write_json(EXPLAINED, explained())
    write_json(BY_HAND, load(BY_HAND))
