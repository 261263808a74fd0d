"""Rules of matrix products and convolutions: one way to write down each, its terms and their order unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compare.hlo.graph import Attributes, Node, Shape
from compare.hlo.rewriting import Rule, Writer
from compare.hlo.rules._forms import groups, reshape, squeeze, transpose


@dataclass(frozen=True)
class Operand:
    """One operand of a product.

    Its dimensions that are contracted and those that count batches are in pairs with those of the other.
    """

    key: int
    dimensions: tuple[int, ...]
    contracted: tuple[int, ...]
    batch: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        """The other dimensions, in order: those of the result."""
        return tuple(axis for axis in range(len(self.dimensions)) if axis not in (*self.contracted, *self.batch))

    @property
    def free_sizes(self) -> tuple[int, ...]:
        """Their sizes."""
        return tuple(self.dimensions[axis] for axis in self.free)

    def move(self, key: int, dimensions: tuple[int, ...], to: Mapping[int, int]) -> Operand:
        """The operand for another value, with each dimension in another position.

        Args:
          to: by dimension of this operand, that of the other value.
        """
        contracted_axes, batch = (tuple(to[axis] for axis in places) for places in (self.contracted, self.batch))
        return Operand(key, dimensions, contracted_axes, batch)


def product_of(node: Node, graph: Writer) -> tuple[Operand, Operand]:
    """The operands of a dot."""
    numbers = dict(node.attribute("dot_dimension_numbers", ()))
    operands = [
        Operand(
            key,
            graph[key].shape.dimensions,
            numbers.get(f"{side}_contracting_dimensions", ()),
            numbers.get(f"{side}_batch_dimensions", ()),
        )
        for side, key in zip(("lhs", "rhs"), node.operands[:2], strict=True)
    ]
    return operands[0], operands[1]


def product(left: Operand, right: Operand, dot: Node, graph: Writer) -> int:
    """The dot of two operands: batches, then what is free on the left, then on the right.

    Args:
      dot: that it stands for: its dtype, and how it computes.
    """
    batches = tuple(left.dimensions[axis] for axis in left.batch)
    numbers = (
        ("lhs_contracting_dimensions", left.contracted),
        ("rhs_contracting_dimensions", right.contracted),
        ("lhs_batch_dimensions", left.batch),
        ("rhs_batch_dimensions", right.batch),
    )
    rest = tuple(attribute for attribute in dot.attributes if attribute[0] != "dot_dimension_numbers")
    attributes: Attributes = (*rest, ("dot_dimension_numbers", tuple(field for field in numbers if field[1])))
    shape = Shape(dot.shape.dtype, batches + left.free_sizes + right.free_sizes)
    return graph.add("dot", shape, (left.key, right.key), attributes)


def _is_plain(node: Node) -> bool:
    """Whether its operands are dense: a sparse one comes with a third, which says where its elements are."""
    return len(node.operands) == 2


def _absorb_transpose(node: Node, graph: Writer) -> int | None:
    if not _is_plain(node):
        return None
    pair = list(product_of(node, graph))
    for index, operand in enumerate(pair):
        inner = graph[operand.key]
        if inner.opcode == "transpose":
            order = inner.attribute("dimensions")
            source = graph[inner.operands[0]].shape.dimensions
            pair[index] = operand.move(inner.operands[0], source, dict(enumerate(order)))
            new_product = product(pair[0], pair[1], node, graph)
            return _in_order(new_product, pair, index, [order[free] for free in operand.free], graph)
    return None


def _in_order(new_product: int, pair: Sequence[Operand], index: int, free_order: Sequence[int], graph: Writer) -> int:
    """The product with the free dimensions of one operand in another order."""
    first = len(pair[0].batch) + (len(pair[0].free) if index else 0)
    order = list(range(len(graph[new_product].shape.dimensions)))
    order[first : first + len(free_order)] = [first + pair[index].free.index(free) for free in free_order]
    return transpose(new_product, order, graph)


def _sort_batches(node: Node, graph: Writer) -> int | None:
    if not _is_plain(node):
        return None
    left, right = product_of(node, graph)
    order = sorted(range(len(left.batch)), key=lambda index: left.batch[index])
    if order == list(range(len(order))):
        return None
    pair = [replace(operand, batch=tuple(operand.batch[index] for index in order)) for operand in (left, right)]
    new_product = product(pair[0], pair[1], node, graph)
    rest = range(len(order), len(node.shape.dimensions))
    return transpose(new_product, [*(order.index(index) for index in range(len(order))), *rest], graph)


def _squeeze_product(node: Node, graph: Writer) -> int | None:
    """Without batches of 1 and free dimensions of 1."""
    if not _is_plain(node) or 1 not in node.shape.dimensions:
        return None
    pair = product_of(node, graph)
    kept_batches = [position for position, index in enumerate(pair[0].batch) if pair[0].dimensions[index] != 1]
    small = []
    for operand in pair:
        batch = tuple(operand.batch[position] for position in kept_batches)
        axes = sorted(
            (*batch, *operand.contracted, *(position for position in operand.free if operand.dimensions[position] != 1))
        )
        sizes = tuple(operand.dimensions[position] for position in axes)
        to = {position: place for place, position in enumerate(axes)}
        small.append(replace(operand, batch=batch).move(reshape(operand.key, sizes, graph), sizes, to))
    new_product = product(small[0], small[1], node, graph)
    return reshape(new_product, node.shape.dimensions, graph)


def _absorb_reshape(node: Node, graph: Writer) -> int | None:
    """Rows that were merged or split only for the product."""
    if not _is_plain(node):
        return None
    pair = list(product_of(node, graph))
    for index, operand in enumerate(pair):
        inner = graph[operand.key]
        if inner.opcode != "reshape" or 1 in operand.dimensions or 0 in operand.dimensions:
            continue
        source = squeeze(graph[inner.operands[0]].shape.dimensions)
        to = _unmerge(operand, source)
        if to is None or source == operand.dimensions:
            continue
        pair[index] = operand.move(reshape(inner.operands[0], source, graph), source, to)
        return reshape(product(pair[0], pair[1], node, graph), node.shape.dimensions, graph)
    return None


def _unmerge(operand: Operand, source: tuple[int, ...]) -> dict[int, int] | None:
    """Where each contracted dimension and batch stands in the source, if the reshape leaves them alone."""
    to: dict[int, int] = {}
    for before, after in groups(source, operand.dimensions):
        if set(after) & {*operand.contracted, *operand.batch}:
            if len(before) != 1 or len(after) != 1:
                return None
            to[after[0]] = before[0]
    return to


_INPUT, _KERNEL, _OUTPUT = (
    ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
    ("kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"),
    ("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
)
_FIELDS = (
    "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions",
    "input_batch_dimension", "input_feature_dimension", "output_batch_dimension", "output_feature_dimension",
    "input_spatial_dimensions", "output_spatial_dimensions",
)  # fmt: skip


def _roles(node: Node) -> dict[str, tuple[int, ...]]:
    """Dimensions of a convolution by their part in it."""
    numbers = dict(node.attribute("convolution_dimension_numbers", ()))
    return {
        name: numbers.get(name, ()) if name.endswith("spatial_dimensions") else (numbers.get(name, 0),)
        for name in _FIELDS
    }


def _convolution(
    node: Node, roles: Mapping[str, tuple[int, ...]], keys: Sequence[int], shape: Shape, graph: Writer
) -> int:
    numbers = tuple(
        (name, roles[name] if name.endswith("spatial_dimensions") else roles[name][0])
        for name in _FIELDS
        if roles[name] and (name.endswith("spatial_dimensions") or roles[name] != (0,))
    )
    rest = tuple(attribute for attribute in node.attributes if attribute[0] != "convolution_dimension_numbers")
    return graph.add("convolution", shape, keys, (*rest, ("convolution_dimension_numbers", numbers)))


def _absorb_convolution_transpose(node: Node, graph: Writer) -> int | None:
    for index, names in enumerate((_INPUT, _KERNEL)):
        inner = graph[node.operands[index]]
        if inner.opcode == "transpose":
            order = inner.attribute("dimensions")
            roles = _roles(node)
            new_roles = roles | {name: tuple(order[place] for place in roles[name]) for name in names}
            keys = list(node.operands)
            keys[index] = inner.operands[0]
            return _convolution(node, new_roles, keys, node.shape, graph)
    return None


def _convolution_result(node: Node, graph: Writer) -> int | None:
    """Batch, space, feature: the order of the result; another one is a transpose of it."""
    roles = _roles(node)
    batch, feature, spatial = (roles[name] for name in _OUTPUT)
    order = (*batch, *spatial, *feature)
    if order == tuple(range(len(order))):
        return None
    inside = tuple(range(1, len(order) - 1))
    new_roles = roles | dict(zip(_OUTPUT, ((0,), (len(order) - 1,), inside), strict=True))
    shape = Shape(node.shape.dtype, tuple(node.shape.dimensions[axis] for axis in order))
    new_convolution = _convolution(node, new_roles, node.operands, shape, graph)
    return transpose(new_convolution, [order.index(axis) for axis in range(len(order))], graph)


PRODUCTS = (
    Rule("transposes in products", "a product of a transpose contracts another dimension", ("dot",), _absorb_transpose),
    Rule("batches sorted", "batches of a product in the order of its left operand", ("dot",), _sort_batches),
    Rule("products without size 1", "a batch or row of size 1 is none", ("dot",), _squeeze_product),
    Rule("rows of products", "rows need not be merged for a product and split again after it", ("dot",),
         _absorb_reshape),
    Rule("transposes in convolutions", "a convolution of a transpose has its dimensions elsewhere", ("convolution",),
         _absorb_convolution_transpose),
    Rule("results of convolutions", "batch, space, feature; another order is a transpose", ("convolution",),
         _convolution_result),
)  # fmt: skip
"""In the order in which they are tried."""
