"""Where autoclustering ends: one line that cuts a cluster in two, or leaves everything to the plain graph."""

from workloads.core.spec import ArraySpec
from workloads.limits._limit import Limit

X = {"x": ArraySpec((256, 256), low=0.5, high=1.5)}

LIMITS = (
    Limit(
        "print_in_the_middle",
        "tf.print has no XLA kernel, and what it shows is computed before it and used after it: one cluster becomes "
        "two where what lies behind has to wait for what is printed.",
        X,
    ),
    Limit(
        "unique_in_the_middle",
        "tf.unique has a result whose shape depends on values: jit_compile=True compiles it, autoclustering does not, "
        "and what is computed from it becomes a cluster of its own.",
        X,
    ),
    Limit(
        "loop_over_a_tensor",
        "A loop over tf.range is lowered to nodes that have no XLA kernel: its body stays outside, operation by "
        "operation. A loop over Python's range is unrolled when the function is traced, and is one cluster.",
        {"x": ArraySpec((1024, 1024), low=0.5, high=1.0)},
    ),
    Limit(
        "bias_after_a_product",
        "Before clusters are formed, Grappler's remapper joins a product with its bias, as a dense layer has it, to "
        "_FusedMatMul, for which XLA has no kernel: what stands before and after it is cut apart. Without the remapper "
        "all of it is one cluster.",
        X,
    ),
    Limit(
        "too_few_operations",
        "A cluster has at least four operations, constants not counted: with one operation less nothing is compiled.",
        X,
    ),
)
