"""Rules of arithmetic: the same value by another formula. Those that may change last bits say so."""

from __future__ import annotations

from compare.hlo.rewriting import Rule

ALGEBRAIC: tuple[Rule, ...] = ()
"""In the order in which they are tried, after the structural ones."""
