"""Examines what Grappler makes of a workload, in a fresh worker: with it, without it, and without each pass."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from compare.clusters.clustered_graph import source_of
from compare.grappler import aligning, ascribing, switches
from compare.grappler.node_states import Graph, by_name, function_of, names_called
from compare.parity.identical import same_leaves
from compare.parity.measure import distance, largest
from compare.progress import Reporter
from compare.prove.clustering import Asked, texts_of
from compare.prove.collect import choose_pass
from compare.record.envelope import SCHEMA
from compare.record.grappler_part import HeldConstant, NodeRewrite, Optimization, OptimizedNode, ResultsHeld
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings
from compare.sides.workers import WorkerSet
from workloads.core.modes import TF
from workloads.core.spec import Arrays
from workloads.protocol.rewriting import Rewritten, RewrittenNode

EAGER, GRAPH = "eager", "graph"

STEPS = 4
"""Steps of the progress of one target: both graphs, each pass, the results, and the kernels."""

Run = Callable[[], Arrays]


def optimize(request: Asked, scratch: Path, reporter: Reporter) -> Optimization:
    """Find Grappler's changes to the graph of one workload.

    Raises:
      RequestError: the workload has no such pass.
      SideError: TensorFlow does not run it as a graph.
    """
    reporter.stage(f"{request.title}: Grappler", STEPS)

    def start(name: str) -> LiveSide:
        return LiveSide(name, scratch, request.pythons.get(name), request.timeout_s, Settings())

    instance = request.instance.on_pass(request.pass_)

    def load(side: Side) -> None:
        requests.load(side, instance.loading)

    with WorkerSet(start, load) as workers:
        reporter.step("the graph with and without it")
        side = workers.get(TF)
        passes = requests.load(side, instance.loading)
        pass_ = choose_pass(passes, request.pass_, request.title)
        examination = _Examination(workers, pass_, instance.loading.cases[0])
        optimization = examination.graphs()
        reporter.step("each pass switched off")
        optimization = examination.with_causes(optimization)
        reporter.step("the results with and without it")
        optimization = examination.with_results(optimization)
        reporter.step("the kernels")
        optimization = examination.with_kernels(optimization)
    return replace(optimization, schema=SCHEMA, name=request.title, size=request.instance.size)


@dataclasses.dataclass
class _Examination:
    """The experiments with one pass of a workload: one trace, run with switches of Grappler's set."""

    workers: WorkerSet
    pass_: str
    case: str
    failed: dict[str, str] = dataclasses.field(default_factory=dict)

    def graphs(self) -> Optimization:
        """Both graphs, and what differs."""
        off = self._graph(switches.OFF)
        on = self._graph(switches.ON)
        lines = texts_of(set(on.sources.values()))
        before, after = (_nodes(rewritten, lines) for rewritten in (off, on))
        return Optimization(
            of_pass=self.pass_,
            traced=off.traced,
            before=before,
            after=after,
            rewrites=aligning.align_nodes(before, after),
            replaced_later=on.kernels,
        )

    def with_causes(self, optimization: Optimization) -> Optimization:
        """The optimization with the passes of each change, and with a reason for each removed node."""
        again = self._try("a second run", switches.AGAIN)
        same = again is None or not aligning.align_nodes(optimization.after, tuple(again.values()))
        switched_off = bool(same and optimization.rewrites)
        rewrites = self._with_passes(optimization.rewrites) if switched_off else optimization.rewrites
        return replace(
            optimization,
            rewrites=aligning.group_rewrites(
                aligning.explain_rewrites(rewrites, optimization.before, optimization.after)
            ),
            same_again=None if again is None else same,
            passes=switches.PASSES if switched_off else (),
            failed=self.failed,
        )

    def _with_passes(self, rewrites: tuple[NodeRewrite, ...]) -> tuple[NodeRewrite, ...]:
        without = self._each(lambda name: (f"without {name}", switches.without(name)))
        with_needs = ascribing.needing(rewrites, without)
        if all(rewrite.needs for rewrite in with_needs):
            return with_needs
        none = self._try("without any pass", switches.without(*switches.PASSES))
        alone = self._each(lambda name: (f"{name} alone", switches.only(name)))
        return ascribing.made_alone(with_needs, without, alone, none)

    def _each(self, experiment: Callable[[str], tuple[str, switches.Options]]) -> dict[str, Graph]:
        graphs = {name: self._try(*experiment(name)) for name in switches.PASSES}
        return {name: graph for name, graph in graphs.items() if graph is not None}

    def _try(self, what: str, options: switches.Options) -> Graph | None:
        """The graph of an experiment; None of one that fails, which is noted."""
        try:
            return by_name(_nodes(self._graph(options), {}))
        except SideError as error:
            self.failed[what] = error.reason
            return None

    def _graph(self, options: switches.Options) -> Rewritten:
        return requests.rewritten(self.workers.get(TF), self.pass_, options)

    def with_results(self, optimization: Optimization) -> Optimization:
        """The optimization with a comparison of results: eager, without Grappler, with it, and with it again."""
        off, on, again = (self._results(options) for options in (switches.OFF, switches.ON, switches.ON))
        eager = self._ran(lambda: requests.outputs(self.workers.get(TF), EAGER, self.pass_, self.case, "float32"))
        return replace(
            optimization,
            repeatable=_compare_results(again, on),
            results=_compare_results(on, off),
            eager=_compare_results(off, eager),
        )

    def _results(self, options: switches.Options) -> Arrays | str:
        return self._ran(lambda: requests.outputs_with(self.workers.get(TF), self.pass_, self.case, options))

    def _ran(self, run: Run) -> Arrays | str:
        try:
            return run()
        except SideError as error:
            return error.reason

    def with_kernels(self, optimization: Optimization) -> Optimization:
        """The optimization with the kernels of a call, eager and as a graph."""
        ran: dict[str, list[str]] = {}
        for mode in (EAGER, GRAPH):
            try:
                calls = requests.profile(self.workers.get(TF), mode)
            except SideError as error:
                self.failed[f"kernels of {mode}"] = error.reason
                continue
            if calls:
                ran[mode] = [kernel.name for kernel in calls[-1]]
        counts = {mode: dict(Counter(map(_operation, names)).most_common()) for mode, names in ran.items()}
        return replace(optimization, kernels=counts, failed=self.failed, idle=idle(optimization, ran))


