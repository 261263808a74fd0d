"""Layers of Keras as Flax NNX modules, where Flax has none that computes the same; with Keras' names of weights."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from typing_extensions import override

from jaxport.elementwise import maximum
from jaxport.recurrent import gru_step

Initializer = Callable[..., jax.Array]

_uniform, _orthogonal = nnx.initializers.glorot_uniform(), nnx.initializers.orthogonal()
_SMALL = 1e-7
"""keras.config.epsilon()."""


class GRUCell(nnx.RNNCellBase):
    """keras.layers.GRUCell, for nnx.RNN: gates z, r, h side by side, and a bias of the recurrent product too.

    nnx.GRUCell has none of the latter, which counts where the reset gate scales it.

    Args:
      in_features: the number of input features.
      hidden_features: units.
      reset_after: whether the reset gate scales the recurrent product, not the state that enters it.
      use_bias: whether the layer has biases: [2, 3 units], or [3 units] unless `reset_after`.
      activation_fn: the function of the candidate h.
      gate_fn: the function of the gates z and r.
      dtype: the dtype of the computation.
      param_dtype: the dtype of the weights.
      rngs: the random streams of the initial weights.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        *,
        reset_after: bool = True,
        use_bias: bool = True,
        activation_fn: Callable[[jax.Array], jax.Array] = jnp.tanh,
        gate_fn: Callable[[jax.Array], jax.Array] = jax.nn.sigmoid,
        dtype: Any = None,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs,
    ) -> None:
        self.in_features, self.hidden_features = in_features, hidden_features
        self.reset_after, self.use_bias = reset_after, use_bias
        self.activation_fn, self.gate_fn = activation_fn, gate_fn
        self.dtype, self.param_dtype = dtype, param_dtype
        wide = 3 * hidden_features
        self.kernel = nnx.Param(_uniform(rngs.params(), (in_features, wide), param_dtype))
        self.recurrent_kernel = nnx.Param(_orthogonal(rngs.params(), (hidden_features, wide), param_dtype))
        shape = (2, wide) if reset_after else (wide,)
        self.bias = nnx.Param(jnp.zeros(shape, param_dtype)) if use_bias else nnx.data(None)

    def __call__(self, carry: jax.Array, inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The state [..., units] after a step, twice: as the carry and as the output.

        Args:
          carry: the state [..., units] before it.
          inputs: [..., features].
        """
        kernel, recurrent = self.kernel.get_value(), self.recurrent_kernel.get_value()
        bias = None if self.bias is None else self.bias.get_value()
        if self.dtype is not None:
            carry, inputs, kernel, recurrent = (
                array.astype(self.dtype) for array in (carry, inputs, kernel, recurrent)
            )
            bias = None if bias is None else bias.astype(self.dtype)
        outer = inputs @ kernel
        if self.reset_after:
            inner = carry @ recurrent
            if bias is not None:
                outer, inner = outer + bias[0], inner + bias[1]
            state = gru_step(outer, inner, carry, self.gate_fn, self.activation_fn)
        else:
            state = self._reset_first(outer if bias is None else outer + bias, carry, recurrent)
        return state, state

    def _reset_first(self, outer: jax.Array, carry: jax.Array, recurrent: jax.Array) -> jax.Array:
        units = self.hidden_features
        gates = self.gate_fn(outer[..., : 2 * units] + carry @ recurrent[:, : 2 * units])
        update, reset = jnp.split(gates, 2, axis=-1)
        candidate = self.activation_fn(outer[..., 2 * units :] + (reset * carry) @ recurrent[:, 2 * units :])
        return update * carry + (1 - update) * candidate

    @override
    def initialize_carry(self, input_shape: tuple[int, ...], rngs: Any = None, carry_init: Any = None) -> jax.Array:
        """Zeros [..., units]; `rngs` and `carry_init` are not used."""
        return jnp.zeros((*input_shape[:-1], self.hidden_features), self.dtype or self.param_dtype)

    @property
    def num_feature_axes(self) -> int:
        """One: the last."""
        return 1


class PReLU(nnx.Module):
    """keras.layers.PReLU: a slope for each element of the input, where nnx.PReLU has one for all.

    Args:
      shape: the shape of the slopes, 1 along axes that share them.
      param_dtype: the dtype of the slopes.
    """

    def __init__(self, shape: Sequence[int], *, param_dtype: Any = jnp.float32) -> None:
        self.shape, self.param_dtype = tuple(shape), param_dtype
        self.alpha = nnx.Param(jnp.zeros(self.shape, param_dtype))

    def __call__(self, x: jax.Array) -> jax.Array:
        """The values, those below 0 times their slope."""
        return jax.nn.relu(x) - self.alpha.get_value() * jax.nn.relu(-x)


class ReversibleEmbed(nnx.Embed):
    """keras.layers.ReversibleEmbedding with tie_weights=False: one table of tokens, and another back to them.

    Where the weights are tied, nnx.Embed is the same, and its attend() the way back.

    Args:
      num_embeddings: rows of the table.
      features: the size of each embedding.
      dtype: the dtype of the computation.
      param_dtype: the dtype of both tables.
      rngs: the random streams of the initial tables.
    """

    def __init__(
        self, num_embeddings: int, features: int, *, dtype: Any = None, param_dtype: Any = jnp.float32, rngs: nnx.Rngs
    ) -> None:
        super().__init__(num_embeddings, features, dtype=dtype, param_dtype=param_dtype, rngs=rngs)
        self.reverse_embeddings = nnx.Param(_uniform(rngs.params(), (features, num_embeddings), param_dtype))

    def attend(self, query: jax.Array, *args: Any, **kwargs: Any) -> jax.Array:
        """f[..., features] -> f[..., num_embeddings]: the product with the table back.

        Args:
          query: what tokens are wanted of.
          *args: taken by no product here.
          **kwargs: likewise.
        """
        return query @ self.reverse_embeddings.get_value().astype(query.dtype)


class LayerScale(nnx.Module):
    """The layer of that name in keras.applications.convnext: a factor for each feature.

    Args:
      features: the number of input features.
      param_dtype: the dtype of the factors.
    """

    def __init__(self, features: int, *, param_dtype: Any = jnp.float32) -> None:
        self.features, self.param_dtype = features, param_dtype
        self.gamma = nnx.Param(jnp.ones(features, param_dtype))

    def __call__(self, x: jax.Array) -> jax.Array:
        """The values times their factors."""
        return x * self.gamma.get_value()


class _ScoredAttention(nnx.Module):
    """Attention by any scores of queries and keys, masked as Keras does it."""

    def _scores(self, query: jax.Array, key: jax.Array) -> jax.Array:
        """[batch, queries, keys]."""
        raise NotImplementedError

    def __call__(
        self,
        query: jax.Array,
        value: jax.Array,
        key: jax.Array | None = None,
        *,
        query_mask: jax.Array | None = None,
        value_mask: jax.Array | None = None,
        use_causal_mask: bool = False,
    ) -> jax.Array:
        """The values [batch, queries, features], weighted by the softmax of the scores.

        Args:
          query: [batch, queries, features].
          value: [batch, keys, features].
          key: [batch, keys, features]; the values without.
          query_mask: bool[batch, queries]; what others give is 0.
          value_mask: bool[batch, keys], those that count.
          use_causal_mask: whether a query sees no key after its own place.
        """
        scores = self._scores(query, value if key is None else key)
        masks = [] if value_mask is None else [value_mask.astype(bool)[..., None, :]]
        masks += [jnp.tri(*scores.shape[-2:], dtype=bool)] if use_causal_mask else []
        if masks:
            # Subtracted, as in Keras: where a query sees no key, it sees all, as far apart as rounding leaves scores.
            masked_scores = scores - (65504.0 if scores.dtype == jnp.float16 else 1e9)
            scores = jnp.where(functools.reduce(operator.and_, masks), scores, masked_scores)
        result = jax.nn.softmax(scores) @ value
        return result if query_mask is None else jnp.where(query_mask.astype(bool)[..., None], result, 0)


class Attention(_ScoredAttention):
    """keras.layers.Attention: scores are products of query and key, with one weight for all, or none.

    Args:
      use_scale: whether there is a weight that scores, or sums in them, are multiplied by.
      score_mode: "dot", or "concat": the sum of tanh(query + key), times a weight.
      param_dtype: the dtype of the weights.
    """

    def __init__(self, *, use_scale: bool = False, score_mode: str = "dot", param_dtype: Any = jnp.float32) -> None:
        self.use_scale, self.score_mode, self.param_dtype = use_scale, score_mode, param_dtype
        self.scale = nnx.Param(jnp.ones((), param_dtype)) if use_scale else nnx.data(None)
        concat = score_mode == "concat"
        self.concat_score_weight = nnx.Param(jnp.ones((), param_dtype)) if concat else nnx.data(None)

    def _scores(self, query: jax.Array, key: jax.Array) -> jax.Array:
        scale = 1 if self.scale is None else self.scale.get_value()
        if self.concat_score_weight is None:
            return query @ jnp.swapaxes(key, -2, -1) * scale
        total = jnp.sum(jnp.tanh(scale * (query[..., :, None, :] + key[..., None, :, :])), -1)
        return self.concat_score_weight.get_value() * total


class AdditiveAttention(_ScoredAttention):
    """keras.layers.AdditiveAttention: scores are sums of tanh(query + key), times a weight each.

    Args:
      features: the number of features of query and key.
      use_scale: whether there are such weights.
      param_dtype: the dtype of the weights.
      rngs: the random streams of the initial weights.
    """

    def __init__(
        self, features: int, *, use_scale: bool = True, param_dtype: Any = jnp.float32, rngs: nnx.Rngs
    ) -> None:
        self.features, self.use_scale, self.param_dtype = features, use_scale, param_dtype
        # Glorot's, for a vector: as wide to both sides as there are features.
        limit = (3 / features) ** 0.5
        initial_scale = jax.random.uniform(rngs.params(), (features,), param_dtype, -limit, limit)
        self.scale = nnx.Param(initial_scale) if use_scale else nnx.data(None)

    def _scores(self, query: jax.Array, key: jax.Array) -> jax.Array:
        total = jnp.tanh(query[:, :, None] + key[:, None])
        return jnp.sum(total if self.scale is None else total * self.scale.get_value(), -1)


class Normalization(nnx.Module):
    """keras.layers.Normalization by the mean and variance that its adapt() took; both are statistics, not trained.

    Args:
      shape: the shape of both, the last axes of the input.
      param_dtype: the dtype of both.
    """

    def __init__(self, shape: Sequence[int], *, param_dtype: Any = jnp.float32) -> None:
        self.shape, self.param_dtype = tuple(shape), param_dtype
        self.mean = nnx.BatchStat(jnp.zeros(self.shape, param_dtype))
        self.variance = nnx.BatchStat(jnp.ones(self.shape, param_dtype))

    def __call__(self, x: jax.Array) -> jax.Array:
        """The values less the mean, over the deviation, which is taken to be at least 1e-7."""
        # Keras computes with constants of both: it has no gradients to them.
        mean, variance = jax.lax.stop_gradient((self.mean.get_value(), self.variance.get_value()))
        return (x - mean) / maximum(jnp.sqrt(variance), _SMALL)


class ConvLSTMCell(nnx.RNNCellBase):
    """The cell of keras.layers.ConvLSTM1D, 2D and 3D, for nnx.RNN: gates i, f, g, o side by side.

    Args:
      in_features: channels of the input.
      hidden_features: filters.
      kernel_size: along each axis of space.
      strides: likewise, of the convolution of the input.
      padding: the padding of the input; that of the state is 'SAME'.
      use_bias: whether the layer has a bias.
      activation_fn: the function of the candidate g, and of the cell before the output gate.
      gate_fn: the function of the gates i, f and o.
      param_dtype: the dtype of the weights.
      rngs: the random streams of the initial weights.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        kernel_size: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        use_bias: bool = True,
        activation_fn: Callable[[jax.Array], jax.Array] = jnp.tanh,
        gate_fn: Callable[[jax.Array], jax.Array] = jax.nn.sigmoid,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs,
    ) -> None:
        self.use_bias, self.activation_fn, self.gate_fn = use_bias, activation_fn, gate_fn
        self.in_features, self.hidden_features, self.param_dtype = in_features, hidden_features, param_dtype
        self.kernel_size, self.padding = tuple(kernel_size), padding
        self.strides = tuple(strides or (1,) * len(self.kernel_size))
        wide = 4 * hidden_features
        self.kernel = nnx.Param(_uniform(rngs.params(), (*self.kernel_size, in_features, wide), param_dtype))
        shape = (*self.kernel_size, hidden_features, wide)
        self.recurrent_kernel = nnx.Param(_orthogonal(rngs.params(), shape, param_dtype))
        # Keras' unit_forget_bias: the gate that forgets starts open.
        bias = jnp.zeros(wide, param_dtype).at[hidden_features : 2 * hidden_features].set(1)
        self.bias = nnx.Param(bias) if use_bias else nnx.data(None)

    def __call__(self, carry: tuple[jax.Array, jax.Array], inputs: jax.Array) -> tuple[Any, jax.Array]:
        """Hidden and cell [batch, ..., filters] after a step, and the hidden as the output.

        Args:
          carry: hidden and cell before it.
          inputs: [batch, ..., channels].
        """
        hidden, cell = carry
        gates = _convolve(inputs, self.kernel.get_value(), self.strides, self.padding)
        gates = gates if self.bias is None else gates + self.bias.get_value()
        gates += _convolve(hidden, self.recurrent_kernel.get_value(), (1,) * len(self.strides), "SAME")
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        cell = self.gate_fn(f) * cell + self.gate_fn(i) * self.activation_fn(g)
        hidden = self.gate_fn(o) * self.activation_fn(cell)
        return (hidden, cell), hidden

    @override
    def initialize_carry(self, input_shape: tuple[int, ...], rngs: Any = None, carry_init: Any = None) -> Any:
        """Zeros for hidden and cell; `rngs` and `carry_init` are not used."""
        input_spec = jax.ShapeDtypeStruct(input_shape, self.param_dtype)
        kernel = jax.ShapeDtypeStruct(self.kernel.get_value().shape, self.param_dtype)
        shape = jax.eval_shape(lambda x, k: _convolve(x, k, self.strides, self.padding), input_spec, kernel).shape
        zeros = jnp.zeros((*shape[:-1], self.hidden_features), self.param_dtype)
        return zeros, zeros

    @property
    def num_feature_axes(self) -> int:
        """The number of spatial axes, plus 1 for the channels."""
        return len(self.kernel_size) + 1


