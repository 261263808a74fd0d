"""Ports of SavedModels and frozen graphs: that they compute the same, what is left, and what is refused."""

import runpy
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import save
from saved_graphs import SAVED

from compare.api.named_model import NamedModel
from compare.api.port_writing import check_readable
from compare.errors import RequestError
from compare.porting.functions import function_ports
from compare.porting.functions.function_source import WrittenFunction, function_source
from compare.porting.port_source import Sizes
from tf_reference import _function_graph, _saved_function, _saved_port
from tf_reference._flat_graph import FlatGraph
from tf_reference._function_graph import Spec
from workloads.protocol.framework import Unsupported
from workloads.protocol.function_graph import VALUE
from workloads.protocol.saved_graph import SavedGraph

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, by name."""
    made = tmp_path_factory.mktemp("saved")
    for name, write in SAVED.items():
        write(made / name)
    return made


def read(folder: Path, name: str, signature: str = "", outputs: tuple[str, ...] = ()) -> WrittenFunction:
    return function_source(*_saved_port.read(SavedGraph(str(folder / name), signature, outputs), []))


def call(made: WrittenFunction, text: str, weights: Mapping[str, Any], arrays: list[np.ndarray]) -> Any:
    names: dict[str, Any] = {"__file__": "f.py"}
    exec(text, names)  # its text is what is tested
    grouped = names["traverse_util"].unflatten_dict(weights, sep="/")
    return jax.jit(names[made.name])(grouped, *arrays)


def drawn(made: WrittenFunction) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    arrays = []
    for result in made.inputs.values():
        shape = [size or axis + 2 for axis, size in enumerate(result.shape or ())]
        number = result.dtype.startswith("int")
        arrays.append(
            rng.integers(0, 3, shape).astype(result.dtype) if number else rng.standard_normal(shape, "float32")
        )
    return arrays


@pytest.mark.parametrize(
    ("name", "signature", "said"),
    [
        ("module", "", "jax.nn.relu(x @ weights['net']['w'] + weights['net']['b'])"),
        ("module", "embed", "jax.nn.sigmoid("),
        ("functions", "infer_tf", "weights['net']['count'].astype(x.dtype)"),
        ("keras", "", "weights['attention']['query']['kernel']"),
        ("looped", "", "jax.lax.fori_loop(0, 3, step, x)"),
        ("recurrent", "", "jax.lax.scan(step, "),
        ("ranged", "", "jax.lax.fori_loop(0, x.shape[0], step"),
        ("twins", "", "jax.lax.stop_gradient("),
        ("listener", "", "jnp.abs(jnp.fft.rfft(sound, 8)"),
        ("words", "", "jnp.take(weights['rows'], "),
        ("tf1", "predict", "jnp.concatenate([weights['table']['rows']['part_0'], weights['table']['rows']['part_1']])"),
        ("tf1_resource", "logits", "jax.lax.stop_gradient(weights['bn']['moving_mean'])"),
        ("frozen.pb", "", "layer = jax.nn.relu(x @ weights['layer']['w'] + weights['layer']['b'])"),
    ],
)
def test_a_port_computes_what_the_file_does(folder: Path, name: str, signature: str, said: str) -> None:
    made = read(folder, name, signature)
    assert not made.unwritten
    assert said in made.text
    saved = _saved_function.read(SavedGraph(str(folder / name), signature))
    arrays = drawn(made)
    expected = saved.make_callable()(*map(tf.constant, arrays))
    found = call(made, made.text, made.values, arrays)
    assert expected.keys() == found.keys()
    for key in expected:
        np.testing.assert_allclose(expected[key], found[key], rtol=2e-5, atol=2e-6)
    # Another weight, or another operation, is another result.
    weight = next(key for key, value in made.values.items() if value.dtype == np.float32)
    changed = call(made, made.text, {**made.values, weight: made.values[weight] + 0.5}, arrays)
    assert any(not np.allclose(expected[key], changed[key], rtol=1e-3) for key in expected)


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("module", ""), ("module", "embed"), ("functions", "infer_tf"), ("functions", "embed"), ("keras", ""),
        ("looped", ""), ("twins", ""), ("listener", ""), ("recurrent", ""), ("ranged", ""),
        ("tf1", "predict"), ("tf1", "logits"), ("tf1_resource", "predict"), ("tf1_resource", "logits"),
    ],
)  # fmt: skip
def test_what_is_read_is_what_tensorflow_loads(folder: Path, name: str, signature: str) -> None:
    function = _saved_function.read(SavedGraph(str(folder / name), signature))
    tensors = {}
    for key, tensor in function.entry.inputs.items():
        shape = [size or 2 for size in tensor.shape or ()]
        tensors[key] = tf.cast(tf.reshape(tf.range(np.prod(shape)), shape) % 3, tensor.dtype)
    found = function.make_callable()(*tensors.values())
    loaded = tf.saved_model.load(folder / name)
    expected = call_loaded(loaded, signature, tensors)
    assert expected.keys() == found.keys()
    for key in expected:
        np.testing.assert_allclose(expected[key], found[key], rtol=1e-6)


def call_loaded(loaded: Any, signature: str, tensors: Mapping[str, tf.Tensor]) -> Mapping[str, tf.Tensor]:
    """What TensorFlow's own loading of a file computes."""
    entry = loaded.signatures.get(signature or "serving_default")
    if entry is not None:
        return entry(**tensors)
    results = getattr(loaded, signature or "__call__")(*tensors.values())
    return results if isinstance(results, Mapping) else {"output_0": results}