def _operation(kernel: str) -> str:
    """The operation of a kernel called NAME:OP or OP."""
    return kernel.rpartition(":")[2]


def idle(optimization: Optimization, ran: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The nodes of the optimized graph that did not run, though eager mode ran their operations as kernels.

    Args:
      ran: by mode, the kernels of one call: operations of eager mode, and NAME:OP of a graph.
    """
    if EAGER not in ran or GRAPH not in ran:
        return ()
    kernels, nodes = set(map(_operation, ran[EAGER])), {name.rpartition(":")[0] for name in ran[GRAPH]}
    # A profile names nodes of a function that is not inlined, but not the function.
    functions = names_called(optimization.after)
    own = (node for node in optimization.after if function_of(node) not in functions)
    return tuple(node.name for node in own if node.op in kernels and node.name not in nodes)


def _nodes(rewritten: Rewritten, lines: Mapping[str, str]) -> tuple[OptimizedNode, ...]:
    return tuple(_node(node, rewritten.sources if lines else {}, lines) for node in rewritten.nodes)


def _node(node: RewrittenNode, sources: Mapping[str, str], lines: Mapping[str, str]) -> OptimizedNode:
    source = source_of(node.name, sources)
    constant = node.constant
    return OptimizedNode(
        name=node.name,
        op=node.op,
        inputs=node.inputs,
        attributes=node.attributes,
        constant=HeldConstant(**vars(constant)) if constant else None,
        source=source,
        line=lines.get(source, ""),
    )


def _compare_results(actual: Arrays | str, expected: Arrays | str) -> ResultsHeld:
    """The comparison of results with expected ones, by the leaf with the largest error."""
    for results in (actual, expected):
        if isinstance(results, str):
            return ResultsHeld(reason=results)
    assert not isinstance(actual, str) and not isinstance(expected, str)
    if same_leaves(actual, expected):
        return ResultsHeld(bit_equal=True, error=0.0)
    if _forms(actual) != _forms(expected):
        return ResultsHeld(reason=f"their names, dtypes or shapes differ: {_forms(actual)} and {_forms(expected)}")
    errors = {name: distance(actual[name], array, largest([array]) or 1.0).error for name, array in expected.items()}
    worst = max(errors, key=lambda name: errors[name])
    return ResultsHeld(error=errors[worst], leaf=worst)


def _forms(arrays: Arrays) -> str:
    return ", ".join(f"{name} {array.dtype}{list(array.shape)}" for name, array in sorted(arrays.items()))
