"""Programs of frameworks that write no StableHLO: HLO of TensorFlow 2.18, turned into StableHLO on this side."""

from __future__ import annotations

import dataclasses

import numpy as np

from compare.hlo import bindings
from compare.sides._side import Reply, SideError

ARTIFACT = "artifact"


def as_stablehlo(side: str, reply: Reply) -> Reply:
    """Convert the artifact of a reply to `program` to StableHLO, unless it is StableHLO.

    Args:
      reply: with the array `artifact`: StableHLO bytecode, or a serialized HloModuleProto.

    Raises:
      SideError: the artifact is neither, or HLO that StableHLO cannot express.
    """
    artifact = reply.arrays[ARTIFACT].tobytes()
    if artifact.startswith(bindings.BYTECODE):
        return reply
    try:
        bytecode = bindings.bytecode_of_hlo(artifact)
    except bindings.UnreadableProgram as error:
        raise SideError(side, "program", str(error)) from error
    return dataclasses.replace(reply, arrays={**reply.arrays, ARTIFACT: np.frombuffer(bytecode, np.uint8)})
