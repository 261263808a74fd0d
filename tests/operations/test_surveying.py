"""How rows, their programs and what XLA made of calls become the table: of planted answers of a worker."""

from __future__ import annotations

from compare.counterparts.rows import Layer, Operation
from compare.operations.surveying import expression, join, subject
from workloads.protocol.raw_operations import XLA_DEVICE, Registered, Traced, Trial, Tried

KERNELS = {"CPU": {"T": ("float32",)}}


def registered(**kernels) -> dict[str, Registered]:
    return {name: Registered(True, False, "missing", devices) for name, devices in kernels.items()}


def test_a_row_is_about_the_only_operation_of_a_plain_call() -> None:
    assert subject(Operation("tf.square(x)"), Traced(("Placeholder", "Square"))) == "Square"
    assert subject(Operation("tf.math.top_k(x, 2)[0]"), Traced(("TopKV2", "Const"))) == "TopKV2"
    assert subject(Layer("keras.layers.ReLU()"), Traced(("Relu",))) == "Relu"


def test_a_row_of_several_operations_is_about_the_one_that_it_is_named_after() -> None:
    assert subject(Operation("tf.math.expm1(x + 1)"), Traced(("AddV2", "Expm1"))) == "Expm1"
    assert subject(Operation("tf.gather(x, n)"), Traced(("Cast", "GatherV2"))) == "GatherV2"
    assert subject(Operation("tf.nn.gelu(x)"), Traced(("Erf", "Mul"))) == ""


def test_a_row_is_not_about_what_only_stands_around_it() -> None:
    # Of tf.zeros nothing is left in the graph: the addition is the row's own.
    assert subject(Operation("tf.zeros([4]) + x"), Traced(("AddV2", "Const"))) == ""
    assert subject(Operation("tf.nest.map_structure(lambda v: 2 * v, x)"), Traced(("Mul",))) == ""
    assert subject(Operation("tf.nest.flatten([x * y])"), Traced(("Mul",))) == ""
    assert subject(Layer("keras.layers.Lambda(lambda v: 2 * v)"), Traced(("Mul",))) == ""
    assert subject(Operation("tf.zeros_like(x)"), Traced(("Const", "Identity"))) == ""


def test_an_operation_has_rows_within_and_backward() -> None:
    rows = [Operation("tf.square(x)"), Operation("tf.nn.gelu(x)")]
    tried = Tried((Traced(("Square",), ("Mul", "Square")), Traced(("Erf", "Square"), ())))
    table = join(registered(Square=KERNELS, Mul=KERNELS, Erf=KERNELS), rows, tried)
    assert (table["Square"].rows, table["Square"].within) == (("tf.square",), ("tf.nn.gelu",))
    assert (table["Mul"].rows, table["Mul"].backward) == ((), ("tf.square",))


def test_what_compiled_without_a_kernel_was_folded_and_does_not_compile() -> None:
    tried = Tried((), {"Spence": Trial("compiled", "no kernel of Spence for XLA")})
    spence = join(registered(Spence=KERNELS), [], tried)["Spence"]
    assert (spence.xla, spence.outcome, spence.folded) == ("no kernel", "refused", True)


def test_what_compiled_with_a_kernel_compiles() -> None:
    tried = Tried((), {"Abs": Trial("compiled", "", ("axis",), ("abs",), alone=True)})
    found = join(registered(Abs={**KERNELS, XLA_DEVICE: {}}), [], tried)["Abs"]
    assert (found.xla, found.folded, found.alone) == ("compiled", False, True)
    assert (found.constants, found.opcodes) == (("axis",), ("abs",))


def test_the_program_of_a_row_has_its_inputs_as_declared() -> None:
    row = Operation("tf.add(x, n)", inputs={"x": "f32[4,8]:0..1", "n": "i32[]"})
    assert expression(row).inputs == (("x", (4, 8), "float32"), ("n", (), "int32"))
    assert expression(Layer("keras.layers.ReLU()", call="layer(x)")).layer == "keras.layers.ReLU()"
