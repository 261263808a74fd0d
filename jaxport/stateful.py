"""Recurrent layers of Keras with stateful=True: a state that goes from one call to the next, as an nnx.Variable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport._module_nodes import nodes
from jaxport.layers import StackedCells
from jaxport.recurrent_dropout import DroppingCell


class RecurrentState(nnx.Variable[jax.Array]):
    """The state that the last call of a recurrent layer ended with: it is not trained."""


class StatefulRNN(nnx.RNN):
    """keras.layers.RNN with stateful=True: each call starts from the state that the call before it ended with.

    No gradient flows from one call to the call before it. The states are the attributes `state_0`, `state_1`, ... in
    the order of Keras: of an LSTM the hidden state, then the cell. They start as zeros; see `reset_states`.

    Args:
      cell: one step.
      state_shapes: of each state, [batch, ...] in Keras' order: the batch size is fixed.
      param_dtype: the dtype that the states are kept in.
      reverse: as in nnx.RNN.
      keep_order: as in nnx.RNN.
      time_major: as in nnx.RNN.
    """

    def __init__(
        self,
        cell: nnx.RNNCellBase,
        *,
        state_shapes: Sequence[Sequence[int]],
        param_dtype: Any = jnp.float32,
        reverse: bool = False,
        keep_order: bool = False,
        time_major: bool = False,
    ) -> None:
        super().__init__(cell, reverse=reverse, keep_order=keep_order, time_major=time_major)
        self.state_shapes = tuple(map(tuple, state_shapes))
        self.param_dtype = param_dtype
        for index, shape in enumerate(self.state_shapes):
            setattr(self, f"state_{index}", RecurrentState(jnp.zeros(shape, param_dtype)))

    @property
    def states(self) -> tuple[jax.Array, ...]:
        """The initial states of the next call, in Keras' order."""
        return tuple(variable.get_value() for variable in self._variables())

    def keep(self, states: Sequence[jax.Array]) -> None:
        """Let the next call start from these states.

        Args:
          states: in Keras' order.
        """
        for variable, state in zip(self._variables(), states, strict=True):
            value = variable.get_value()
            variable.set_value(jax.lax.stop_gradient(state.astype(value.dtype)))

    def __call__(
        self, inputs: jax.Array, *, initial_carry: Any = None, return_carry: bool | None = None, **options: Any
    ) -> Any:
        """The outputs of all steps; with `return_carry` the carry after the last step, then the outputs.

        Args:
          inputs: [batch, time, ...].
          initial_carry: what this call starts from in place of the states.
          return_carry: as in nnx.RNN.
          **options: the others of nnx.RNN.
        """
        if initial_carry is None:
            time_axis = 0 if options.get("time_major", self.time_major) else 1
            initial_carry = carry_of(self.cell, self.states, _without(inputs.shape, time_axis))
        carry, outputs = super().__call__(inputs, initial_carry=initial_carry, return_carry=True, **options)
        self.keep(states_of(self.cell, carry))
        returns_carry = self.return_carry if return_carry is None else return_carry
        return (carry, outputs) if returns_carry else outputs

    def _variables(self) -> list[RecurrentState]:
        return [getattr(self, f"state_{index}") for index in range(len(self.state_shapes))]


def reset_states(module: nnx.Module) -> None:
    """Set every RecurrentState in a module to zeros, as reset_state() of a layer of Keras does.

    Args:
      module: is changed.
    """
    for _, node, _ in nodes(module):
        if isinstance(node, RecurrentState):
            node.set_value(jnp.zeros_like(node.get_value()))


def states_of(cell: nnx.RNNCellBase, carry: Any) -> tuple[jax.Array, ...]:
    """The states in a carry, one by one in the order of Keras: of an LSTM, Flax has the cell before the hidden state.

    Args:
      cell: whose carry it is.
      carry: of one step.
    """
    cell = _within(cell)
    if isinstance(cell, StackedCells):
        inner = zip(cell.order, carry, strict=True)
        return tuple(state for name, part in inner for state in states_of(getattr(cell, name), part))
    states = tuple(jax.tree.leaves(carry))
    return states[::-1] if isinstance(cell, nnx.LSTMCell | nnx.OptimizedLSTMCell) else states


def carry_of(cell: nnx.RNNCellBase, states: Sequence[jax.Array], step_shape: tuple[int, ...]) -> Any:
    """The carry that holds some states, in the dtypes that the cell computes in.

    Args:
      cell: whose carry it is.
      states: in the order of Keras.
      step_shape: of the input of one step, [batch, ...].
    """
    # Zeros, whatever is drawn.
    zeros = jax.eval_shape(lambda: cell.initialize_carry(step_shape, nnx.Rngs(0)))
    return _fill(cell, zeros, iter(states))


def _within(cell: nnx.RNNCellBase) -> nnx.RNNCellBase:
    return cell.cell if isinstance(cell, DroppingCell) else cell


def _fill(cell: nnx.RNNCellBase, zeros: Any, states: Iterator[jax.Array]) -> Any:
    cell = _within(cell)
    if isinstance(cell, StackedCells):
        return tuple(_fill(getattr(cell, name), part, states) for name, part in zip(cell.order, zeros, strict=True))
    leaves, structure = jax.tree.flatten(zeros)
    own = [next(states) for _ in leaves]
    in_order = own[::-1] if isinstance(cell, nnx.LSTMCell | nnx.OptimizedLSTMCell) else own
    # Cells of Flax make zeros in the dtype of their weights.
    dtypes = [getattr(cell, "dtype", None) or zero.dtype for zero in leaves]
    return jax.tree.unflatten(structure, [state.astype(dtype) for state, dtype in zip(in_order, dtypes, strict=True)])


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])
