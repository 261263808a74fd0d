"""When an entry of the catalogue applies to a layer, by the layer's attributes.

What differs stands in the catalogue, once. Here stands only at which attributes it does. Entries that concern a layer
and have no rule are listed as general: whether they bite, the layer's attributes do not say.
"""

from __future__ import annotations

from dataclasses import dataclass

from compare.doctor.conditions_of_layers import (
    Condition,
    activation,
    always,
    any_above,
    any_of,
    both,
    called_again,
    differs,
    equals,
    float16,
    inner,
    is_frozen,
    is_masked,
    is_mixed,
    narrow,
    nothing_cropped_behind,
    symmetric_padding,
    uneven_padding,
    wide_among_narrow,
)
from compare.record.diagnosis_part import ATTENTION, NOTE, Severity

CONVOLUTIONS = (
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "DepthwiseConv1D",
    "DepthwiseConv2D",
    "SeparableConv1D",
    "SeparableConv2D",
)
RECURRENT = ("LSTM", "GRU", "SimpleRNN")
ANY = "*"
"""Every class of layer."""


@dataclass(frozen=True)
class Rule:
    """An entry applies to layers of these classes where the condition holds.

    Attributes:
      entry: THEME/NAME.
      classes: of Keras.
      when: over the attributes.
      shows: attributes that are shown with it, since they decide.
      severity: of the finding.
      says: what differs in terms of the layer's own attributes, "{epsilon}", where the entry names defaults.
    """

    entry: str
    classes: tuple[str, ...]
    when: Condition
    shows: tuple[str, ...] = ()
    severity: Severity = ATTENTION
    says: str = ""


def _narrowing(entry: str, name: str) -> Rule:
    return Rule(f"mixed_precision/{entry}", (name,), narrow)


_strides = any_above("strides", 1)
_wide = any_above("kernel_size", 1)
_has_dilation = any_above("dilation_rate", 1)
_causal = equals("padding", "causal")
_channels_first = equals("data_format", "channels_first")

_EPSILON = "Adds {{epsilon}} to the variance, {} {} unless told: pass epsilon={{epsilon}}."

NORMALIZATION = (
    Rule("normalization/batch_norm_epsilon", ("BatchNormalization",), differs("epsilon", 1e-5), ("epsilon",),
         says=_EPSILON.format("nnx.BatchNorm", "1e-05")),
    Rule("normalization/batch_norm_momentum", ("BatchNormalization",), differs("momentum", 0.99), ("momentum",),
         says="Keeps {momentum} of the moving averages, nnx.BatchNorm 0.99 unless told: pass momentum={momentum}."),
    Rule("normalization/batch_norm_fast_variance", ("BatchNormalization",), always, severity=NOTE),
    Rule("normalization/batch_norm_frozen", ("BatchNormalization",), is_frozen, ("trainable",)),
    Rule("normalization/batch_norm_mask", ("BatchNormalization",), is_masked),
    Rule("state/batch_norm_default_mode", ("BatchNormalization",), always, severity=NOTE),
    Rule("state/batch_norm_moves_at_once", ("BatchNormalization",), always, severity=NOTE),
    Rule("state/batch_norm_called_twice", ("BatchNormalization",), called_again),
    _narrowing("mixed_batch_norm", "BatchNormalization"),
    Rule("normalization/layer_norm_epsilon", ("LayerNormalization",), differs("epsilon", 1e-6), ("epsilon",),
         says=_EPSILON.format("nnx.LayerNorm", "1e-06")),
    Rule("normalization/layer_norm_fast_variance", ("LayerNormalization",), always, severity=NOTE),
    Rule("normalization/layer_norm_rms_scaling", ("LayerNormalization",), equals("rms_scaling", True),
         ("rms_scaling",)),
    _narrowing("mixed_layer_norm", "LayerNormalization"),
    Rule("normalization/group_norm_epsilon", ("GroupNormalization",),
         both(differs("epsilon", 1e-6), differs("groups", -1)), ("epsilon",),
         says=_EPSILON.format("nnx.GroupNorm", "1e-06")),
    Rule("normalization/instance_norm_epsilon", ("GroupNormalization",),
         both(differs("epsilon", 1e-6), equals("groups", -1)), ("groups", "epsilon"),
         says=_EPSILON.format("nnx.InstanceNorm", "1e-06")),
    Rule("normalization/unit_normalization_zero", ("UnitNormalization",), always),
    Rule("state/spectral_norm_inference", ("SpectralNormalization",), always),
)  # fmt: skip

