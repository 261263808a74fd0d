"""Plans a training step on clusters that may be absent, layout by layout: bytes, memory and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from msgspec.structs import replace

from compare.devices import bounds, describing
from compare.devices.cluster import Cluster
from compare.devices.describing import Made
from compare.devices.largest import largest
from compare.devices.link_traffic import bytes_sent
from compare.errors import RequestError
from compare.hlo import kernel_times
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.collectives import collectives, whole_array
from compare.hlo.portable import portable
from compare.planning.mesh_layouts import Layout, LayoutName, layout, sharding
from compare.planning.sized_steps import SizedStep, SizedSteps
from compare.progress import Reporter
from compare.record.base import require
from compare.record.plan_part import CollectiveGroup, PlannedCluster, PlannedLayout
from compare.sides._side import SideError
from compare.sides.device_worker import DeviceWorker, missing
from workloads.protocol.distributing import Collective

USUAL_BATCH = 64
MOST_A_DEVICE = 4096


@dataclass(frozen=True)
class Asked:
    """The request for a plan.

    Attributes:
      layouts: their names.
      batch: of all devices together; None takes 64, or one a device where there are more.
      through: two numbers of layers whose line is followed; () compiles the whole.
      searching: whether the largest batch is searched.
      deepening: whether the largest model is searched: the most layers at the batch.
    """

    layouts: Sequence[LayoutName]
    batch: int | None = None
    through: tuple[int, ...] = ()
    searching: bool = False
    deepening: bool = False


@dataclass(frozen=True)
class _Compiled:
    layout: Layout
    figures: Mapping[str, float]
    product_types: frozenset[str]
    groups: tuple[CollectiveGroup, ...]


def plan_cluster(
    cluster: Cluster, steps: SizedSteps, request: Asked, worker: DeviceWorker, reporter: Reporter
) -> PlannedCluster:
    """One cluster with every layout. A layout that does not fit or compile costs its row alone."""
    links = [link for link in (cluster.inside, cluster.between) if link]
    part = PlannedCluster(
        target=cluster.name,
        description=cluster.device.description,
        devices=cluster.size,
        hosts=len(set(cluster.hosts)),
        memory_bytes=cluster.device.memory_bytes,
        links={link.name: link.bandwidth for link in links},
        sources=tuple(filter(None, [cluster.device.source, *(link.source for link in links)])),
        reason=missing(worker, cluster.device),
    )
    if part.reason:
        return part
    planning = _Planning(cluster, steps, request, worker, reporter)
    return replace(part, layouts=tuple(map(planning.row, request.layouts)))


@dataclass(frozen=True)
class _Planning:
    """Compiles the step of each layout for one cluster, at sizes that fit and that do not."""

    cluster: Cluster
    steps: SizedSteps
    request: Asked
    worker: DeviceWorker
    reporter: Reporter

    def row(self, name: LayoutName) -> PlannedLayout:
        cluster, request = self.cluster, self.request
        batch = request.batch or max(USUAL_BATCH // cluster.size, 1) * cluster.size
        self.reporter.step(f"{cluster.name}: {name}")
        try:
            compiled = self._figures(name, batch)
        except (RequestError, SideError, UnreadableProgram) as error:
            return PlannedLayout(layout=name, batch=batch, reason=_reason(error))
        row = _describe(cluster, compiled, batch, not request.through)
        if request.searching:
            row = self._search_batch(row, name)
        return self._search_depth(row, name) if request.deepening else row

    def _figures(self, name: LayoutName, batch: int) -> _Compiled:
        through = self.request.through
        if not through:
            return self._compile_at(name, batch)
        few, more = (self._compile_at(name, batch, count) for count in through)
        part = (self.steps.layers() - through[0]) / (through[1] - through[0])
        figures = {
            figure: few.figures[figure] + part * (more.figures[figure] - few.figures[figure]) for figure in few.figures
        }
        return _Compiled(few.layout, figures, few.product_types, ())

    def _compile_at(self, name: LayoutName, batch: int, layers: int | None = None) -> _Compiled:
        step = self.steps.step_for(self.cluster.device.platform, batch, layers)
        return _compile(self.cluster, name, step, self.worker)

    def _search_batch(self, row: PlannedLayout, name: LayoutName) -> PlannedLayout:
        """The row with the largest batch, in multiples of what the layout splits it into."""
        unit = math.prod(size for axis, size in row.axes.items() if axis == "data")

        def peak_at(multiple: int) -> float | None:
            self.reporter.step(f"{self.cluster.name}: {name}, batch {multiple * unit:,}")
            return _peak(lambda: self._figures(name, multiple * unit))

        if not self.cluster.device.memory_bytes:
            return row
        try:
            most = max(min(self.steps.most_examples() // unit, MOST_A_DEVICE), 1)
            search = largest(peak_at, self.cluster.device.memory_bytes, max((row.batch or unit) // unit, 1), most)
        except (RequestError, SideError, UnreadableProgram) as error:
            return replace(row, reason=f"no largest batch: {_reason(error)}")
        fits, too_large, line = (
            multiple * unit if multiple else None for multiple in (search.fits, search.too_large, search.expected)
        )
        return replace(row, largest_batch=fits, too_large_batch=too_large, expected_batch=line)

    def _search_depth(self, row: PlannedLayout, name: LayoutName) -> PlannedLayout:
        """The row with the most layers that fit at its batch, and what is trained then."""
        batch = require(row.batch)

        def peak_at(layers: int) -> float | None:
            self.reporter.step(f"{self.cluster.name}: {name}, {layers:,} layers")
            return _peak(lambda: self._compile_at(name, batch, layers))

        if not self.cluster.device.memory_bytes:
            return row
        try:
            most = self.steps.most_layers()
            search = largest(peak_at, self.cluster.device.memory_bytes, min(self.steps.layers(), most), most)
        except (RequestError, SideError, UnreadableProgram) as error:
            return replace(row, reason=f"no largest model: {_reason(error)}")
        parameters = self.steps.parameters(search.fits) if search.fits else None
        return replace(
            row, largest_layers=search.fits, too_large_layers=search.too_large, largest_parameters=parameters
        )


def _compile(cluster: Cluster, name: LayoutName, step: SizedStep, worker: DeviceWorker) -> _Compiled:
    mesh_layout = layout(name, cluster.size, cluster.size // len(set(cluster.hosts)), step.program)
    artifact = portable(step.program.artifact)
    shards = sharding(mesh_layout, step.program, step.batch_axes)
    product = worker.compile(cluster.device, artifact, None, {}, shards)
    takes = product.takes
    check_hosts(cluster, takes.hosts)
    memory = {use: getattr(takes, f"{use}_bytes") for use in ("argument", "output", "temp", "alias", "code")}
    module = kernel_times.compiled_subject("jax", product.module, step.subject)
    description = describing.describe(cluster.device, Made(artifact, step.subject, module, memory))
    read = [whole_array(collective, cluster.size) for collective in collectives(product.module)]
    over = bytes_sent(read, cluster.hosts)
    figures = {
        "inside_bytes": over.inside,
        "between_bytes": over.between,
        "argument_bytes": memory["argument"],
        "temp_bytes": memory["temp"],
        "peak_bytes": description.peak_bytes or 0,
        "flops": (description.flops or 0.0) / cluster.size,
        "bytes": description.bytes or 0.0,
        "compile_s": takes.compile_s,
    }
    groups = tuple(_group(read, cluster.hosts))
    return _Compiled(mesh_layout, figures, describing.product_types(step.subject), groups)


def check_hosts(cluster: Cluster, hosts: Sequence[int]) -> None:
    """Check that devices are numbered host by host: the links between the groups of a collective follow from that.

    Args:
      cluster: the devices; the hosts of a TPU are one island.
      hosts: by number of a device, its host in the topology that was compiled for.

    Raises:
      RequestError: they are not.
    """
    if cluster.between and tuple(hosts) != tuple(cluster.hosts):
        raise RequestError(
            f"expected the devices of {cluster.name} numbered host by host, found hosts {list(hosts)}: report it"
        )


def _describe(cluster: Cluster, compiled: _Compiled, batch: int, whole: bool) -> PlannedLayout:
    figures, device = compiled.figures, cluster.device
    unit = bounds.peak(device, compiled.product_types)
    inside, between = cluster.inside.bandwidth, cluster.between.bandwidth if cluster.between else None
    least = {
        "compute": figures["flops"] / device.peaks[unit] if unit else None,
        "memory": figures["bytes"] / device.bandwidth if device.bandwidth else None,
        cluster.inside.name: figures["inside_bytes"] / inside if inside else None,
        "network": figures["between_bytes"] / between if between else None,
    }
    known_bounds = {name: seconds for name, seconds in least.items() if seconds is not None}
    compute, memory, link, network = least.values()
    return PlannedLayout(
        layout=compiled.layout.name,
        axes=dict(compiled.layout.axes),
        note=compiled.layout.note,
        batch=batch,
        collectives=compiled.groups,
        inside_bytes=figures["inside_bytes"],
        between_bytes=figures["between_bytes"],
        argument_bytes=figures["argument_bytes"],
        temp_bytes=figures["temp_bytes"],
        peak_bytes=figures["peak_bytes"],
        fits=figures["peak_bytes"] <= device.memory_bytes if device.memory_bytes else None,
        compute_s=compute,
        memory_s=memory,
        inside_s=link,
        between_s=network,
        bound_by=max(known_bounds, key=lambda name: known_bounds[name], default=""),
        compile_s=figures["compile_s"] if whole else None,
    )


def _group(collectives: Iterable[Collective], hosts: Sequence[int]) -> Iterator[CollectiveGroup]:
    def arrangement(one: Collective) -> tuple[str, int, int, int]:
        spread = max((len({hosts[device] for device in group}) for group in one.groups), default=1)
        return one.kind, len(one.groups), max(map(len, one.groups), default=1), spread

    for (kind, groups, devices, spread), same in groupby(sorted(collectives, key=arrangement), key=arrangement):
        alike = list(same)
        yield CollectiveGroup(kind, len(alike), float(sum(one.bytes for one in alike)), groups, devices, spread)


def _peak(compiled: Callable[[], _Compiled]) -> float | None:
    """Bytes of a device; None where the compiler refuses it as too large."""
    try:
        return compiled().figures["peak_bytes"]
    except SideError as error:
        if "RESOURCE_EXHAUSTED" in error.reason:
            return None
        raise


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, SideError) else str(error)
