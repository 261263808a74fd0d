"""Lists what XLA's CPU compiler can leave out: passes that changed a program, and features with an option."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compare.errors import RequestError
from compare.tuning.candidate_options import Option, Value, flags_text

DISABLING = "xla_disable_hlo_passes"
"""XLA takes any name here, and says nothing of one that it does not have."""

NOT_PASSES = frozenset(
    {"adding_copies_to_resolve_interference", "removing_unnecessary_copies", "adding_special-case_copies"}
)
"""Names in XLA's dumps that are parts of a pass, copy-insertion, and no passes."""

_LIBRARY = "LIBRARY_FUSION_TYPE_"
_YNN = "xla_cpu_experimental_ynn_fusion_type"


@dataclass(frozen=True)
class Omission:
    """An omission and its compiler options; `passes` are the names of the omitted passes, if any."""

    name: str
    options: Mapping[str, Value]
    passes: tuple[str, ...] = ()
    says: str = field(default="", compare=False)


PURPOSES: Mapping[str, str] = {
    "algsimp": "algebraic simplification: x * 1, nested reshapes, a power as a product",
    "batched_gather_scatter_normalizer": "batch dimensions of gather and scatter as index dimensions",
    "call-inliner": "called functions in place of their calls",
    "change-op-data-type": "operands in a type that the library computes in",
    "constant_folding": "operations on constants computed by the compiler",
    "convolution-canonicalization": "convolutions with channels last",
    "copy-insertion": "copies where a buffer would be overwritten too early",
    "cpu-parallel-task-assigner": "large kernels split among threads",
    "cse": "equal values computed once",
    "dce": "what nothing reads removed",
    "dot-library-rewriter": "products, reductions and what surrounds them handed to YNNPACK or oneDNN",
    "dynamic-dimension-simplifier": "dimensions without a fixed size made static",
    "flatten-call-graph": "each call with a copy of its computation",
    "fusion": "several operations in one kernel, without an array between them",
    "fusion-wrapper": "single operations as fusions, for the emitters of fusions",
    "gather_expander": "a gather as a loop or as slices",
    "gather_simplifier": "a gather in the one form that the emitters know",
    "layout-assignment": "the order of dimensions in memory",
    "reshape-decomposer": "a reshape as a bitcast, with a copy where it needs one",
    "reshape-mover": "reshapes and transposes moved behind elementwise operations",
    "scatter_simplifier": "a scatter in the one form that the emitters know",
    "scatter_expander": "a scatter as a loop",
    "shape-canonicalizer": "one object for equal shapes; changes no code",
    "simplification": "the first round of simplifications, all its passes",
    "simplification_after_layout_assignment": "the last round of simplifications, all its passes",
    "tree_reduction_rewriter": "long reductions in two steps",
    "while-loop-invariant-code-motion": "what no turn of a loop changes computed before it",
    "while-loop-simplifier": "loops without dead state; loops of one turn unrolled",
}
"""The purposes of passes, by their names in jaxlib 0.10.2."""

FEATURES: tuple[Omission, ...] = (
    Omission("YNNPACK", {_YNN: ""}, says="reductions, single products and convolutions handed to the library YNNPACK"),
    Omission(
        "YNNPACK's reductions", {_YNN: f"{_LIBRARY}INDIVIDUAL_DOT,{_LIBRARY}INDIVIDUAL_CONVOLUTION"},
        says="reductions in YNNPACK",
    ),
    Omission(
        "YNNPACK's products", {_YNN: f"{_LIBRARY}REDUCE,{_LIBRARY}INDIVIDUAL_CONVOLUTION"},
        says="single products in YNNPACK",
    ),
    Omission(
        "YNNPACK's convolutions", {_YNN: f"{_LIBRARY}REDUCE,{_LIBRARY}INDIVIDUAL_DOT"},
        says="single convolutions in YNNPACK",
    ),
    Omission("fusion emitters", {"xla_cpu_use_fusion_emitters": False}, says="kernels of fusions written through MLIR"),
    Omission("256-bit vectors", {"xla_cpu_prefer_vector_width": 128}, says="vectors of 256 bits, where 128 are left"),
    Omission("vectors", {"xla_cpu_prefer_vector_width": 32}, says="vectors at all, where LLVM writes them itself"),
    Omission(
        "LLVM's optimizer", {"xla_backend_optimization_level": 0},
        says="what LLVM does to kernels: vectors, unrolling, inlining",
    ),
    Omission(
        "concurrent schedule", {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"},
        says="an order of instructions in which more can run at once, where the least memory decides",
    ),
)  # fmt: skip
"""Features that options switch off in jaxlib 0.10.2; docs/ablate.md lists those without effect on one program."""


def without(passes: Sequence[str]) -> Omission:
    """These passes left out together."""
    says = PURPOSES.get(passes[0], "") if len(passes) == 1 else ""
    return Omission(" and ".join(passes), {DISABLING: ",".join(passes)}, tuple(passes), says)


def of_options(options: Iterable[Option]) -> tuple[Omission, ...]:
    """Every value of every option, alone."""
    return tuple(
        Omission(flags_text({option.name: value}), {option.name: value})
        for option in options
        for value in option.values
    )


def everything(passes: Iterable[str]) -> tuple[Omission, ...]:
    """Each pass that changed the program alone, then each feature."""
    return (*(without([name]) for name in passes if name not in NOT_PASSES), *FEATURES)


def parse(texts: Iterable[str]) -> tuple[Omission, ...]:
    """Passes as the command line names them: "fusion", or "fusion+cse" for both together.

    Raises:
      RequestError: a name is empty.
    """
    omissions: dict[str, Omission] = {}
    for text in texts:
        names = [name.strip() for name in text.split("+")]
        if not all(names):
            raise RequestError(f"expected --without PASS or PASS+PASS, found {text!r}: name a pass, such as fusion")
        omission = without(list(dict.fromkeys(names)))
        omissions[omission.name] = omission
    return tuple(omissions.values())


def missing(omission: Omission, passes_run: Sequence[str]) -> str:
    """Why there is nothing to leave out: no such pass changed the program; empty where one did."""
    if not omission.passes or set(omission.passes) & set(passes_run):
        return ""
    near = difflib.get_close_matches(omission.passes[0], [name for name in passes_run if name not in NOT_PASSES], 1)
    offer = f"; did you mean {near[0]}?" if near else ""
    return f"no pass of that name changed this program{offer}"


def still_run(omission: Omission, passes_run: Iterable[str]) -> str:
    """The passes that XLA ran although they were to be left out; empty where it ran none."""
    return ", ".join(sorted(set(omission.passes) & set(passes_run)))