def test_gradients_go_through_calls_and_loops(folder: Path) -> None:
    for name, signature in (("module", "embed"), ("looped", "")):
        function = _saved_function.read(SavedGraph(str(folder / name), signature))
        compute = function.make_callable()
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(compute(tf.ones([2, 4]))["output_0"])
        (weight,) = function.variables.values()
        gradient = tape.gradient(loss, weight)
        step = np.zeros(weight.shape, "float32")
        step[0, 0] = 1e-2
        weight.assign_add(step)
        above = tf.reduce_sum(compute(tf.ones([2, 4]))["output_0"])
        weight.assign_sub(2 * step)
        below = tf.reduce_sum(compute(tf.ones([2, 4]))["output_0"])
        assert float((above - below) / 2e-2) == pytest.approx(float(gradient[0, 0]), rel=2e-2)


@pytest.mark.parametrize("name", ["recurrent", "ranged", "looped"])
def test_every_mode_has_gradients_of_loops_whatever_was_called_first(folder: Path, name: str) -> None:
    compute = _saved_function.read(SavedGraph(str(folder / name))).make_callable()
    (shape,) = (result.shape for result in read(folder, name).inputs.values())
    x = tf.constant(np.random.default_rng(2).standard_normal([size or 2 for size in shape or ()]), tf.float32)

    def differentiate(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.add_n([tf.reduce_sum(result**2) for result in compute(x).values()])
        return tape.gradient(loss, x)

    expected = differentiate(x)
    assert np.abs(expected).max() > 1e-3
    for compiles in (None, True):
        found = tf.function(differentiate, jit_compile=compiles, autograph=False)(x)
        np.testing.assert_allclose(expected, found, rtol=1e-4, atol=1e-6)


def test_functions_of_a_file_have_the_same_names_whatever_was_read_before(folder: Path) -> None:
    def names(function: Any, dtype: Any = tf.float32) -> list[list[str]]:
        staged = function.stage()
        graphs = [staged.get_concrete_function(tf.TensorSpec([batch, 4], dtype)).graph for batch in (2, 3)]
        values = [[value for node in graph.as_graph_def().node for value in node.attr.values()] for graph in graphs]
        return [sorted(value.func.name for value in of_trace if value.func.name) for of_trace in values]

    function = _saved_function.read(SavedGraph(str(folder / "looped")))
    first, second = names(function)
    assert first and not {*first} & {*second}
    # A counter of the process would go on.
    again = _saved_function.read(SavedGraph(str(folder / "looped")))
    assert names(again) == [first, second] == names(again)
    assert not {*first, *second} & {name for trace in names(function.wider(), tf.float64) for name in trace}


@pytest.mark.parametrize("signature", ["", "project"])
def test_variables_of_one_name_are_trained_each_as_it_was_saved(folder: Path, signature: str) -> None:
    variables = _saved_function.read(SavedGraph(str(folder / "twins"), signature)).held
    assert {one.array.shape: one.trainable for one in variables} == {(4, 4): False, (4, 3): True}
    made = read(folder, "twins", signature)
    assert {weight.result.shape: weight.trainable for weight in made.weights.values()} == {
        (4, 4): False,
        (4, 3): True,
    }


def test_a_custom_gradient_is_not_taken_as_none(folder: Path) -> None:
    saved = SavedGraph(str(folder / "rounded"))
    made, function = read(folder, "rounded"), _saved_function.read(saved)
    assert not made.unwritten
    assert made.remarks[0].startswith("the custom gradient is not carried, and gradients cannot be judged: ")
    for side in (function, function.wider()):
        (weight,) = side.variables.values()
        x, compute = tf.ones([2, 4], weight.dtype), side.make_callable()
        with pytest.raises(NotImplementedError, match="is not carried"), tf.GradientTape() as tape:
            tape.gradient(tf.reduce_sum(compute(x)["output_0"]), weight)
    # That of tf.nn.silu is the derivative, and is judged.
    assert not read(folder, "module", "embed").remarks


class Reader:
    """A worker of this process."""

    def saved_graph(self, selection: SavedGraph, inputs: Sequence[Spec]) -> Any:
        """What a worker reads."""
        return _saved_port.read(selection, inputs)


def test_inputs_that_are_no_names_of_parameters_are_those_of_the_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker: Any = Reader()
    selection = SavedGraph(str(folder / "reserved"))
    port = function_ports.write_saved(selection, ["lambda=f32[3,4]", "_x=f32[B,4]"], tmp_path / "port", worker)
    assert port.written.keys == {"x_2d": "2d", "x": "_x", "lambda_": "lambda"}
    text = (port.folder / "port.py").read_text()
    assert "ArraySpec((3, 4)" in text
    monkeypatch.syspath_prepend(str(port.folder))
    names = runpy.run_path(str(port.file))
    model = names["build_tf"]({}, "float32")
    x = [tf.fill([3, 4], value) for value in (1.0, 2.0, 4.0)]
    np.testing.assert_array_equal(model.forward(*x)["sum"], np.full([3, 4], 4 * 0.5 + 2 - 1, "float32"))


def test_default_types_are_wider_in_float64(folder: Path) -> None:
    wider = _saved_function.read(SavedGraph(str(folder / "listener"))).wider()
    assert wider.make_callable()(tf.ones([2, 8], tf.float64))["output_0"].dtype == tf.float64


def test_a_graph_without_float64_says_so(folder: Path) -> None:
    (remark,) = read(folder, "fused.pb").remarks
    assert remark.startswith("TensorFlow does not compute this graph in float64, which gates need: ")
    assert "double is not in the list of allowed values" in remark
    saved, spec = SavedGraph(str(folder / "fused.pb")), [("x", (None, 2, 2, 3), "float32")]
    assert _saved_port.saved_graph_port(saved, spec, "float32", None).forward
    with pytest.raises(Unsupported, match=r"takes in float64, found .*double is not in the list") as error:
        _saved_port.saved_graph_port(saved, spec, "float64", None)
    assert "\n" not in str(error.value)


def test_constants_are_no_larger_than_a_file_has_them(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None], "x")
        tf.add(x, tf.constant(1.0), name="y")
    bomb = graph.as_graph_def()
    (constant,) = (node for node in bomb.node if node.op == "Const")
    constant.attr["value"].tensor.tensor_shape.dim.add(size=1 << 34)
    (tmp_path / "bomb.pb").write_bytes(bomb.SerializeToString())
    with pytest.raises(Unsupported, match=r"expected constants of up to 4 GiB, found 64\.0 GiB"):
        read(tmp_path, "bomb.pb")