CORE = (
    Rule("randomness/glorot_uniform_seed", ("Dense",), equals("kernel_initializer", "GlorotUniform"),
         ("kernel_initializer",), NOTE),
    Rule("mixed_precision/mixed_dense", ("Dense",), is_mixed),
    Rule("dtypes/mixed_bfloat16", ("Dense",), is_mixed),
    Rule("state/shared_layer_step", (ANY,), called_again),
    Rule("state/frozen_layer_gradient", (ANY,), is_frozen, ("trainable",)),
    Rule("embedding/embedding_mask_zero", ("Embedding",), equals("mask_zero", True), ("mask_zero",),
         says="Attaches a mask, which the layers behind it read; in JAX that is an argument of its own."),
    Rule("embedding/embedding_beyond", ("Embedding",), always),
    Rule("randomness/embedding_initializer_seed", ("Embedding",), equals("embeddings_initializer", "RandomUniform"),
         ("embeddings_initializer",), NOTE),
    Rule("mixed_precision/mixed_embedding", ("Embedding",), is_mixed),
    Rule("state/dropout_default_mode", ("Dropout",), any_above("rate", 0), severity=NOTE),
    Rule("mixed_precision/softmax_head_in_float32", ("Activation",), wide_among_narrow),
    Rule("convolution/flatten_channels_first", ("Flatten",), _channels_first, ("data_format",)),
    Rule("indexing/tile", ("RepeatVector",), always, severity=NOTE),
)  # fmt: skip

ACTIVATIONS = (
    Rule("activations/gelu", (ANY,), activation("gelu"), ("activation",)),
    Rule("activations/leaky_relu", (ANY,), activation("leaky_relu"), ("activation",)),
    Rule("activations/celu_at_zero", (ANY,), activation("celu"), ("activation",)),
    Rule("activations/sparse_sigmoid", (ANY,), activation("sparse_sigmoid"), ("activation",)),
    Rule("activations/threshold", (ANY,), activation("threshold"), ("activation",)),
    Rule("activations/keras_leaky_relu", ("LeakyReLU",), differs("negative_slope", 0.01), ("negative_slope",),
         says="The slope is {negative_slope}, that of jax.nn.leaky_relu 0.01 unless told: pass it."),
    Rule("activations/prelu_at_zero", ("PReLU",), always),
    Rule("activations/keras_relu_max_value", ("ReLU",),
         both(differs("max_value", None), equals("negative_slope", 0.0), equals("threshold", 0.0)), ("max_value",)),
    Rule("activations/keras_relu_threshold", ("ReLU",), differs("threshold", 0.0), ("threshold",)),
    Rule("activations/keras_relu_slope_below_threshold", ("ReLU",),
         both(differs("threshold", 0.0), differs("negative_slope", 0.0)), ("threshold", "negative_slope")),
    Rule("activations/softmax_masked_row", ("Softmax",), is_masked),
    Rule("ragged/padded_softmax", ("Softmax",), is_masked),
    Rule("mixed_precision/softmax_mask_in_float16", ("Softmax",), float16),
)  # fmt: skip

CONVOLUTION = (
    Rule("convolution/conv_default_padding", CONVOLUTIONS, both(equals("padding", "valid"), _wide), ("padding",)),
    Rule("convolution/conv_same_stride", CONVOLUTIONS, both(equals("padding", "same"), _strides, uneven_padding),
         ("strides", "padding")),
    Rule("convolution/conv1d_causal", ("Conv1D",), both(_causal, equals("dilation_rate", [1], 1)), ("padding",)),
    Rule("convolution/conv1d_causal_dilated", ("Conv1D",), both(_causal, _has_dilation), ("padding", "dilation_rate")),
    Rule("convolution/depthwise_kernel", ("DepthwiseConv2D",), always),
    Rule("convolution/depthwise_conv1d", ("DepthwiseConv1D",), always),
    Rule("convolution/separable_conv_stride", ("SeparableConv1D", "SeparableConv2D"), _strides, ("strides",)),
    Rule("convolution/conv1d_transpose", ("Conv1DTranspose",), always),
    Rule("convolution/conv2d_transpose_kernel", ("Conv2DTranspose",), always),
    Rule("convolution/conv3d_transpose", ("Conv3DTranspose",), always),
    Rule("convolution/conv2d_transpose_padding", ("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"),
         equals("padding", "valid"), ("padding",)),
    Rule("convolution/conv2d_transpose_output_padding", ("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"),
         differs("output_padding", None), ("output_padding",)),
    Rule("convolution/zero_padding_before_conv", ("ZeroPadding2D",), symmetric_padding, ("padding",)),
    Rule("convolution/cropping_nothing_behind", ("Cropping1D", "Cropping2D", "Cropping3D"), nothing_cropped_behind,
         ("cropping",)),
)  # fmt: skip

