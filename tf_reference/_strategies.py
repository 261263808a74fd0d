"""TensorFlow's training step on several devices: tf.distribute, with the gradient compiled, or the whole step."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from typing_extensions import override

from tf_reference import _recompiling, _replica_steps
from tf_reference._replica_steps import Step
from tf_reference._session import Session
from tf_reference._sources import callees, users_line
from workloads.core.spec import Arrays
from workloads.protocol.distributing import (
    IN_TURN,
    LOGICAL_DEVICES,
    MISTAKES,
    OWN,
    REFERENCES,
    SINGLE,
    Cluster,
    Collective,
    Distributing,
    Division,
    Kept,
    Program,
    Stepped,
    check_devices,
    first_unlike,
    of_equal_parts,
    part_of,
)
from workloads.protocol.framework import Scalar, Twin, Unsupported

MIRRORED, COMPILED, WORKERS = "mirrored", "mirrored-compiled", "multi-worker"


class Strategies(Distributing):
    """The twin in TensorFlow, on several devices."""

    side = "tf"

    def __init__(self) -> None:
        self._twin: Twin | None = None
        self._division = Division(1, "", {})
        self._sessions: dict[tuple[str, str], Session] = {}
        # One for the whole process: a second one uses the numbers of the first one's collectives again.
        self._strategy: Any = None
        self._joined, self._process = False, 0

    def environment(self) -> dict[str, Scalar]:
        """Versions, and the devices."""
        devices = ", ".join(device.name for device in tf.config.list_logical_devices("CPU"))
        return {"tensorflow": tf.__version__, "devices": devices}

    def load(self, twin: Twin, division: Division) -> list[str]:
        """Take a twin; the names of its strategies."""
        if not self._joined:  # each process of a cluster has one
            check_devices(len(tf.config.list_logical_devices("CPU")), division)
        self._twin, self._division = twin, division
        self._sessions.clear()
        model = self._session("float32", SINGLE).model
        if model.step is None:
            raise Unsupported("the workload has no step pass")
        by_parts = [MIRRORED, COMPILED] if model.loss is not None and model.optimizer is not None else []
        return [*by_parts, *([OWN] if model.replicated else [])]

    @override
    def join(self, cluster: Cluster) -> int:
        task = {"type": "worker", "index": cluster.process}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": list(cluster.addresses)}, "task": task})
        self._joined, self._process = True, cluster.process
        return int(self._tf_strategy().num_replicas_in_sync)

    @override
    def steps(
        self, strategy: str, dtype: str, count: int, first: int = 0, checkpoint: str = "", equal_parts: bool = False
    ) -> Stepped:
        session = self._session(dtype, strategy)
        step, inputs = self._step(session, strategy), self._inputs(session, strategy)
        record, compilations = Kept(first), None
        if first:
            self._save(session).read(self._prefix(checkpoint, first)).assert_consumed()
        for number in range(first, first + count):
            batch = self._batch(session, number)
            if equal_parts:
                batch = of_equal_parts(batch, self._division.axes, self._replicas())
            arguments = inputs(batch)
            if number > first:
                loss = step(*arguments)
            else:
                loss, compilations = _recompiling.compiled_in(partial(step, *arguments))
            weights = {path: _copies(variable) for path, variable in session.weights.items()}
            state = {name: _copies(variable) for name, variable in session.state.items()}
            leaves = {**weights, **state}
            unlike = (first_unlike(leaf, leaves[leaf], number + 1) for leaf in leaves)
            record.unlike += filter(None, unlike)
            record.step(loss.numpy(), _firsts(weights), _firsts(state))
        if checkpoint:
            self._save(session).write(self._prefix(checkpoint, first + count))
        return record.result(compilations)

    def _save(self, session: Session) -> Any:
        return tf.train.Checkpoint(weights=list(session.weights.values()), state=list(session.state.values()))

    def _prefix(self, folder: str, step: int) -> str:
        """The prefix of this process's files: every process writes, because each holds every variable."""
        return f"{folder}/{step}-of-process-{self._process}"

    def program(self, strategy: str) -> Program:
        """The transfers in the graph of a step."""
        session = self._session("float32", strategy)
        if strategy in REFERENCES:
            return Program()
        step: Any = self._step(session, strategy)
        arguments = self._inputs(session, strategy)(self._batch(session, 0))
        return Program(transfers(step.get_concrete_function(*arguments).graph))

    def prepare(self, strategy: str) -> Callable[[], None]:
        """A step that carries its state from call to call."""
        session = self._session("float32", strategy)
        step = self._step(session, strategy)
        arguments = self._inputs(session, strategy)(self._batch(session, 0))

        def call() -> None:
            step(*arguments).numpy()

        call()
        return call

    def _tf_strategy(self) -> Any:
        if self._strategy is None and self._joined:
            self._strategy = tf.distribute.MultiWorkerMirroredStrategy()
        if self._strategy is None:
            self._strategy = tf.distribute.MirroredStrategy(
                [device.name for device in tf.config.list_logical_devices("CPU")]
            )
        return self._strategy

    def _session(self, dtype: str, strategy: str) -> Session:
        """The twin with fresh variables: of the whole batch on one device, or of a replica's part."""
        assert self._twin is not None
        key = dtype, "whole" if strategy == SINGLE else "parts" if strategy in (IN_TURN, *MISTAKES) else "replicas"
        if key not in self._sessions:
            # Keras numbers what it builds: an optimizer's state is to have one name in all of them.
            tf.keras.utils.clear_session()
            dimensions = dict(self._twin.dimensions)
            if key[1] != "whole":
                dimensions[self._division.batch] //= self._replicas()
            twin = replace(self._twin, dimensions=dimensions)
            if key[1] == "replicas":
                with self._tf_strategy().scope():
                    self._sessions[key] = Session(twin, dtype)
            else:
                self._sessions[key] = Session(twin, dtype)
        session = self._sessions[key]
        session.reset(session.twin.first_case)
        return session

    def _replicas(self) -> int:
        return int(self._tf_strategy().num_replicas_in_sync) if self._joined else self._division.devices

    def _batch(self, session: Session, number: int) -> dict[str, np.ndarray]:
        return {name: session.twin.batches[name][number] for name in session.twin.inputs}

    def _inputs(self, session: Session, strategy: str) -> Callable[[Arrays], list[Any]]:
        """A function from arrays to a step's inputs: tensors, or the tensors of each replica's part."""
        if strategy in (SINGLE, IN_TURN, *MISTAKES):
            return session.tensors
        strategy_object, axes, parts = self._tf_strategy(), self._division.axes, self._replicas()

        def divide(batch: Arrays) -> list[Any]:
            whole = [tensor.numpy() for tensor in session.tensors(batch)]

            def part(index: int, context: Any) -> tf.Tensor:
                axis = axes[session.twin.inputs[index]]
                return tf.constant(part_of(whole[index], axis, context.replica_id_in_sync_group, parts))

            give = strategy_object.experimental_distribute_values_from_function
            return [give(partial(part, index)) for index in range(len(whole))]

        return divide

    def _step(self, session: Session, strategy: str) -> Step:
        """A strategy's step: inputs -> the loss.

        Raises:
          Unsupported: there is no such strategy, or the twin lacks what it is made of.
        """
        model = session.model
        if strategy == SINGLE:
            return tf.function(session.model.step)
        if strategy in (IN_TURN, *MISTAKES):
            return _replica_steps.in_turn(session, strategy, self._division, self._replicas())
        makers: Mapping[str, Callable[[], Step]] = {
            MIRRORED: lambda: _replica_steps.gradients_compiled(model),
            WORKERS: lambda: _replica_steps.gradients_compiled(model),
            COMPILED: lambda: tf.function(
                partial(_replica_steps.replica_step, model, partial(_replica_steps.gradients_of_share, model)),
                jit_compile=True,
            ),
            OWN: lambda: _replica_steps.handed_over(model),
        }
        if strategy not in makers:
            raise Unsupported(f"expected a strategy of {', '.join((*makers, *REFERENCES))}, found {strategy!r}")
        strategy_object, of_replica = self._tf_strategy(), makers[strategy]()

        def step(*inputs: Any) -> tf.Tensor:
            shares = strategy_object.run(of_replica, args=inputs)
            return strategy_object.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)

        return tf.function(step)


