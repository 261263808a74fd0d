"""A model that is given strings: JAX has none, so its lookups are places, and the rest is not judged by a crash."""

import keras
from filled_modules import written_of

from compare.porting import rest_source
from tf_reference import _keras_compiled

L = keras.layers


def test_a_string_input_is_told_and_nothing_is_judged_of_it() -> None:
    words, age = keras.Input((1,), dtype="string", name="job"), keras.Input((2,), name="age")
    found = L.StringLookup(vocabulary=["nurse", "cook"], name="lookup")(words)
    y = L.Concatenate()([L.Flatten()(L.Embedding(4, 2)(found)), age])
    model = keras.Model({"job": words, "age": age}, L.Dense(1)(y))
    written = written_of(model)
    assert [place.layer for place in written.places] == ["lookup"]
    (told,) = written.remarks
    assert told.startswith("job holds strings") and "input pipeline" in told
    assert rest_source.stand_ins(_keras_compiled.of_model(model), written) is None
