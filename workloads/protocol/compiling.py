"""Options of XLA for programs whose numbers are wanted, and not their speed."""

from __future__ import annotations

import re

from workloads.protocol.framework import CompilerOptions

_SOONER: CompilerOptions = {
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
"""Only make compiling shorter: an XLA that does not know one compiles without it."""

_LEVEL = "xla_backend_optimization_level"

QUICKLY: CompilerOptions = {_LEVEL: 0, **_SOONER}
"""For a few calls. Gradients of an LSTM and of a convolution compiled in a seventh and a tenth of the time of XLA's
defaults on two cores, with jaxlib 0.10.2; a call took up to three times as long. At level 0 alone compiling took 60 to
90 percent of it: what costs is MLIR's emitters of fusions, and handing parts of the code to several threads."""

IN_ORDER: CompilerOptions = {**QUICKLY, "xla_cpu_use_fusion_emitters": True}
"""As quickly as sums keep their order. By the legacy emitters it depends on the layout: values that two programs
compute alike, such as a sum that is 0, differ by a rounding then, and each program decides otherwise about them."""

UNFUSED: CompilerOptions = {**IN_ORDER, "xla_disable_hlo_passes": "fusion"}
"""For intermediate values. A fused kernel a value takes ten times as long to compile, and its intermediates are rounded
otherwise: in the body of a loop of bfloat16 by up to 0.6 % of a result."""

REPEATEDLY: CompilerOptions = {_LEVEL: 1, **_SOONER}
"""For many calls, as of a training run. Calls take no longer than with XLA's defaults, and compiling less than half. At
level 0 a depthwise convolution takes nine times as long."""

MANY_ELEMENTS = 1 << 18
"""From this number of elements in a program's arrays on, its calls take longer than its compilation."""

MANY_ELEMENTS_ALONE = 1 << 16
"""Of those of a single operation, which compiles in 10 ms at level 0 and in 30 ms at level 1, and which a model has
several times. An elementwise operation on so many takes 1 ms at level 0, a fifth of that at level 1."""


def for_size(options: CompilerOptions, elements: int, many: int = MANY_ELEMENTS) -> CompilerOptions:
    """The options, at XLA's level 1 in place of 0 for a program of many elements.

    A call of ResNet-50's gradients in float64 (224 px, batch 4) took 125 s by `IN_ORDER` and 20 s at level 1, which
    compiles in 8.2 s in place of 5.7 s (jaxlib 0.10.2, two busy cores).

    Args:
      options: by name.
      many: from how many elements on calls take longer than compilation.
    """
    return {**options, _LEVEL: 1} if elements > many and options.get(_LEVEL) == 0 else options


_UNKNOWN = re.compile(r"No such compile option: '(\w+)'")


def without_unknown(options: CompilerOptions, refusal: str) -> CompilerOptions | None:
    """The options without one that this XLA does not know and that only makes compiling shorter; None where none is.

    Args:
      options: by name, what a program was to be compiled with.
    """
    match = _UNKNOWN.search(refusal)
    if match is None or match[1] not in _SOONER or match[1] not in options:
        return None
    return {name: value for name, value in options.items() if name != match[1]}