POOLING = (
    Rule("pooling/max_pool_default_strides", ("MaxPooling1D", "MaxPooling2D", "MaxPooling3D"), _strides, ("strides",)),
    Rule("pooling/average_pooling1d", ("AveragePooling1D", "AveragePooling2D", "AveragePooling3D"), _strides,
         ("strides",)),
    Rule("pooling/avg_pool_same", ("AveragePooling1D", "AveragePooling2D", "AveragePooling3D"),
         equals("padding", "same"), ("padding",)),
    Rule("pooling/max_pool_channels_first", ("MaxPooling1D", "MaxPooling2D", "MaxPooling3D"), _channels_first,
         ("data_format",)),
    Rule("pooling/global_average_pooling_masked", ("GlobalAveragePooling1D",), is_masked),
    Rule("pooling/global_average_pooling", ("GlobalAveragePooling2D",), equals("keepdims", False), ("keepdims",), NOTE),
)  # fmt: skip

ATTENTION_LAYERS = (
    Rule("attention/mha_argument_order", ("MultiHeadAttention",), always),
    Rule("attention/mha_key_dim", ("MultiHeadAttention",), always, ("num_heads", "key_dim")),
    Rule("attention/mha_query_mask", ("MultiHeadAttention",), is_masked),
    Rule("attention/grouped_query_heads", ("GroupQueryAttention",), always),
    Rule("attention/attention_scale", ("Attention",), equals("use_scale", False), ("use_scale",)),
    Rule("attention/attention_argument_order", ("Attention",), always),
    Rule("attention/additive_attention_scale", ("AdditiveAttention",), equals("use_scale", True), ("use_scale",)),
)  # fmt: skip

RECURRENT_LAYERS = (
    Rule("recurrent/lstm_gate_order", ("LSTM",), always, severity=NOTE),
    Rule("recurrent/lstm_states_order", ("LSTM",), equals("return_state", True), ("return_state",)),
    Rule("recurrent/lstm_unit_forget_bias", ("LSTM",), equals("unit_forget_bias", True), ("unit_forget_bias",), NOTE),
    Rule("recurrent/go_backwards", RECURRENT, equals("go_backwards", True), ("go_backwards",)),
    Rule("recurrent/rnn_mask_last", RECURRENT, both(is_masked, equals("return_sequences", False)),
         ("return_sequences",)),
    Rule("recurrent/rnn_mask_anywhere", ("LSTM",), is_masked),
    Rule("recurrent/rnn_mask_anywhere", ("GRU",), is_masked,
         says="A mask of Keras may have holes, which are skipped; seq_lengths of nnx.RNN cannot say that: use "
         "jaxport.recurrent.gru."),
    Rule("recurrent/rnn_mask_anywhere", ("SimpleRNN",), is_masked,
         says="A mask of Keras may have holes, which are skipped; seq_lengths of nnx.RNN cannot say that."),
    Rule("recurrent/rnn_masked_outputs", RECURRENT, both(is_masked, equals("return_sequences", True)),
         ("return_sequences",)),
    Rule("recurrent/rnn_masked_first_output", RECURRENT, both(is_masked, equals("return_sequences", True)),
         ("return_sequences",)),
    Rule("state/stateful_rnn_carries", RECURRENT, equals("stateful", True), ("stateful",)),
    Rule("state/stateful_rnn_cuts_gradient", RECURRENT, equals("stateful", True), ("stateful",)),
    Rule("recurrent/gru_gate_order", ("GRU", "GRUCell"), always),
    Rule("recurrent/gru_recurrent_bias", ("GRU", "GRUCell"),
         both(equals("reset_after", True), equals("use_bias", True)), ("reset_after", "use_bias")),
    Rule("recurrent/gru_reset_before", ("GRU", "GRUCell"), equals("reset_after", False), ("reset_after",)),
    Rule("recurrent/bidirectional_order", ("Bidirectional",), inner(equals("return_sequences", True))),
    Rule("recurrent/bidirectional_last", ("Bidirectional",), inner(equals("return_sequences", False))),
    Rule("recurrent/bidirectional_mask", ("Bidirectional",), is_masked),
    Rule("recurrent/conv_lstm_gate_order", ("ConvLSTM1D", "ConvLSTM2D"), always),
    Rule("recurrent/conv_lstm_padding", ("ConvLSTM1D", "ConvLSTM2D"), equals("padding", "valid"),
         ("padding",)),
)  # fmt: skip

PREPROCESSING = (
    Rule("embedding/multi_hot", ("CategoryEncoding",), equals("output_mode", "multi_hot"), ("output_mode",)),
    Rule("compilation/multi_hot_beyond", ("CategoryEncoding",), equals("output_mode", "multi_hot"), ("output_mode",)),
    Rule("sorting/discretization_edges", ("Discretization",), always),
    Rule("resizing/resize_bilinear_down", ("Resizing",), equals("interpolation", "bilinear"), ("interpolation",)),
    Rule("resizing/resize_bicubic", ("Resizing", "UpSampling2D"), equals("interpolation", "bicubic"),
         ("interpolation",)),
    Rule("ragged/string_lookup", ("StringLookup",), always),
)  # fmt: skip

