"""Every rule: it fires where it should, nowhere near, and what it writes is the same value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hlo_rule_examples import ADD, CHOICES, CONSTANTS, FORWARDING, MAX, SHAPES, Example
from hlo_rule_examples_algebraic import ARITHMETIC, FORMULAS, SIGNS, SUMMATION
from hlo_rule_examples_control import CONTROL
from hlo_rule_examples_products import INDEXING, PRODUCTS, REDUCTIONS
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.hlo import bindings, levels
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.numbering import COMMUTATIVE
from compare.hlo.rewriting import Rewritten, Rule, Writer, rewrite
from compare.hlo.rules.algebraic import ALGEBRAIC
from compare.hlo.rules.structural import STRUCTURAL
from compare.hlo.standalone import artifact_of_file, interpret
from compare.hlo.write_module import write_graph

RULES = {rule.name: rule for rule in (*STRUCTURAL, *ALGEBRAIC)}
EXAMPLES: dict[str, Example] = {
    **FORWARDING, **SHAPES, **CONSTANTS, **CHOICES, **PRODUCTS, **REDUCTIONS, **INDEXING, **CONTROL,
    **ARITHMETIC, **SUMMATION, **SIGNS, **FORMULAS,
}  # fmt: skip
FIRING = [
    pytest.param(name, program, id=f"{name} {number}")
    for name, example in EXAMPLES.items()
    for number, program in enumerate((example.fires, *example.more))
]
ULP = 4
SCALAR = Shape("f32")
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])


def hlo_of(program: str, computations: str = "") -> bytes:
    return bindings.hlo_from_text(f"HloModule m\n{computations}\nENTRY e {{\n{program}\n}}")


def graph_of(program: str, computations: str = "") -> Graph:
    return levels.read(levels.Subject("test", hlo_of(program, computations)))


def applied(name: str, graph: Graph) -> Rewritten:
    return rewrite(graph, [RULES[each] for each in (name, *EXAMPLES[name].beside)])


def run(graph: Graph, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """By StableHLO's reference interpreter: XLA simplifies by itself, and would hide what a rule does."""
    return interpret(artifact_of_file(write_graph(graph)), arguments)


def drawn(shape: Shape, generator: np.random.Generator, example: Example, edges: bool) -> np.ndarray:
    if shape.dtype == "pred":
        return generator.random(shape.dimensions) < 0.5
    if shape.dtype[0] in "su":
        return generator.integers(0 if shape.dtype[0] == "u" else -3, 9, shape.dimensions).astype(
            f"{'u' if shape.dtype[0] == 'u' else ''}int{shape.dtype[1:]}"
        )
    if example.whole:
        return generator.integers(-4, 5, shape.dimensions).astype(np.float32)
    if example.low is not None:
        return generator.uniform(example.low, example.high, shape.dimensions).astype(np.float32)
    floats = generator.standard_normal(shape.dimensions)
    if edges:
        floats = np.where(generator.random(shape.dimensions) < 0.4, generator.choice(EDGES, shape.dimensions), floats)
    return np.asarray(floats, np.float32)


def assert_same_value(before: Graph, after: Graph, rule: Rule, example: Example, seeds: int = 2) -> None:
    """Bit for bit, NaN aside, on numbers with edges among them; within a few units in the last place if tagged."""
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        arguments = [drawn(before.nodes[key].shape, generator, example, not rule.numerics) for key in before.parameters]
        expected = [example.known(*arguments)] if example.known else run(before, arguments)
        for left, right in zip(expected, run(after, arguments), strict=True):
            if rule.numerics and left.dtype.kind == "f":
                np.testing.assert_array_max_ulp(left, right, ULP)
            else:
                np.testing.assert_array_equal(left, right)
                if left.dtype.kind == "f":
                    np.testing.assert_array_equal(np.signbit(left)[~np.isnan(left)], np.signbit(right)[~np.isnan(left)])


def test_every_rule_has_a_name_of_its_own_and_examples() -> None:
    assert len(RULES) == len(STRUCTURAL) + len(ALGEBRAIC)
    assert set(EXAMPLES) == set(RULES)
    assert all(rule.meaning for rule in RULES.values())


def test_rules_name_opcodes_that_hlo_has() -> None:
    named = {opcode for rule in RULES.values() for opcode in rule.opcodes}
    assert [opcode for opcode in sorted(named) if not is_opcode(opcode)] == []
    assert not is_opcode("optimization-barrier")


