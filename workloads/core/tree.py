"""Names for the leaves of a result, whatever containers a framework or a user returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONE = "output"
"""The name of a leaf that is the whole result."""


def leaves(structure: Any) -> dict[str, Any]:
    """Flat `{path: leaf}`: dict keys, positions and named-tuple fields joined by "/"; a lone leaf is LONE.

    Raises:
      ValueError: two leaves have one path, such as those of {"a/b": x, "a": {"b": y}}: one would hide the other.
    """
    flat: dict[str, Any] = {}
    _collect(structure, "", flat)
    return flat


def _collect(node: Any, path: str, flat: dict[str, Any]) -> None:
    if node is None:
        return
    if isinstance(node, Mapping):
        items = [(str(key), value) for key, value in node.items()]
    elif isinstance(node, tuple) and getattr(node, "_fields", None):
        # Without :=, which AutoGraph cannot convert, and says so in a notebook's cell.
        items = list(zip(node._fields, node, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(node, (list, tuple)):
        items = [(str(index), value) for index, value in enumerate(node)]
    else:
        name = path or LONE
        if name in flat:
            raise ValueError(f"expected one leaf at {name!r} of the result, found two: rename a key")
        flat[name] = node
        return
    for key, value in items:
        _collect(value, f"{path}/{key}" if path else key, flat)
