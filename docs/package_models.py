"""Writes docs/results/package_models.md: `jaxport init` on models of packages that nobody here wrote.

    pip install --no-deps --target PACKAGES keras-hub==0.32.0 kimm==0.2.5 ...      as the page says
    PYTHONPATH=docs:PACKAGES python docs/package_models.py                         the page of what is recorded
    PYTHONPATH=docs:PACKAGES python docs/package_models.py BertTextClassifier TCN  write and judge these first
    ... --no-run, --keep FOLDER                                                    as docs/keras_applications.py

A record a model is kept beside the page; a model without one is listed as not judged yet.
"""

from pathlib import Path

from written_models import Page, table

PACKAGES = {
    "keras_hub": "keras-hub 0.32.0", "kimm": "kimm 0.2.5", "tcn": "keras-tcn 3.5.7",
    "keras_self_attention": "keras-self-attention 0.51.0", "keras_rs": "keras-rs 0.4.0", "deepctr": "deepctr 0.9.4",
    "keras_unet_collection": "keras-unet-collection 0.1.13",
}  # fmt: skip
"""By the name that is imported: the package."""

_TEXT = "vocabulary_size=60, num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=32, max_sequence_length=12"
_GROUPS = (
    "vocabulary_size=60, num_layers=2, num_query_heads=4, num_key_value_heads=2, hidden_dim=16, intermediate_dim=32"
)
_COMPILED = 'model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))'
_IMAGES = "input_shape=(32, 32, 3), weights=None, classes=5, include_preprocessing=False"


def _of_hub(backbone: str, arguments: str, *, task: str = "", more: str = "") -> tuple[str, str, str]:
    """A backbone of keras-hub with a head, or a task of it, which compiles itself."""
    made = f"keras_hub.models.{backbone}({arguments})"
    if task:
        return "keras_hub", f"keras_hub.models.{task}({made}{more})", ""
    return "keras_hub", f"with_head({made})", _COMPILED


def _of_kimm(name: str) -> tuple[str, str, str]:
    return "kimm", f"kimm.models.{name}({_IMAGES})", 'model.compile("adam", "sparse_categorical_crossentropy")'


