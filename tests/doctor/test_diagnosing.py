"""What is said of operations, values, effects and training, from data alone."""

from __future__ import annotations

import json

import pytest

from compare.doctor import diagnosing
from compare.doctor.known_operations import Known, lookup
from compare.plain_json import to_json
from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Diagnosis
from compare.report import doctor_page, doctor_words, page_html
from compare.report.page_console import print_page
from compare.report.terminal import console
from workloads.protocol.inspection import Effect, Inspection, Layer, Operation, Training, Value

F32 = ("float32",)


def of(*operations: Operation, **more: object) -> Diagnosis:
    return diagnosing.diagnose("it", Inspection("function", operations=operations, **more))  # type: ignore[arg-type]


def severities(diagnosis: Diagnosis) -> dict[str, str]:
    return {each.subject: each.severity for each in diagnosis.findings}


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (Operation("MyCustomOp", "x", registered=False), "custom"),
        (Operation("EagerPyFunc", "x", inputs=F32, outputs=F32), "python"),
        (Operation("AsString", "x", inputs=F32, outputs=("string",)), "strings"),
        (Operation("LookupTableFindV2", "x", inputs=("resource", "int64"), outputs=("int64",)), "compilation"),
        (Operation("DecodeJpeg", "x", inputs=(), outputs=("uint8",)), "compilation"),
        (Operation("PrintV2", "x", inputs=("string",)), "side effect"),
        (Operation("Switch", "x", inputs=F32, outputs=F32), "control flow"),
    ],
    ids=lambda value: value.type if isinstance(value, Operation) else value,
)
def test_what_does_not_compile_blocks(operation: Operation, kind: str) -> None:
    (found,) = (each for each in of(operation).findings if each.severity == BLOCKER)
    assert (found.kind, found.subject) == (kind, operation.type)
    assert found.what and found.advice


@pytest.mark.parametrize("kind", ["MatMul", "Conv2D", "Placeholder", "VarHandleOp", "StatefulPartitionedCall", "While"])
def test_what_compiles_or_carries_values_does_not_block(kind: str) -> None:
    assert of(Operation(kind, "x", inputs=F32, outputs=F32)).counts[BLOCKER] == 0


def test_that_nothing_is_known_is_not_said_to_be_a_blocker() -> None:
    found = diagnosing.diagnose("it", Inspection("function", operations=(Operation("Odd", "x"),)), lambda _: Known())
    assert found.counts[BLOCKER] == 0
    assert found.operations[0].compiles is None


def test_a_type_that_the_kernel_does_not_take_blocks() -> None:
    taken = lookup("MatMul").dtypes["T"]
    assert "float32" in taken and "string" not in taken
    assert of(Operation("MatMul", "x", inputs=F32, outputs=F32, attributes={"T": "variant"})).counts[BLOCKER] == 1
    assert of(Operation("MatMul", "x", inputs=F32, outputs=F32, attributes={"T": "float32"})).counts[BLOCKER] == 0


def test_strings_of_a_check_are_no_strings_of_the_model() -> None:
    found = of(Operation("Assert", "check", inputs=("bool", "string")), Operation("Const", "text", outputs=("string",)))
    assert severities(found) == {"Assert": NOTE}


def test_state_randomness_and_sizes_that_depend_on_values_want_a_decision() -> None:
    found = of(
        Operation("RandomStandardNormal", "noise", outputs=F32, source="my.py:3"),
        Operation("AssignVariableOp", "count", inputs=("resource", "int32"), source="my.py:4"),
        Operation("Where", "chosen", inputs=("bool",), outputs=("int64",), source="my.py:5"),
    )
    kinds = {each.kind: each for each in found.findings if each.severity == ATTENTION}
    assert kinds.keys() == {"randomness", "state", "shapes"}
    assert kinds["randomness"].places[0].source == "my.py:3"


def test_what_a_layer_updates_is_a_note_and_its_gotchas_are_told_of_the_layer() -> None:
    found = of(
        Operation("AssignVariableOp", "moving", inputs=("resource", "float32"), in_layer=True),
        Operation("LeakyRelu", "act", inputs=F32, outputs=F32, attributes={"alpha": 0.2}, in_layer=True),
    )
    assert severities(found) == {"AssignVariableOp": NOTE}


@pytest.mark.parametrize(("alpha", "stated"), [(0.2, True), (0.01, False)])
def test_a_gotcha_of_an_operation_is_stated_where_its_attribute_is_such(alpha: float, stated: bool) -> None:
    found = of(Operation("LeakyRelu", "act", inputs=F32, outputs=F32, attributes={"alpha": alpha}))
    assert ("activations/leaky_relu" in {each.gotcha for each in found.findings}) is stated


