"""Dump directories: what XLA wrote under XLA_FLAGS=--xla_dump_to=DIR, for TensorFlow or JAX."""

from __future__ import annotations

from compare.hlo.dumps.directory import DumpedFile, DumpedModule, modules
from compare.hlo.dumps.dumped_programs import stage_bytes
from compare.hlo.dumps.grammar import AFTER, BEFORE

__all__ = ["AFTER", "BEFORE", "DumpedFile", "DumpedModule", "modules", "stage_bytes"]