MODELS: dict[str, tuple[str, str, str]] = {
    "BertTextClassifier": _of_hub("BertBackbone", _TEXT, task="BertTextClassifier", more=", num_classes=3"),
    "RobertaBackbone": _of_hub("RobertaBackbone", _TEXT),
    "DistilBertBackbone": _of_hub("DistilBertBackbone", _TEXT),
    "AlbertBackbone": _of_hub("AlbertBackbone", f"{_TEXT}, embedding_dim=8"),
    "DebertaV3Backbone": _of_hub("DebertaV3Backbone", f"{_TEXT}, bucket_size=8"),
    "FNetBackbone": _of_hub("FNetBackbone", _TEXT),
    "GPT2CausalLM": _of_hub("GPT2Backbone", _TEXT, task="GPT2CausalLM"),
    "LlamaCausalLM": _of_hub("LlamaBackbone", _GROUPS, task="LlamaCausalLM"),
    "MistralBackbone": _of_hub("MistralBackbone", _GROUPS),
    "Qwen3Backbone": _of_hub("Qwen3Backbone", f"{_GROUPS}, head_dim=8"),
    "GemmaBackbone": _of_hub("GemmaBackbone", _GROUPS.replace("value_heads=2", "value_heads=1") + ", head_dim=8"),
    "T5Backbone": _of_hub("T5Backbone", _TEXT.replace(", max_sequence_length=12", "")),
    "BartBackbone": _of_hub("BartBackbone", _TEXT),
    "WhisperBackbone": _of_hub(
        "WhisperBackbone",
        "vocabulary_size=60, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32, num_mels=8, "
        "max_encoder_sequence_length=16, max_decoder_sequence_length=12",
    ),
    "BertMaskedLM": _of_hub("BertBackbone", _TEXT, task="BertMaskedLM"),
    "CLIPVisionEncoder": _of_hub(
        "CLIPVisionEncoder",
        "patch_size=8, hidden_dim=16, num_layers=2, num_heads=2, intermediate_dim=32, image_shape=(32, 32, 3)",
    ),
    "DINOV2Backbone": _of_hub(
        "DINOV2Backbone",
        "patch_size=4, num_layers=2, hidden_dim=16, num_heads=2, intermediate_dim=32, image_shape=(16, 16, 3)",
    ),
    "ViTImageClassifier": _of_hub(
        "ViTBackbone",
        "image_shape=(16, 16, 3), patch_size=(4, 4), num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32",
        task="ViTImageClassifier", more=", num_classes=4",
    ),
    "LCNet035": _of_kimm("LCNet035"),
    "MobileViTXXS": _of_kimm("MobileViTXXS"),
    "VisionTransformerTiny16": _of_kimm("VisionTransformerTiny16"),
    "RepVGGA0": _of_kimm("RepVGGA0"),
    "ResNet18": _of_kimm("ResNet18"),
    "TCN": (
        "tcn",
        "keras.Sequential([keras.Input((16, 3)), tcn.TCN(8, dilations=(1, 2, 4), use_layer_norm=True), "
        "keras.layers.Dense(1)])",
        'model.compile("adam", "mse")',
    ),
    "SeqSelfAttention": (
        "keras_self_attention",
        "keras.Sequential([keras.Input((12,)), keras.layers.Embedding(50, 8), "
        "keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True)), "
        'keras_self_attention.SeqSelfAttention(attention_activation="sigmoid"), keras.layers.Dense(5)])',
        _COMPILED,
    ),
    "FeatureCross": ("keras_rs", "crossed(keras_rs.layers.FeatureCross(), keras_rs.layers.FeatureCross(4))",
                     'model.compile(keras.optimizers.Adagrad(0.05), "mse")'),
    "DNN": ("deepctr", 'keras.Sequential([keras.Input((20,)), deepctr.layers.core.DNN((8, 4)), keras.layers.Dense(1)])',
            'model.compile("adam", "mse")'),
    "AttentionUNet": (
        "keras_unet_collection",
        'keras_unet_collection.models.att_unet_2d((32, 32, 3), [4, 8, 16], 2, 1, 1, attention="add", batch_norm=True)',
        'model.compile("adam", "categorical_crossentropy")',
    ),
}  # fmt: skip
"""Name -> what is imported, what makes the model, and how it is compiled; small, as its class allows."""

SOURCE = '''import keras
import {package}{submodule}


def with_head(backbone):
    """A backbone with one number of three classes a step, or an example."""
    found = backbone(backbone.input)
    if isinstance(found, dict):
        found = found[max(found)]
    return keras.Model(backbone.input, keras.layers.Dense(3)(found))


def crossed(first, second):
    """Two layers that cross features with those of the input."""
    x = keras.Input((10,))
    return keras.Model(x, keras.layers.Dense(1)(second(x, first(x, x))))


def build():
    model = {made}
    {compiled}
    return model
'''
_SUBMODULES = {"deepctr": ".layers.core", "keras_unet_collection": ".models"}

HEAD = f"""# Models of packages, written

Models and layers of packages on the registry, small, with random weights: `jaxport init model.py:build -o port`,
with no line by hand. Columns are those of [keras.applications](keras_applications.md). The packages are
{", ".join(sorted(PACKAGES.values()))}, on the versions of constraints.txt, with `regex`, `tokenizers`, `pillow` and
`tqdm` that they import. `python docs/package_models.py NAME` judges a model and writes this page.

{table("package")}"""


def _source(package: str, made: str, compiled: str) -> str:
    return SOURCE.format(
        package=package, submodule=_SUBMODULES.get(package, ""), made=made, compiled=compiled or "# It is compiled."
    )


PAGE = Page(
    path=Path(__file__).parent / "results" / "package_models.md",
    head=HEAD,
    sources={name: _source(*model) for name, model in MODELS.items()},
    columns={name: (PACKAGES[package].split()[0],) for name, (package, _, _) in MODELS.items()},
    counted="models",
)


if __name__ == "__main__":
    PAGE.main(__doc__ or "")
