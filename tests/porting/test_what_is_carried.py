"""What can be carried is carried: unused weights are named, and one layer that does not fit stops no other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
import pytest
from filled_modules import filled, written_of
from flax import nnx
from safetensors.numpy import save_file

import jaxport
from compare.cli import main
from compare.porting.uncalled_layers import UNCALLED
from compare.weights.planning import Plan, plan, without_misfits
from jaxport import _module_reading
from tf_reference import _keras_weights, keras_port

pytestmark = pytest.mark.usefixtures("remembered")
L = keras.layers

DISTILLER = """
import keras
import numpy as np
from keras import layers as L, ops


def net(name, units):
    return keras.Sequential([keras.Input((4,)), L.Dense(units, activation="tanh"), L.Dense(2)], name=name)


class Distiller(keras.Model):
    def __init__(self):
        super().__init__()
        self.teacher, self.student = net("teacher", 8), net("student", 3)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        share = ops.minimum(1.0, 10.0 * self.optimizer.learning_rate)
        return ops.mean(ops.square(y_pred - share * self.teacher(x, training=False)))

    def call(self, x):
        return self.student(x)


def build():
    model = Distiller()
    model(np.zeros((2, 4), "float32"))
    model.compile("sgd")
    return model
"""


class Spare(keras.Model):
    """A model that holds a layer which its call does not use."""

    def __init__(self, spare: Any) -> None:
        super().__init__()
        self.head, self.spare = L.Dense(3), spare

    def call(self, x: Any) -> Any:
        return self.head(x)


class Reading(Spare):
    """One that computes with a weight of a layer which it does not call."""

    def call(self, x: Any) -> Any:
        return self.head(x) + self.spare.bias


class Aside(keras.Model):
    """A functional model that keeps a weight beside its layers."""

    def __init__(self) -> None:
        x = keras.Input((4,))
        super().__init__(x, L.Dense(3, name="head")(x))
        self.temperature = self.add_weight(shape=(2,), name="temperature")


def called(model: Any) -> Any:
    model(np.zeros((2, 4), "float32"))
    return model


def dense() -> Any:
    layer = L.Dense(3)
    layer.build((None, 4))
    return layer


def both_ways() -> Any:
    both = L.Bidirectional(L.LSTM(2))
    return keras.Sequential([keras.Input((5, 3)), both, L.BatchNormalization()])


def adapted() -> Any:
    low = L.Dense(3)
    low.build((None, 4))
    low.enable_lora(2)
    return low


def planned(model: Any, written: Any, text: str) -> Plan:
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "nnx": nnx, "optax": optax, "jaxport": jaxport, "Any": Any}
    exec(f"from __future__ import annotations\n{text}", scope)
    target = _module_reading.of_module(scope[written.class_name](rngs=nnx.Rngs(0)))
    unused = dict.fromkeys(written.uncalled, UNCALLED)
    return plan(*_keras_weights.of_model(model), target, written.names, {}, unused)


@pytest.mark.parametrize("spare", [dense, both_ways, adapted], ids=["layer", "model", "no rule knows it"])
def test_the_weights_of_a_layer_that_the_call_does_not_use_are_left_out_by_name(spare: Callable[[], Any]) -> None:
    model = called(Spare(spare()))
    written = written_of(model)
    found = planned(model, written, written.text)
    assert found.findings == ()
    assert found.arrays.keys() == {"head.kernel", "head.bias"}
    assert found.left.keys() == {key for key, _ in _keras_weights.variables(model) if key.startswith("spare/")}


def test_a_weight_beside_the_layers_of_a_functional_model_is_left_out_by_name() -> None:
    model = Aside()
    written = written_of(model)
    found = planned(model, written, written.text)
    assert (found.findings, dict(found.left)) == ((), {"temperature": UNCALLED})


def test_a_layer_whose_weight_is_read_without_a_call_is_no_layer_that_is_not_used() -> None:
    written = written_of(called(Reading(dense())))
    assert written.uncalled == ()


def test_a_layer_that_the_call_uses_and_the_module_lacks_is_a_finding() -> None:
    model = called(Spare(dense()))
    written = written_of(model)
    lines = [line for line in written.text.splitlines() if not line.lstrip().startswith("self.head = ")]
    found = planned(model, written, "\n".join([*lines[:4], "        pass", *lines[4:]]))
    assert [(each.kind, each.layer) for each in found.findings if each.layer] == [("module", "head")]


def test_one_layer_that_does_not_fit_stops_no_other() -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, name="one"), L.Dense(2, name="two")])
    written = written_of(model)
    text = written.text.replace("out_features=2", "out_features=5")
    found = planned(model, written, text)
    assert {each.layer for each in found.findings if each.layer is not None} == {"two"}
    kept = without_misfits(found)
    assert kept.arrays.keys() == {"one.kernel", "one.bias"} == {path for move in kept.moves for path in move.variables}


def test_a_weight_that_is_left_out_and_used_all_the_same_makes_every_result_no_number(tmp_path: Path) -> None:
    (tmp_path / "my_tf.py").write_text(
        "import keras\nmodel = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name='one')])\n"
    )
    receipt = tmp_path / "weights.receipt.json"
    receipt.write_text(json.dumps({"left": {"one/bias": UNCALLED}, "leaves": []}))
    port = keras_port(f"{tmp_path / 'my_tf.py'}:model", receipt, "float32", inputs=1, trained=False)
    assert np.isnan(port.forward(np.zeros((2, 4), "float32"))).all()


def test_a_module_of_which_a_weight_is_missing_is_not_loaded(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, name="one")])
    module = filled(written_of(model), written_of(model).text, model)
    save_file({"one.kernel": np.zeros((4, 3), "float32")}, tmp_path / "weights.safetensors")
    with pytest.raises(jaxport.weights.WeightsError, match=r"one\.bias"):
        jaxport.weights.load(module, tmp_path / "weights.safetensors")


@pytest.fixture
def init_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What `jaxport init` prints of a model's code, in a folder of its own, where a place is left: exit code 1."""
    monkeypatch.chdir(tmp_path)

    def init(code: str, *options: str) -> str:
        Path("my_tf.py").write_text(code)
        assert main(["init", "my_tf.py:build", "-o", "port", *options]) == 1
        return capsys.readouterr().out

    return init


