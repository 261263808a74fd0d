"""Recurrent layers: orders of gates and states, second biases, masks, directions."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X, MASK, LENGTHS = ArraySpec((2, 5, 3)), ArraySpec((2, 5), "bool"), ArraySpec((2,), "int32", low=1, high=5)
LSTM = {"kernel": ArraySpec((3, 16)), "recurrent": ArraySpec((4, 16)), "bias": ArraySpec((16,))}
GRU = {"kernel": ArraySpec((3, 12)), "recurrent": ArraySpec((4, 12)), "bias": ArraySpec((2, 12))}
SIMPLE = {"kernel": ArraySpec((3, 4)), "recurrent": ArraySpec((4, 4)), "bias": ArraySpec((4,))}
BOTH = LSTM | {f"{name}_back": spec for name, spec in LSTM.items()}
STATES = {"hidden": ArraySpec((2, 4)), "cell": ArraySpec((2, 4))}
IMAGES = {
    "x": ArraySpec((2, 3, 6, 6, 2)),
    "kernel": ArraySpec((3, 3, 2, 12)),
    "recurrent": ArraySpec((3, 3, 3, 12)),
    "bias": ArraySpec((12,)),
}
LSTMS = ("keras.layers.LSTM", "flax.nnx.LSTMCell", "flax.nnx.OptimizedLSTMCell")
GRUS = ("keras.layers.GRU", "flax.nnx.GRUCell")
RNNS = ("keras.layers.LSTM", "keras.layers.Masking", "flax.nnx.RNN")
BIDIRECTIONAL = ("keras.layers.Bidirectional", "flax.nnx.RNN", "flax.nnx.Bidirectional")
CONV = ("keras.layers.ConvLSTM2D", "flax.linen.ConvLSTMCell")

GOTCHAS = (
    Gotcha(
        "lstm_gate_order",
        "Keras's gates stand in the order i, f, g, o, as in nnx.OptimizedLSTMCell; other libraries have i, f, o, g.",
        LSTMS, {"x": X, **LSTM}, "semantics",
        tf="_call(LSTM, (kernel, recurrent, bias), x)",
    ),
    Gotcha(
        "lstm_tf1_gate_order",
        "TensorFlow 1's cells have the order i, g, f, o, and add 1 to the forget gate: permute the kernel, and add 1 "
        "to the bias.",
        ("tf.compat.v1.nn.rnn_cell.BasicLSTMCell", *LSTMS), {"x": X, **LSTM}, "semantics",
    ),
    Gotcha(
        "lstm_states_order",
        "Keras returns hidden, then cell; Flax's cells carry cell, then hidden.", LSTMS, {"x": X, **LSTM}, "semantics",
    ),
    Gotcha(
        "lstm_initial_state",
        "Keras's initial_state is hidden, then cell; Flax's initial_carry is cell, then hidden.",
        LSTMS, {"x": X, **LSTM, **STATES}, "semantics",
        tf="_call(LSTM, (kernel, recurrent, bias), x, initial_state=[hidden, cell])",
        jax="_rnn(_lstm_cell(kernel, recurrent, bias))(x, initial_carry=(cell, hidden))",
        naive="_rnn(_lstm_cell(kernel, recurrent, bias))(x, initial_carry=(hidden, cell))",
    ),
    Gotcha(
        "lstm_unit_forget_bias",
        "Keras's forget biases start at 1, those of nnx.OptimizedLSTMCell at 0.",
        LSTMS, {"x": X, "kernel": LSTM["kernel"], "recurrent": LSTM["recurrent"]}, "semantics",
        tf="_call(LSTM, (kernel, recurrent, LSTM.cell.bias.value), x)",
        jax="_rnn(_lstm_cell(kernel, recurrent, _add_to_forget_gate(jnp.zeros(4 * UNITS))))(x)",
        naive="_rnn(_lstm_cell(kernel, recurrent, jnp.zeros(4 * UNITS)))(x)",
    ),
    Gotcha(
        "lstm_hard_sigmoid",
        "Keras 3's hard_sigmoid is relu6(x + 3) / 6; up to Keras 2 it was clip(0.2 x + 0.5, 0, 1).",
        ("keras.layers.LSTM", "keras.activations.hard_sigmoid"), {"x": X, **LSTM}, "semantics",
        tf="_call(LSTM_HARD, (kernel, recurrent, bias), x)",
    ),
    Gotcha(
        "gru_gate_order",
        "Keras's gates stand in the order z, r, h, those of nnx.GRUCell in the order r, z, n: permute them.",
        GRUS, {"x": X, **GRU}, "semantics",
        tf="_call(GRU, (kernel, recurrent, bias), x)",
    ),
    Gotcha(
        "gru_recurrent_bias",
        "nnx.GRUCell has no bias of the recurrent product, and the reset gate scales it: it cannot be added to the "
        "other one. Use jaxport.recurrent.gru.",
        GRUS, {"x": X, **GRU}, "semantics",
        tf="_call(GRU, (kernel, recurrent, bias), x)",
    ),
    Gotcha(
        "gru_reset_before",
        "With reset_after=False Keras scales the state before the product, nnx.GRUCell after it: use "
        "jaxport.recurrent.gru.",
        GRUS, {"x": X, **SIMPLE, "kernel": GRU["kernel"], "recurrent": GRU["recurrent"], "bias": ArraySpec((12,))},
        "semantics",
        tf="_call(GRU_BEFORE, (kernel, recurrent, bias), x)",
    ),
    Gotcha(
        "bidirectional_order",
        "Keras turns the backward outputs round again; nnx.RNN(reverse=True) does so with keep_order=True.",
        BIDIRECTIONAL, {"x": X, **BOTH}, "semantics",
    ),
    Gotcha(
        "bidirectional_last",
        "Without return_sequences Keras takes the last output of each direction, which for the backward one is at the "
        "first step: outputs[:, -1] of the sequences is not.",
        BIDIRECTIONAL, {"x": X, **BOTH}, "semantics",
    ),
    Gotcha(
        "bidirectional_mask",
        "Padding must be skipped backward too: without seq_lengths the reversed half starts with it.",
        BIDIRECTIONAL, {"x": X, "lengths": LENGTHS, **BOTH}, "semantics",
    ),
    Gotcha(
        "go_backwards",
        "Keras's go_backwards leaves outputs in the order in which they were computed; keep_order=True turns them "
        "round.",
        ("keras.layers.LSTM", "flax.nnx.RNN"), {"x": X, **LSTM}, "semantics",
        tf="_call(LSTM_BACKWARDS, (kernel, recurrent, bias), x)",
        jax="_rnn(_lstm_cell(kernel, recurrent, bias), reverse=True)(x)",
        naive="_rnn(_lstm_cell(kernel, recurrent, bias), reverse=True, keep_order=True)(x)",
    ),
    Gotcha(
        "rnn_mask_last",
        "The last output of Keras is that of the last step that is not masked: outputs[:, -1] without seq_lengths is "
        "another.",
        RNNS, {"x": X, "lengths": LENGTHS, **LSTM}, "semantics",
        tf="_call(LSTM_LAST, (kernel, recurrent, bias), x, mask=tf.sequence_mask(lengths, 5))",
    ),
    Gotcha(
        "rnn_mask_anywhere",
        "A mask of Keras may have holes, which are skipped; seq_lengths of nnx.RNN cannot say that: use "
        "jaxport.recurrent.lstm.",
        RNNS, {"x": X, "mask": MASK, **LSTM}, "semantics",
        tf="_call(LSTM_LAST, (kernel, recurrent, bias), x, mask=mask)",
    ),
    Gotcha(
        "rnn_masked_outputs",
        "At a masked step Keras repeats the output before it; multiplying outputs with the mask makes it 0.",
        RNNS, {"x": X, "mask": MASK, **LSTM}, "semantics",
        tf="_call(LSTM, (kernel, recurrent, bias), x, mask=mask)",
    ),
    Gotcha(
        "rnn_masked_first_output",
        "Before the first step that is not masked Keras gives 0, not the initial state.",
        RNNS, {"x": X, "mask": MASK, **LSTM, **STATES}, "semantics",
        tf="_call(LSTM, (kernel, recurrent, bias), x, mask=mask, initial_state=[hidden, cell])",
    ),
    Gotcha(
        "conv_lstm_gate_order",
        "Keras's ConvLSTM has the gates i, f, g, o, Flax's ConvLSTMCell i, g, f, o: permute them.",
        CONV, IMAGES, "semantics",
        tf="_call(CONV_SAME, (kernel, recurrent, bias), x)",
        jax="_conv_lstm(x, kernel, recurrent, bias, 'SAME')",
        naive="_conv_lstm(x, kernel, recurrent, bias, 'SAME', order='igfo')",
    ),
    Gotcha(
        "conv_lstm_padding",
        "Keras's padding, 'valid' unless told, is that of the input's convolution; the state's is always 'same'. "
        "Flax's ConvLSTMCell has 'SAME' for both.",
        CONV, IMAGES, "semantics",
        tf="_call(CONV_VALID, (kernel, recurrent, bias), x)",
        jax="_conv_lstm(x, kernel, recurrent, bias, 'VALID')",
        naive="_conv_lstm(x, kernel, recurrent, bias, 'SAME')[:, :, 1:-1, 1:-1]",
    ),
    Gotcha("lstm", "nnx.OptimizedLSTMCell takes Keras's kernels as they are.", LSTMS, {"x": X, **LSTM},
           tf="_call(LSTM, (kernel, recurrent, bias), x)", jax="_rnn(_lstm_cell(kernel, recurrent, bias))(x)"),
    Gotcha("simple_rnn", "nnx.SimpleCell takes Keras's kernels as they are.",
           ("keras.layers.SimpleRNN", "flax.nnx.SimpleCell"), {"x": X, **SIMPLE},
           tf="_call(SIMPLE, (kernel, recurrent, bias), x)"),
    Gotcha("bidirectional", "nnx.Bidirectional keeps the order, and concatenates, as Keras.",
           BIDIRECTIONAL, {"x": X, **BOTH}),
    Gotcha("rnn_return_state", "The state of nnx.RNN with seq_lengths is that of the last step that counts.",
           RNNS, {"x": X, "lengths": LENGTHS, **LSTM}),
    Gotcha("gru_without_recurrent_bias", "Without the recurrent bias nnx.GRUCell is right once its gates are permuted.",
           GRUS, {"x": X, "kernel": GRU["kernel"], "recurrent": GRU["recurrent"]},
           tf="_call(GRU, (kernel, recurrent, tf.zeros((2, 3 * UNITS))), x)"),
)  # fmt: skip
