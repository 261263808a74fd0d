"""The clustering of a function: its graph, the clusters in it, why other nodes stayed out, and the times."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from compare.record.base import Count, Interval, Many, Named, Number, Part, Text, Texts

BOUNDARY, NO_KERNEL, REFUSED, DECLUSTERED = "boundary", "no kernel", "refused", "taken out"
SMALL, OFF, UNKNOWN = "too small", "off", "not known"

KINDS: Mapping[str, str] = {
    NO_KERNEL: "XLA has no kernel for it",
    REFUSED: "TensorFlow does not compile it",
    SMALL: "it could be compiled, but no cluster around it is large enough",
    DECLUSTERED: "it was in a cluster, and was taken out again",
    OFF: "autoclustering was off when it was traced",
    BOUNDARY: "an argument or a result of the function",
    UNKNOWN: "no reason was logged",
}
"""The kinds, the most telling first, and what each means."""


class GraphNode(Part, frozen=True):
    """One node of TensorFlow's graph after Grappler, as it is when the clusters are cut out."""

    name: Text = ""
    op: Text = ""
    inputs: Texts = ()
    """Names of the nodes that it reads; after "^" one that it only waits for."""
    cluster: Text = ""
    """Empty where it stayed out."""
    source: Text = ""
    """FILE:LINE of the user's code; empty where that is not known."""
    line: Text = ""
    """The text of the line."""
    outside: Text = ""
    """Why it stayed out, one of KINDS; empty of a node in a cluster."""
    reason: Text = ""
    """The reason in TensorFlow's words; empty without one."""
    within: Text = ""
    """Where the reason is a node in what this one calls, "NAME (op OP)"; else empty."""


class Apart(Part, frozen=True):
    """Two nodes whose clusters TensorFlow wanted to join and did not."""

    left: Text = ""
    right: Text = ""
    left_cluster: Text = ""
    right_cluster: Text = ""
    reason: Text = ""


class Cluster(Part, frozen=True):
    """A cluster: nodes that XLA compiles as one program."""

    name: Text = ""
    nodes: Count = None
    ops: Named[int] = {}
    """How many nodes of each operation."""
    compilations: Count = None
    """How often it was compiled: once for each set of shapes; 0 where it never ran."""
    compile_s: Number = None
    instructions: Count = None
    """Instructions of its optimized module; of the first one if it was compiled several times."""
    kernels: Count = None
    seconds: Number = None
    """Seconds of one call, the median."""


class ClusteredGraph(Part, frozen=True):
    """One function's graph."""

    function: Text = ""
    nodes: Many[GraphNode] = ()
    clusters: Many[Cluster] = ()
    apart: Many[Apart] = ()
    logged: bool = False
    """Whether TensorFlow's log says what it did: without it no reason is known."""
    unread: Texts = ()
    """Lines of the log that no known form fits."""


class TimeSplit(Part, frozen=True):
    """One call as TensorFlow's profiler saw it: seconds by who computed, medians over the calls that were profiled."""

    calls: Count = None
    """The number of profiled calls."""
    compiled_s: Number = None
    """In clusters."""
    outside_s: Number = None
    """In nodes outside of them."""
    overhead_s: Number = None
    """Finding the compiled cluster, and handing its results on."""
    nodes: Named[Number] = {}
    """By node outside, its seconds; the longest first."""
    reason: Text = ""
    """Why nothing is known."""


class OneProgram(Part, frozen=True):
    """The function compiled as one program."""

    instructions: Count = None
    """Instructions of the program that XLA gets."""
    kernels: Count = None
    """Kernels of one call."""
    reason: Text = ""
    """Why there is none."""


class Clustering(Part, frozen=True):
    """One function in autocluster mode, beside the same compiled whole by either framework."""

    name: Text = ""
    size: Text = ""
    of_pass: Text = msgspec.field(default="", name="pass")
    graph: ClusteredGraph | None = None
    others: Many[ClusteredGraph] = ()
    """Graphs of further functions that ran meanwhile."""
    minimum: Count = None
    """Operations that a cluster has to have."""
    time: TimeSplit | None = None
    jit: OneProgram | None = None
    jax: OneProgram | None = None


