"""Loops, branches and maps: where they start, what they keep, and what both branches compute."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((6, 4))}
POSITIVE = {"x": ArraySpec((6, 4), low=0.5, high=1.5)}

GOTCHAS = (
    Gotcha(
        "scan_starts_with_first",
        "tf.scan without an initializer starts with the first element and returns it; jax.lax.scan needs an initial "
        "carry, and zeros are another start for a product.",
        ("tf.scan", "jax.lax.scan"), POSITIVE, "semantics",
        tf="tf.scan(lambda product, row: product * row, x)",
    ),
    Gotcha(
        "scan_reverse_order",
        "tf.scan with reverse=True leaves results at the places of their elements, as jax.lax.scan does; turning the "
        "input round does not.",
        ("tf.scan", "jax.lax.scan"), X, "semantics",
        tf="tf.scan(lambda total, row: 0.5 * total + row, x, tf.zeros([4], x.dtype), reverse=True)",
        jax="jax.lax.scan(lambda total, row: _twice(0.5 * total + row), jnp.zeros_like(x[0]), x, reverse=True)[1]",
        naive="jax.lax.scan(lambda total, row: _twice(0.5 * total + row), jnp.zeros_like(x[0]), x[::-1])[1]",
    ),
    Gotcha(
        "foldl_starts_with_first",
        "tf.foldl without an initializer starts with the first element; functools.reduce or a scan from zero does not.",
        ("tf.foldl", "jax.lax.scan"), POSITIVE, "semantics",
        tf="tf.foldl(lambda product, row: product * row, x)",
        jax="jax.lax.scan(lambda product, row: (product * row, None), x[0], x[1:])[0]",
        naive="jax.lax.scan(lambda product, row: (product * row, None), jnp.zeros_like(x[0]), x)[0]",
    ),
    Gotcha(
        "foldr_goes_backwards",
        "tf.foldr starts with the last element: pass reverse=True.",
        ("tf.foldr", "jax.lax.scan"), X, "semantics",
        tf="tf.foldr(lambda total, row: 0.5 * total + row, x, tf.zeros([4], x.dtype))",
        jax="jax.lax.scan(lambda total, row: (0.5 * total + row, None), jnp.zeros_like(x[0]), x, reverse=True)[0]",
        naive="jax.lax.scan(lambda total, row: (0.5 * total + row, None), jnp.zeros_like(x[0]), x)[0]",
    ),
    Gotcha(
        "while_loop_maximum",
        "tf.while_loop stops after maximum_iterations whatever its condition says; jax.lax.while_loop has no such "
        "limit: count in the carry.",
        ("tf.while_loop", "jax.lax.while_loop"), {"x": ArraySpec((4,), low=1.0, high=2.0)}, "semantics",
    ),
    Gotcha(
        "switch_case_beyond",
        "tf.switch_case runs its default, the last branch, for every index beyond; jax.lax.switch clamps, so that a "
        "negative index runs the first.",
        ("tf.switch_case", "jax.lax.switch"),
        {**X, "index": ArraySpec((), "int32", low=-3, high=5)}, "semantics",
        tf="tf.switch_case(index, [lambda: x, lambda: 2 * x, lambda: 3 * x])",
    ),
    Gotcha(
        "case_first_true",
        "tf.case runs the branch of the first true predicate; an addition of masked branches runs all of them.",
        ("tf.case", "jax.numpy.select"), X, "semantics",
    ),
    Gotcha(
        "double_where",
        "The gradient of the branch that jnp.where does not take is multiplied by zero, and is nan where it is "
        "infinite. tf.cond on each element takes one branch only: make the argument harmless first.",
        ("tf.cond", "jax.numpy.where"), {"x": ArraySpec((4, 8), low=-1.0, high=1.0)}, "structure",
        jax="jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0)", naive="jnp.where(x > 0, jnp.sqrt(x), 0)",
    ),
    Gotcha("map_fn", "Both apply a function to each element of the first axis.",
           ("tf.map_fn", "jax.lax.map"), X,
           tf="tf.map_fn(lambda row: tf.reduce_sum(row * row), x)",
           jax="jax.lax.map(lambda row: jnp.sum(row * row), x)"),
    Gotcha("vectorized_map", "Both apply a function to all elements at once.",
           ("tf.vectorized_map", "jax.vmap"), X,
           tf="tf.vectorized_map(lambda row: tf.tensordot(row, row, 1), x)", jax="jax.vmap(lambda row: row @ row)(x)"),
    Gotcha("cond", "Both run one branch.", ("tf.cond", "jax.lax.cond"), X,
           tf="tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: 2 * x)",
           jax="jax.lax.cond(jnp.sum(x) > 0, lambda x: x, lambda x: 2 * x, x)"),
    Gotcha("scan_with_initializer", "With an initial carry both are the same loop.", ("tf.scan", "jax.lax.scan"), X,
           tf="tf.scan(lambda total, row: total + row, x, tf.zeros([4], x.dtype))",
           jax="jax.lax.scan(lambda total, row: _twice(total + row), jnp.zeros_like(x[0]), x)[1]"),
    Gotcha("fixed_loop", "A loop over tf.range of a constant is a scan.", ("tf.while_loop", "jax.lax.fori_loop"), X,
           jax="jax.lax.fori_loop(0, 3, lambda _, x: jnp.sin(x), x)"),
)  # fmt: skip
