"""Sizes that are not known when a function is compiled: from an argument, from counts, from an unknown dimension."""

from workloads.core.spec import ArraySpec
from workloads.limits._statement import DOCUMENTATION, LECTURE, Raised, Statement, outcomes

X = {"x": ArraySpec((64,))}

STATEMENTS = (
    Statement(
        "size_from_an_argument",
        "tf.range of a number that is an argument",
        "XLA has to know every shape when it compiles: a size may not depend on data.",
        DOCUMENTATION,
        X | {"count": ArraySpec((), "int32", 8, 16)},
        says={"tf/jit": "raises"},
        seen=outcomes(naive="raises"),
        raises={"jax/naive": Raised("ConcretizationTypeError", "jnp.arange")},
        port="static_argnums",
        note="TensorFlow takes the value of the argument as a constant, without a word: another value compiles anew.",
    ),
    Statement(
        "repeat_by_counts",
        "tf.repeat of each element as often as an argument says",
        "XLA has to know every shape when it compiles: a size may not depend on data.",
        DOCUMENTATION,
        X | {"counts": ArraySpec((64,), "int32", 0, 4)},
        says={"tf/jit": "raises"},
        seen=outcomes(naive="raises"),
        raises={"jax/naive": Raised("ConcretizationTypeError", "jnp.repeat")},
        padded=True,
        port="jnp.repeat(total_repeat_length=)",
    ),
    Statement(
        "size_from_a_random_number",
        "tf.zeros of a size that is drawn in the function",
        "What decides a shape has to be computed from constants and arguments alone.",
        LECTURE,
        X,
        says={"tf/jit": "raises"},
        seen=outcomes(jit="raises", naive="raises"),
        raises={
            "tf/jit": Raised("must be a compile-time constant", "tf.zeros"),
            "jax/naive": Raised("TypeError", "jnp.zeros"),
        },
        port="draw the number on the host, static_argnums",
    ),
    Statement(
        "comparison_of_an_unknown_size",
        "a Python `if` on the size of a dimension that is not known",
        "A function may be traced for a dimension of unknown size; what needs the size as a number needs a static one.",
        DOCUMENTATION,
        X,
        says={"tf/jit": "raises", "jax/naive": "raises"},
        seen=outcomes(jit="raises", autocluster="raises", naive="raises"),
        raises={
            "tf/jit": Raised("'NoneType' and 'int'", "if x.shape[0] > 32"),
            "tf/autocluster": Raised("'NoneType' and 'int'", "if x.shape[0] > 32"),
            "jax/naive": Raised("InconclusiveDimensionOperation", "if x.shape[0] > 32"),
        },
        port="a constraint on the dimension of jax.export: symbolic_shape(\"n\", constraints=[\"n >= 33\"])",
        note="In TensorFlow tf.shape(x)[0] gives the number, which is a constant once XLA compiles.",
    ),
)  # fmt: skip
