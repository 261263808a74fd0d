"""Measures what explains a record and no run measures: autoclustering's clusters, and calls at alternating sizes."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from compare.errors import RequestError
from compare.inputs import call_streams
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_one
from compare.inputs.request import Request
from compare.inputs.sizes import choose_size
from compare.progress import Reporter
from compare.prove.clustering import Asked, examine
from compare.recompilation import keeping
from compare.record.clustering_part import ClusteredShare, Clustering, NodesOutside
from compare.record.envelope import Record
from compare.record.ledger_part import RecompilationLedger
from compare.record.vocabulary import PASS
from compare.record.workload_part import Workload as Part
from compare.report import cluster_rows
from compare.run.record_parts import INTERRUPTED
from compare.sides._side import SIDES, BadTarget, SideError
from workloads.core.declared import AnyWorkload
from workloads.core.device import CPU
from workloads.core.spec import Workload
from workloads.protocol.recompiling import Staging

LONGEST = 10
"""Nodes outside whose seconds are kept."""


def gather(record: Record, request: Request, reporter: Reporter) -> Record:
    """The record with both, of each workload that was timed. Interrupted, it has those of whole workloads."""
    source = request.sources["tf"]
    if source.recorded is not None or source.device.kind != CPU:
        return record  # what is clustered on this processor says nothing of times that were measured elsewhere
    parts = dict(record.workloads)
    for workload in request.workloads:
        if (part := parts.get(workload.name)) is None or part.timing is None:
            continue
        try:
            parts[workload.name] = _with_evidence(part, workload, request, reporter)
        except KeyboardInterrupt:
            parts[workload.name] = replace(part, clustering=ClusteredShare(reason=INTERRUPTED))
            break
    return replace(record, workloads=parts)


def _with_evidence(part: Part, workload: AnyWorkload, request: Request, reporter: Reporter) -> Part:
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        scratch = Path(folder)
        try:
            instance = prepare_one(workload, choose_size(workload, request.size), request.data, scratch)
            clustering = share(examine(_request(instance, request), scratch / "clusters", reporter))
        except (RequestError, BadTarget, SideError) as error:
            return replace(part, clustering=ClusteredShare(reason=str(error)))
        return replace(
            part, clustering=clustering, recompilation=_by_turns(part, workload, instance, request, reporter)
        )


def _request(instance: Prepared, request: Request) -> Asked:
    pythons = {side: request.sources[side].python for side in SIDES}
    return Asked(instance, instance.title, whole=False, pythons=pythons, timeout_s=request.timeout_s)


def share(clustering: Clustering) -> ClusteredShare:
    """A clustering without its graph."""
    graph, time = clustering.graph, clustering.time
    if graph is None:
        return ClusteredShare(of_pass=clustering.of_pass, reason="TensorFlow's log names no graph of this function")
    return ClusteredShare(
        of_pass=clustering.of_pass,
        nodes=len(cluster_rows.computing(graph)),
        clustered=cluster_rows.inside(graph),
        clusters=len(graph.clusters),
        outside=tuple(
            NodesOutside(row.ops, row.count, row.why, tuple(source for source, _ in row.places))
            for row in cluster_rows.outside_rows(graph, clustering.minimum)
        ),
        time=time and replace(time, nodes=dict(list(time.nodes.items())[:LONGEST])),
    )


def _by_turns(
    part: Part, workload: AnyWorkload, instance: Prepared, request: Request, reporter: Reporter
) -> RecompilationLedger | None:
    """Both functions called at their size and at another that parity holds at; None without a named dimension.

    A twin that is built anew for each size is no function that could be called at two.
    """
    if not isinstance(workload, Workload) or workload.builds or workload.weights:
        return None
    other = _near(part, instance.dimensions)
    if other is None:
        return None
    turns = [workload.input_specs(sizes) for sizes in (instance.dimensions, {**instance.dimensions, **other})] * 2
    stagings = {side: Staging(target) for side, target in instance.loading.targets.items()}
    request_of_turns = keeping.Asked(workload.name, stagings, call_streams.draw_calls(turns), with_cures=False)
    pythons = {side: request.sources[side].python for side in stagings}
    try:
        return keeping.keep(request_of_turns, pythons, request.timeout_s, reporter)
    except BadTarget:
        return None  # a twin that is no plain function


def _near(part: Part, own: Mapping[str, object]) -> Mapping[str, int] | None:
    """The sizes nearest to the workload's own that parity holds at."""
    size_verdicts = part.parity.sizes if part.parity else ()
    holding = [at_size.dimensions for at_size in size_verdicts if at_size.verdict == PASS]
    return min(holding, key=lambda sizes: _distance(sizes, own), default=None)


def _distance(sizes: Mapping[str, int], own: Mapping[str, object]) -> float:
    return sum(abs(math.log(size / int(str(own.get(name, 1))))) for name, size in sizes.items())
