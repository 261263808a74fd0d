"""A port of a model of strings starts behind the lookups, which stay in TensorFlow's input pipeline, and says so."""

from collections.abc import Callable
from typing import Any

import keras
import models_of_strings
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import distance, module_of, written_of

from compare.porting import rest_source
from compare.porting.drawn_arrays import input_specs
from compare.porting.port_builders import Original
from compare.porting.port_source import Sizes
from compare.porting.writing_ports import texts
from tf_reference import _input_pipeline, _keras_compiled

INPUTS = {
    "embedded": {"age": None, "job_lookup": 4},
    "encoded": {"multi_hot": None, "count": None},
    "encoded_behind": {"job_lookup": 5},
    "hashed": {"town_hash": 7},
    "crossed": {"zone": 9, "cross": None},
    "vectorized": {"vectors": 5},
    "stripped": {"job_lookup": 4},
    "shared_lookup": {"job_lookup": 4, "job_lookup_2": 4},
    "integers_too": {"town": None, "town_lookup": None, "code_lookup": None},
    "preprocessing_model": {"age": None, "job_lookup": None},
    "inner_encoder": {"vectors": 4, "vectors_2": 4},
    "counted": {"length": None},
}
"""A model -> the inputs of its port, and how many integers each is drawn from where it holds some."""


def given_to(model: Any) -> dict[str, Any]:
    """Four examples for each input of a model of strings."""
    numbers = np.random.default_rng(3)
    pool = np.array(["cook", "nurse", "the cat sat", " Driver", "a dog", "driver"])
    found: dict[str, Any] = {}
    for symbol in model.inputs:
        shape = (4, *symbol.shape[1:])
        if symbol.dtype == "string":
            found[symbol.name] = numbers.choice(pool, shape)
        elif "int" in symbol.dtype:
            found[symbol.name] = numbers.choice([1, 7, 8, 3], shape).astype(symbol.dtype)
        else:
            found[symbol.name] = numbers.normal(size=shape).astype(symbol.dtype)
    return found


def called(model: Any, given: dict[str, Any]) -> Any:
    values = [tf.constant(given[symbol.name]) for symbol in model.inputs]
    nest = getattr(model, "_inputs_struct", None)
    return model(values[0] if nest is None or len(values) == 1 else keras.tree.pack_sequence_as(nest, values))


def looked_up(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What the input pipeline hands to a port, and all else that the port takes, by name."""
    cut = _input_pipeline._cut(model)
    assert cut is not None
    values = [tf.constant(given[symbol.name]) for symbol in model.inputs]
    found = keras.tree.flatten(cut.lookups([values[number] for number in cut.taken]))
    names = [piped.name for piped in cut.pipeline]
    return {**dict(zip(names, found, strict=True)), **{name: values[number] for name, number in cut.kept.items()}}


@pytest.fixture(name="made")
def _made() -> Callable[[str], Any]:
    def made(kind: str) -> Any:
        keras.utils.clear_session(free_memory=False)
        model = getattr(models_of_strings, kind)()
        for number, weight in enumerate(model.trainable_weights):
            weight.assign(np.random.default_rng(number).uniform(-0.6, 0.6, weight.shape))
        return model

    return made


@pytest.mark.parametrize("kind", INPUTS)
def test_the_port_computes_what_the_whole_model_does_of_strings(kind: str, made: Callable[[str], Any]) -> None:
    model = made(kind)
    given = given_to(model)
    wanted = called(model, given)
    written, module = module_of(model)
    handed = looked_up(model, given)
    assert set(handed) == set(written.parameters) == set(INPUTS[kind])
    found = module(*(np.asarray(handed[name]) for name in written.parameters))
    assert distance(found, wanted) < 1e-6
    assert called(model, given) is not None, "the model itself can be called as before"


@pytest.mark.parametrize("kind", INPUTS)
def test_integers_are_drawn_from_those_that_a_lookup_gives(kind: str, made: Callable[[str], Any]) -> None:
    model = made(kind)
    architecture = _keras_compiled.of_model(model)
    specs = input_specs(architecture, written_of(model), with_training=False)
    for (name, size), spec in zip(INPUTS[kind].items(), specs.values(), strict=True):
        assert spec.endswith(f"low=0, high={size})" if size else ")") and ("high" in spec) == bool(size), (name, spec)


def test_what_stays_in_the_input_pipeline_is_said_with_its_layers_and_inputs(made: Callable[[str], Any]) -> None:
    model = made("stripped")
    (remark,) = written_of(model).remarks
    assert remark == (
        "clean (Lambda), job_lookup (StringLookup) stay in TensorFlow's input pipeline: "
        "the port takes as job_lookup what they make of job"
    )
    _, _, files = texts(_keras_compiled.of_model(model), Original("it.py:build"), Sizes())
    assert remark in " ".join(files["model_jax.py"].split('"""')[1].split())


def test_what_numbers_alone_make_is_no_part_of_the_pipeline(made: Callable[[str], Any]) -> None:
    layers = {layer.path for layer in _keras_compiled.of_model(made("preprocessing_model")).source.layers}
    assert "preprocessing/norm" in layers and "preprocessing/job_lookup" not in layers
    assert "scaled" in {layer.path for layer in _keras_compiled.of_model(made("integers_too")).source.layers}


def test_a_model_is_trained_behind_its_lookups_as_it_was_compiled(made: Callable[[str], Any]) -> None:
    architecture = _keras_compiled.of_model(made("embedded"))
    assert architecture.compiled is not None and architecture.compiled.losses[0] is not None
    written, training, files = texts(architecture, Original("it.py:build"), Sizes())
    assert not written.places and not training.unwritten and "training_jax.py" in files


@pytest.mark.parametrize("mistake", ["offset", "swapped"])
def test_a_wrong_offset_and_swapped_inputs_behind_the_lookup_change_what_is_computed(
    mistake: str, made: Callable[[str], Any]
) -> None:
    model = made("shared_lookup")
    given = given_to(model) | {"first": np.array([["cook"], ["nurse"], ["?"], ["cook"]])}
    written, module = module_of(model)
    handed = [np.asarray(looked_up(model, given)[name]) for name in written.parameters]
    wrong = {"offset": [handed[0] - 1, handed[1]], "swapped": handed[::-1]}[mistake]
    wanted = called(model, given)
    assert distance(module(*handed), wanted) < 1e-6 < 1e-3 < distance(module(*wrong), wanted)


def test_a_layer_that_trains_on_strings_is_a_place_and_the_rest_is_not_judged_by_a_crash(
    made: Callable[[str], Any],
) -> None:
    model = made("trained_on_strings")
    written = written_of(model)
    assert [place.layer for place in written.places] == ["hashed"]
    assert any(remark.startswith("code_lookup (StringLookup) stays") for remark in written.remarks)
    assert any(remark.startswith("job holds strings") for remark in written.remarks)
    assert rest_source.judged_parts(_keras_compiled.of_model(model), written) == []


def test_words_that_are_looked_up_behind_trained_layers_are_a_place(made: Callable[[str], Any]) -> None:
    written = written_of(made("names_of_classes"))
    assert [place.layer for place in written.places] == ["labels"] and not written.remarks


def test_a_model_without_strings_is_read_as_it_is() -> None:
    x = keras.Input((3,))
    model = keras.Model(x, keras.layers.Dense(2)(x))
    assert _input_pipeline.behind_lookups(model) == (model, ())