class NodesOutside(Part, frozen=True):
    """Nodes that stayed outside of every cluster for one reason."""

    ops: Text = ""
    """Their operations, with how many there are of each."""
    count: Count = None
    """How many nodes."""
    why: Text = ""
    """TensorFlow's reason."""
    sources: Texts = ()
    """FILE:LINE of the user's code, where that is known."""


class ClusteredShare(Part, frozen=True):
    """How much of a workload's main pass autoclustering compiled: a clustering without its graph."""

    of_pass: Text = msgspec.field(default="", name="pass")
    """The pass: step or forward."""
    nodes: Count = None
    """Nodes of its graph after Grappler, without arguments and results."""
    clustered: Count = None
    """The number of these nodes in clusters."""
    clusters: Count = None
    """How many."""
    outside: Many[NodesOutside] = ()
    """The most telling reason first."""
    time: TimeSplit | None = None
    """Where the time of a call went; of `nodes` the longest."""
    reason: Text = ""
    """Why nothing is known."""


class NodeChange(Part, frozen=True):
    """A node of either graph that has no partner in the other, or stands elsewhere."""

    left: GraphNode | None = None
    right: GraphNode | None = None


class ClusteringChanges(Part, frozen=True):
    """Two clusterings, compared node by node."""

    same: bool = False
    left_out: Many[NodeChange] = ()
    """In a cluster on the left, outside on the right."""
    taken_in: Many[NodeChange] = ()
    """Outside on the left, in a cluster on the right."""
    left_only: Many[GraphNode] = ()
    right_only: Many[GraphNode] = ()
    regrouped: Many[NodeChange] = ()
    """In a cluster on both sides, together with other nodes than before."""


class EditTime(Part, frozen=True):
    """Time after an edit over time before it, with autoclustering: `jaxport compilation clusters --time`."""

    pairs: Count = None
    """The number of pairs of fresh processes."""
    ratio: Number = None
    """Below 1 the edit made it faster; null where it is withheld."""
    ci95: Interval = None
    verdict: Text = ""
    """Faster, slower, equivalent or inconclusive."""
    null: Number = None
    """The ratio of identical code."""
    null_ci95: Interval = None
    withheld: Text = ""
    """Why there is no ratio."""


class Clusterings(Part, frozen=True):
    """clusters.json: one function, or two and what differs."""

    schema: Count = None
    clusterings: Many[Clustering] = ()
    changes: ClusteringChanges | None = None
    time: EditTime | None = None


class CompiledName(Part, frozen=True):
    """A cluster or a function of jit_compile=True that XLA compiled."""

    times: Count = None
    seconds: Number = None


class NodeTime(Part, frozen=True):
    """A node outside of every cluster, and the seconds that it took in all."""

    name: Text = ""
    """NAME:OP of a node of a graph, or of an eager operation "OP, eager"."""
    seconds: Number = None
    source: Text = ""
    """FILE:LINE of the user's code; empty where that is not known, or differs between functions with such a node."""


class Profiled(Part, frozen=True):
    """Where the time of a launched program went while its processes were profiled."""

    processes: Count = None
    seconds: Number = None
    """Seconds of all processes."""
    time: TimeSplit | None = None
    """Seconds of all threads in operations."""
    longest: Many[NodeTime] = ()
    """Outside, the longest first."""


class Launched(Part, frozen=True):
    """launch.json: a program of anyone's, and what TensorFlow compiled in it."""

    schema: Count = None
    command: Texts = ()
    exit_code: Count = None
    signal: Text = ""
    """The signal that ended the program; empty without one."""
    variables: Named[Text] = {}
    """Environment variables of the program."""
    notes: Texts = ()
    """Variables of the user's environment that were overridden, and what is unknown because of that."""
    graphs: Many[ClusteredGraph] = ()
    single_operations: Count = None
    """Graphs of single eager operations, which have no cluster."""
    compiled: Named[CompiledName] = {}
    modules: Texts = ()
    """XLA's dumped modules, as `jaxport dump` names them: functions and clusters."""
    profiled: Profiled | None = None
    """Null without --profile."""
