"""The operations of a graph: what does not compile, what has state or draws numbers, and which entries apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from compare.doctor.known_operations import Known
from compare.doctor.layers_judged import catalogue, merge
from compare.doctor.rules_of_operations import OPERATIONS
from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Finding, OperationKind, Place, Severity
from workloads.protocol.inspection import Operation

Lookup = Callable[[str], Known]
"""Looks up the facts about a type of operation."""

PLUMBING = frozenset({
    *("Placeholder", "PlaceholderWithDefault", "NoOp", "_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"),
    *("Const", "Identity", "IdentityN", "StopGradient", "VarHandleOp", "ReadVariableOp", "VariableV2", "Variable"),
    *("PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient", "RemoteCall", "VarIsInitializedOp"),
    *("DisableCopyOnRead", "_EagerConst", "PreventGradient", "Snapshot"),
})  # fmt: skip
"""Operations that pass values on: a compiler never sees them, or removes them."""

_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_PRINTS = ("PrintV2", "Print")
_FORMATS = "StringFormat"
_CONTROL_V1 = ("Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration",
               "RefNextIteration", "LoopCond", "ControlTrigger")  # fmt: skip
_CHECKS = ("Assert", "CheckNumerics", "CheckNumericsV2")
_SIZED_BY_VALUES = (
    "Where", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff", "DynamicPartition",
    "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5",
    "RaggedRange", "RaggedTensorFromVariant", "SparseToDense", "DenseToSparseSetOperation",
)  # fmt: skip
_GROWS = ("TensorListPushBack", "TensorListPushBackBatch", "TensorListResize")
_LOOPS = ("While", "StatelessWhile")
_RANDOM = (
    "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "ParameterizedTruncatedNormal",
    "RandomShuffle", "RandomGamma", "RandomPoisson", "RandomPoissonV2", "Multinomial", "RandomCrop",
    "StatefulUniform", "StatefulUniformInt", "StatefulStandardNormalV2", "StatefulTruncatedNormal",
    "NonDeterministicInts", "RngSkip", "RngReadAndSkip",
)  # fmt: skip
_ASSIGNS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "Assign", "AssignAdd", "AssignSub",
            "ResourceScatterAdd", "ResourceScatterUpdate", "ResourceStridedSliceAssign", "ScatterUpdate")  # fmt: skip
_WIDE = ("int64", "uint64", "float64", "complex128")
_SHAPES = ("Shape", "ShapeN", "Size", "StridedSlice", "Pack", "Range", "Prod", "Cast", "BroadcastArgs")
"""They handle shapes, whose integers are small."""

ADVICE: Mapping[str, str] = {
    "Unique": "jaxport.indexing.first_occurrences, or jnp.unique with size=.",
    "UniqueV2": "jaxport.indexing.first_occurrences, or jnp.unique with size=.",
    "Where": "jnp.where with three arguments, or jnp.nonzero with size=.",
    "DynamicPartition": "Masks, or sorting by the partition.",
}
_ADVICE_BY_WORD = (
    (("Table", "Lookup"), "Look up in the input pipeline, and pass integers."),
    (("Decode", "ReadFile", "Encode", "Jpeg", "Png", "Image"), "Do it in the input pipeline, and pass arrays."),
    (("Iterator", "Dataset", "Queue", "Reader"), "Feed the data from outside: a function of JAX takes arrays."),
    (("Ragged", "Sparse"), "Dense arrays with a mask, or segments: `jaxport lookup gotchas ragged`."),
    (("String", "Regex", "Join", "Split"), "Do it in the input pipeline: JAX has no strings."),
)
_LEAVE_OUT = "Leave it out of what is compiled, or do it before: in the input pipeline."


def findings(operations: Sequence[Operation], lookup: Lookup) -> list[Finding]:
    """The findings on operations, each type and place once.

    Args:
      operations: of the graph and all that it calls.
    """
    all_findings = (*_of_each(operations, lookup), *_gotchas(operations), *_wide(operations))
    return merge(all_findings)


def _of_each(operations: Sequence[Operation], lookup: Lookup) -> Iterator[Finding]:
    printing = {(operation.function, operation.source) for operation in operations if operation.type in _PRINTS}
    for operation in operations:
        # tf.print makes two: what it prints is formatted first.
        formats = operation.type == _FORMATS and (operation.function, operation.source) in printing
        finding = None if formats else _obstacle(operation, lookup) or _side(operation)
        if finding is not None:
            yield finding


def _obstacle(operation: Operation, lookup: Lookup) -> Finding | None:
    """Why an operation does not compile; None where it does, or where that is not known."""
    kind = operation.type
    if not operation.registered:
        what = f"TensorFlow {lookup(kind).version} has no such operation: it is a library's own."
        return _finding(BLOCKER, "custom", operation, what, "Write what it computes, or call its library outside.")
    if kind in _PYTHON:
        what = "Python code is called while the graph runs: XLA cannot compile it, nor is it saved with a model."
        return _finding(BLOCKER, "python", operation, what, "Write it in JAX, or use jax.pure_callback.")
    if kind in PLUMBING:
        return None
    if kind in _PRINTS:
        return _finding(BLOCKER, "side effect", operation, "XLA does not compile what prints.", "jax.debug.print.")
    if kind not in _CHECKS and "string" in (*operation.inputs, *operation.outputs):
        return _strings(operation)
    row = lookup(kind)
    if kind in _CONTROL_V1:
        what = "Control flow of TensorFlow 1, for which its XLA has no kernel: with jit_compile=True it raises."
        return _finding(BLOCKER, "control flow", operation, what, "jax.lax.cond, while_loop or scan.")
    if row.compiles is False:
        unless = ", unless all that it depends on is constant" if row.folded else ""
        what = f"TensorFlow's XLA has no kernel for it: with jit_compile=True it raises{unless}."
        return _finding(BLOCKER, "compilation", operation, what, _instead(operation, row))
    return _refusal(operation, row)


def _refusal(operation: Operation, row: Known) -> Finding | None:
    """The finding on an operation whose XLA kernel does not take these dtypes, or failed in all trials."""
    # A list of dtypes, as of a loop, is that of what it carries: no kernel's own.
    attributes = [(name, operation.attributes.get(name), types_taken) for name, types_taken in row.dtypes.items()]
    unfit = [
        f"{name}={dtype}"
        for name, dtype, types_taken in attributes
        if isinstance(dtype, str) and dtype not in types_taken
    ]
    if unfit:
        what = f"TensorFlow's XLA has no kernel for it with {', '.join(unfit)}: with jit_compile=True it raises."
        return _finding(BLOCKER, "compilation", operation, what, "Cast to another type first.")
    if row.reason:
        what = f"TensorFlow's XLA has a kernel, and refused every call that was tried: {row.reason}."
        return _finding(ATTENTION, "compilation", operation, what, "Try it: `jaxport lookup ops` says what was tried.")
    return None


def _strings(operation: Operation) -> Finding:
    """The finding on operations on strings; all operations of layers are one finding."""
    what, advice = "Works on strings, which neither XLA nor JAX has.", "Do it in the input pipeline, and pass numbers."
    subject = "string operations of layers" if operation.in_layer else operation.type
    return Finding(BLOCKER, "strings", subject, what, advice, places=(place(operation),))


def _instead(operation: Operation, row: Known) -> str:
    """The advice of the map of operations, or else that for operations of such a name."""
    kind = operation.type
    if operation.in_layer:
        return "A layer makes it: port the layer, as the table of layers says."
    if row.counterparts:
        return f"As in {'; '.join(row.counterparts[:2])}."
    return " ".join(row.notes) or advice(kind)


def advice(kind: str) -> str:
    """The advice on a type of operation that does not compile."""
    if kind in ADVICE:
        return ADVICE[kind]
    return next((text for words, text in _ADVICE_BY_WORD if any(word in kind for word in words)), _LEAVE_OUT)


def _side(operation: Operation) -> Finding | None:
    """The finding on an operation with a side effect or a result of unknown shape."""
    kind = operation.type
    if kind in _CHECKS:
        what = "XLA leaves checks out."
        return _finding(NOTE, "side effect", operation, what, "jax.experimental.checkify, or chex.")
    if kind in _SIZED_BY_VALUES:
        what = "The size of its result depends on values, which jax.jit does not allow."
        return _finding(
            ATTENTION, "shapes", operation, what, advice(kind) if kind in ADVICE else "A fixed size, padded."
        )
    if kind in _GROWS or operation.attributes.get("resize_if_index_out_of_bounds") is True:
        what = "A list that grows, as of a TensorArray with dynamic_size=True: XLA wants its size beforehand."
        return _finding(ATTENTION, "shapes", operation, what, "jax.lax.scan, or an array of the largest size.")
    if kind in _LOOPS:
        whose = "The loop of a layer, a recurrent one's over its time steps" if operation.in_layer else "A loop"
        what = f"{whose}: XLA compiles it as one while loop, whose steps run one after the other."
        return _finding(NOTE, "loop", operation, what, _scan_text(operation))
    if kind in _RANDOM:
        what = "Draws from a state that TensorFlow keeps: other numbers at every call."
        return _finding(ATTENTION, "randomness", operation, what, "Pass a key of jax.random, split for each use.")
    if kind in _ASSIGNS:
        severity: Severity = NOTE if operation.in_layer else ATTENTION
        what = (
            "Updates a variable." if not operation.in_layer else "Layers of Keras update their variables in training."
        )
        return _finding(severity, "state", operation, what, "An nnx.Variable, or an argument that is returned.")
    return None


def _scan_text(operation: Operation) -> str:
    scan = "jax.lax.scan, or nnx.RNN around a cell" if operation.in_layer else "jax.lax.scan, or a fixed count"
    return f"{scan}: jax.lax.while_loop has no gradient."


def _finding(severity: Severity, kind: str, operation: Operation, what: str, advice: str) -> Finding:
    return Finding(severity, kind, operation.type, what, advice, places=(place(operation),))


def place(operation: Operation) -> Place:
    """Where an operation stands: its name, after that of its function, and the user's line."""
    inside = f"{operation.function}: " if operation.function else ""
    return Place(f"{inside}{operation.name}", operation.source)


