"""Value numbering: a digest for every value, equal if two values are the same computation of the same inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence

from compare.hlo.graph import Graph, Node

COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
"""Operations whose operands may stand in either order."""

MIRRORED = {"GT": "LT", "GE": "LE"}
"""Directions of a comparison whose operands change places with it: a > b is b < a."""


_DRAWN = frozenset({"rng", "rng-get-and-update-state", "infeed", "recv"})


def is_drawn(node: Node) -> bool:
    """Whether two equal operations give two values, as random draws do, or have side effects."""
    return node.opcode in _DRAWN or bool(node.attribute("custom_call_has_side_effect"))


def distinguish(node: Node, digest: bytes, other_digests: Collection[bytes]) -> bytes:
    """A digest that two equal draws or side effects do not share; other values keep their digest."""
    if not is_drawn(node):
        return digest
    while digest in other_digests:
        digest = hashlib.blake2b(digest, digest_size=16).digest()
    return digest


def digest_of(node: Node, operands: Sequence[bytes], regions: Sequence[bytes]) -> bytes:
    """The digest of one value from those of its operands and regions, without names and hints."""
    hasher = hashlib.blake2b(digest_size=16)
    hasher.update(f"{node.opcode} {node.shape} {node.attributes}".encode())
    if node.literal is not None:
        hasher.update(node.literal.tobytes())
    for part in (*operands, b"|", *regions):
        hasher.update(part)
    return hasher.digest()


def slot_digest(slot: str) -> bytes:
    """The digest of a parameter by the name of its argument."""
    return hashlib.blake2b(f"slot {slot}".encode(), digest_size=16).digest()


def digests(graph: Graph) -> dict[int, bytes]:
    """The digest of every value of a graph, in one pass; parameters are known by their position."""
    regions: dict[Graph, bytes] = {}
    by_value: dict[int, bytes] = {}
    all_digests: set[bytes] = set()
    for node in graph:
        bodies = [_region_digest(region, regions) for region in node.regions]
        digest = digest_of(node, [by_value[key] for key in node.operands], bodies)
        by_value[node.id] = distinguish(node, digest, all_digests)
        all_digests.add(by_value[node.id])
    return by_value


def _region_digest(region: Graph, digests_by_region: dict[Graph, bytes]) -> bytes:
    if region not in digests_by_region:
        digests_by_region[region] = region_digest(region, digests(region))
    return digests_by_region[region]


def region_digest(region: Graph, values: Mapping[int, bytes]) -> bytes:
    """The digest of a whole computation from those of its values: what it takes, and what it returns."""
    parameter_shapes = " ".join(str(region.nodes[key].shape) for key in region.parameters)
    hasher = hashlib.blake2b(parameter_shapes.encode(), digest_size=16)
    for result in region.results:
        hasher.update(values[result])
    return hasher.digest()
