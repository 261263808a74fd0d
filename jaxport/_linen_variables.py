"""The variables of a Flax Linen module, nested in collections, by the path that weights are carried under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flax import traverse_util

from workloads.protocol.framework import Unsupported


def by_path(variables: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Path within its collection -> the collection, and what is there.

    Args:
      variables: by collection, "params" or "batch_stats", nested by module.

    Raises:
      Unsupported: two collections have a variable of one path.
    """
    flat: dict[str, tuple[str, Any]] = {}
    for collection, tree in variables.items():
        for path, value in traverse_util.flatten_dict(dict(tree), sep=".").items():
            if path in flat:
                raise Unsupported(f"expected one variable at {path}, found it in {flat[path][0]} and in {collection}")
            flat[path] = (collection, value)
    return flat


def replace_values(variables: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The same nesting with other values, by path; those that are not named stay."""
    return {
        collection: traverse_util.unflatten_dict(
            {path: values.get(path, value) for path, value in traverse_util.flatten_dict(dict(tree), sep=".").items()},
            sep=".",
        )
        for collection, tree in variables.items()
    }