def _gotchas(operations: Iterable[Operation]) -> Iterator[Finding]:
    """Entries that apply to operations outside of layers: operations in layers are reported with their layers."""
    rules = {kind: [rule for rule in OPERATIONS if kind in rule.types] for rule in OPERATIONS for kind in rule.types}
    for operation in operations:
        for rule in rules.get(operation.type, ()) if not operation.in_layer else ():
            if rule.when(operation):
                entry = catalogue()[rule.entry]
                values = [f"{name}={operation.attributes[name]}" for name in rule.shows if name in operation.attributes]
                yield Finding(
                    ATTENTION, "gotcha", operation.type, entry.gotcha.why, "", entry.id, entry.gotcha.fails,
                    ", ".join(values), places=(place(operation),),
                )  # fmt: skip


def _wide(operations: Iterable[Operation]) -> Iterator[Finding]:
    """Operations of the user with results of 64 bits, which JAX narrows by default."""
    for operation in operations:
        if operation.in_layer or operation.type in PLUMBING or operation.type in _SHAPES:
            continue
        for dtype in dict.fromkeys(output for output in operation.outputs if output in _WIDE):
            yield _finding(
                ATTENTION if dtype == "float64" else NOTE, "dtype", operation, f"Gives {dtype}.", narrowing(dtype)
            )


