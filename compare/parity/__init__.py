"""Parity: is the port the same as the original? Five gates over evidence that others gathered."""

from compare.parity.evidence import Evidence, OracleSource
from compare.parity.verdict import explicable, judge

__all__ = ["Evidence", "OracleSource", "explicable", "judge"]
