"""Matrices: order of factors, which triangle, which axes, which norm."""

from workloads.core.spec import ArraySpec, Deviation
from workloads.gotchas._gotcha import Gotcha

TALL = {"x": ArraySpec((6, 4))}
SQUARE = {"x": ArraySpec((4, 4))}
BATCH = {"x": ArraySpec((3, 4, 4))}
SYSTEM = {"x": ArraySpec((4, 4)), "b": ArraySpec((4, 2))}
JACOBI = Deviation("semantics", 1e-8, "compiled by XLA, tf.linalg.svd turns columns until float32 has no more to gain")

GOTCHAS = (
    Gotcha(
        "svd",
        "tf.linalg.svd returns s, u and v, jnp.linalg.svd u, s and v's adjoint: change the order and transpose.",
        ("tf.linalg.svd", "jax.numpy.linalg.svd"), SQUARE, "semantics", deviations=(JACOBI,),
    ),
    Gotcha(
        "svd_full_matrices",
        "tf.linalg.svd leaves out what has no singular value, jnp.linalg.svd does not: pass full_matrices=False.",
        ("tf.linalg.svd", "jax.numpy.linalg.svd"), TALL, "semantics",
    ),
    Gotcha(
        "matrix_norm",
        "tf.norm without an axis is that of the flattened array, jnp.linalg.norm with ord=2 of a matrix its largest "
        "singular value: flatten.",
        ("tf.norm", "jax.numpy.linalg.norm"), TALL, "structure",
        tf="tf.norm(x, ord=2)", jax="jnp.linalg.norm(x.reshape(-1))", naive="jnp.linalg.norm(x, ord=2)",
    ),
    Gotcha(
        "triangular_solve",
        "tf.linalg.triangular_solve reads the lower triangle by default, jax.scipy.linalg.solve_triangular the upper: "
        "pass lower=True.",
        ("tf.linalg.triangular_solve", "jax.scipy.linalg.solve_triangular"), SYSTEM, "semantics",
        tf="tf.linalg.triangular_solve(_triangular(x), b)",
        jax="jax.scipy.linalg.solve_triangular(_triangular(x), b, lower=True)",
        naive="jax.scipy.linalg.solve_triangular(_triangular(x), b)",
    ),
    Gotcha(
        "triangular_solve_adjoint",
        "adjoint=True is trans=1 beside lower=True, which still says which triangle is read.",
        ("tf.linalg.triangular_solve", "jax.scipy.linalg.solve_triangular"), SYSTEM, "semantics",
        tf="tf.linalg.triangular_solve(_triangular(x), b, adjoint=True)",
        jax="jax.scipy.linalg.solve_triangular(_triangular(x), b, trans=1, lower=True)",
        naive="jax.scipy.linalg.solve_triangular(_triangular(x), b, trans=1)",
    ),
    Gotcha(
        "cholesky_solve",
        "tf.linalg.cholesky_solve takes the lower factor; jax.scipy.linalg.cho_solve is told which one it has.",
        ("tf.linalg.cholesky_solve", "jax.scipy.linalg.cho_solve"), SYSTEM, "semantics",
        tf="tf.linalg.cholesky_solve(tf.linalg.cholesky(_definite(x)), b)",
        jax="jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(_definite(x)), True), b)",
        naive="jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(_definite(x)), False), b)",
    ),
    Gotcha(
        "diag_part",
        "tf.linalg.diag_part takes the diagonals of the last two axes, jnp.diagonal of the first two: pass axis1 and "
        "axis2.",
        ("tf.linalg.diag_part", "jax.numpy.diagonal"), BATCH, "structure",
        tf="tf.linalg.diag_part(x)", jax="jnp.diagonal(x, axis1=-2, axis2=-1)", naive="jnp.diagonal(x)",
    ),
    Gotcha(
        "trace",
        "tf.linalg.trace adds up over the last two axes, jnp.trace over the first two: pass axis1 and axis2.",
        ("tf.linalg.trace", "jax.numpy.trace"), BATCH, "structure",
        tf="tf.linalg.trace(x)", jax="jnp.trace(x, axis1=-2, axis2=-1)", naive="jnp.trace(x)",
    ),
    Gotcha(
        "matrix_transpose",
        "tf.linalg.matrix_transpose swaps the last two axes, .T turns the order of all: use jnp.matrix_transpose.",
        ("tf.linalg.matrix_transpose", "jax.numpy.transpose", "jax.numpy.matrix_transpose"), BATCH, "structure",
        tf="tf.linalg.matrix_transpose(x[:, :2])", jax="jnp.matrix_transpose(x[:, :2])", naive="x[:, :2].T",
    ),
    Gotcha(
        "batch_matmul",
        "tf.matmul multiplies matrix by matrix; jnp.dot multiplies all of one batch by all of the other: use @.",
        ("tf.matmul", "jax.numpy.dot", "jax.numpy.matmul"), {**BATCH, "y": ArraySpec((3, 4, 2))}, "structure",
        tf="tf.matmul(x, y)", jax="x @ y", naive="jnp.dot(x, y)",
    ),
    Gotcha(
        "matvec",
        "tf.linalg.matvec takes a vector for each matrix of the batch; @ takes the batch of vectors for a matrix: use "
        "jnp.matvec.",
        ("tf.linalg.matvec", "jax.numpy.matmul", "jax.numpy.matvec"),
        {"x": ArraySpec((4, 4, 4)), "y": ArraySpec((4, 4))}, "structure",
        tf="tf.linalg.matvec(x, y)", jax="jnp.matvec(x, y)", naive="x @ y",
    ),
    Gotcha(
        "band_part",
        "tf.linalg.band_part takes how many diagonals stay on each side: use jaxport.linear_algebra.band_part, or "
        "jnp.tril of jnp.triu.",
        ("tf.linalg.band_part", "jax.numpy.tril", "jax.numpy.triu"), SQUARE, "semantics",
        tf="tf.linalg.band_part(x, 1, 0)", jax="linear_algebra.band_part(x, 1, 0)", naive="jnp.tril(x, 1)",
    ),
    Gotcha(
        "lstsq_regularized",
        "jnp.linalg.lstsq has no regularizer: use jaxport.linear_algebra.lstsq.",
        ("tf.linalg.lstsq", "jax.numpy.linalg.lstsq"), {**TALL, "b": ArraySpec((6, 2))}, "structure",
        tf="tf.linalg.lstsq(x, b, l2_regularizer=0.5)",
        jax="linear_algebra.lstsq(x, b, 0.5)",
        naive="jnp.linalg.lstsq(x, b)[0]",
    ),
    Gotcha("cholesky", "Both are lower, with zeros above.", ("tf.linalg.cholesky", "jax.numpy.linalg.cholesky"),
           SQUARE,
           tf="tf.linalg.cholesky(_definite(x))", jax="jnp.linalg.cholesky(_definite(x))"),
    Gotcha("eigh", "Values rise, vectors are columns; their signs are free.",
           ("tf.linalg.eigh", "jax.numpy.linalg.eigh"), SQUARE),
    Gotcha("qr", "Both leave out what has no column.", ("tf.linalg.qr", "jax.numpy.linalg.qr"), TALL),
    Gotcha("inverse", "The same.", ("tf.linalg.inv", "jax.numpy.linalg.inv"), SQUARE,
           tf="tf.linalg.inv(_triangular(x))", jax="jnp.linalg.inv(_triangular(x))"),
    Gotcha("tensordot", "A number of axes, or lists of them.", ("tf.tensordot", "jax.numpy.tensordot"),
           {**BATCH, "y": ArraySpec((4, 3, 2))},
           tf="tf.tensordot(x, y, 1), tf.tensordot(x, y, [[0, 1], [1, 0]])",
           jax="jnp.tensordot(x, y, 1), jnp.tensordot(x, y, [[0, 1], [1, 0]])"),
    Gotcha("einsum", "The same.", ("tf.einsum", "jax.numpy.einsum"), {**BATCH, "y": ArraySpec((3, 4, 2))},
           tf="tf.einsum('bij,bjk->ik', x, y)", jax="jnp.einsum('bij,bjk->ik', x, y)"),
    Gotcha("cross", "Over the last axis.", ("tf.linalg.cross", "jax.numpy.cross"),
           {"x": ArraySpec((4, 3)), "y": ArraySpec((4, 3))},
           tf="tf.linalg.cross(x, y)", jax="jnp.cross(x, y)"),
    Gotcha("matrix_diag", "jnp.diag, mapped.", ("tf.linalg.diag", "jax.numpy.diag", "jax.vmap"), TALL,
           tf="tf.linalg.diag(x)", jax="jax.vmap(jnp.diag)(x)"),
)  # fmt: skip
