"""The map of operations and layers: its rows, its pages, and that the check finds a row that is wrong."""

import subprocess
import sys
from collections import Counter

import msgspec
import operation_map
import pytest
from places import ROOT

from compare.counterparts.rows import Layer, Operation, Row, first_name, layers, operations
from workloads.gotchas import _catalogue

DOCS = ROOT / "docs"
OPERATIONS = operations()
LAYERS = layers()
ROWS: list[Row] = [row for group in (*OPERATIONS.values(), *LAYERS.values()) for row in group]


def names(groups) -> set[str]:
    return {row.name for rows in groups.values() for row in rows if row.has_counterpart}


def test_there_are_as_many_as_the_guide_promises() -> None:
    assert len(names(OPERATIONS)) >= 300
    assert len(names(LAYERS)) >= 70


def test_few_have_no_counterpart_and_those_say_what_to_do_instead() -> None:
    without = [row for row in ROWS if not row.has_counterpart]
    assert len(without) <= 30
    assert [row.name for row in without if not row.note] == []


def test_no_row_occurs_twice() -> None:
    assert [name for name, times in Counter(row.name for row in ROWS).items() if times > 1] == []


def test_every_note_is_a_sentence() -> None:
    assert [row.note for row in ROWS if row.note and not row.note.endswith(".")] == []


def test_a_row_whose_gradients_differ_says_why() -> None:
    assert [row.name for row in ROWS if row.gradients == "differ" and not (row.note or row.gotcha)] == []


def test_every_gotcha_is_one_of_the_catalogue() -> None:
    known = {entry.id for entry in _catalogue.entries()}
    assert sorted({row.gotcha for row in ROWS if row.gotcha} - known) == []


def test_layers_are_those_of_keras_and_modules_those_of_flax() -> None:
    for row in (row for rows in LAYERS.values() for row in rows):
        assert row.name.startswith("keras.layers.")
        assert row.flax.startswith(("nnx.", "")) and (not row.linen or row.linen.startswith("nn."))
        assert not row.params or row.flax


@pytest.mark.parametrize("page", ["operations", "layers"])
def test_a_page_has_every_row(page: str) -> None:
    groups = {"operations": OPERATIONS, "layers": LAYERS}[page]
    text = {"operations": operation_map.operations_page, "layers": operation_map.layers_page}[page](groups)
    lines = text.splitlines()
    for group, rows in groups.items():
        assert f"## {group.replace('_', ' ').capitalize()}" in lines
        for row in rows:
            of_row = [line for line in lines if line.startswith(f"| `{shown(row)}`")]
            assert len(of_row) == 1 and row.note in of_row[0]
            assert all(line in text.replace("\\|", "|") for line in row.jax.strip().splitlines())


def shown(row: Row) -> str:
    return (row.tf if isinstance(row, Operation) else row.keras).replace("|", "\\|")


