"""What products, linear algebra, Fourier transforms, lookups and pictures are in JAX."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.functions.rule_calls import Call, Rule
from compare.porting.functions.written_values import tuple_text
from compare.porting.safe_expressions import UnwritableError


def _product(call: Call) -> str:
    sides = []
    for at, plain, adjoint in ((0, "transpose_a", "adj_x"), (1, "transpose_b", "adj_y")):
        turned = call.attribute(plain) or call.attribute(adjoint)
        text = f"{call.array(at)}.mT" if turned else call.array(at)
        sides.append(f"jnp.conj({text})" if call.attribute(adjoint) and call.is_complex(at) else text)
    return " @ ".join(sides)


def _einsum(call: Call) -> str:
    given = ", ".join(call.array(at) for at in range(len(call.values)))
    return f"jnp.einsum({call.attribute('equation')!r}, {given})"


def _triangular(call: Call) -> str:
    adjoint = ", transpose_a=True, conjugate_a=True" if call.attribute("adjoint") else ""
    if call.shape(0)[:-2] != call.shape(1)[:-2]:
        raise UnwritableError("its batches are broadcast")
    lower = bool(call.attribute("lower", True))
    return f"jax.lax.linalg.triangular_solve({call.array(0)}, {call.array(1)}, left_side=True, lower={lower}{adjoint})"


def _solve(call: Call) -> str:
    matrix = f"jnp.conj({call.array(0)}.mT)" if call.attribute("adjoint") else call.array(0)
    return f"jnp.linalg.solve({matrix}, {call.array(1)})"


def _inverse(call: Call) -> str:
    matrix = f"jnp.conj({call.array(0)}.mT)" if call.attribute("adjoint") else call.array(0)
    return f"jnp.linalg.inv({matrix})"


def _diagonal(call: Call) -> str:
    if call.values[1].is_known and call.integers(1) == [0] and call.rank(0) == 1:
        return f"jnp.diag({call.array(0)})"
    if call.integers(1) != [0] or call.integers(2) not in ([-1],) or call.integers(3) not in ([-1],):
        raise UnwritableError("it is more than a main diagonal")
    x = call.variable(0)
    return f"{x}[..., None] * jnp.eye({x}.shape[-1], dtype={x}.dtype)"


def _diagonal_part(call: Call) -> str:
    offsets = call.integers(1)
    if len(offsets) != 1:
        raise UnwritableError("it is more than one diagonal")
    offset = f", {offsets[0]}" if offsets[0] else ", 0"
    return f"jnp.diagonal({call.array(0)}{offset}, -2, -1)"


def _band(call: Call) -> str:
    return f"jaxport.linear_algebra.band_part({call.array(0)}, {call.number(1)}, {call.number(2)})"


def _transform(name: str) -> Rule:
    def rule(call: Call) -> str:
        length = f", {call.number(1)}" if len(call.values) > 1 else ""
        return f"jnp.fft.{name}({call.array(0)}{length}).astype({call.dtype()})"

    return rule


def _gather(call: Call) -> str:
    axis = call.integers(2)[0] if len(call.values) > 2 else 0
    batch = int(call.attribute("batch_dims", 0))
    axis = axis % call.rank(0)
    batch = batch % (call.rank(1) + 1) if batch < 0 else batch
    if not batch:
        return f"jnp.take({call.array(0)}, {call.array(1)}, {axis}, mode='clip')"
    function = f"lambda x, places: jnp.take(x, places, {axis - batch}, mode='clip')"
    for _ in range(batch):
        function = f"jax.vmap({function})"
    return f"{function}({call.array(0)}, {call.array(1)})"


def _gather_nd(call: Call) -> str:
    if call.attribute("batch_dims", 0):
        raise UnwritableError("its first axes are batches")
    return f"jaxport.indexing.gather_nd({call.array(0)}, {call.array(1)})"


def _scatter(call: Call) -> str:
    return f"jaxport.indexing.scatter_nd({call.array(0)}, {call.array(1)}, {call.numbers(2)})"


def _scatter_into(method: str) -> Rule:
    def rule(call: Call) -> str:
        return f"{call.array(0)}.at[tuple(jnp.moveaxis({call.array(1)}, -1, 0))].{method}({call.array(2)}, mode='drop')"

    return rule


def _one_hot(call: Call) -> str:
    axis = int(call.attribute("axis", -1))
    told = f", axis={axis}" if axis != -1 else ""
    high, low = call.values[2], call.values[3]
    if (
        high.is_known
        and low.is_known
        and high.host is not None
        and low.host is not None
        and high.host == 1
        and low.host == 0
    ):
        return f"jax.nn.one_hot({call.array(0)}, {call.number(1)}, dtype={call.dtype()}{told})"
    hot = f"jax.nn.one_hot({call.array(0)}, {call.number(1)}, dtype=bool{told})"
    return f"jnp.where({hot}, {call.array(2)}, {call.array(3)})"


def _segments(method: str) -> Rule:
    def rule(call: Call) -> str:
        return f"jaxport.segments.{method}({call.array(0)}, {call.array(1)}, {call.number(2)})"

    return rule


def _batched_channels(call: Call) -> None:
    if call.attribute("data_format", "NHWC") not in ("NHWC", "NDHWC"):
        raise UnwritableError("its channels are not last")


def _padding(call: Call) -> str:
    padding = str(call.attribute("padding"))
    if padding != "EXPLICIT":
        return repr(padding)
    ends = call.attribute("explicit_paddings", [])[2:-2]
    return tuple_text([f"({ends[at]}, {ends[at + 1]})" for at in range(0, len(ends), 2)])


def _convolution(call: Call) -> str:
    _batched_channels(call)
    strides, dilations = call.attribute("strides")[1:-1], call.attribute("dilations", [1, 1, 1, 1])[1:-1]
    space = "DHW"[-len(strides) :]
    kernel, groups = call.array(1), ""
    channels, taken = call.shape(0)[-1], call.shape(1)[-2]
    if channels is None or taken is None:
        raise UnwritableError("the number of its channels is not known")
    if call.node.type == "DepthwiseConv2dNative":
        *sizes, _, times = call.shape(1)
        kernel = f"{kernel}.reshape({tuple_text([str(each) for each in (*sizes, 1, taken * (times or 1))])})"
        groups = f", feature_group_count={channels}"
    elif taken != channels:
        groups = f", feature_group_count={channels // taken}"
    dilated = f", rhs_dilation={tuple_text(list(map(str, dilations)))}" if any(each != 1 for each in dilations) else ""
    layout = f"('N{space}C', '{space}IO', 'N{space}C')"
    return (
        f"jax.lax.conv_general_dilated({call.array(0)}, {kernel}, {tuple_text(list(map(str, strides)))}, "
        f"{_padding(call)}{dilated}, dimension_numbers={layout}{groups})"
    )


def _transposed(call: Call) -> str:
    _batched_channels(call)
    if any(each != 1 for each in call.attribute("dilations", [1])) or call.attribute("padding") == "EXPLICIT":
        raise UnwritableError("it is dilated, or padded by numbers of its own")
    strides, sizes = call.attribute("strides")[1:-1], call.host(0).tolist()[1:-1]
    kernel, given = call.shape(1), call.shape(2)
    pads = []
    for size, step, length, seen in zip(sizes, strides, kernel[:2], given[1:-1], strict=True):
        if isinstance(size, str) or length is None or seen is None:
            raise UnwritableError("the size of its pictures is not known")
        total = max((seen - 1) * step + length - size, 0) if call.attribute("padding") == "SAME" else 0
        low = length - 1 - total // 2
        pads.append(f"({low}, {size - ((seen - 1) * step + 1) - low + length - 1})")
    return (
        f"jax.lax.conv_general_dilated({call.array(2)}, jnp.flip({call.array(1)}, (0, 1)), (1, 1), {tuple_text(pads)}, "
        f"lhs_dilation={tuple_text(list(map(str, strides)))}, dimension_numbers=('NHWC', 'HWOI', 'NHWC'))"
    )


def _pool(call: Call) -> str:
    _batched_channels(call)
    window, strides = (tuple_text(list(map(str, call.attribute(name)))) for name in ("ksize", "strides"))
    padding = call.attribute("padding")
    if padding == "EXPLICIT":
        raise UnwritableError("it is padded by numbers of its own")
    x = call.variable(0)
    if call.node.type.startswith("Max"):
        return f"jax.lax.reduce_window({x}, -jnp.inf, jax.lax.max, {window}, {strides}, {padding!r})"
    summed = f"jax.lax.reduce_window({x}, 0.0, jax.lax.add, {window}, {strides}, {padding!r})"
    if padding == "VALID":
        number = 1
        for each in call.attribute("ksize"):
            number *= each
        return f"{summed} / {number}"
    counted = f"jax.lax.reduce_window(jnp.ones_like({x}), 0.0, jax.lax.add, {window}, {strides}, {padding!r})"
    return f"{summed} / {counted}"


def _resize(call: Call) -> str:
    rows, columns = call.host(1).tolist()
    images, sizes = call.variable(0), f"({rows}, {columns})"
    kind = {"ResizeBilinear": "bilinear", "ResizeNearestNeighbor": "nearest"}[call.node.type]
    if call.attribute("half_pixel_centers"):
        shape = f"({images}.shape[0], {rows}, {columns}, {images}.shape[3])"
        return f"jax.image.resize({images}, {shape}, {kind!r}, antialias=False).astype({call.dtype()})"
    corners = ", align_corners=True" if call.attribute("align_corners") else ""
    return f"jaxport.resizing.resize_{kind}({images}, {sizes}{corners}).astype({call.dtype()})"


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2"), _product), "Einsum": _einsum,
    "Cholesky": lambda call: f"jnp.linalg.cholesky({call.array(0)})", "MatrixTriangularSolve": _triangular,
    "MatrixSolve": _solve, "MatrixInverse": _inverse, "Cross": lambda call: call.template("jnp.cross($0, $1)"),
    "MatrixDeterminant": lambda call: call.template("jnp.linalg.det($0)"),
    "LogMatrixDeterminant": lambda call: ("*", call.template("jnp.linalg.slogdet($0)")),
    "MatrixDiagV3": _diagonal, "MatrixDiagPartV3": _diagonal_part, "MatrixBandPart": _band,
    "FFT": _transform("fft"), "IFFT": _transform("ifft"), "RFFT": _transform("rfft"), "IRFFT": _transform("irfft"),
    "FFT2D": _transform("fft2"), "IFFT2D": _transform("ifft2"), "Gather": _gather, "GatherV2": _gather,
    "GatherNd": _gather_nd, "ScatterNd": _scatter, "TensorScatterAdd": _scatter_into("add"),
    "TensorScatterUpdate": _scatter_into("set"), "TensorScatterSub": _scatter_into("subtract"),
    "OneHot": _one_hot, "UnsortedSegmentSum": _segments("segment_sum"), "UnsortedSegmentMax": _segments("segment_max"),
    "UnsortedSegmentMin": _segments("segment_min"), "Conv2D": _convolution, "Conv3D": _convolution,
    "DepthwiseConv2dNative": _convolution, "Conv2DBackpropInput": _transposed, "MaxPool": _pool, "AvgPool": _pool,
    "MaxPool3D": _pool, "AvgPool3D": _pool, "ResizeBilinear": _resize, "ResizeNearestNeighbor": _resize,
}  # fmt: skip
