"""Writes docs/results/keras_applications.md: `jaxport init` on models of keras.applications, with random weights.

    python docs/keras_applications.py                      the page of what is recorded
    python docs/keras_applications.py VGG16 ResNet50       write and judge these first: minutes each
    python docs/keras_applications.py --no-run VGG16       write it, and judge nothing
    python docs/keras_applications.py --keep FOLDER VGG16  leave what was written, and its whole record, in FOLDER/VGG16

A record a model is kept beside the page; a model without one is listed as not judged yet.
"""

from pathlib import Path

from written_models import DEFAULTS, Page, table

SIDES = {
    "VGG16": 32, "MobileNet": 32, "MobileNetV2": 32, "MobileNetV3Small": 32, "ResNet50": 32, "ResNet50V2": 32,
    "DenseNet121": 32, "EfficientNetB0": 32, "EfficientNetV2B0": 32,
    "ConvNeXtTiny": 32, "Xception": 71, "InceptionV3": 75, "InceptionResNetV2": 75, "NASNetMobile": 32,
}  # fmt: skip
"""The smallest of each family, and the side of its images: the smallest that it takes, or nearly so."""

SOURCE = """import keras


def build():
    model = keras.applications.{name}(weights=None, input_shape=({side}, {side}, 3), classes=10)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
"""

HEAD = f"""# keras.applications, written

Each family's smallest model with random weights and 10 classes, compiled with SGD and sparse categorical cross-entropy:
`jaxport init model.py:build -o port`, with no line by hand. The gates are those of `jaxport run`: forward pass and
gradients in float64 and float32, steps of training, far inputs. The command judges {DEFAULTS["batch"]} examples over
{DEFAULTS["steps"]} steps; a row that was made with other sizes says so and is not counted below. Seconds are those of
the whole command, on a machine that had other work; without gates, those of writing and carrying. A row of - is not
judged yet. `python docs/keras_applications.py NAME` judges a model at the defaults and writes this page.

{table("side")}"""

PAGE = Page(
    path=Path(__file__).parent / "results" / "keras_applications.md",
    head=HEAD,
    sources={name: SOURCE.format(name=name, side=side) for name, side in SIDES.items()},
    columns={name: (side,) for name, side in SIDES.items()},
    counted="families",
)


if __name__ == "__main__":
    PAGE.main(__doc__ or "")