class StackedCells(nnx.RNNCellBase):
    """keras.layers.StackedRNNCells, for nnx.RNN: each cell is given what the one before it gives in the same step.

    Args:
      cells: the cells by name, in their order.
    """

    def __init__(self, **cells: nnx.RNNCellBase) -> None:
        self.order = tuple(cells)
        for name, cell in cells.items():
            setattr(self, name, cell)

    def __call__(self, carry: Any, inputs: jax.Array) -> tuple[Any, jax.Array]:
        """The states of all cells after a step, and the output of the last.

        Args:
          carry: a state for each cell.
          inputs: [..., features].
        """
        states = []
        for name, before in zip(self.order, carry, strict=True):
            after, inputs = getattr(self, name)(before, inputs)
            states.append(after)
        return tuple(states), inputs

    @override
    def initialize_carry(self, input_shape: tuple[int, ...], rngs: Any = None, carry_init: Any = None) -> Any:
        """Zeros for each cell; `rngs` and `carry_init` are not used."""
        states = []
        for name in self.order:
            cell = getattr(self, name)
            states.append(cell.initialize_carry(input_shape, nnx.Rngs(0)))
            input_shape = (*input_shape[:-1], cell.hidden_features)
        return tuple(states)

    @property
    def num_feature_axes(self) -> int:
        """One: the last."""
        return 1


def _convolve(x: jax.Array, kernel: jax.Array, strides: Sequence[int], padding: str) -> jax.Array:
    space = "DHW"[-len(strides) :]
    names = (f"N{space}C", f"{space}IO", f"N{space}C")
    return jax.lax.conv_general_dilated(x, kernel, tuple(strides), padding, dimension_numbers=names)