def _copies(variable: Any) -> dict[str, np.ndarray]:
    """The copy of a variable on each device of this process."""
    values = getattr(variable, "values", (variable,))
    return {value.device or "CPU": value.numpy() for value in values}


def _firsts(copies: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: next(iter(held_copies.values())) for name, held_copies in copies.items()}


def create() -> Strategies:
    """This side on several devices."""
    # Has to be said before TensorFlow starts.
    (processor,) = tf.config.list_physical_devices("CPU")
    count = int(os.environ.get(LOGICAL_DEVICES, "1"))
    logical: Sequence[Any] = [tf.config.LogicalDeviceConfiguration()] * count
    tf.config.set_logical_device_configuration(processor, logical)
    return Strategies()


_KINDS = ("Collective", "Nccl")
_SETTING_UP = ("CollectiveInitializeCommunicator", "CollectiveAssignGroup")
"""They exchange no array."""


def transfers(graph: Any) -> list[Collective]:
    """The collective operations of a traced function and of all that it calls, those of one device alone.

    Every device has the same; of a group only its size stands in the graph.
    """
    collectives = list(_of_all(graph, "", set()))
    first = next((device for device, _ in collectives), "")
    return [collective for device, collective in collectives if device == first]


def _of_all(graph: Any, caller: str, seen_names: set[str]) -> Iterator[tuple[str, Collective]]:
    for operation in graph.get_operations():
        line = users_line(list(operation.traceback or ())) or caller
        if operation.type.startswith(_KINDS) and operation.type not in _SETTING_UP:
            tensor = operation.inputs[0]
            size = tensor.dtype.size * (tensor.shape.num_elements() or 0)
            yield operation.device, Collective(operation.type, 1, size, source=line)
        for name, callee in callees(graph, operation):
            if name not in seen_names:
                seen_names.add(name)
                yield from _of_all(callee, line, seen_names)