def test_numbers_of_the_file_are_those_that_were_written(folder: Path) -> None:
    assert " + 0.001)" in read(folder, "tf1", "predict").text


def test_texts_stay_in_the_pipeline_or_are_places(folder: Path) -> None:
    made = read(folder, "words")
    assert list(made.inputs) == ["x", "None_Lookup"]
    (remark,) = made.remarks
    assert remark == (
        "LookupTableFindV2 stays in TensorFlow's input pipeline: the port takes as None_Lookup what it makes of word"
    )
    (place,) = read(folder, "words", "label").unwritten
    assert place.type == "AsString"


def test_the_network_of_a_frozen_graph_is_no_text(folder: Path) -> None:
    # A TensorArray is no table: the port does not start behind the loop.
    with pytest.raises(Unsupported, match="expected no loop of TensorFlow 1, found NextIteration at while/"):
        read(folder, "loop.pb")
    label = read(folder, "labels.pb", outputs=("label",))
    assert list(label.inputs) == ["x"]
    assert label.left.keys() == {"AsString", "StringToHashBucketFast"}
    both = read(folder, "labels.pb", outputs=("y",))
    assert list(both.inputs) == ["x", "StringToHashBucketFast"]
    assert not both.unwritten


def test_an_effect_is_a_place(folder: Path) -> None:
    (place,) = read(folder, "counter").unwritten
    assert place.type == "AssignAddVariableOp"


def test_outputs_may_be_named_in_the_place_of_a_signature(folder: Path) -> None:
    made = read(folder, "tf1", outputs=("layer/Relu",))
    assert list(made.values) == ["layer/w", "layer/b"]
    assert "'layer/Relu': " in made.text


def test_a_weight_that_was_changed_in_the_file_is_told(folder: Path, tmp_path: Path) -> None:
    saved, spec = SavedGraph(str(folder / "module")), [("x", (None, 4), "float32")]
    _, arrays = _saved_port.read(saved, [])
    values = {key.removeprefix(VALUE): np.asarray(array) for key, array in arrays.items() if key.startswith(VALUE)}
    carried = tmp_path / "weights.safetensors"
    carried.write_bytes(save(values))
    assert _saved_port.saved_graph_port(saved, spec, "float32", carried).weights.keys() == values.keys()
    values["net/b"] = values["net/b"] + np.float32([0, 1e-7, 0])
    carried.write_bytes(save(values))
    with pytest.raises(Unsupported, match=r"expected net/b in .* bit by bit, found another value"):
        _saved_port.saved_graph_port(saved, spec, "float32", carried)


