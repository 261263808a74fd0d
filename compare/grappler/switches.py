"""The passes that `tf.config.optimizer.set_experimental_options` switches, and how each experiment is set."""

from __future__ import annotations

from collections.abc import Mapping

Options = Mapping[str, bool | int]

PRUNING = "model_pruning"
"""Its switch is the other way round: `disable_model_pruning`."""

PASSES = (
    "function_optimization",
    "shape_optimization",
    "constant_folding",
    "arithmetic_optimization",
    "layout_optimizer",
    "remapping",
    "loop_optimization",
    "dependency_optimization",
    "scoped_allocator_optimization",
    "implementation_selector",
    PRUNING,
)
"""Those that are on unless they are switched off. Merging copies has no switch of its own in Python."""

ON: Options = {}
OFF: Options = {"disable_meta_optimizer": True}
AGAIN: Options = {"min_graph_nodes": 4}
"""What Grappler does anyway, said once more: a function's graph is made ready anew for options that it has not seen."""


def without(*passes: str) -> Options:
    """The options with these passes switched off."""
    return {"disable_model_pruning" if name == PRUNING else name: name == PRUNING for name in passes}


def only(pass_name: str) -> Options:
    """The options with all passes but one switched off."""
    return without(*(name for name in PASSES if name != pass_name))