OPTIMIZERS = (
    Rule("optimizers/adam_epsilon", ("Adam",), always, ("epsilon",)),
    Rule("optimizers/adam_default_epsilon", ("Adam",), differs("epsilon", 1e-8), ("epsilon",),
         says="Epsilon is {epsilon}, in optax.adam 1e-8 unless told, and added in another place: "
         "use jaxport.optimizers.adam."),
    Rule("optimizers/adam_amsgrad", ("Adam", "AdamW"), equals("amsgrad", True), ("amsgrad",)),
    Rule("optimizers/adamw_weight_decay", ("AdamW",), differs("weight_decay", 1e-4), ("weight_decay",),
         says="The weight decay is {weight_decay}, in optax.adamw 1e-4 unless told: use jaxport.optimizers.adamw."),
    Rule("optimizers/nadam_momentum", ("Nadam",), always),
    Rule("optimizers/adamax_epsilon", ("Adamax",), always, ("epsilon",)),
    Rule("optimizers/adadelta_defaults", ("Adadelta",), any_of(("rho", "epsilon")), ("rho", "epsilon")),
    Rule("optimizers/adagrad_accumulator", ("Adagrad",), differs("initial_accumulator_value", 0.0),
         ("initial_accumulator_value",), NOTE),
    Rule("optimizers/rmsprop_epsilon", ("RMSprop",), both(differs("epsilon", 1e-8), equals("centered", False)),
         ("epsilon",), says="Epsilon is {epsilon}, in optax.rmsprop 1e-8 unless told: pass eps={epsilon}."),
    Rule("optimizers/rmsprop_epsilon_place", ("RMSprop",), always, ("epsilon",)),
    Rule("optimizers/rmsprop_centered", ("RMSprop",), both(equals("centered", True), differs("epsilon", 1e-8)),
         ("centered", "epsilon")),
    Rule("optimizers/ftrl_l2", ("Ftrl",), always),
    Rule("optimizers/lion_weight_decay", ("Lion",), differs("weight_decay", 1e-3), ("weight_decay",),
         says="The weight decay is {weight_decay}, that of optax.lion 1e-3 unless told: pass weight_decay."),
    Rule("optimizers/adafactor_factored", ("Adafactor",), always),
    Rule("optimizers/adafactor_rate", ("Adafactor",), equals("relative_step", True), ("relative_step",)),
    Rule("optimizers/sgd_momentum_schedule", ("SGD",), both(any_above("momentum", 0), equals("nesterov", False)),
         ("momentum", "learning_rate")),
    Rule("optimizers/sgd_nesterov_schedule", ("SGD",), both(any_above("momentum", 0), equals("nesterov", True)),
         ("momentum", "nesterov")),
    Rule("optimizers/sgd_weight_decay", ("SGD",), any_above("weight_decay", 0), ("weight_decay",)),
    Rule("optimizers/weight_decay_rate", ("RMSprop", "Adagrad", "Adadelta", "Adamax"), any_above("weight_decay", 0),
         ("weight_decay",)),
    Rule("optimizers/clipnorm", (ANY,), any_above("clipnorm", 0), ("clipnorm",)),
    Rule("optimizers/use_ema", (ANY,), equals("use_ema", True), ("use_ema",)),
    Rule("optimizers/ema_overwrite_frequency", (ANY,), both(equals("use_ema", True),
         any_above("ema_overwrite_frequency", 0)), ("ema_overwrite_frequency",)),
    Rule("optimizers/accumulation_mean", (ANY,), any_above("gradient_accumulation_steps", 1),
         ("gradient_accumulation_steps",)),
    Rule("optimizers/loss_scale_factor", (ANY,), any_above("loss_scale_factor", 0), ("loss_scale_factor",)),
    Rule("optimizers/lamb_epsilon", ("Lamb",), differs("epsilon", 1e-6), ("epsilon",),
         says="Epsilon is {epsilon}, in optax.lamb 1e-6 unless told: pass eps={epsilon}."),
    Rule("optimizers/lamb_weight_decay", ("Lamb",), any_above("weight_decay", 0), ("weight_decay",)),
    Rule("optimizers/muon", ("Muon",), always),
    Rule("optimizers/schedule_free_adamw", ("ScheduleFreeAdamW",), always),
    Rule("mixed_precision/loss_scale_overflow", ("LossScaleOptimizer",), always),
)  # fmt: skip

LAYERS = (
    *(*NORMALIZATION, *CORE, *ACTIVATIONS, *CONVOLUTION, *POOLING),
    *(*ATTENTION_LAYERS, *RECURRENT_LAYERS, *PREPROCESSING),
)