@pytest.mark.parametrize(
    ("name", "signature", "found"),
    [
        ("module", "nope", "found embed, serving_default, and the functions infer_tf: name one"),
        ("functions", "", "expected one signature, or serving_default among several, found none, and the functions"),
        ("tf1", "", "found logits, predict: name one"),
        ("frozen.pb", "a", "expected no signature"),
        ("none", "", "found no such file"),
        ("damaged", "", "damaged"),
        ("variables", "", "found no variables in it"),
        ("cut", "", "found what cannot be read"),
        ("linked", "", "a link that leads"),
        ("no.pb", "", "damaged"),
    ],
)
def test_what_is_bad_is_refused_in_one_line(
    folder: Path, tmp_path: Path, name: str, signature: str, found: str
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    for copy in ("damaged", "variables", "cut", "linked"):
        shutil.copytree(folder / "module", copies / copy)
    graph = (folder / "module" / "saved_model.pb").read_bytes()
    (copies / "damaged" / "saved_model.pb").write_bytes(graph[:700])
    shutil.rmtree(copies / "variables" / "variables")
    (copies / "cut" / "variables" / "variables.index").write_bytes(b"x" * 60)
    shutil.rmtree(copies / "linked" / "variables")
    (copies / "linked" / "variables").symlink_to(folder / "module" / "variables")
    (copies / "no.pb").write_bytes(b"hello")
    where = copies if (copies / name).exists() else folder
    with pytest.raises(Unsupported, match=found) as error:
        _saved_port.read(SavedGraph(str(where / name), signature), [])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "sizes", "found"),
    [
        ({"signature": "a", "outputs": ("b",)}, Sizes(), "expected --signature or --output, found both"),
        ({"custom": ("f.py:F",)}, Sizes(), "found custom: drop it"),
        ({}, Sizes(batch=8, steps=3), "expected no custom or batch or steps .*, found batch and steps"),
    ],
)
def test_options_that_say_nothing_of_a_file_are_refused(options: Mapping[str, Any], sizes: Sizes, found: str) -> None:
    with pytest.raises(RequestError, match=found):
        check_readable(NamedModel("graph.pb", **options), sizes)


def test_a_function_within_itself_is_refused() -> None:
    graph = tf.compat.v1.GraphDef()
    function = graph.library.function.add()
    function.signature.name = "f"
    node = function.node_def.add(op="PartitionedCall", name="again")
    node.attr["f"].func.name = "f"
    graph.node.add(op="PartitionedCall", name="start").attr["f"].func.name = "f"
    with pytest.raises(Unsupported, match="found f within itself"):
        FlatGraph(graph).flatten()


def chain(calls: int) -> Any:
    """A graph of calls of the identity, each of which takes what the one before returns."""
    graph = tf.compat.v1.GraphDef()
    function = graph.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
    function.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
    function.ret["y"] = "x"
    graph.node.add(op="Placeholder", name="call0").attr["dtype"].type = tf.float32.as_datatype_enum
    for number in range(1, calls + 1):
        node = graph.node.add(op="PartitionedCall", name=f"call{number}", input=[f"call{number - 1}"])
        node.attr["f"].func.name = "f"
    return graph


def test_calls_in_turn_are_followed_however_many() -> None:
    graph = chain(100)
    assert FlatGraph(graph).flatten(["call100:0"])[1] == ["call0"]
    graph.node[1].input[0] = "call100"
    with pytest.raises(Unsupported, match="expected calls in turn, found 'call100:0' in a circle"):
        FlatGraph(graph).flatten(["call100:0"])


def test_a_text_that_no_output_needs_is_no_input(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        x, word = tf.compat.v1.placeholder(tf.float32, [None], "x"), tf.compat.v1.placeholder(tf.string, [None], "word")
        signature = tf.compat.v1.saved_model.predict_signature_def({"x": x, "word": word}, {"y": x * 2.0})
        builder = tf.compat.v1.saved_model.builder.SavedModelBuilder(str(tmp_path / "unread"))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()
    assert list(read(tmp_path, "unread").inputs) == ["x"]


def test_no_file_is_read_that_a_graph_names(tmp_path: Path) -> None:
    (tmp_path / "number").write_text("3")

    def multiply(x: tf.Tensor) -> tf.Tensor:
        return x * tf.strings.to_number(tf.io.read_file(str(tmp_path / "number")))

    _, arrays = _function_graph.of_function(multiply, [("x", (2,), "float32")], "multiply")
    assert not [key for key in arrays if key.startswith("known")]
