"""Recurrent layers in JAX with their weights as arguments."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import recurrent as layers

UNITS = 4


def _lstm_cell(kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> nnx.OptimizedLSTMCell:
    cell: Any = nnx.OptimizedLSTMCell(len(kernel), len(recurrent), rngs=nnx.Rngs(0))
    cell.dense_i.kernel[...], cell.dense_h.kernel[...] = kernel, recurrent
    cell.dense_h.bias[...] = bias
    return cell


def _gru_cell(kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> nnx.GRUCell:
    cell: Any = nnx.GRUCell(len(kernel), len(recurrent), rngs=nnx.Rngs(0))
    cell.dense_i.kernel[...], cell.dense_h.kernel[...] = kernel, recurrent
    cell.dense_i.bias[...] = bias
    return cell


def _rnn(cell: Any, **options: Any) -> Any:
    return nnx.RNN(cell, rngs=nnx.Rngs(0), **options)


def _reorder(weights: jax.Array, *order: int) -> jax.Array:
    gates = jnp.split(weights, len(order), axis=-1)
    return jnp.concatenate([gates[place] for place in order], axis=-1)


def _add_to_forget_gate(bias: jax.Array) -> jax.Array:
    return bias.at[UNITS : 2 * UNITS].add(1)


def _mask(lengths: jax.Array) -> jax.Array:
    return jnp.arange(5) < lengths[:, None]


def lstm_gate_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return _rnn(_lstm_cell(kernel, recurrent, bias))(x)


def naive_lstm_gate_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    weights = (_reorder(weight, 0, 1, 3, 2) for weight in (kernel, recurrent, bias))
    return _rnn(_lstm_cell(*weights))(x)


def lstm_tf1_gate_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    kernel, recurrent, bias = (_reorder(weight, 0, 2, 1, 3) for weight in (kernel, recurrent, bias))
    return _rnn(_lstm_cell(kernel, recurrent, _add_to_forget_gate(bias)))(x)


def naive_lstm_tf1_gate_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return _rnn(_lstm_cell(kernel, recurrent, bias))(x)


def lstm_states_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> Any:
    (cell, hidden), _ = _rnn(_lstm_cell(kernel, recurrent, bias), return_carry=True)(x)
    return {"hidden": hidden, "cell": cell}


def naive_lstm_states_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> Any:
    (hidden, cell), _ = _rnn(_lstm_cell(kernel, recurrent, bias), return_carry=True)(x)
    return {"hidden": hidden, "cell": cell}


def lstm_hard_sigmoid(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return layers.lstm(x, kernel, recurrent, bias, recurrent_activation=_hard_sigmoid)[0]


def _hard_sigmoid(x: jax.Array) -> jax.Array:
    return jnp.where((x > -3) & (x < 3), (x + 3) / 6, jax.lax.stop_gradient(jnp.clip((x + 3) / 6, 0, 1)))


def naive_lstm_hard_sigmoid(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return layers.lstm(x, kernel, recurrent, bias, recurrent_activation=_hard_sigmoid_of_keras_2)[0]


def _hard_sigmoid_of_keras_2(x: jax.Array) -> jax.Array:
    return jnp.clip(0.2 * x + 0.5, 0, 1)


def gru_gate_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return layers.gru(x, kernel, recurrent, bias)[0]


def naive_gru_gate_order(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return _rnn(_gru_cell(kernel, recurrent, bias[0]))(x)


def gru_recurrent_bias(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return layers.gru(x, kernel, recurrent, bias)[0]


def naive_gru_recurrent_bias(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    weights = (_reorder(weight, 1, 0, 2) for weight in (kernel, recurrent, bias[0] + bias[1]))
    return _rnn(_gru_cell(*weights))(x)


def gru_reset_before(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    return layers.gru(x, kernel, recurrent, bias, reset_after=False)[0]


def naive_gru_reset_before(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    weights = (_reorder(weight, 1, 0, 2) for weight in (kernel, recurrent, bias))
    return _rnn(_gru_cell(*weights))(x)


def bidirectional_order(x: jax.Array, *weights: jax.Array) -> jax.Array:
    forward, backward = _rnn(_lstm_cell(*weights[:3])), _rnn(_lstm_cell(*weights[3:]), reverse=True, keep_order=True)
    return jnp.concatenate([forward(x), backward(x)], axis=-1)


def naive_bidirectional_order(x: jax.Array, *weights: jax.Array) -> jax.Array:
    forward, backward = _rnn(_lstm_cell(*weights[:3])), _rnn(_lstm_cell(*weights[3:]), reverse=True)
    return jnp.concatenate([forward(x), backward(x)], axis=-1)


def bidirectional_last(x: jax.Array, *weights: jax.Array) -> jax.Array:
    forward, backward = _rnn(_lstm_cell(*weights[:3])), _rnn(_lstm_cell(*weights[3:]), reverse=True)
    return jnp.concatenate([forward(x)[:, -1], backward(x)[:, -1]], axis=-1)


def naive_bidirectional_last(x: jax.Array, *weights: jax.Array) -> jax.Array:
    return bidirectional(x, *weights)[:, -1]


def bidirectional_mask(x: jax.Array, lengths: jax.Array, *weights: jax.Array) -> jax.Array:
    forward = _rnn(_lstm_cell(*weights[:3]), return_carry=True)
    backward = _rnn(_lstm_cell(*weights[3:]), return_carry=True, reverse=True)
    ends = [rnn(x, seq_lengths=lengths)[0] for rnn in (forward, backward)]
    return jnp.concatenate([hidden for _, hidden in ends], axis=-1)


def naive_bidirectional_mask(x: jax.Array, lengths: jax.Array, *weights: jax.Array) -> jax.Array:
    forward = _rnn(_lstm_cell(*weights[:3]), return_carry=True)
    backward = _rnn(_lstm_cell(*weights[3:]), return_carry=True, reverse=True)
    ends = [forward(x, seq_lengths=lengths)[0], backward(x)[0]]
    return jnp.concatenate([hidden for _, hidden in ends], axis=-1)


def rnn_mask_last(
    x: jax.Array, lengths: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array
) -> jax.Array:
    (_, hidden), _ = _rnn(_lstm_cell(kernel, recurrent, bias), return_carry=True)(x, seq_lengths=lengths)
    return hidden


def naive_rnn_mask_last(
    x: jax.Array, lengths: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array
) -> jax.Array:
    return _rnn(_lstm_cell(kernel, recurrent, bias))(x)[:, -1]


def rnn_mask_anywhere(
    x: jax.Array, mask: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array
) -> jax.Array:
    return layers.lstm(x, kernel, recurrent, bias, mask)[0][:, -1]


def naive_rnn_mask_anywhere(
    x: jax.Array, mask: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array
) -> jax.Array:
    return rnn_mask_last(x, mask.sum(1), kernel, recurrent, bias)


def rnn_masked_outputs(
    x: jax.Array, mask: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array
) -> jax.Array:
    return layers.lstm(x, kernel, recurrent, bias, mask)[0]


def naive_rnn_masked_outputs(
    x: jax.Array, mask: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array
) -> jax.Array:
    return layers.lstm(x, kernel, recurrent, bias, mask)[0] * mask[..., None]


def rnn_masked_first_output(
    x: jax.Array,
    mask: jax.Array,
    kernel: jax.Array,
    recurrent: jax.Array,
    bias: jax.Array,
    hidden: jax.Array,
    cell: jax.Array,
) -> jax.Array:
    return layers.lstm(x, kernel, recurrent, bias, mask, (hidden, cell))[0]


def naive_rnn_masked_first_output(
    x: jax.Array,
    mask: jax.Array,
    kernel: jax.Array,
    recurrent: jax.Array,
    bias: jax.Array,
    hidden: jax.Array,
    cell: jax.Array,
) -> jax.Array:
    step = _lstm_cell(kernel, recurrent, bias)

    def masked_step(carry: Any, frame: Any) -> Any:
        following = jax.tree.map(
            lambda new, old: jnp.where(frame[1][:, None], new, old), step(carry, frame[0])[0], carry
        )
        return following, following[1]

    _, outputs = jax.lax.scan(masked_step, (cell, hidden), (x.swapaxes(0, 1), mask.T))
    return outputs.swapaxes(0, 1)


def _conv_lstm(
    x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array, padding: str, order: str = "ifgo"
) -> jax.Array:
    def convolve(values: jax.Array, kernel: jax.Array, padding: str) -> jax.Array:
        return jax.lax.conv_general_dilated(values, kernel, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    inputs = jax.vmap(lambda step: convolve(step, kernel, padding) + bias, 1)(x)
    hidden = cell = jnp.zeros((*inputs.shape[1:-1], recurrent.shape[2]))
    outputs = []
    for step in inputs:
        gates = dict(zip(order, jnp.split(step + convolve(hidden, recurrent, "SAME"), 4, -1), strict=True))
        cell = jax.nn.sigmoid(gates["f"]) * cell + jax.nn.sigmoid(gates["i"]) * jnp.tanh(gates["g"])
        hidden = jax.nn.sigmoid(gates["o"]) * jnp.tanh(cell)
        outputs.append(hidden)
    return jnp.stack(outputs, 1)


def simple_rnn(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    cell: Any = nnx.SimpleCell(3, UNITS, rngs=nnx.Rngs(0))
    cell.dense_i.kernel[...], cell.dense_h.kernel[...], cell.dense_i.bias[...] = kernel, recurrent, bias
    return _rnn(cell)(x)


def bidirectional(x: jax.Array, *weights: jax.Array) -> jax.Array:
    forward, backward = (_rnn(_lstm_cell(*of_direction)) for of_direction in (weights[:3], weights[3:]))
    both: Any = nnx.Bidirectional(forward, backward)
    return both(x)


def rnn_return_state(x: jax.Array, lengths: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> Any:
    (cell, hidden), _ = _rnn(_lstm_cell(kernel, recurrent, bias), return_carry=True)(x, seq_lengths=lengths)
    return {"hidden": hidden, "cell": cell}


def gru_without_recurrent_bias(x: jax.Array, kernel: jax.Array, recurrent: jax.Array) -> jax.Array:
    cell = _gru_cell(_reorder(kernel, 1, 0, 2), _reorder(recurrent, 1, 0, 2), jnp.zeros(3 * UNITS))
    return _rnn(cell)(x)
