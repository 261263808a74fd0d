"""JAX's training step on several devices: one program over a mesh, and the same by hand with explicit reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from typing_extensions import override

from jaxport import _checkpoints, _distributed_steps, _mesh_layouts
from jaxport._distributed_steps import Step
from jaxport._recompiling import COMPILED, watched_events
from jaxport._session import Session, leaves_by_path
from workloads.core.spec import Arrays
from workloads.protocol.distributing import (
    IN_TURN,
    MISTAKES,
    OWN,
    REFERENCES,
    SINGLE,
    Cluster,
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

SPMD, SHARD_MAP = "spmd", "shard_map"


@dataclass(frozen=True)
class Placed:
    """A step, and how its arguments are laid out: whole arrays of the host become arrays of devices."""

    step: Step
    parameters: Callable[[Any], Any]
    state: Callable[[Any], Any]
    inputs: Callable[[Arrays], list[Any]]


class Strategies(Distributing):
    """The twin in JAX, on several devices."""

    side = "jax"

    def __init__(self) -> None:
        self._twin: Twin | None = None
        self._division = Division(1, "", {})
        self._sessions: dict[tuple[str, bool], Session] = {}

    def environment(self) -> dict[str, Scalar]:
        """Versions, and the devices."""
        return {
            "jax": jax.__version__,
            "jaxlib": jaxlib.version.__version__,
            "devices": ", ".join(map(str, jax.devices())),
        }

    def load(self, twin: Twin, division: Division) -> list[str]:
        """Take a twin; the names of its strategies."""
        check_devices(len(jax.local_devices()), division)
        self._twin, self._division = twin, division
        self._sessions.clear()
        jax.clear_caches()
        model = self._session("float32", whole=True).model
        if model.step is None:
            raise Unsupported("the workload has no step pass")
        by_parts = [SHARD_MAP] if model.parts else []
        return [SPMD, *_mesh_layouts.LAYOUTS, *by_parts, *([OWN] if model.sharded else [])]

    @override
    def join(self, cluster: Cluster) -> int:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(
            coordinator_address=cluster.addresses[0],
            num_processes=len(cluster.addresses),
            process_id=cluster.process,
            # Longer than who asks waits, who then says in one line what is wrong.
            initialization_timeout=2 * max(1, int(cluster.limit_s)),
        )
        return len(jax.devices())

    @override
    def steps(
        self, strategy: str, dtype: str, count: int, first: int = 0, checkpoint: str = "", equal_parts: bool = False
    ) -> Stepped:
        session = self._session(dtype, strategy not in (SHARD_MAP, IN_TURN, *MISTAKES))
        with session.precision():
            placement = self._place(session, strategy)
            parameters = session.parameters(session.twin.first_case)
            assert session.model.init is not None
            carry: list[Any] = [placement.parameters(parameters), placement.state(session.model.init(parameters))]
            if first:
                carry = _checkpoints.read(Path(checkpoint) / str(first), carry)
            record, compilations = Kept(first), 0
            for number in range(first, first + count):
                batch = self._batch(session, number)
                if equal_parts:
                    batch = of_equal_parts(batch, self._division.axes, len(jax.devices()))
                inputs = placement.inputs(batch)
                with watched_events() as events:
                    *carry, loss = jax.block_until_ready(placement.step(*carry, *inputs))
                compilations = compilations or len(events.get(COMPILED, ()))
                leaves = {"loss": loss, **session.by_weight(carry[0]), **leaves_by_path(carry[1])}
                record.unlike += filter(None, (_unlike(leaf, leaves[leaf], number + 1) for leaf in leaves))
                record.step(_host(loss), _on_host(session.by_weight(carry[0])), _on_host(leaves_by_path(carry[1])))
            if checkpoint:
                _checkpoints.write(Path(checkpoint) / str(first + count), carry)
            return record.result(compilations)

    def program(self, strategy: str) -> Program:
        """The optimized module of a step."""
        session = self._session("float32", strategy != SHARD_MAP)
        with session.precision():
            placement = self._place(session, strategy)
            arguments = self._arguments(session, placement)
            step: Any = placement.step
            executable = step.lower(*arguments).compile().runtime_executable()
            return Program(module=executable.hlo_modules()[0].as_serialized_hlo_module_proto())

    def prepare(self, strategy: str) -> Callable[[], None]:
        """A step that carries its state from call to call."""
        session = self._session("float32", strategy != SHARD_MAP)
        with session.precision():
            placement = self._place(session, strategy)
            first, second, *inputs = self._arguments(session, placement)
        carry = [first, second]

        def call() -> None:
            with session.precision():
                carry[0], carry[1], loss = placement.step(*carry, *inputs)
                jax.block_until_ready((*carry, loss))

        call()
        return call

    def _arguments(self, session: Session, placement: Placed) -> list[Any]:
        parameters = session.parameters(session.twin.first_case)
        assert session.model.init is not None
        state = session.model.init(parameters)
        return [placement.parameters(parameters), placement.state(state), *placement.inputs(self._batch(session, 0))]

    def _session(self, dtype: str, whole: bool) -> Session:
        """The twin for the whole batch, or for the part of one device."""
        assert self._twin is not None
        if (dtype, whole) not in self._sessions:
            dimensions = dict(self._twin.dimensions)
            if not whole:
                dimensions[self._division.batch] //= len(jax.devices())
            self._sessions[dtype, whole] = Session(replace(self._twin, dimensions=dimensions), dtype)
        return self._sessions[dtype, whole]

    def _batch(self, session: Session, number: int) -> dict[str, np.ndarray]:
        return {name: session.twin.batches[name][number] for name in session.twin.inputs}

    def _place(self, session: Session, strategy: str) -> Placed:
        """A strategy's step.

        Raises:
          Unsupported: there is no such strategy, or the twin lacks what it is made of.
        """
        model = session.model
        assert model.step is not None
        if strategy == SINGLE:
            return _on_one(session, jax.jit(model.step))
        if strategy in (IN_TURN, *MISTAKES):
            return _on_one(
                session,
                partial(
                    _distributed_steps.in_turn(_distributed_steps.parts_of(model), strategy), self._divider(session)
                ),
            )
        mesh = jax.make_mesh(
            (len(jax.devices()),), (_distributed_steps.AXIS,), axis_types=(jax.sharding.AxisType.Auto,)
        )
        specs = [_distributed_steps.spec_of(self._division.axes[name]) for name in session.twin.inputs]
        if strategy in _mesh_layouts.LAYOUTS:
            return _laid_out(session, mesh, strategy, specs)
        makers: Mapping[str, Callable[[], Step]] = {
            SPMD: lambda: _distributed_steps.spmd(model, mesh, specs),
            SHARD_MAP: lambda: _distributed_steps.by_hand(_distributed_steps.parts_of(model), mesh, specs),
            OWN: lambda: _distributed_steps.handed_over(model, mesh),
        }
        if strategy not in makers:
            names = (*makers, *_mesh_layouts.LAYOUTS, *REFERENCES)
            raise Unsupported(f"expected a strategy of {', '.join(names)}, found {strategy!r}")
        whole = NamedSharding(mesh, PartitionSpec())

        def keep(tree: Any) -> Any:
            return _put_all(tree, jax.tree.map(lambda _: whole, tree))

        return Placed(makers[strategy](), keep, keep, _inputs(session, [NamedSharding(mesh, spec) for spec in specs]))

    def _divider(self, session: Session) -> Callable[[Sequence[Any]], list[list[Any]]]:
        """A function that divides the inputs among devices."""
        axes, devices = [self._division.axes[name] for name in session.twin.inputs], len(jax.devices())

        def parts(inputs: Sequence[Any]) -> list[list[Any]]:
            return [
                [
                    jnp.asarray(part_of(np.asarray(array), axis, number, devices))
                    for array, axis in zip(inputs, axes, strict=True)
                ]
                for number in range(devices)
            ]

        return parts


def _on_one(session: Session, step: Step) -> Placed:
    return Placed(step, lambda tree: tree, lambda tree: tree, session.inputs)


def _laid_out(session: Session, mesh: Mesh, strategy: str, specs: Sequence[PartitionSpec]) -> Placed:
    """A step whose weights and optimizer state are divided too."""
    laid_out = _mesh_layouts.laid_out(session, mesh, strategy, specs)
    return Placed(
        laid_out.step,
        lambda tree: _put_all(tree, laid_out.parameters),
        lambda tree: _put_all(tree, laid_out.state),
        _inputs(session, laid_out.inputs),
    )


def _inputs(session: Session, shardings: Sequence[NamedSharding]) -> Callable[[Arrays], list[Any]]:
    def inputs(batch: Arrays) -> list[Any]:
        return [_put(array, on) for array, on in zip(map(np.asarray, session.inputs(batch)), shardings, strict=True)]

    return inputs


def _put_all(tree: Any, shardings: Any) -> Any:
    return jax.tree.map(lambda leaf, on: _put(np.asarray(leaf), on), tree, shardings)


def _put(array: np.ndarray, sharding: NamedSharding) -> jax.Array:
    """An array on the devices of all processes, each of which has the whole of it here."""
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def _host(array: jax.Array) -> np.ndarray:
    return np.asarray(array.addressable_shards[0].data if array.sharding.is_fully_replicated else array)


def _on_host(leaves: Mapping[str, jax.Array]) -> dict[str, np.ndarray]:
    return {name: _host(jnp.asarray(array)) for name, array in leaves.items()}


def _unlike(leaf: str, array: jax.Array, step: int) -> Any:
    """Where devices that hold the same part of an array after a step hold other bits."""
    copies: dict[str, dict[str, np.ndarray]] = {}
    for shard in array.addressable_shards:
        copies.setdefault(str(shard.index), {})[str(shard.device)] = np.asarray(shard.data)
    return next(
        filter(
            None, (first_unlike(leaf, held_copies, step) for held_copies in copies.values() if len(held_copies) > 1)
        ),
        None,
    )


def create() -> Strategies:
    """This side on several devices."""
    return Strategies()
