"""`jaxport compilation clusters`: what autoclustering compiled of a function, what stayed outside, and why."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from compare.clusters.clustering_changes import changes
from compare.commands import _arguments
from compare.commands._conclusion import Conclusion
from compare.commands._interpreters import interpreters
from compare.commands._option_types import count, fraction
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.commands._tensorflow_target import of_tensorflow
from compare.errors import RequestError
from compare.inputs import functions
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_one
from compare.inputs.sizes import choose_size
from compare.limits.naming_limits import all_limits
from compare.measure.edit_times import EditPlan, time_edit
from compare.plain_json import to_json, write_json
from compare.progress import Reporter, reporter
from compare.prove.clustering import Asked, examine
from compare.record.clustering_part import Clustering, Clusterings, EditTime
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import cluster_rows, terminal
from compare.report.cluster_pages import write_clusters
from compare.report.page_console import print_page
from workloads.core.declared import AnyWorkload
from workloads.core.spec import Workload
from workloads.limits._limit import WITHIN, limits

DEFAULT_OUT = Path("jaxport-clusters")

TIMED_PAIRS = 8

HELP = Help(
    description="""\
Run a TensorFlow function with autoclustering and say which operations XLA compiled, in which clusters, and why each
other one stayed outside, in TensorFlow's own words and with your source line; how much of a call's time is spent in
clusters; and beside it the same function compiled whole by jit_compile=True and by jax.jit. Of two functions, say what
the edit between them changed.

A TARGET is a workload, a port file, FILE.py:FUNCTION of TensorFlow with an --input for each argument, or the name of a
limit of autoclustering that comes with jaxport: a pair of functions one line apart, listed in docs/clusters.md.
""",
    operands="TARGET [TARGET]",
    examples="""\
  jaxport compilation clusters mnist_mlp
  jaxport compilation clusters my_tf.py:f --input x=f32[8,128]
  jaxport compilation clusters before.py:f after.py:f --input x=f32[8,128]  what did the edit change?
  jaxport compilation clusters bias_after_a_product         a performance cliff: one line, nothing compiled
  jaxport compilation clusters loop_over_a_tensor --time    and what it costs, in pairs of fresh processes
  jaxport compilation clusters my_tf.py:f --input x=f32[8,128] --expect 90%  for CI: exit code 1 below that
""",
    holds="the clusters were read, and --expect holds if given",
    fails="--expect does not hold",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("targets", nargs="+", metavar="TARGET", help="one function, or two: before and after an edit")
    _arguments.add_size_and_data(command)
    inputs = command.add_argument_group("functions")
    _arguments.add_inputs(inputs)
    scope = command.add_argument_group("scope")
    _arguments.add_pass(scope, "what is run")
    scope.add_argument(
        "--expect", type=fraction, metavar="P",
        help="exit with 1 unless this part of the nodes, of the last function, is in clusters, as 0.9 or 90%%",
    )  # fmt: skip
    scope.add_argument(
        "--time", type=count, nargs="?", const=TIMED_PAIRS, metavar="PAIRS",
        help="time two functions in so many pairs of fresh processes, with identical code as the control: a quarter of "
        f"a minute each (default without a number: {TIMED_PAIRS})",
    )  # fmt: skip
    _arguments.add_workers(command, with_recorded=False, device=False)
    _arguments.add_output(command, DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion | None:
    """Run, write, print; the verdict on what --expect expects.

    Raises:
      RequestError: there is no such target, or more than two.
    """
    if options.expect is not None and options.expect > 1:
        raise RequestError(f"expected --expect of at most 100%, found {options.expect:.0%}: lower it")
    pythons = interpreters(options)
    targets = _targets(options)
    if options.time and len(targets) < 2:
        raise RequestError(f"expected two functions with --time, found {targets[0][0]}: jaxport bench times one")
    out = writable_folder(options.out)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        instances = [_prepare(workload, options, scratch / str(number)) for number, (_, workload) in enumerate(targets)]
        clusterings = [
            examine(_request(title, ready, pythons, options), scratch / f"{number}" / "clusters", progress)
            for number, ((title, _), ready) in enumerate(zip(targets, instances, strict=True))
        ]
        time = _time(instances, options, scratch, progress) if options.time else None
    graphs = [clustering.graph for clustering in clusterings if clustering.graph]
    differing = changes(graphs[0], graphs[1]) if len(graphs) == 2 == len(clusterings) else None
    record = Clusterings(schema=SCHEMA, clusterings=tuple(clusterings), changes=differing, time=time)
    page, paths = write_clusters(record, out)
    write_json(out / "clusters.json", to_json(record))
    terminal.print_answer(record, options.json, lambda console: print_page(page, console), *paths)
    return None if options.expect is None else conclude(clusterings[-1], options.expect)


def _prepare(workload: AnyWorkload, options: argparse.Namespace, scratch: Path) -> Prepared:
    scratch.mkdir()
    return prepare_one(workload, choose_size(workload, options.size), options.data, scratch)


def _request(title: str, instance: Prepared, pythons: Mapping[str, str | None], options: argparse.Namespace) -> Asked:
    workload = instance.workload
    has_port = not isinstance(workload, Workload) or bool(workload.jax)
    return Asked(instance, title, options.main_pass, has_port, pythons, options.timeout)


def _time(instances: Sequence[Prepared], options: argparse.Namespace, scratch: Path, progress: Reporter) -> EditTime:
    plan = EditPlan(options.time, python=options.tf_python, timeout_s=options.timeout)
    return time_edit(instances[0], instances[1], plan, scratch, progress)


def _targets(options: argparse.Namespace) -> Sequence[tuple[str, AnyWorkload]]:
    targets, limits_by_name = options.targets, limits()
    if len(targets) > 2:
        raise RequestError(f"expected one target or two, found {len(targets)}: name it before and after an edit")
    if len(targets) == 1 and targets[0] in limits_by_name:
        theme, limit = limits_by_name[targets[0]]
        return [(f"{WITHIN}{limit.name}", limit.workload(theme, within=True)), (limit.name, limit.workload(theme))]
    if (options.input or options.dimension) and not any(map(functions.is_reference, targets)):
        raise RequestError(f"expected FILE.py:FUNCTION with --input, found {' '.join(targets)}: drop --input")
    return [(target, _workload(target, options)) for target in targets]


def _workload(target: str, options: argparse.Namespace) -> AnyWorkload:
    if target in limits():
        theme, limit = limits()[target]
        return limit.workload(theme)
    return of_tensorflow(target, options, beside=all_limits())


def conclude(clustering: Clustering, expected: float) -> Conclusion:
    """The verdict on the share of nodes that are in clusters; without a graph there is none."""
    nodes = cluster_rows.computing(clustering.graph) if clustering.graph else []
    if not nodes:
        return Conclusion(NOT_JUDGED, f"no node of {clustering.name} is known that computes")
    share = sum(bool(node.cluster) for node in nodes) / len(nodes)
    if share >= expected:
        return Conclusion(
            PASS, f"{share:.0%} of the nodes of {clustering.name} are in clusters, of {expected:.0%} expected"
        )
    sentence = f"expected {expected:.0%} of the nodes of {clustering.name} in clusters, found {share:.0%}"
    terminal.complain(sentence)
    return Conclusion(FAIL, sentence)
