"""The traces and compilations of a stream of calls in both frameworks, their reasons, and the effects of cures."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Number, Part, Text

NOT_CALLED = "the worker ended before"
"""The error of a call that was never made."""


class LedgerCall(Part, frozen=True):
    """One call on one side, in seconds."""

    call: Text = ""
    """Its arguments, as `jaxport compilation recompiles --call` takes them."""
    traces: Count = None
    """How often the function was traced."""
    compilations: Count = None
    """Programs that XLA compiled."""
    seconds: Number = None
    """Seconds of the whole call, until its results are ready."""
    trace_s: Number = None
    """Tracing."""
    lower_s: Number = None
    """Seconds of lowering; null if the framework does not separate it."""
    compile_s: Number = None
    """In XLA alone."""
    entries: Count = None
    """Signatures that the function keeps after the call."""
    held_bytes: Count = None
    """Memory of the process after the call, without mapped files."""
    why: Text = ""
    """The reason of the trace or compilation."""
    established: bool | None = None
    """Whether the reason was found again with everything else held fixed; None of a first call, and of a hit."""
    error: Text = ""
    """Why it gave no result; its counts are not known then."""


class LedgerCure(Part, frozen=True):
    """The stream once more in a fresh process, with one thing changed."""

    cure: Text = ""
    """Its name."""
    change: Text = ""
    """The change."""
    traces: Count = None
    """Over all calls."""
    compilations: Count = None
    """Over all calls."""
    seconds: Number = None
    """Over all calls."""
    calls: Count = None
    """How many were made."""
    refused: Text = ""
    """Why it was not tried, or failed."""
    results: Text = ""
    """How results compare with those of the stream as it was."""
    same_results: bool | None = None
    """Null where that is not known."""


class SideLedger(Part, frozen=True):
    """A stream of calls on one side."""

    target: Text = ""
    """The function."""
    staged: Text = ""
    """How the function was compiled."""
    calls: Many[LedgerCall] = ()
    """In order."""
    cures: Many[LedgerCure] = ()
    """The cures that were tried."""
    traces: Count = None
    """Over all calls."""
    compilations: Count = None
    """Over all calls."""
    seconds: Number = None
    """Over all calls."""
    failed: Count = None
    """Calls that gave no result."""
    entries: Count = None
    """Signatures that the function keeps at the end."""
    grown_bytes: Number = None
    """The growth of the process from its first call to its last: memory that it keeps."""
    error: Text = ""
    """Why there are no calls."""
    lost: bool = False
    """Whether the worker died or did not answer."""


class RecompilationLedger(Part, frozen=True):
    """A stream of calls on each side that was asked."""

    name: Text = ""
    """The name of the function."""
    summary: Text = ""
    """The call in words; this and the following fields are empty for a user's own functions."""
    statement: Text = ""
    """The document's statement about it."""
    source: Text = ""
    """The document."""
    sides: Named[SideLedger] = {}
    """By side that has a function."""
