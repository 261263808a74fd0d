"""The bytes and bounds of a training step on clusters that may be absent; never a time."""

from __future__ import annotations

from compare.record.base import Count, Indices, Many, Named, Number, Part, Text, Texts


class CollectiveGroup(Part, frozen=True):
    """Collectives of one kind among devices of the same arrangement."""

    kind: Text = ""
    """The kind, as XLA names it."""
    count: Count = None
    """Instructions; a loop's body counts once."""
    bytes: Number = None
    """Bytes of their arrays on one device."""
    groups: Count = None
    """Groups that do so at once."""
    devices: Count = None
    """Devices of each group."""
    hosts: Count = None
    """The most hosts of a group."""


class PlannedLayout(Part, frozen=True):
    """The training step in one layout on one cluster, figures of one device."""

    layout: Text = ""
    """data, fsdp, tensor, or data x tensor."""
    axes: Named[int] = {}
    """The axes of the mesh, the outermost first."""
    note: Text = ""
    """The rule that splits the weights."""
    reason: Text = ""
    """Why there is nothing else."""
    batch: Count = None
    """The batch of all devices together."""
    collectives: Many[CollectiveGroup] = ()
    """Empty of figures by a line."""
    inside_bytes: Number = None
    """The least bytes that a device sends within its host or slice in one step."""
    between_bytes: Number = None
    """To other hosts."""
    argument_bytes: Number = None
    """Parameters, state and inputs."""
    temp_bytes: Number = None
    """Intermediates."""
    peak_bytes: Number = None
    """All together."""
    fits: bool | None = None
    """Whether that is no more than the device has."""
    largest_batch: Count = None
    """The largest batch of all devices that was compiled and fits, if a search was requested."""
    too_large_batch: Count = None
    """The smallest that was compiled and does not fit."""
    expected_batch: Count = None
    """Where all that this machine can draw fits, that at which the line through the two largest meets the memory."""
    largest_layers: Count = None
    """The most layers that were compiled at `batch` and fit, where a search was asked for."""
    too_large_layers: Count = None
    """The fewest that were compiled and do not fit."""
    largest_parameters: Count = None
    """Numbers that are trained with `largest_layers`."""
    compute_s: Number = None
    """Bound: the program's operations, shared evenly, at the peak of the device."""
    memory_s: Number = None
    """Bound: bytes that the module's operations read and write, over the bandwidth of the memory."""
    inside_s: Number = None
    """Bound: `inside_bytes` over the bandwidth of the link."""
    between_s: Number = None
    """Bound: `between_bytes` over the bandwidth of the network."""
    bound_by: Text = ""
    """The largest of these four."""
    compile_s: Number = None
    """Seconds to compile."""


class PlannedCluster(Part, frozen=True):
    """One cluster."""

    target: Text = ""
    """The target, as requested."""
    description: Text = ""
    """The device, as its vendor calls it."""
    devices: Count = None
    """How many."""
    hosts: Count = None
    """Islands of the fast link: hosts of GPUs, one for a slice of a TPU."""
    memory_bytes: Count = None
    """Memory of a device."""
    links: Named[Number] = {}
    """Bytes a second that a device sends at most, by link."""
    sources: Texts = ()
    """Where the figures of devices and links are published."""
    reason: Text = ""
    """Why nothing was compiled."""
    layouts: Many[PlannedLayout] = ()
    """One each."""


class JudgedLayout(Part, frozen=True):
    """A layout that was run on CPU devices at size smoke, and compared with the step on one device."""

    layout: Text = ""
    """Its name."""
    axes: Named[int] = {}
    """The axes of the mesh."""
    error: Number = None
    """The largest difference of a result, in parts of its largest value."""
    agrees: bool | None = None
    """Whether that is what another order of operations explains."""
    reason: Text = ""
    """Why it was not run."""


class PlannedStep(Part, frozen=True):
    """One workload at one size."""

    workload: Text = ""
    """Its name."""
    size: Text = ""
    """The size of the workload."""
    dimensions: Named[Number] = {}
    """At that size."""
    parameters: Count = None
    """Numbers that are trained."""
    line_through: Indices = ()
    """Numbers of layers that were compiled, where the figures lie on the line through them; empty: the whole was."""
    judged: Many[JudgedLayout] = ()
    """Whether the layouts compute the same."""
    clusters: Many[PlannedCluster] = ()
    """One a target."""


class Planned(Part, frozen=True):
    """plan.json."""

    schema: Count = None
    """The schema of the record."""
    packages: Named[str] = {}
    """Versions of what compiled."""
    steps: Many[PlannedStep] = ()
    """One a workload and size."""
