"""The passes that `tf.config.optimizer.set_experimental_options` switches, and how each experiment is set."""

from __future__ import annotations

from collections.abc import Mapping

Options = Mapping[str, bool | int]

PRUNING = "model_pruning"
"""Its option is negated: `disable_model_pruning`."""

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
"""Passes that are on by default. Python has no option for the pass that merges copies."""

ON: Options = {}
OFF: Options = {"disable_meta_optimizer": True}
AGAIN: Options = {"min_graph_nodes": 4}
"""Grappler's default, stated explicitly: new options make TensorFlow optimize the graph of a function again."""


def without(*passes: str) -> Options:
    """The options with these passes switched off."""
    return {"disable_model_pruning" if name == PRUNING else name: name == PRUNING for name in passes}


def only(pass_name: str) -> Options:
    """The options with all passes but one switched off."""
    return without(*(name for name in PASSES if name != pass_name))
