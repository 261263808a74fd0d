"""The functions of a port file that build its two sides, each in a process that imports the framework of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.porting.training_source import Training
from compare.porting.written_classes import Written

WEIGHTS, RECEIPT = "weights.safetensors", "weights.receipt.json"
BUILD_TF, BUILD_JAX = "build_tf", "build_jax"


@dataclass(frozen=True)
class Builder:
    """The text of one function.

    Attributes:
      imports: its first lines.
      expression: the model that it returns.
      lines: between both.
    """

    imports: Sequence[str]
    expression: str
    lines: Sequence[str] = ()

    def text(self, name: str, about: str) -> str:
        """The function."""
        body = [*self.imports, "", *self.lines, f"return {self.expression}"]
        head = (
            f"def {name}(dimensions: Mapping[str, int], dtype: str) -> Any:",
            f'    """{about} in a float type."""',
        )
        return "\n".join([*head, *(f"    {line}" if line else "" for line in body)])


def builders_text(tf: Builder, jax: Builder) -> str:
    """Both functions."""
    reason = "# Each side is built in a process of its own. Neither imports the framework of the other.\n"
    return f"{reason}{tf.text(BUILD_TF, 'The original')}\n\n\n{jax.text(BUILD_JAX, 'The port')}"


@dataclass(frozen=True)
class Original:
    """Where a port finds its original.

    Attributes:
      reference: the path of a .keras file, or FILE.py:NAME, from the folder of the port.
      custom: FILE.py:NAME of every class that such a file names and Keras does not have, likewise.
    """

    reference: str
    custom: tuple[str, ...] = ()

    @property
    def constants(self) -> str:
        """Lines that name it, and the receipt of the port."""
        lines = f"ORIGINAL, RECEIPT = str(HERE / {self.reference!r}), HERE / {RECEIPT!r}"
        classes = "".join(f"str(HERE / {reference!r}), " for reference in self.custom)
        return f"{lines}\nCUSTOM = ({classes})" if classes else lines

    @property
    def arguments(self) -> str:
        """The first arguments of what builds it."""
        return "ORIGINAL, RECEIPT, dtype" + (", custom=CUSTOM" if self.custom else "")


def original_builder(original: Original, source: Written, with_training: bool) -> Builder:
    """The function that builds the original.

    Args:
      with_training: whether it is judged in training too.
    """
    arguments = f"{original.arguments}, inputs={len(source.parameters)}, trained={with_training}"
    return Builder(("from tf_reference import keras_port",), f"keras_port({arguments})")


def module_builder(source: Written, training: Training) -> Builder:
    """The function that builds the port."""
    imports, arguments = _linen_arguments(training) if source.linen else training_arguments(training)
    module = f"linen_port({source.class_name}()" if source.linen else f"flax_port({source.class_name}"
    expression = f"jaxport.ports.{module}, RECEIPT, dtype, inputs={len(source.parameters)}"
    return Builder((*imports_of_module([source.class_name]), *imports), f"{expression}{arguments})")


def imports_of_module(classes: Sequence[str]) -> tuple[str, ...]:
    """The imports of a function that builds the port, but those of its training."""
    return ("import jaxport", f"from model_jax import {', '.join(classes)}")


def _linen_arguments(training: Training) -> tuple[Sequence[str], str]:
    """Like `training_arguments`, for a Linen module."""
    if not training.text:
        return (), ""
    names = (*([] if training.has_own_step else ["loss"]), "make_state", "train_step")
    return (f"from training_jax import {', '.join(names)}",), "".join(f", {name}={name}" for name in names)


def training_arguments(training: Training) -> tuple[Sequence[str], str]:
    """The import of a training that was written, and the arguments that hand it over; nothing where there is none."""
    if not training.text:
        return (), ""
    names = (
        ["TRAINED"] * training.is_filtered + ["loss"] * (not training.has_own_step) + ["make_optimizer", "train_step"]
    )
    values = {"loss": "loss", "make_optimizer": "make_optimizer()", "train_step": "train_step", "TRAINED": "TRAINED"}
    parameters = {"make_optimizer": "optimizer", "TRAINED": "wrt"}
    arguments = "".join(f", {parameters.get(name, name)}={text}" for name, text in values.items() if name in names)
    return (f"from training_jax import {', '.join(names)}",), arguments
