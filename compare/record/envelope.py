"""A results.json whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from compare.record.base import Count, Named, Part, Text, Texts
from compare.record.cost_parts import Entry, Limits
from compare.record.workload_part import Workload

# Unlike other collections it has to be there.
if TYPE_CHECKING:
    Workloads = Mapping[str, Workload]
else:
    Workloads = dict[str, Workload | None]


class Environment(Part, frozen=True):
    jaxport: Text = ""
    python: Text = ""
    platform: Text = ""
    cpu: Text = ""
    cores: Count = None
    sides: Named[dict[str, Any]] = {}


class Schema(msgspec.Struct, frozen=True):
    """The one field that every version has."""

    schema: int


class Record(Part, frozen=True):
    """A results.json whole."""

    schema: int
    workloads: Workloads
    created: Text = ""
    command: Texts = ()
    size: Text = ""
    environment: Environment | None = None
    machine: Named[Limits] = {}
    dispatch: Named[Entry] = {}
