"""The training of a Linen module: its state, how the loss calls the module, and the step."""

from __future__ import annotations

from collections.abc import Sequence

from compare.porting.frozen_layers import frozen_constant
from compare.porting.linen_classes import TRAIN, LinenCall
from compare.porting.written_classes import Written

STATE = "make_state"
"""The function that makes the state of a training."""

_UPDATES = "updates"


def state_lines(source: Written, call: LinenCall) -> list[list[str]]:
    """The class of the state, where it has more than parameters and optimizer, and the function that makes it."""
    more = {
        **({"batch_stats": ("Any", 'variables["batch_stats"]')} if call.has_statistics else {}),
        **({"dropout_key": ("jax.Array", "jax.random.key(0)")} if call.draws else {}),
    }
    of_class = [
        "class TrainState(train_state.TrainState):",
        '    """Parameters and optimizer, and what else a step needs."""',
        "",
        *(f"    {name}: {kind}" for name, (kind, _) in more.items()),
    ]
    arguments = "".join(f", {name}={value}" for name, (_, value) in more.items())
    of_function = [
        f"def {STATE}(variables: Any) -> {_state(call)}:",
        '    """The state before the first step, of variables as `init` or `jaxport.weights.load` gives them."""',
        f'    apply_fn, params = {source.class_name}().apply, variables["params"]',
        f"    return {_state(call)}.create(apply_fn=apply_fn, params=params, tx=make_optimizer(){arguments})",
    ]
    return [*([of_class] if more else []), of_function]


def _state(call: LinenCall) -> str:
    return "TrainState" if call.has_statistics or call.draws else "train_state.TrainState"


def loss_head(call: LinenCall) -> list[str]:
    """The signature of the loss."""
    returns = "tuple[jax.Array, Any]" if call.has_statistics else "jax.Array"
    what = "f32[], the statistics after it" if call.has_statistics else "f32[]"
    return [
        f"def loss(params: Any, state: {_state(call)}, inputs: tuple[jax.Array, ...], targets: Any) -> {returns}:",
        f'    """{what}: the loss of a batch, as Keras takes it."""',
    ]


def prediction_lines(call: LinenCall, results: Sequence[str], method: str) -> list[str]:
    """The lines that call the module.

    Args:
      method: that is called; "" is the call itself.
    """
    statistics = ', "batch_stats": state.batch_stats' if call.has_statistics else ""
    mode = f", {TRAIN}=True" if call.takes_train else ""
    which = f", method={method!r}" if method else ""
    drawing = ', rngs={"dropout": jax.random.fold_in(state.dropout_key, state.step)}' if call.draws else ""
    mutable = ', mutable=["batch_stats"]' if call.has_statistics else ""
    targets = ", ".join(results)
    if call.has_statistics:
        targets = f"{f'({targets})' if len(results) > 1 else targets}, {_UPDATES}"
    return [
        f'    variables = {{"params": params{statistics}}}',
        f"    {targets} = state.apply_fn(variables, *inputs{mode}{which}{drawing}{mutable})",
    ]


def result_text(call: LinenCall, value: str) -> str:
    """The text of the loss's results."""
    return f"{value}, {_UPDATES}" if call.has_statistics else value


def step_lines(call: LinenCall, clips: Sequence[str]) -> list[str]:
    """The training step."""
    state = _state(call)
    values, beside, more = "value", "", ""
    if call.has_statistics:
        values, beside, more = f"(value, {_UPDATES})", ", has_aux=True", f", **{_UPDATES}"
    return [
        "@jax.jit",
        f"def train_step(state: {state}, inputs: tuple[jax.Array, ...], targets: Any) -> tuple[{state}, jax.Array]:",
        '    """The state after the step, and the loss f32[] before it."""',
        f"    {values}, gradients = jax.value_and_grad(loss{beside})(state.params, state, inputs, targets)",
        *(f"    gradients, _ = {clip}.update(gradients, optax.EmptyState())" for clip in clips),
        f"    return state.apply_gradients(grads=gradients{more}), value",
    ]


def frozen_labels(places: Sequence[str]) -> list[str]:
    """The function that says which parameters are trained; nothing where all of them are."""
    if not places:
        return []
    places_text = "".join(f"{tuple(place.split('.'))!r}, " for place in places)
    return [
        *frozen_constant(places_text),
        "def label_parameters(params: Any) -> Any:",
        '    """Of each parameter, "trained" or "frozen"."""',
        "    def label(path: tuple[str, ...], value: Any) -> str:",
        '        return "frozen" if any(path[: len(place)] == place for place in FROZEN) else "trained"',
        "",
        "    return traverse_util.path_aware_map(label, params)",
    ]


def of_trained(optimizer: str) -> str:
    """An optimizer that changes what is trained, and nothing else."""
    return f'optax.multi_transform({{"trained": {optimizer}, "frozen": optax.set_to_zero()}}, label_parameters)'


def variable_text(path: str) -> str:
    """A parameter as the loss reaches it: "params['head']['kernel']"."""
    return f"params{''.join(f'[{step!r}]' for step in path.split('.'))}"
