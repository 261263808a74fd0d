"""The loss that is written of a model, beside its module with the same weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from filled_modules import filled, scope_of

from compare.porting.model_source import model_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled


def written_loss(model: Any, change: Callable[[str], str] | None = None) -> tuple[Any, Callable[..., Any]]:
    """A module and its loss, as they are written and changed: the change has to change something."""
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    training = training_source(architecture, written)
    assert written.places == () and training.unwritten == ()
    texts = (written.text, training.text)
    module_text, training_text = map(change, texts) if change else texts
    assert change is None or (module_text, training_text) != texts
    scope = scope_of(written, module_text)
    exec(f"from __future__ import annotations\n{training_text}", scope)
    return filled(written, module_text, model), scope["loss"]
