"""Programs in files: StableHLO bytecode, HLO protos, and HLO text that spells out all of its constants."""

from __future__ import annotations

from compare.hlo import bindings, proto
from compare.hlo.bindings import BYTECODE, UnreadableProgram
from compare.hlo.executing import check_bytecode, hlo_from_text
from compare.hlo.portable import make_portable

_TEXT = b"HloModule"
_ELIDED = b"{...}"


def hlo_of_file(data: bytes) -> bytes:
    """The serialized HloModuleProto of a file of any of these kinds.

    Raises:
      UnreadableProgram: none of them, or text that leaves constants out: read back they would be garbage.
    """
    if data.startswith(BYTECODE):
        return hlo_of_artifact(check_bytecode(data))
    if not data.lstrip().startswith(_TEXT):
        module = proto.read_module(data).SerializeToString()
        # XLA knows how many operands and computations every operation has.
        bindings.hlo_text(module)
        return module
    if _ELIDED in data:
        raise UnreadableProgram(
            "expected HLO text with all constants spelled out, found constant({...}): "
            "dump with --xla_dump_hlo_as_proto or --xla_dump_large_constants"
        )
    return hlo_from_text(data.decode(errors="replace"))


def hlo_of_artifact(artifact: bytes) -> bytes:
    """A StableHLO program, whichever framework wrote it, as a serialized HloModuleProto.

    Raises:
      UnreadableProgram: the bytes are no StableHLO, or XLA does not take the program.
    """
    module = bindings.parse(artifact)
    make_portable(module)
    return bindings.hlo_of(module)
