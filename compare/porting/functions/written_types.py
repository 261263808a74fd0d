"""The types of operations that are written: by a rule, by the writer itself, or as part of what is around them."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.functions import (
    rules_of_axes,
    rules_of_blocks,
    rules_of_elements,
    rules_of_images,
    rules_of_lookups,
    rules_of_products,
    rules_of_quantization,
    rules_of_random,
)
from compare.porting.functions.rule_calls import Rule

TEMPLATES: Mapping[str, str] = rules_of_elements.TEMPLATES
RULES: Mapping[str, Rule] = {
    **rules_of_elements.RULES, **rules_of_axes.RULES, **rules_of_blocks.RULES, **rules_of_products.RULES,
    **rules_of_lookups.RULES, **rules_of_images.RULES, **rules_of_random.RULES,
    **rules_of_quantization.RULES,
}  # fmt: skip
CONTROL = frozenset({
    "If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "PartitionedCall",
    "StatefulPartitionedCall", "IdentityN",
})  # fmt: skip
"""Operations that call bodies, or have a custom gradient."""
SIZES = frozenset({"Shape", "Size", "Rank", "ShapeN", "VariableShape"})
"""Operations that become Python's integers."""
SAME = frozenset({"Identity", "ReadVariableOp"})
"""Operations that return their input."""
OF_VARIABLES: Mapping[str, str] = {"ResourceGather": "Gather", "ResourceGatherNd": "GatherNd"}
"""Operations that read a variable and compute, with the operation that computes the same on its array."""
LISTS = frozenset({
    "TensorListReserve", "EmptyTensorList", "TensorListFromTensor", "TensorListSetItem", "TensorListGetItem",
    "TensorListPushBack", "TensorListStack", "TensorListLength", "TensorListGather", "TensorListConcatV2",
})  # fmt: skip
"""Lists of tensors, which become arrays."""
