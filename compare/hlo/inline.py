"""Makes calls and fusions transparent: their instructions stand where they were called."""

from __future__ import annotations

from typing import Any

from compare.hlo import proto

TRANSPARENT = frozenset({"call", "fusion"})


def inline(data: bytes) -> tuple[Any, dict[int, tuple[str, ...]]]:
    """The module with every call and fusion replaced by what it calls, loop bodies and reducers included.

    An instruction without a place in the user's file takes that of its call. Aliasing and the entry's
    signature stay.

    Returns:
      The HloModuleProto, its instructions numbered anew; and by instruction, the calls and fusions
      that it stood in, outermost first.

    Raises:
      UnreadableProgram: the bytes are no HLO.
    """
    inliner = _Inliner(proto.read_module(data))
    return inliner.module(), inliner.places


class _Inliner:
    def __init__(self, source: Any) -> None:
        self._source = source
        self._computations = {computation.id: computation for computation in source.computations}
        self._done: dict[int, Any] = {}
        self._last = 0
        self.places: dict[int, tuple[str, ...]] = {}

    def module(self) -> Any:
        entry = self._region(self._source.entry_computation_id)
        module = self._source
        module.ClearField("computations")
        # The order of a schedule is lost with the instructions that it orders.
        module.ClearField("schedule")
        module.computations.extend(self._done.values())
        module.entry_computation_id, module.entry_computation_name = entry.id, entry.name
        return module

    def _number(self) -> int:
        self._last += 1
        return self._last

    def _region(self, key: int) -> Any:
        """A computation that stays one, inlined, its callees before it."""
        if key not in self._done:
            source = self._computations[key]
            target = proto.new("HloComputationProto")
            target.name, target.is_fusion_computation = source.name, False
            target.program_shape.CopyFrom(source.program_shape)
            target.root_id = self._copy(source, target, None, (), None)
            target.id = self._number()
            self._done[key] = target
        return self._done[key]

    def _copy(self, source: Any, target: Any, arguments: list[int] | None, place: tuple[str, ...], caller: Any) -> int:
        """Append the instructions of a computation; the number of what was its root."""
        new_ids: dict[int, int] = {}
        for instruction in source.instructions:
            operands = [new_ids[key] for key in instruction.operand_ids]
            if instruction.opcode == "parameter" and arguments is not None:
                new_ids[instruction.id] = arguments[instruction.parameter_number]
            elif instruction.opcode in TRANSPARENT:
                (callee,) = instruction.called_computation_ids
                inner = (*place, instruction.name)
                new_ids[instruction.id] = self._copy(
                    self._computations[callee], target, operands, inner, _metadata_of(instruction, caller)
                )
            else:
                new_ids[instruction.id] = self._append(instruction, target, operands, place, caller)
        return new_ids[source.root_id]

    def _append(self, instruction: Any, target: Any, operands: list[int], place: tuple[str, ...], caller: Any) -> int:
        regions = [self._region(key).id for key in instruction.called_computation_ids]
        copy = target.instructions.add()
        copy.CopyFrom(instruction)
        copy.id = self._number()
        copy.operand_ids[:] = operands
        copy.called_computation_ids[:] = regions
        copy.ClearField("control_predecessor_ids")
        if caller is not None:
            copy.metadata.CopyFrom(_metadata_of(instruction, caller))
        if place:
            copy.name = f"{'/'.join(place)}/{instruction.name}"
            self.places[copy.id] = place
        return copy.id


def _metadata_of(instruction: Any, caller: Any) -> Any:
    """The instruction's own metadata, or its caller's where it has no place in any file."""
    own = instruction.metadata
    return own if caller is None or own.stack_frame_id or own.source_file else caller
