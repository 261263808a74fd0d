"""Keras models that look words up, each with its lookups in another place."""

from typing import Any

import keras
import tensorflow as tf

L: Any = keras.layers
WORDS = ["nurse", "driver", "cook"]


def words(name: str, size: int = 1) -> Any:
    return keras.Input((size,), dtype="string", name=name)


def head(x: Any, inputs: Any) -> keras.Model:
    return keras.Model(inputs, L.Dense(2, name="head")(x))


def embedded() -> keras.Model:
    job, age = words("job"), keras.Input((2,), name="age")
    found = L.Flatten()(L.Embedding(4, 2, name="jobs")(L.StringLookup(vocabulary=WORDS, name="job_lookup")(job)))
    model = head(L.Concatenate()([found, age]), {"job": job, "age": age})
    model.compile("sgd", "mse")
    return model


def encoded() -> keras.Model:
    job = words("job", 2)
    modes = ("multi_hot", "count")
    found = [L.StringLookup(vocabulary=WORDS, output_mode=mode, name=mode)(job) for mode in modes]
    return head(L.Concatenate()(found), job)


def encoded_behind() -> keras.Model:
    job = words("job")
    found = L.StringLookup(vocabulary=WORDS, num_oov_indices=2, name="job_lookup")(job)
    return head(L.CategoryEncoding(5, output_mode="multi_hot")(found), job)


def hashed() -> keras.Model:
    town = words("town")
    return head(L.Flatten()(L.Embedding(7, 3)(L.Hashing(7, name="town_hash")(town))), town)


def crossed() -> keras.Model:
    job, zone = words("job"), keras.Input((1,), dtype="int32", name="zone")
    found = L.HashedCrossing(5, output_mode="one_hot", name="cross")((job, zone))
    ahead = L.Embedding(9, 2, name="zones")(zone)
    return head(L.Concatenate()([found, L.Flatten()(ahead)]), [job, zone])


def vectorized() -> keras.Model:
    vectors = L.TextVectorization(vocabulary=["the", "cat", "sat"], output_sequence_length=4, name="vectors")
    layers = [L.Embedding(5, 3, mask_zero=True), L.GlobalAveragePooling1D(), L.Dense(2)]
    return keras.Sequential([keras.Input((), dtype="string", name="text"), vectors, *layers], name="texts")


def stripped() -> keras.Model:
    job = words("job")
    clean = L.Lambda(lambda x: tf.strings.lower(tf.strings.strip(x)), name="clean", output_shape=(1,))(job)
    return head(L.Flatten()(L.Embedding(4, 2)(L.StringLookup(vocabulary=WORDS, name="job_lookup")(clean))), job)


def shared_lookup() -> keras.Model:
    first, second = words("first"), words("second")
    lookup, table = L.StringLookup(vocabulary=WORDS, name="job_lookup"), L.Embedding(4, 2, name="jobs")
    found = [L.Flatten()(table(lookup(each))) for each in (first, second)]
    return head(L.Subtract()(found), [first, second])


def integers_too() -> keras.Model:
    town, code = keras.Input((1,), dtype="int64", name="town"), words("code")
    lookup = L.IntegerLookup(vocabulary=[10, 80, 20], output_mode="one_hot", name="town_lookup")(town)
    rank = L.StringLookup(vocabulary=WORDS, output_mode="one_hot", name="code_lookup")(code)
    as_number = L.Rescaling(0.5, name="scaled")(town)
    return head(L.Concatenate()([lookup, rank, as_number]), [town, code])


def preprocessing_model() -> keras.Model:
    """As Keras' guides have it: a model that preprocesses, called in the model that is trained and exported."""
    job, age = words("job"), keras.Input((2,), name="age")
    found = L.StringLookup(vocabulary=WORDS, output_mode="one_hot", name="job_lookup")(job)
    norm = L.Normalization(mean=[1.0, 2.0], variance=[4.0, 9.0], name="norm")(age)
    inner = keras.Model([job, age], L.Concatenate()([found, norm]), name="preprocessing")
    outer, years = words("job"), keras.Input((2,), name="age")
    return head(inner([outer, years]), [outer, years])


def inner_encoder() -> keras.Model:
    """A model in the model looks words up, and trains what is behind."""
    text = keras.Input((), dtype="string", name="text")
    vectors = L.TextVectorization(vocabulary=["the", "cat"], output_sequence_length=3, name="vectors")(text)
    encoder = keras.Model(text, L.Dense(3)(L.Flatten()(L.Embedding(4, 2)(vectors))), name="encoder")
    one, two = (keras.Input((), dtype="string", name=name) for name in ("query", "title"))
    return head(L.Multiply()([encoder(one), encoder(two)]), {"query": one, "title": two})


def counted() -> keras.Model:
    """Numbers of strings without a table: their lengths."""
    text = words("text")
    length = L.Lambda(lambda x: tf.cast(tf.strings.length(x), tf.float32), name="length", output_shape=(1,))(text)
    return head(L.Dense(2)(length), text)


class HashedEmbedding(L.Layer):
    """Looks strings up and trains their rows in one layer: its call is left."""

    def build(self, shape):
        self.table = self.add_weight(shape=(5, 2), name="table")

    def call(self, x):
        return tf.gather(self.table, tf.strings.to_hash_bucket_fast(x[:, 0], 5))


def trained_on_strings() -> keras.Model:
    job, age = words("job"), keras.Input((2,), name="age")
    code = words("code")
    found = L.StringLookup(vocabulary=WORDS, output_mode="one_hot", name="code_lookup")(code)
    model = head(L.Concatenate()([HashedEmbedding(name="hashed")(job), found, age]), [job, code, age])
    model.compile("sgd", "mse")
    return model


def names_of_classes() -> keras.Model:
    """The words are looked up behind the trained layers, for the labels that are returned."""
    x = keras.Input((3,), name="x")
    best = L.Lambda(lambda y: tf.argmax(y, -1), name="best", output_shape=())(L.Dense(3, name="head")(x))
    return keras.Model(x, L.StringLookup(vocabulary=WORDS, invert=True, name="labels")(best))
