"""The environment in which TensorFlow says what autoclustering did: what it logs, and where it dumps its graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compare.clusters.log_lines import MODULES

GRAPHS_ONLY = ("TF_XLA_FLAGS", "TF_DUMP_GRAPH_PREFIX")
"""The variables that write the graphs, without those that write the log."""

QUIETEST = "TF_CPP_MIN_LOG_LEVEL"
VMODULE = "TF_CPP_VMODULE"


def variables(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process that says why; flags and levels that were set before are kept."""
    levels = ",".join(f"{file}={level}" for file, level in MODULES.items())
    return {
        # Of one name the last counts: what the user asks of other files is kept.
        VMODULE: ",".join(filter(None, (environment.get(VMODULE, ""), levels))),
        QUIETEST: "0",
        "TF_XLA_FLAGS": f"{environment.get('TF_XLA_FLAGS', '')} --tf_xla_clustering_debug".strip(),
        "TF_DUMP_GRAPH_PREFIX": str(folder),
    }
