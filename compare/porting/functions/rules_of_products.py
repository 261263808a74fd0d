"""Rules for products, linear algebra and Fourier transforms."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.functions.rule_calls import Call, Rule
from compare.porting.safe_expressions import UnwritableError


def _product(call: Call) -> str:
    sides = []
    for index, plain, adjoint in ((0, "transpose_a", "adj_x"), (1, "transpose_b", "adj_y")):
        is_transposed = call.attribute(plain) or call.attribute(adjoint)
        text = f"{call.array(index)}.mT" if is_transposed else call.array(index)
        sides.append(f"jnp.conj({text})" if call.attribute(adjoint) and call.is_complex(index) else text)
    return " @ ".join(sides)


def _einsum(call: Call) -> str:
    arguments = ", ".join(call.array(index) for index in range(len(call.values)))
    return f"jnp.einsum({call.attribute('equation')!r}, {arguments})"


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
    """MatrixDiagV3 and its older forms: a main diagonal, zeros beside it, and no further rows or columns."""
    main = len(call.values) == 1 or (
        call.integers(1) == [0]
        and all(call.integers(index)[0] in (-1, call.shape(0)[-1]) for index in (2, 3))
        and not call.known_array(4).any()
    )
    if not main:
        raise UnwritableError("it is more than a main diagonal with zeros")
    if call.rank(0) == 1:
        return f"jnp.diag({call.array(0)})"
    x = call.variable(0)
    return f"{x}[..., None] * jnp.eye({x}.shape[-1], dtype={x}.dtype)"


def _diagonal_part(call: Call) -> str:
    offsets = [0] if len(call.values) == 1 else call.integers(1)
    if len(offsets) != 1:
        raise UnwritableError("it is more than one diagonal")
    return f"jnp.diagonal({call.array(0)}, {offsets[0]}, -2, -1)"


def _diagonal_set(call: Call) -> str:
    if len(call.values) > 2 and call.integers(2) != [0]:
        raise UnwritableError("it is not the main diagonal")
    x = call.variable(0)
    least = f"jnp.arange(min({x}.shape[-2:]))"
    return f"{x}.at[..., {least}, {least}].set({call.array(1)})"


def _band(call: Call) -> str:
    return f"jaxport.linear_algebra.band_part({call.array(0)}, {call.number(1)}, {call.number(2)})"


def _transform(name: str) -> Rule:
    def rule(call: Call) -> str:
        length = ""
        if len(call.values) > 1:
            length = f", {call.number(1)}" if name.endswith("fft") else f", {call.numbers(1)}"
        if name.endswith("fftn"):
            length += ", axes=(-3, -2, -1)"
        return f"jnp.fft.{name}({call.array(0)}{length}).astype({call.dtype()})"

    return rule


def _decomposition(call: Call) -> tuple[str, str]:
    mode = "complete" if call.attribute("full_matrices") else "reduced"
    return ("*", f"jnp.linalg.qr({call.array(0)}, {mode!r})")


def _singular(call: Call) -> str | tuple[str, ...]:
    if call.attribute("compute_uv", True):
        raise UnwritableError("signs of singular vectors are not said: only the values are the same")
    return f"jnp.linalg.svd({call.array(0)}, compute_uv=False)", "None", "None"


def _eigenvalues(call: Call) -> tuple[str, str]:
    if call.attribute("compute_v", True):
        raise UnwritableError("signs of eigenvectors are not said: only the values are the same")
    return f"jnp.linalg.eigvalsh({call.array(0)}, symmetrize_input=False)", "None"


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2"), _product), "Einsum": _einsum,
    "Cholesky": lambda call: f"jnp.linalg.cholesky({call.array(0)}, symmetrize_input=False)",
    "MatrixTriangularSolve": _triangular, "Qr": _decomposition, "Svd": _singular, "SelfAdjointEigV2": _eigenvalues,
    "MatrixSolve": _solve, "MatrixInverse": _inverse, "Cross": lambda call: call.template("jnp.cross($0, $1)"),
    "MatrixDeterminant": lambda call: call.template("jnp.linalg.det($0)"),
    "LogMatrixDeterminant": lambda call: ("*", call.template("jnp.linalg.slogdet($0)")),
    **dict.fromkeys(("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3"), _diagonal),
    **dict.fromkeys(("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"), _diagonal_part),
    **dict.fromkeys(("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"), _diagonal_set), "MatrixBandPart": _band,
    "FFT": _transform("fft"), "IFFT": _transform("ifft"), "RFFT": _transform("rfft"), "IRFFT": _transform("irfft"),
    "FFT2D": _transform("fft2"), "IFFT2D": _transform("ifft2"), "FFT3D": _transform("fftn"),
    "IFFT3D": _transform("ifftn"), "RFFT2D": _transform("rfft2"), "RFFT3D": _transform("rfftn"),
    "IRFFT3D": _transform("irfftn"), "IRFFT2D": _transform("irfft2"),
}  # fmt: skip
