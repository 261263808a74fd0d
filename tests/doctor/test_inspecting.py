"""What is read of models: saved by TensorFlow, and damaged or hostile ones, of which nothing may run."""

from __future__ import annotations

import copy
import os
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged
import models_to_read as models
import pytest
import tensorflow as tf
from models_to_read import DENSE, LAMBDA, PB, archive, sequential

from compare.doctor import diagnosing
from compare.record.diagnosis_part import Diagnosis
from tf_reference import _inspecting
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Inspection

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def diagnosed(found: Inspection) -> Diagnosis:
    return diagnosing.diagnose("it", found)


def test_a_keras_model_in_an_archive_is_read_built_and_traced(folder: Path) -> None:
    path = folder / "cnn.keras"
    model = models.cnn()
    model.compile("adam", "mse")
    model.save(path)
    said, built = _inspecting.keras_archive(path), _inspecting.keras_archive_built(path)
    names = ["Conv2D", "BatchNormalization", "ReLU", "Dropout", "Flatten", "Dense"]
    assert [each.class_name for each in said.layers] == [each.class_name for each in built.layers] == names
    assert said.operations == () and said.training == built.training and said.training is not None
    assert said.training.losses == ("mse",)
    assert built.layers[0].weights == {"kernel": "float32[3,3,3,4]", "bias": "float32[4]"}
    assert {"Conv2D", "MatMul"} <= {each.type for each in built.operations}
    assert {each.type for each in built.operations if each.function == "training"} >= {"AssignVariableOp"}
    assert all(each.in_layer for each in built.operations if each.type == "Conv2D")
    stated = {each.gotcha for each in diagnosed(built).findings}
    assert {"normalization/batch_norm_epsilon", "activations/gelu", "activations/keras_relu_max_value"} <= stated
    # Of an odd size the same is padded in front and behind.
    assert "convolution/conv_same_stride" not in stated


def test_a_saved_model_is_read_by_its_signatures(folder: Path) -> None:
    path = folder / "rnn"
    models.rnn().export(path, verbose=False)
    found = _inspecting.saved_model(path)
    assert "serving_default" in found.entries
    assert {"While", "MatMul"} <= {each.type for each in found.operations}
    assert [each.subject for each in diagnosed(found).findings if each.kind == "loop"] == ["While"]
    assert len({each.function for each in found.operations if each.type == "MatMul"} - {""}) >= 1
    assert found.inputs[0].shape == (None, None, 3)
    diagnosis = diagnosed(found)
    assert diagnosis.counts["blocker"] == 0, [each.what for each in diagnosis.findings]
    assert any(each.kind == "shapes" and each.severity == "attention" for each in diagnosis.findings)


def test_preprocessing_in_a_saved_model_blocks(folder: Path) -> None:
    path = folder / "preprocessing"
    tf.saved_model.save(models.Preprocessing(), str(path))
    diagnosis = diagnosed(_inspecting.saved_model(path))
    blocking = {each.subject for each in diagnosis.findings if each.severity == "blocker"}
    assert "LookupTableFindV2" in blocking
    # How it is saved, restored and initialized is no part of what it computes.
    assert not blocking & {"SaveV2", "RestoreV2", "MergeV2Checkpoints", "LookupTableImportV2", "HashTableV2"} - {
        "HashTableV2"
    }
    assert {each.subject for each in diagnosis.findings if each.kind == "shapes"} >= {"Unique"}


def test_an_operation_that_tensorflow_lacks_is_named(folder: Path) -> None:
    path = models.saved(folder / "custom", models.graph_with("MyVeryOwnOp").SerializeToString())
    found = _inspecting.saved_model(path)
    assert [each.type for each in found.operations] == ["Placeholder", "MyVeryOwnOp"]
    (blocker,) = (each for each in diagnosed(found).findings if each.severity == "blocker")
    assert (blocker.kind, blocker.subject) == ("custom", "MyVeryOwnOp")
    known = models.saved(folder / "known", models.graph_with("Sin").SerializeToString())
    assert diagnosed(_inspecting.saved_model(known)).counts["blocker"] == 0