def is_opcode(word: str) -> bool:
    """By XLA's parser, of a line that ends after it."""
    with pytest.raises(bindings.UnreadableProgram) as error:
        bindings.hlo_from_text(f"HloModule m\nENTRY e {{\nROOT x = f32[] {word}")
    return "Unknown opcode" not in str(error.value)


def test_structural_rules_never_touch_numerics() -> None:
    assert [rule.name for rule in STRUCTURAL if rule.numerics] == []


@pytest.mark.parametrize(("name", "program"), FIRING)
def test_a_rule_writes_the_same_value(name: str, program: str) -> None:
    before = graph_of(program, EXAMPLES[name].computations)
    after = applied(name, before)
    found = [change for change in after.changes if change.rule == name]
    assert found
    assert all(change.numerics == RULES[name].numerics for change in found)
    assert_same_value(before, after.graph, RULES[name], EXAMPLES[name])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_leaves_a_near_miss_alone(name: str) -> None:
    example = EXAMPLES[name]
    before = graph_of(example.misses, example.beside_the_miss or example.computations)
    assert name not in [change.rule for change in applied(name, before).changes]


@pytest.mark.parametrize(("name", "program"), FIRING)
def test_all_rules_together_end_and_write_the_same_value(name: str, program: str) -> None:
    """No rule undoes another: a second pass finds nothing left to change, in names of values."""
    example = EXAMPLES[name]
    before = graph_of(program, example.computations)
    once = rewrite(before, (*STRUCTURAL, *ALGEBRAIC))
    again = rewrite(once.graph, (*STRUCTURAL, *ALGEBRAIC))
    assert [again.digests[key] for key in again.graph.results] == [once.digests[key] for key in once.graph.results]
    assert [change.rule for change in again.changes] == []
    assert_same_value(before, once.graph, Rule("all", "", (), lambda *_: None, numerics=True), example, seeds=1)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f64"])
@pytest.mark.parametrize(("name", "program"), FIRING)
def test_rules_end_on_floats_of_every_width(name: str, program: str, dtype: str) -> None:
    computations = EXAMPLES[name].computations
    once = rewrite(
        graph_of(*(text.replace("f32[", f"{dtype}[") for text in (program, computations))), tuple(RULES.values())
    )
    assert [change.rule for change in rewrite(once.graph, tuple(RULES.values())).changes] == []


def test_a_body_is_never_taken_for_one_that_is_gone() -> None:
    """Nobody else keeps these bodies: one may be made in the memory that another had."""

    def body(number: int) -> Graph:
        return Graph("body", {0: Node(0, "c", "constant", SCALAR, literal=np.array(number, np.float32))}, (), (0,))

    writer = Writer(())
    assert len({writer.region(body(number))[1] for number in range(50)}) == 50


def _drop_sign(node: Node, graph: Writer) -> int | None:
    return node.operands[0] if node.opcode == "negate" else None


@pytest.mark.parametrize(
    ("wrong", "program"),
    [
        pytest.param(_drop_sign, "x = f32[3] parameter(0)\nROOT r = f32[3] negate(x)", id="another value"),
        pytest.param(RULES["zeros dropped"].apply, ARITHMETIC["zeros dropped"].fires, id="another zero"),
    ],
)
def test_a_rule_that_is_wrong_is_found(wrong: object, program: str) -> None:
    rule = Rule("wrong", "", ("negate", "add"), wrong)  # pyright: ignore[reportArgumentType]
    before = graph_of(program)
    with pytest.raises(AssertionError):
        assert_same_value(before, rewrite(before, [rule]).graph, rule, Example("", ""))


BINARY, UNARY = ("add", "subtract", "multiply", "maximum"), ("tanh", "negate", "exponential")
MATRIX = Shape("f32", (2, 3))
LEVELS = [level for level in levels.LEVELS if level != levels.RAW]


