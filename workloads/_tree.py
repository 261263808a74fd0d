"""Names for the leaves of a result, whatever containers a framework or a user returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def leaves(structure: Any) -> dict[str, Any]:
    """Flat `{path: leaf}`: dict keys, positions and named-tuple fields joined by "/"; a lone leaf is "output"."""
    found: dict[str, Any] = {}
    _collect(structure, "", found)
    return found


def _collect(node: Any, path: str, found: dict[str, Any]) -> None:
    if node is None:
        return
    if isinstance(node, Mapping):
        items = [(str(key), value) for key, value in node.items()]
    elif isinstance(node, tuple) and (fields := getattr(node, "_fields", None)):
        items = list(zip(fields, node, strict=True))
    elif isinstance(node, (list, tuple)):
        items = [(str(index), value) for index, value in enumerate(node)]
    else:
        found[path or "output"] = node
        return
    for key, value in items:
        _collect(value, f"{path}/{key}" if path else key, found)