def test_layers_are_told_of_a_model_that_cannot_be_traced(tmp_path: Path) -> None:
    path = tmp_path / "it.py"
    path.write_text(
        "import keras\n"
        "class Odd(keras.layers.Layer):\n"
        "    def call(self, x):\n"
        "        return x if float(x[0, 0]) > 0 else -x\n"
        "def build():\n"
        "    x = keras.Input((None, None, 3))\n"
        "    y = keras.layers.UpSampling2D(interpolation='bilinear')(keras.layers.Conv2D(3, 3)(x))\n"
        "    return keras.Model(x, y)\n"
    )
    found = _inspecting.code(f"{path}:build", ())
    assert [each.class_name for each in found.layers] == ["Conv2D", "UpSampling2D"]
    assert "UpSampling2D" in found.not_traced and found.operations == ()
    odd = _inspecting.code(f"{path}:Odd", [("x", (None, 3), "float32")])
    assert (odd.layers[0].class_name, odd.layers[0].source) == ("Odd", f"{path}:2")
    assert odd.not_traced


def test_effects_of_helpers_in_the_same_file_are_told_on_their_own_lines(tmp_path: Path) -> None:
    path = tmp_path / "helpers.py"
    path.write_text(
        "import numpy as np\n"
        "import tensorflow as tf\n"
        "seen = []\n"
        "def fourth(x):\n"
        "    print('too deep')\n"
        "    return x\n"
        "def third(x):\n"
        "    seen.append(1)\n"
        "    return fourth(x)\n"
        "@tf.function\n"
        "def second(x):\n"
        "    return third(x) + np.random.rand()\n"
        "def unused(x):\n"
        "    print('never called')\n"
        "def make():\n"
        "    def inner(x):\n"
        "        print('in a closure')\n"
        "        return x\n"
        "    @tf.function\n"
        "    def f(x):\n"
        "        return inner(second(x))\n"
        "    return f\n"
        "f = make()\n"
    )
    found = _inspecting.code(f"{path}:f", [("x", (3,), "float32")])
    assert [(each.kind, each.source) for each in found.effects] == [
        ("random", f"{path}:12"),
        ("print", f"{path}:17"),
        ("state", f"{path}:8"),
    ]


def test_a_helper_is_looked_into_by_the_shortest_way_to_it(tmp_path: Path) -> None:
    path = tmp_path / "ways.py"
    path.write_text(
        "def last(x):\n"
        "    print('three or two calls away')\n"
        "    return x\n"
        "def helper(x):\n"
        "    return last(x)\n"
        "def longer(x):\n"
        "    return helper(x)\n"
        "def f(x):\n"
        "    return longer(x) + helper(x)\n"
    )
    found = _inspecting.code(f"{path}:f", [("x", (3,), "float32")])
    assert [(each.kind, each.source) for each in found.effects] == [("print", f"{path}:2")]


