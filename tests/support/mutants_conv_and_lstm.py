"""Porting errors to be planted in the convolutional network and the LSTM."""

from __future__ import annotations

from mutants import Mutant

MUTANTS = (
    Mutant(
        "kernel with height and width swapped",
        "conv_mnist",
        "self.kernel.get_value())",
        "self.kernel.get_value().swapaxes(0, 1))",
    ),
    Mutant("circular padding", "conv_mnist", "first, second, kernel,", "first, second, kernel, padding='CIRCULAR',"),
    Mutant(
        "channels before places in the flattening",
        "conv_mnist",
        "features.reshape(",
        "features.transpose(0, 3, 1, 2).reshape(",
    ),
    Mutant("draws upside down", "conv_mnist", "flat, draws,", "flat, 255 - draws,", "gradients"),
    Mutant(
        "dropout at inference",
        "conv_mnist",
        "nnx.merge(graph, parameters)(images)\n",
        "nnx.merge(graph, parameters)(images, draws)\n",
    ),
    Mutant(
        "mean instead of maximum",
        "conv_mnist",
        "jnp.where(_is_first(first, second), first, second)",
        "(first + second) / 2",
    ),
    Mutant("leaky activation", "conv_mnist", "nnx.relu(self.conv1", "nnx.leaky_relu(self.conv1"),
    Mutant(
        "half a gradient to each of a tie",
        "conv_mnist",
        "_of_four(images[:, : height // 2 * 2, : width // 2 * 2])",
        "images.reshape(len(images), height // 2, 2, width // 2, 2, -1).max((2, 4))",
        "gradients",
        only_kinks=True,
    ),
    Mutant(
        "the last of a tie",
        "conv_mnist",
        "(first >= second)",
        "(first > second)",
        "gradients",
        only_kinks=True,
    ),
    Mutant("gates i, f, o, g", "lstm", "i, f, g, o = jnp.split", "i, f, o, g = jnp.split"),
    Mutant("forget gate opened twice", "lstm", "jax.nn.sigmoid(f)", "jax.nn.sigmoid(f + 1)"),
    Mutant("padding runs through the hidden state", "lstm", "jnp.where(x[1], following[0], hidden)", "following[0]"),
    Mutant("mask one step too long", "lstm", "< lengths", "<= lengths"),
    Mutant("softmax over the batch", "lstm", "sequences, lengths))", "sequences, lengths), axis=0)"),
    Mutant("kernel meets the state after", "lstm", "return state, (hidden,", "return state, (state[0],", "gradients"),
    Mutant("slope of tanh forgotten", "lstm", "o * (1 - tanh_cell * tanh_cell)", "o", "gradients"),
    Mutant("padding in the gradient", "lstm", "jnp.where(present, by_state, 0)", "by_state", "gradients"),
    Mutant("cell's gradient not carried", "lstm", ", by_cell * f\n", ", by_hidden * f\n", "gradients"),
    Mutant("sum instead of mean", "lstm", "labels).mean()", "labels).sum()", "gradients"),
    Mutant("gates i, g, f, o in the cell", "lstm_cell", "i, f, g, o = jnp.split", "i, g, f, o = jnp.split"),
    Mutant("hidden and cell swapped", "lstm_cell", '"hidden": hidden, "cell": cell', '"hidden": cell, "cell": hidden'),
    Mutant("state as (cell, hidden)", "lstm_cell", "(hidden, cell))", "(cell, hidden))"),
    Mutant("no bias", "lstm_cell", " + weights.bias[...])\n    return _next", ")\n    return _next"),
    Mutant("cell not squashed", "lstm_cell", "cell_tanh = jnp.tanh(following)", "cell_tanh = following"),
)
