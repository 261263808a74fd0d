"""Writes docs/results/keras_applications.md: `jaxport init` on models of keras.applications, with random weights.

    python docs/keras_applications.py                      the page of what is recorded
    python docs/keras_applications.py VGG16 ResNet50       write and judge these first: minutes each
    python docs/keras_applications.py --no-run VGG16       write it, and judge nothing
    python docs/keras_applications.py --keep FOLDER VGG16  leave what was written, and its whole record, in FOLDER/VGG16

A record a model is kept beside the page; a model without one is listed as not judged yet.
"""

from pathlib import Path

from written_models import DEFAULTS, TIMEOUT_S, Page, table

NAMES = (
    *("VGG16", "MobileNet", "MobileNetV2", "MobileNetV3Small", "ResNet50", "ResNet50V2", "DenseNet121"),
    *("EfficientNetB0", "EfficientNetV2B0", "ConvNeXtTiny", "Xception", "InceptionV3", "InceptionResNetV2"),
    "NASNetMobile",
)
"""The smallest of each family."""
SIDE = 96
"""Of the images, in pixels: every family takes it."""

SOURCE = """import keras


def build():
    model = keras.applications.{name}(weights=None, input_shape=({side}, {side}, 3), classes=10)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
"""

HEAD = f"""# keras.applications, written

Each family's smallest model with random weights and 10 classes, compiled with SGD and sparse categorical
cross-entropy, for images of {SIDE} pixels: `jaxport init model.py:build -o port` at its default options
({DEFAULTS["batch"]} examples, {DEFAULTS["steps"]} steps of training), with no line by hand. The gates are those of
`jaxport run`: forward pass and gradients in float64 and float32, steps of training, far inputs. Lines are those of
`model_jax.py`. Seconds are those of the whole command; without gates, those of writing and carrying. Processor
seconds are those of all its processes. A load above 1 means that others worked too. A gate of - is not judged yet.
`python docs/keras_applications.py NAME` judges a model and writes this page; it lets a worker take {TIMEOUT_S} s for
an answer, in place of 300, as its machine is slow.

{table()}"""

PAGE = Page(
    path=Path(__file__).parent / "results" / "keras_applications.md",
    head=HEAD,
    sources={name: SOURCE.format(name=name, side=SIDE) for name in NAMES},
    columns=dict.fromkeys(NAMES, ()),
    counted="families",
)


if __name__ == "__main__":
    PAGE.main(__doc__ or "")