def test_objects_that_a_function_names_are_not_asked_for_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "objects.py"
    (tmp_path / "imported_late.py").write_text("import imported_late_and_missing\n")
    path.write_text(
        "import importlib.util, sys\n"
        "class Settings(dict):\n"
        "    def __getattr__(self, name):\n"
        "        return self[name]\n"
        "class Proxy:\n"
        "    def __getattribute__(self, name):\n"
        "        raise RuntimeError(name)\n"
        "settings, proxy = Settings(scale=2.0), Proxy()\n"
        "spec = importlib.util.find_spec('imported_late')\n"
        "spec.loader = importlib.util.LazyLoader(spec.loader)\n"
        "late = sys.modules['imported_late'] = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(late)\n"
        "def helper(x):\n"
        "    print('told all the same')\n"
        "    return x if x.shape else (late, proxy)\n"
        "def f(x):\n"
        "    return helper(x) * settings['scale']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = _inspecting.code(f"{path}:f", [("x", (3,), "float32")])
    lazy = sys.modules.pop("imported_late")
    assert [(each.kind, each.source) for each in found.effects] == [("print", f"{path}:14")]
    assert type(lazy).__name__ == "_LazyModule"


# Damaged and hostile


def refusal(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(Unsupported) as refused:
        read(path)
    line = str(refused.value)
    assert re.match(r"expected .* found .*: \w", line, re.DOTALL) and "\n" not in line
    return line


def diagnosed_or_refused(read: Callable[[Path], Inspection], path: Path, damage: str) -> None:
    """Nothing but a refusal is raised, and what is read is judged."""
    try:
        found = read(path)
    except Unsupported:
        refusal(read, path)
    except Exception as error:
        raise AssertionError(damage) from error
    else:
        diagnosed(found)


@pytest.mark.parametrize(
    "data",
    [b"", b"no protocol buffer", b"\x12\xff\xff\xff\xff\x07\x08", b"\x12" + b"\xff" * 9 + b"\x01", b"\x0b" * 5000,
     b"\x12\x02\x12\x7f", bytes(100)],
    ids=["empty", "text", "huge field", "longest length", "groups", "cut", "zeros"],
)  # fmt: skip
def test_a_saved_model_that_is_none_is_one_line(tmp_path: Path, data: bytes) -> None:
    refusal(_inspecting.saved_model, models.saved(tmp_path / "it", data))


def test_a_damaged_saved_model_is_refused_or_read(tmp_path: Path) -> None:
    good = models.graph_with("Sin").SerializeToString()
    for said, data in damaged.damaged_bytes(good, random.Random(0), 120):
        path = models.saved(tmp_path / "it", data)
        diagnosed_or_refused(_inspecting.saved_model, path, said)


@pytest.mark.parametrize("what", [said for said, _ in damaged.replaced_by(PB)])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, what: str) -> None:
    dict(damaged.replaced_by(PB))[what](tmp_path)
    refusal(_inspecting.saved_model, tmp_path)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside = models.saved(tmp_path / "outside", models.graph_with("Sin").SerializeToString())
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / PB).symlink_to(outside / PB)
    assert "a link that leads elsewhere" in refusal(_inspecting.saved_model, inside)
    # The folder is named by the user, who may name it by a link.
    (tmp_path / "named").symlink_to(outside)
    assert _inspecting.saved_model(tmp_path / "named").operations


def test_nothing_but_the_protocol_buffer_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = models.saved(tmp_path / "it", models.graph_with("Sin").SerializeToString())
    (path / "assets.extra").mkdir()
    (path / "assets.extra" / "custom_op.so").write_bytes(b"\x7fELF")
    opened: list[str] = []
    before = os.open

    def watched(file: Any, *arguments: Any, **named: Any) -> int:
        opened.append(str(file))
        return before(file, *arguments, **named)

    monkeypatch.setattr(os, "open", watched)
    _inspecting.saved_model(path)
    assert opened == [str(path / PB)]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (b"{", "no JSON"),
        (b"[]", "describes no object"),
        (b"null", "describes no object"),
        (b'{"a": "\xff"}', "no JSON"),
        (b'{"config": {}}', "describes no object"),
        (models.nested(300), "levels deep"),
        (models.nested(200_000), "config.json"),
        (b" " * (80 << 20) + b"{}", "MiB"),
    ],
    ids=["cut", "list", "null", "no UTF-8", "no class", "nested", "nested deeply", "bomb"],
)
def test_a_config_that_is_none_is_one_line(tmp_path: Path, config: bytes, said: str) -> None:
    assert said in refusal(_inspecting.keras_archive, archive(tmp_path / "it.keras", config))


def test_a_path_out_of_an_archive_refuses_it(tmp_path: Path) -> None:
    for name in ("../../outside", "/etc/outside", "a/../../b"):
        path = archive(tmp_path / "it.keras", sequential(DENSE), **{name: b"x"})
        assert "leads out of it" in refusal(_inspecting.keras_archive, path)
    assert not (tmp_path.parent / "outside").exists()
    (tmp_path / "text.keras").write_text("no zip")
    assert "broken zip" in refusal(_inspecting.keras_archive, tmp_path / "text.keras")


