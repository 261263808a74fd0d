"""A results.json whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from compare.files import FormatNumber
from compare.record.base import Count, Named, Number, Part, Scalar, Text, Texts
from compare.record.cost_parts import Entry, Handover, Limits
from compare.record.workload_part import Workload

SCHEMA = 1

# Unlike other collections it has to be there.
if TYPE_CHECKING:
    Workloads = Mapping[str, Workload]
else:
    Workloads = dict[str, Workload | None]


class Environment(Part, frozen=True):
    """Versions and machine: what a ratio depends on."""

    jaxport: Text = ""
    """Version of jaxport."""
    python: Text = ""
    """Version of the Python that ran it."""
    platform: Text = ""
    """Operating system and its release."""
    cpu: Text = ""
    """The processor, as the system names it."""
    narrow_floats: Text = ""
    """Instruction sets of the processor that compute in bfloat16 or float16, as Linux names them, by commas."""
    cores: Count = None
    """Processors that jaxport may use."""
    sides: Named[Named[Scalar]] = {}
    """By side: versions of its packages, `device`, `threads`, `allocator` where the environment told it something,
    `matmul_precision` and `deterministic` where they were pinned, `recorded`, the file's name where it was replayed,
    and `lowered_for`, the device that its programs are for where that is another one."""


class Node(Part, frozen=True):
    """One machine of a cluster that a suite was given to."""

    host: Text = ""
    """Its name."""
    environment: Environment | None = None
    """Its own versions and machine."""
    loads: Named[Number] = {}
    """By workload, processes that ran or waited on it in the minute before its task began."""
    niceness: Count = None
    """The niceness of its tasks' processes; above 0 they gave way to other processes."""
    lost: Text = ""
    """Why it is gone; empty where it was there to the end."""
    machine: Named[Limits] = {}
    """Its limits by number of threads, from the first of its tasks that measured them."""
    dispatch: Named[Entry] = {}
    """By mode, what a call costs there that does next to nothing."""
    handover: Named[Handover] = {}
    """By side, from which size on its XLA hands a computation to other threads."""


class Schema(msgspec.Struct, frozen=True):
    """The one field that every version has."""

    schema: FormatNumber


class Record(Part, frozen=True):
    """A results.json whole."""

    schema: FormatNumber
    """Version of this format."""
    workloads: Workloads
    """By name."""
    created: Text = ""
    """UTC time, ISO 8601."""
    command: Texts = ()
    """The command line."""
    size: Text = ""
    """The size asked for, or tour."""
    omissions: Texts = ()
    """Measurements that a bench omits by default, with the options that add them."""
    environment: Environment | None = None
    """Versions and machine; of several nodes what they have in common."""
    nodes: Named[Node] = {}
    """By name, the machines of a cluster that it was run on; empty where it was run on one, without a cluster."""
    machine: Named[Limits] = {}
    """Limits of the machine by number of threads."""
    dispatch: Named[Entry] = {}
    """By mode, what a call costs that does next to nothing."""
    handover: Named[Handover] = {}
    """By side, from which size on its XLA hands a computation to other threads; empty where it was not asked for."""
