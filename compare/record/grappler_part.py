"""The changes of a function by Grappler, TensorFlow's graph optimizer: both graphs, and each change with its pass."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from compare.record.base import Count, Indices, Many, Named, Number, Part, Text, Texts

REPLACED, FOLDED, FUSED = "replaced", "folded", "fused"
REORDERED, REWIRED, WAITS, ATTRIBUTES, VALUE = "reordered", "rewired", "waits", "attributes", "value"
ABSORBED, MERGED, BYPASSED, UNREAD, READERS_WENT, GONE = (
    "absorbed",
    "merged",
    "bypassed",
    "unread",
    "readers went",
    "gone",
)
CAME = "came"

KINDS: Mapping[str, str] = {
    FOLDED: "computed once, now a constant",
    FUSED: "now computes what other nodes did too",
    REPLACED: "now another operation",
    CAME: "a new node",
    ABSORBED: "gone: its readers read new nodes, or are other operations",
    MERGED: "gone: a copy of another node",
    BYPASSED: "gone: its readers read what it read",
    UNREAD: "gone: nothing read it",
    READERS_WENT: "gone: nothing reads it any more",
    GONE: "gone: how is not known",
    VALUE: "a constant with another value",
    ATTRIBUTES: "other attributes",
    REORDERED: "reads the same in another order",
    REWIRED: "reads other nodes",
    WAITS: "waits for other nodes",
}
"""The kinds of change, the most telling first, and what each means."""


class HeldConstant(Part, frozen=True):
    """The value of a constant."""

    dtype: Text = ""
    shape: Indices = ()
    bytes: Count = None
    sha256: Text = ""
    text: Text = ""
    """The value where it is short, else its first elements."""


class OptimizedNode(Part, frozen=True):
    """A node of either graph; of a function that is left in it, "FUNCTION/NODE"."""

    name: Text = ""
    op: Text = ""
    inputs: Texts = ()
    """Tensors, "NAME" or "NAME:1"; after "^" nodes that it only waits for."""
    attributes: Named[str] = {}
    constant: HeldConstant | None = None
    source: Text = ""
    """FILE:LINE of the user's code; empty where that is not known."""
    line: Text = ""
    """The text of the line."""


class NodeRewrite(Part, frozen=True):
    """One node that was removed, added or changed."""

    name: Text = ""
    kind: Text = ""
    """One of KINDS."""
    before: OptimizedNode | None = None
    after: OptimizedNode | None = None
    into: Texts = ()
    """Nodes of the graph after: what stands for it now, or what it is a copy of, or what is read instead."""
    needs: Texts = ()
    """Passes each of which undoes the change when it alone is switched off."""
    alone: Texts = ()
    """Passes each of which makes the change when all others are switched off; asked where `needs` is empty."""
    always: bool = False
    """Whether it is made with every pass switched off."""
    differs: Texts = ()
    """Passes without which the node comes out otherwise than it does, and not as it was; asked where the others say
    nothing."""
    group: Count = None
    """The number of the group: related nodes that the same passes changed."""


class ResultsHeld(Part, frozen=True):
    """Results of two runs on equal inputs."""

    bit_equal: bool = False
    error: Number = None
    """Largest difference over largest value, of the leaf where that is largest; null where shapes or NaN differ."""
    leaf: Text = ""
    """Where."""
    reason: Text = ""
    """Why the two cannot be compared."""


class Optimization(Part, frozen=True):
    """grappler.json: one function before and after the graph optimizer."""

    schema: Count = None
    name: Text = ""
    size: Text = ""
    of_pass: Text = msgspec.field(default="", name="pass")
    traced: Named[int] = {}
    """How many nodes of each operation were traced, those of called functions once each."""
    before: Many[OptimizedNode] = ()
    """With Grappler switched off: calls are inlined and loops lowered by the runtime, nothing else is done."""
    after: Many[OptimizedNode] = ()
    rewrites: Many[NodeRewrite] = ()
    same_again: bool | None = None
    """Whether a second run of the optimizer gave the same graph: otherwise no change can be ascribed to a pass."""
    passes: Texts = ()
    """The passes that were switched off one by one; none if nothing changed, or if the graph differed each time."""
    failed: Named[str] = {}
    """By pass, why the run without it, or with it alone, gave no graph."""
    replaced_later: Named[str] = {}
    """By node of the graph after, the operation that the runtime put in its place when it placed the graph."""
    repeatable: ResultsHeld | None = None
    """Two runs with Grappler: what differs here is not its doing."""
    results: ResultsHeld | None = None
    """Without Grappler against with it."""
    eager: ResultsHeld | None = None
    """Eager against the graph without Grappler."""
    kernels: Named[Named[int]] = {}
    """By mode, the kernels that one call ran, by operation; only of the main pass."""
    idle: Texts = ()
    """Nodes of the graph after that did not run in the call that was profiled, of operations that eager mode ran."""