def _of(module: Any, class_name: Any, **config: Any) -> dict[str, Any]:
    return copy.deepcopy(DENSE) | {"module": module, "class_name": class_name, "config": {"name": "it", **config}}


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (LAMBDA, "layer lambda (Lambda): a Python lambda as bytecode"),
        (_of("os", "system", command="touch hacked"), "layer it (system): system is not of Keras"),
        (_of("builtins", "function"), "layer it (function)"),
        (_of("keras.layers", "TFSMLayer", filepath="/tmp"), "TFSMLayer"),
        (_of("keras.layers", "StringLookup", vocabulary="/etc/passwd"), "vocabulary file outside"),
        (_of("keras.layers", "Dense", units=1 << 40), "units="),
        (
            _of("keras.layers", "Dense", units=3, activation=_of("builtins", "function") | {"config": "exec"}),
            "layer it (Dense): exec is not of Keras",
        ),
        (_of("keras.src.ops.numpy", "np"), "not a KerasSaveable"),
        (_of("keras.src.ops..os", "system"), "os"),
        (_of("keras", "Variable"), "Variable"),
        (_of("keras.utils", "get_file", origin="http://localhost"), "get_file of keras.utils, which is no part"),
        (_of("keras.visualization", "plot_image_gallery", path="hacked"), "plot_image_gallery of keras.visualization"),
        (_of(None, "Mine") | {"registered_name": "mine>Mine"}, "add --custom FILE.py:Mine"),
        (_of(7, "Dense"), "an object without a class"),
        (
            _of("keras.layers", "Lambda", function=_of("keras.saving", "function") | {"config": "load_model"}),
            "load_model of keras.saving, which is no part",
        ),
        (_of("keras.layers", "Lambda", function=_of("os", "function") | {"config": "system"}), "system"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_archive_that_keras_does_not_build_in_safe_mode_is_told_and_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = archive(tmp_path / "it.keras", sequential(DENSE, layer))
    with pytest.raises(Unsupported, match="that Keras can build") as caught:
        _inspecting.keras_archive_built(path)
    assert said in str(caught.value) and "FILE.py:build" in str(caught.value)
    assert len(str(caught.value)) < 500
    assert sorted(each.name for each in tmp_path.iterdir()) == ["it.keras"]
    found = _inspecting.keras_archive(path)
    assert found.layers[0].class_name == "Dense"
    diagnosed(found)


def test_bytecode_in_a_lambda_blocks_and_is_not_run(tmp_path: Path) -> None:
    found = _inspecting.keras_archive(archive(tmp_path / "it.keras", sequential(DENSE, LAMBDA)))
    (blocker,) = (each for each in diagnosed(found).findings if each.severity == "blocker")
    assert (blocker.kind, blocker.subject, blocker.places[0].name) == ("python", "Lambda", "lambda")


def test_a_damaged_config_is_refused_or_read(tmp_path: Path) -> None:
    for said, config in damaged.damaged_json(sequential(DENSE, LAMBDA), random.Random(1)):
        path = archive(tmp_path / "it.keras", config)
        diagnosed_or_refused(_inspecting.keras_archive, path, said)


def test_memory_is_bounded_while_an_archive_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    from tf_reference import _keras_archive

    before = resource.getrlimit(resource.RLIMIT_AS)
    seen: list[tuple[int, int]] = []
    build = _keras_archive.keras.saving.deserialize_keras_object

    def watched(*arguments: Any, **named: Any) -> Any:
        seen.append(resource.getrlimit(resource.RLIMIT_AS))
        return build(*arguments, **named)

    monkeypatch.setattr(_keras_archive.keras.saving, "deserialize_keras_object", watched)
    _inspecting.keras_archive_built(archive(tmp_path / "it.keras", sequential(DENSE)))
    assert seen[0][0] != resource.RLIM_INFINITY
    assert resource.getrlimit(resource.RLIMIT_AS) == before