def test_pages_are_written_once(tmp_path) -> None:
    operation_map.write(tmp_path)
    written = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.md")}
    operation_map.write(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.md")} == written
    assert set(written) == {"operations.md", "layers.md"}


def test_a_link_leads_to_an_entry_and_an_unknown_one_is_left_out() -> None:
    assert "gotchas/" not in page_of(Operation("tf.absent(x)", "x", gotcha="a/b"))
    assert "[abs at zero](gotchas/kinks.md#abs_at_zero)" in page_of(
        Operation("tf.absent(x)", gotcha="kinks/abs_at_zero")
    )


def test_entries_that_concern_an_operation_and_differ_are_linked_once() -> None:
    page = page_of(Operation("tf.nn.gelu(x)", gotcha="activations/gelu"))
    assert page.count("(gotchas/activations.md#gelu)") == 1 and "gelu_by_tanh" not in page


def page_of(row: Operation) -> str:
    return operation_map.operations_page({"some": [row]})


def test_an_unknown_key_is_refused(tmp_path) -> None:
    (tmp_path / "operations.toml").write_text('some = [{tf = "tf.abs(x)", jaxx = "jnp.abs(x)"}]')
    with pytest.raises(msgspec.ValidationError, match="jaxx"):
        operations(tmp_path)


def test_a_row_names_its_operation_first() -> None:
    assert first_name("[tf.math.top_k(x, 2), tf.abs(x)]") == "tf.math.top_k"
    with pytest.raises(ValueError, match="expected a name that starts with"):
        first_name("x + 1")


PAIR = {"x": "f32[4,8]", "y": "f32[4,8]"}

RIGHT = [
    Operation("tf.square(x)", "jnp.square(x)"),
    Operation("tf.nn.relu(x)", "y = x > 0\njnp.where(y, x, 0)"),
    Operation("tf.argmax(x, 1)", "jnp.argmax(x, 1)"),
    Operation("tf.maximum(x, y)", "jnp.maximum(x, y)", PAIR, gradients="differ"),
    Operation("tf.boolean_mask(x, x > 0)", "x[x > 0]", jit=False),
    Operation("tf.random.stateless_normal([5000], [1, 2])", "jax.random.normal(jax.random.key(0), (5000,))",
              values="distribution"),
    Operation("tf.math.nextafter(x, x + 1)", "jnp.nextafter(x, x + 1)", gradients="none"),
    Layer("keras.layers.Dense(3)", "x @ w[0] + w[1]", "nnx.Linear(8, 3, rngs=rngs)",
          {"kernel": "w[0]", "bias": "w[1]"}, "nn.Dense"),
]  # fmt: skip

WRONG = {
    "raised AttributeError": Operation("tf.absent(x)", "jnp.absent(x)"),
    "raised ValueError at expressions.py": Operation("tf.abs(x)", "y = x"),
    "off by": Operation("tf.nn.gelu(x)", "jax.nn.gelu(x)"),
    "elements differ": Operation("tf.argmax(x, 1)", "jnp.argmin(x, 1)"),
    "expected shape": Operation("tf.reduce_sum(x, 1, keepdims=True)", "jnp.sum(x, 1)"),
    "expected float32, found int32": Operation("tf.floor(x)", "jnp.floor(x).astype(int)"),
    "NaN or infinities differ": Operation("tf.math.log(x)", "jnp.log(jnp.abs(x))"),
    "nothing is finite": Operation("tf.sqrt(-x)", "jnp.sqrt(-x)", {"x": "f32[4]:1..2"}),
    "expected 2 outputs": Operation("tf.math.top_k(x, 2)", "jax.lax.top_k(x, 2)[0]"),
    "ties: gradient of x": Operation("tf.maximum(x, y)", "jnp.maximum(x, y)", PAIR),
    "random: gradient of x": Operation("tf.identity(x)", "jax.lax.stop_gradient(x)"),
    "found that they agree": Operation("tf.square(x)", "x * x", gradients="differ"),
    "found that both have": Operation("tf.square(x)", "x * x", gradients="none"),
    "found that jax.jit takes it": Operation("tf.square(x)", "x * x", jit=False),
    "not of one distribution": Operation(
        "tf.random.stateless_normal([5000], [1, 2])", "2 * jax.random.normal(jax.random.key(0), (5000,))",
        values="distribution"),
    "Flax, random: output 0": Layer("keras.layers.Dense(8)", "x @ w[0] + w[1]", "nnx.Linear(8, 8, rngs=rngs)",
                                    {"kernel": "w[0].T", "bias": "w[1]"}),
    "expected kernel of shape": Layer("keras.layers.Dense(3)", flax="nnx.Linear(8, 3, rngs=rngs)",
                                      params={"kernel": "w[0].T", "bias": "w[1]"}),
    "JAX, ties: gradient of w1": Layer("keras.layers.Dense(8)", "x @ w[0] + jax.lax.stop_gradient(w[1])"),
    "has no attribute 'Dens'": Layer("keras.layers.Dense(3)", "x @ w[0] + w[1]", linen="nn.Dens"),
}  # fmt: skip


@pytest.mark.parametrize("row", RIGHT, ids=lambda row: row.name)
def test_a_right_row_passes(row: Row) -> None:
    import operation_check

    assert operation_check.problems(row) == []


@pytest.mark.parametrize("problem", WRONG)
def test_a_wrong_row_is_found(problem: str) -> None:
    import operation_check

    assert problem in " ".join(operation_check.problems(WRONG[problem]))


def test_one_function_is_not_counted_under_two_names() -> None:
    import operation_check

    rows = [Operation("tf.abs(x)"), Operation("tf.math.abs(x)"), Operation("tf.absent(x)"), Operation("tf.square(x)")]
    assert [problem.partition(":")[0] for problem in operation_check.same_functions(rows)] == [
        "tf.math.abs",
        "tf.absent",
    ]


@pytest.mark.slow
def test_every_row_holds() -> None:
    command = [sys.executable, "-P", str(DOCS / "operation_map.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
