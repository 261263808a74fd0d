"""TensorFlow's log of autoclustering as data: a small grammar of its lines. A line of no known form is kept as text.

The log is that of `TF_CPP_VMODULE` with the levels of MODULES. Every line names its thread:
it distinguishes functions that several threads cluster at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

_LINE = re.compile(r"[IWEF]\d{4} [\d:.]+\s+(?P<thread>\d+) (?P<file>[\w./-]+):\d+\] ?(?P<said>.*)", re.DOTALL)
MODULES = {
    "mark_for_compilation_pass": 4,
    "compilability_check_util": 4,
    "partially_decluster_pass": 4,
    "process_function_library_runtime": 1,
    "encapsulate_subgraphs_pass": 1,
    "device_compilation_profiler": 1,
    "dump_graph": 0,
}
"""By source file of TensorFlow, the level of its log: with these it names every node that stays outside, and why."""

_READ = ("mark_for_compilation_pass.cc", "compilability_check_util.cc", "partially_decluster_pass.cc")
"""The files of TensorFlow that say why: a line of theirs that no form fits is kept."""

_SILENT = (
    *("Starting fuel: .*", r"sorted_nodes\.size\(\) = .*", "No compilable candidates", "DeadnessAnalysis time: .*"),
    *(r"Running phase \d+", "Checking idempotence", "MarkForCompilationPassImpl::Run time: .*", "Assigning node .*"),
    *("Compiling cluster with device .*", r" *Built \d+ clusters, .*", " *Unclustered nodes: .*"),
    *(r" *cluster_\d+ .*", r" *\[none\].*", r" *[\w.>-]+: \d+ instances", r" *\*\* Cluster .*"),
    *(r"\*\*\* (?:Clustering info .*|Inter-Cluster edges:)", r" *\d+ (?:incoming|outgoing) edges.*"),
)
"""Lines that say nothing that the graph does not say better."""

_CLUSTER = r"<(?P<{}>\S+)(?: \+ \d+ others)? #\d+>"
_FORMS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(form, re.DOTALL)
    for name, form in {
        "begin": r'Instantiating MultiDevice function "(?P<function>.*)" on default device ".*"',
        "end": r'Finished graph optimizations for MultiDevice function ".*" with target device .*',
        "dumped": r"Dumped (?:Graph|FunctionDef) to (?P<path>.*)",
        "look": r"Device type for (?P<node>\S+): .*",
        "uncompilable": r"Found uncompilable node (?P<node>\S+) \(op (?P<op>\S+)\)(?:: (?P<reason>.*))?",
        "rejected": r"Rejecting (?P<node>[^\s:]+)(?:: | )(?P<reason>.*)",
        "candidates": r"compilation_candidates_\.size\(\) = (?P<count>\d{1,18})",
        "apart": (
            f"Could not contract {_CLUSTER.format('left')} -> {_CLUSTER.format('right')} because (?P<reason>.*?)\\.?"
        ),
        "taken_out": r"Declustering (?:(?P<kind>\S+) node )?(?P<node>\S+)(?: because (?P<reason>.*))?",
        "off": r"Not compiling cluster with device .*",
        "compiled": r"Compiled (?P<name>\S+) (?P<times>\d{1,9}) times, compile time: (?P<us>\d{1,15}) us, .*",
        "silent": "|".join(_SILENT),
    }.items()
}
_GRAPH = re.compile(r"encapsulate_subgraphs_before(?:_\d+)?\.pbtxt")

WRAPPED = "__wrapped__"
"""The name of the function of a single eager operation: it has no cluster, and there are hundreds."""


@dataclass(frozen=True)
class Refusal:
    """Why a node cannot be compiled, in TensorFlow's words.

    Attributes:
      reason: of that node, or of the one within it.
      within: the node that is the reason, "NAME (op OP)", where that is in a function that this node calls; else empty.
    """

    reason: str
    within: str = ""


@dataclass
class LoggedFunction:
    """The log of one function's graph.

    Attributes:
      function: its name; empty where the graph was none of a function.
      graph: the file that the graph was written to before its clusters were cut out; empty of none.
      looked_at: the nodes of which TensorFlow tested whether they can be compiled.
      refused: by node, why it cannot.
      taken_out: by node, why it left its cluster again.
      candidates: how many nodes TensorFlow found that can be compiled; None where it did not say.
      apart: pairs of nodes whose clusters were not joined, each with the last reason given.
      off: whether a cluster was not formed because autoclustering was off.
      unread: lines of no known form.
    """

    function: str = ""
    graph: str = ""
    looked_at: list[str] = field(default_factory=list)
    refused: dict[str, Refusal] = field(default_factory=dict)
    taken_out: dict[str, str] = field(default_factory=dict)
    candidates: int | None = None
    apart: dict[tuple[str, str], str] = field(default_factory=dict)
    off: bool = False
    unread: list[str] = field(default_factory=list)

    def fits(self, node: str) -> bool:
        """Whether TensorFlow could compile a node, by its own count of those that it can."""
        has_all = len(set(self.looked_at) - self.refused.keys()) == self.candidates
        return has_all and node in self.looked_at and node not in self.refused


@dataclass(frozen=True)
class Compilation:
    """How often XLA compiled a cluster or a function, and the seconds of all times."""

    times: int
    seconds: float


@dataclass
class ClusteringLog:
    """A whole log: functions in the order in which they were clustered, and by name what XLA compiled."""

    functions: list[LoggedFunction] = field(default_factory=list)
    compiled: dict[str, Compilation] = field(default_factory=dict)

    @property
    def of_users(self) -> list[LoggedFunction]:
        """The functions without those of single eager operations."""
        return [one for one in self.functions if not one.function.startswith(WRAPPED)]


def read_log(lines: Iterable[str]) -> ClusteringLog:
    """Read a log of autoclustering.

    Args:
      lines: of the log, other programs' lines among them.
    """
    log = ClusteringLog()
    threads: dict[str, LoggedFunction] = {}
    for line in lines:
        match = _LINE.fullmatch(line.rstrip("\n"))
        if match:
            _read(log, threads, match["thread"], match["file"], match["said"])
    return log


def is_of_clustering(line: str) -> bool:
    """Whether a line is information of one of MODULES, which matters only to questions about clusters."""
    match = _LINE.fullmatch(line.rstrip("\n"))
    return match is not None and line[0] == "I" and PurePath(match["file"]).stem in MODULES


_NO_FORM = "no form"


def _form(text: str) -> tuple[str, Mapping[str, str]]:
    for name, pattern in _FORMS.items():
        match = pattern.fullmatch(text)
        if match:
            return name, {key: value or "" for key, value in match.groupdict().items()}
    return _NO_FORM, {}


def _read(log: ClusteringLog, threads: dict[str, LoggedFunction], thread: str, file: str, text: str) -> None:
    form, values = _form(text)
    if form == "begin":
        threads[thread] = LoggedFunction(values["function"])
        log.functions.append(threads[thread])
    elif form == "end":
        threads.pop(thread, None)
    elif form == "compiled":
        seconds = int(values["us"]) * 1e-6
        before = log.compiled.get(values["name"], Compilation(0, 0.0))
        log.compiled[values["name"]] = Compilation(int(values["times"]), before.seconds + seconds)
    elif form in _OF_FUNCTION:
        _OF_FUNCTION[form](_current(log, threads, thread), values)
    elif form == _NO_FORM and file.rpartition("/")[2] in _READ:
        _current(log, threads, thread).unread.append(text)


def _current(log: ClusteringLog, threads: dict[str, LoggedFunction], thread: str) -> LoggedFunction:
    """The function that a thread works on; one without a name where it never said which."""
    if thread not in threads:
        threads[thread] = LoggedFunction()
        log.functions.append(threads[thread])
    return threads[thread]


def _note_dump(function: LoggedFunction, values: Mapping[str, str]) -> None:
    if _GRAPH.fullmatch(values["path"].rpartition("/")[2]):
        function.graph = values["path"]


def _look(function: LoggedFunction, values: Mapping[str, str]) -> None:
    function.looked_at.append(values["node"])


def _uncompilable(function: LoggedFunction, values: Mapping[str, str]) -> None:
    """Record that a node cannot be compiled, by itself or because of a node in the function that it calls."""
    at_hand = function.looked_at[-1] if function.looked_at else values["node"]
    within = f"{values['node']} (op {values['op']})" if at_hand != values["node"] else ""
    function.refused.setdefault(at_hand, Refusal(values["reason"] or f"op {values['op']}", within))


def _note_rejection(function: LoggedFunction, values: Mapping[str, str]) -> None:
    function.refused.setdefault(values["node"], Refusal(values["reason"]))


def _candidates(function: LoggedFunction, values: Mapping[str, str]) -> None:
    function.candidates = int(values["count"])


def _apart(function: LoggedFunction, values: Mapping[str, str]) -> None:
    function.apart[values["left"], values["right"]] = values["reason"]


def _taken_out(function: LoggedFunction, values: Mapping[str, str]) -> None:
    function.taken_out[values["node"]] = values["reason"] or f"{values['kind']} node".strip()


def _off(function: LoggedFunction, values: Mapping[str, str]) -> None:
    function.off = True


_OF_FUNCTION: Mapping[str, Callable[[LoggedFunction, Mapping[str, str]], None]] = {
    "dumped": _note_dump,
    "look": _look,
    "uncompilable": _uncompilable,
    "rejected": _note_rejection,
    "candidates": _candidates,
    "apart": _apart,
    "taken_out": _taken_out,
    "off": _off,
}