@pytest.mark.process
def test_a_student_is_carried_and_judged_though_its_teacher_is_not_in_the_port(
    init_output: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its training, which reads the learning rate, is the place that is left; another activation fails."""
    output = init_output(DISTILLER)
    assert "4 weights carried" in output and re.search(r"^distiller +default +pass", output, re.MULTILINE)
    assert f"weights left out: teacher/dense (Dense): kernel, bias: {UNCALLED}" in output
    receipt = json.loads(Path("port/weights.receipt.json").read_text())
    assert set(receipt["left"].values()) == {UNCALLED} and len(receipt["left"]) == 4
    assert main(["weights", "my_tf.py:build", "port/model_jax.py:Distiller", "--map", "port/weights.receipt.json"]) == 1
    assert "teacher/dense_1 (Dense): expected nnx.Linear at teacher.dense_1, found none" in capsys.readouterr().out
    module = Path("port/model_jax.py")
    assert module.read_text().count("jnp.tanh(") == 1
    module.write_text(module.read_text().replace("jnp.tanh(", "jnp.sin("))
    quick = ("--parity-only", "--modes", "tf/jit", "jax/jit")
    assert main(["run", "port/port.py", *quick, "-o", "wrong"]) == 1


RECURRENT = """
import keras
from keras import layers as L


def build():
    first = L.SimpleRNN(2, return_sequences=True, stateful=True, use_bias=False, name="first")
    second = L.LSTM(2, use_bias=False, name="second")
    return keras.Sequential([keras.Input(batch_shape=(4, 5, 3)), first, second, L.Dense(1)])
"""


@pytest.mark.process
def test_the_weights_of_recurrent_layers_that_are_left_are_carried(init_output: Callable[..., str]) -> None:
    output = init_output(RECURRENT, "--no-run")
    assert "7 weights carried" in output and "weights do not fit" not in output
    assert "first (SimpleRNN)" in output and "second (LSTM)" in output
    # The state of a layer that is left is a variable too.
    assert "self.first_states_0 = jaxport.stateful.RecurrentState(" in Path("port/model_jax.py").read_text()


class Pupil(keras.Model):
    """A model whose first part is shared with one that its call does not use, and that stands before it."""

    def __init__(self, shared: Any, direct: bool) -> None:
        super().__init__()
        self.teacher = keras.Sequential([keras.Input((4,)), shared, L.Dense(3)], name="teacher")
        self.stem = shared if direct else L.Identity()
        self.student = keras.Sequential(
            [keras.Input((5 if direct else 4,)), L.Identity() if direct else shared, L.Dense(2)]
        )

    def call(self, x: Any) -> Any:
        return self.student(self.stem(x))


@pytest.mark.parametrize("direct", [True, False], ids=["by the whole", "by a model in it"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: L.Dense(5, name="shared"),
        lambda: keras.Sequential([keras.Input((4,)), L.Dense(3), L.Dense(5)], name="shared"),
    ],
    ids=["layer", "model"],
)
def test_what_is_shared_with_an_unused_model_is_held_and_carried_where_it_is_called(
    make: Callable[[], Any], direct: bool
) -> None:
    model = called(Pupil(make(), direct))
    written = written_of(model)
    assert written.places == ()
    made = planned(model, written, written.text)
    assert made.findings == ()
    held = {leaf.rpartition("/")[0] for leaf in made.left}
    assert len(held) == 1 and held.pop().startswith("teacher/dense")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "nnx": nnx, "optax": optax, "jaxport": jaxport, "Any": Any}
    exec(f"from __future__ import annotations\n{written.text}", scope)
    module = scope[written.class_name](rngs=nnx.Rngs(0))
    for path, array in made.arrays.items():
        jaxport.weights.variables_of(module)[path].set_value(jnp.asarray(array))
    np.testing.assert_allclose(module(jnp.asarray(x)), model(x), rtol=1e-5, atol=1e-6)