def narrowing(dtype: str) -> str:
    """A sentence on JAX's treatment of a dtype of 64 bits."""
    half = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}[dtype]
    return f"JAX gives {half} unless jax_enable_x64 is set."


def kinds(operations: Sequence[Operation], lookup: Lookup) -> tuple[OperationKind, ...]:
    """All operations by type, the most frequent first; plumbing is left out.

    Args:
      operations: of the graph and all that it calls.
    """
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        if operation.type not in PLUMBING:
            groups.setdefault(operation.type, []).append(operation)
    operation_kinds = [_kind(kind, group, lookup(kind)) for kind, group in groups.items()]
    return tuple(sorted(operation_kinds, key=lambda operation_kind: (-operation_kind.count, operation_kind.type)))


def _kind(kind: str, group: Sequence[Operation], row: Known) -> OperationKind:
    entries_with_rule = {rule.entry for rule in OPERATIONS if kind in rule.types}
    own = [operation for operation in group if not operation.in_layer]
    return OperationKind(
        type=kind,
        count=len(group),
        in_layers=len(group) - len(own),
        compiles=row.compiles if group[0].registered else False,
        counterparts=row.counterparts,
        gotchas=tuple(key for key in row.gotchas if key not in entries_with_rule) if own else (),
        places=tuple(place(operation) for operation in (own or group)[:3]),
    )
