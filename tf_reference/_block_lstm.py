"""The LSTM as one operation whose kernel was written by hand, on CPU and GPU: XLA has none."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_GATES = 4
_UNCLIPPED = -1.0


def block_lstm(cell: Any, sequences: tf.Tensor, hidden: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Hidden states and cells after every step, [time, batch, units] each, in float32 or float16.

    BlockLSTM takes both kernels as one matrix, with the gates in the order i, g, f, o. BlockLSTMV2 has Keras' order,
    but TensorFlow 2.21 gives it the gradient of BlockLSTM, which takes g for f. Peepholes are off: what stands for
    their weights is not read.

    Args:
      sequences: [time, batch, features].
      hidden: the hidden state before the first step, [batch, units].
      state: the cell before the first step, [batch, units].
    """
    no_peephole = tf.zeros([cell.units], sequences.dtype)
    steps = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.constant(sequences.shape[0], tf.int64),
        x=sequences,
        cs_prev=state,
        h_prev=hidden,
        w=_reorder(tf.concat([cell.kernel, cell.recurrent_kernel], axis=0)),
        wci=no_peephole,
        wcf=no_peephole,
        wco=no_peephole,
        b=_reorder(cell.bias.value),
        forget_bias=0.0,
        cell_clip=_UNCLIPPED,
        use_peephole=False,
    )
    return steps.h, steps.cs


def _reorder(gates: tf.Tensor) -> tf.Tensor:
    """From Keras' order of gates to that of the kernel, [..., 4 units]."""
    i, f, g, o = tf.split(gates, _GATES, axis=-1)
    return tf.concat([i, g, f, o], axis=-1)