@dataclass(frozen=True)
class Step:
    """One value of a random program; `operands` and `number` may be more than it needs."""

    opcode: str
    operands: tuple[int, int]
    number: float


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Steps over two matrices, which are values 0 and 1; step n makes value n + 2."""
    opcodes = st.sampled_from((*BINARY, *UNARY, "scale"))
    length = draw(st.integers(2, 9))
    return [
        Step(
            draw(opcodes),
            (draw(st.integers(0, at + 1)), draw(st.integers(0, at + 1))),
            draw(st.floats(0.25, 4, width=16)),
        )
        for at in range(length)
    ]


def build(
    steps: Sequence[Step], *, order: Sequence[int] = (), swapped: bool = False, detours: bool = False
) -> Rewritten:
    """The program at the structural level.

    Args:
      order: in which order to try to write the steps.
      swapped: whether operands that commute change places.
      detours: whether every value is reshaped to another shape and back.
    """
    return levels.at_level(subject(steps, order, swapped, detours), levels.STRUCTURE)


def subject(
    steps: Sequence[Step], order: Sequence[int] = (), swapped: bool = False, detours: bool = False
) -> levels.Subject:
    nodes = {at: Node(at, f"p{at}", "parameter", MATRIX, attributes=(("parameter_number", at),)) for at in (0, 1)}
    made = {0: 0, 1: 1}

    def add(opcode: str, shape: Shape, *operands: int, literal: np.ndarray | None = None) -> int:
        nodes[len(nodes)] = Node(len(nodes), f"{opcode}{len(nodes)}", opcode, shape, operands, literal=literal)
        return len(nodes) - 1

    waiting = list(order or range(len(steps)))
    while waiting:
        at = next(each for each in waiting if all(key in made for key in read_by(steps[each])))
        waiting.remove(at)
        operands = [made[key] for key in read_by(steps[at])]
        step = steps[at]
        if step.opcode == "scale":
            number = add("constant", Shape("f32"), literal=np.array(step.number, np.float32))
            operands.append(add("broadcast", MATRIX, number))
        commutes = swapped and step.opcode in COMMUTATIVE
        value = add(
            "multiply" if step.opcode == "scale" else step.opcode, MATRIX, *(operands[::-1] if commutes else operands)
        )
        made[at + 2] = add("reshape", MATRIX, add("reshape", Shape("f32", (3, 1, 2)), value)) if detours else value
    graph = Graph("random", nodes, (0, 1), tuple(made[at + 2] for at in range(len(steps))))
    return levels.Subject("test", write_graph(graph), ("input x", "input y"))


def read_by(step: Step) -> tuple[int, ...]:
    return step.operands if step.opcode in BINARY else step.operands[:1]


def results(form: Rewritten) -> list[bytes]:
    return [form.digests[key] for key in form.graph.results]


@given(programs(), st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_a_program_is_itself_in_any_order_with_any_detour(steps, random, swapped, detours) -> None:
    order = random.sample(range(len(steps)), len(steps))
    plain, other = build(steps), build(steps, order=order, swapped=swapped, detours=detours)
    assert results(plain) == results(other)
    assert set(plain.digests.values()) == set(other.digests.values())


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=12)
@given(programs(), st.data())
def test_one_changed_number_is_found(level, steps, data) -> None:
    steps = [*steps, Step("scale", (len(steps) + 1, 0), 1.5)]
    at = data.draw(st.sampled_from([at for at, step in enumerate(steps) if step.opcode == "scale"]))
    other = [*steps]
    other[at] = replace(steps[at], number=steps[at].number * 1.125)
    left, right = (results(levels.at_level(subject(each), level)) for each in (steps, other))
    assert left[at] != right[at]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(
            "r = f32[3] reduce(x, z), dimensions={0}, to_apply=add",
            "r = f32[3] reduce(x, z), dimensions={1}, to_apply=add",
            id="reduced",
        ),
        pytest.param(
            "r = f32[3] reduce(x, z), dimensions={0}, to_apply=add",
            "r = f32[3] reduce(x, z), dimensions={0}, to_apply=max",
            id="another reduction",
        ),
        pytest.param(
            "r = f32[2,3] slice(x), slice={[0:2], [0:3]}", "r = f32[2,3] slice(x), slice={[1:3], [0:3]}", id="cut"
        ),
        pytest.param("r = f32[3,3] transpose(x), dimensions={1,0}", "r = f32[3,3] reshape(x)", id="transposed"),
        pytest.param(
            "r = f32[3,3] reverse(x), dimensions={0}", "r = f32[3,3] reverse(x), dimensions={1}", id="reversed"
        ),
        pytest.param(
            "r = f32[3,3] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            "r = f32[3,3] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
            id="contracted",
        ),
        pytest.param("r = f32[3,3] subtract(x, y)", "r = f32[3,3] subtract(y, x)", id="subtracted"),
        pytest.param(
            "r = pred[3,3] compare(x, y), direction=LT", "r = pred[3,3] compare(x, y), direction=LE", id="compared"
        ),
    ],
)
def test_one_changed_word_is_found(level: str, left: str, right: str) -> None:
    given_ = "x = f32[3,3] parameter(0)\ny = f32[3,3] parameter(1)\nz = f32[] constant(0)"
    found = [
        results(levels.at_level(levels.Subject("test", hlo_of(f"{given_}\nROOT {each}", f"{ADD}\n{MAX}")), level))
        for each in (left, right)
    ]
    assert found[0] != found[1]