@pytest.mark.parametrize(("shape", "stated"), [((), False), ((4,), True)])
def test_numbers_that_count_a_loop_are_no_gotcha(shape: tuple[int, ...], stated: bool) -> None:
    found = of(Operation("FloorMod", "mod", inputs=("int32", "int32"), outputs=("int32",), shapes=(shape,)))
    assert bool(found.findings) is stated


@pytest.mark.parametrize(("in_layer", "whose"), [(True, "The loop of a layer, a recurrent one's"), (False, "A loop:")])
@pytest.mark.parametrize("kind", ["While", "StatelessWhile"])
def test_a_loop_is_named_as_such(kind: str, in_layer: bool, whose: str) -> None:
    (found,) = of(Operation(kind, "lstm/while", in_layer=in_layer)).findings
    assert (found.severity, found.kind, found.subject) == ("note", "loop", kind)
    assert found.what.startswith(whose) and "jax.lax.scan" in found.advice


@pytest.mark.parametrize("grows", [True, False])
def test_a_list_that_grows_wants_a_decision(grows: bool) -> None:
    written = Operation("TensorListSetItem", "w", attributes={"resize_if_index_out_of_bounds": grows})
    assert ("shapes" in {each.kind for each in of(written).findings}) is grows


@pytest.mark.parametrize(
    ("shape", "severity"), [((None, 8), NOTE), ((4, 8), ""), ((None, None, 8), ATTENTION), (None, ATTENTION)]
)
def test_sizes_that_are_not_fixed(shape: tuple[int | None, ...] | None, severity: str) -> None:
    found = of(inputs=(Value("x", "float32", shape),))
    assert severities(found).get("input", "") == severity


def test_wide_types_and_strings_of_inputs() -> None:
    found = of(inputs=(Value("n", "int64", (4,)), Value("s", "string", (4,))), outputs=(Value("y", "float64", ()),))
    assert [(each.severity, each.kind) for each in found.findings] == [
        (BLOCKER, "strings"),
        (ATTENTION, "dtype"),
        (ATTENTION, "dtype"),
    ]


def test_lines_that_run_while_tracing_are_named() -> None:
    (found,) = of(effects=(Effect("random", "seed = np.random.rand()", "my.py:9"),)).findings
    assert (found.severity, found.places[0].source, found.places[0].name) == (
        ATTENTION, "my.py:9", "seed = np.random.rand()",
    )  # fmt: skip


@pytest.mark.parametrize(("epsilon", "stated"), [(1e-7, True), (1e-8, False)])
def test_the_epsilon_of_an_optimizer(epsilon: float, stated: bool) -> None:
    found = diagnosing.training_findings(Training("Adam", {"epsilon": epsilon}))
    assert ("optimizers/adam_default_epsilon" in {each.gotcha for each in found}) is stated


@pytest.mark.parametrize("name", ["mse", "mean_squared_error", "MeanSquaredError"])
def test_a_loss_is_known_by_any_of_its_names(name: str) -> None:
    found = diagnosing.training_findings(Training(losses=(name,)))
    assert "losses/mean_squared_error_not_halved" in {each.gotcha for each in found}


def test_an_archive_that_was_not_built_is_said_to_be_so() -> None:
    unread = Inspection("keras archive", layers=(Layer("a", "my.py", "Mine"),), not_traced="its config has Mine")
    found = diagnosing.diagnose("it", unread)
    assert "operations were not looked at" in doctor_words.headline(found)
    assert any(each.kind == "reading" for each in found.findings)


def test_blockers_come_first_on_the_console_and_on_the_page() -> None:
    found = of(
        Operation("RandomUniform", "noise", outputs=F32),
        Operation("MyOp", "<b>bold</b>", registered=False),
        layers=(Layer("<i>", "keras.layers", "Dense", {"activation": "gelu"}),),
    )
    told = console(width=100)
    with told.capture() as captured:
        print_page(doctor_page.console_page(found), told)
    lines = captured.get().splitlines()
    assert lines[0].startswith("1 blocker; 2 findings that want a decision. it: a function, ")
    assert lines[2:4] == ["Blockers", "MyOp [custom]:"]
    page = page_html.render(doctor_page.page(found))
    assert page.index("MyOp") < page.index("RandomUniform")
    assert "<b>bold" not in page and "&lt;b&gt;bold" in page and "<i>" not in page


def test_a_diagnosis_is_plain_json() -> None:
    plain = json.loads(json.dumps(to_json(of(Operation("Where", "x", outputs=("int64",))))))
    assert plain["counts"] == {"blocker": 0, "attention": 1, "note": 1}
    assert plain["findings"][0]["kind"] == "shapes"
