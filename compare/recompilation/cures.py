"""Cures for a stream that compiles too often: each changes the calls, or how the function is staged. Pure."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from compare.inputs.call_streams import Call, describe, leaves, map_leaves, map_with_paths
from compare.record.ledger_part import SideLedger
from workloads.core.spec import ArraySpec
from workloads.protocol.recompiling import Named, Staging

Comparison = Literal["whole", "within"]
"""How results are compared with those of the stream as it was: all of them, or what lies within their shapes."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """A stream and a staging to try: `numbers` says which call of the stream before each one stands for."""

    name: str
    change: str
    staging: Staging
    calls: Sequence[Call]
    numbers: Sequence[int]
    comparison: Comparison = "whole"


@dataclass(frozen=True)
class Refused:
    """A cure that does not apply, and why."""

    name: str
    change: str
    reason: str


def cures(side: str, staging: Staging, calls: Sequence[Call], ledger: SideLedger) -> list[Trial | Refused]:
    """The cures of a side, in order; none where a stream compiles once.

    Args:
      side: "tf" or "jax".
    """
    if max(ledger.traces or 0, ledger.compilations or 0) <= 1:
        return []
    kept_numbers = [number for number, line in enumerate(ledger.calls) if not line.error]
    stream = _Stream(side, staging, [calls[number] for number in kept_numbers], kept_numbers, ledger.traces)
    if not kept_numbers:
        return []
    paddings = [stream.pad("buckets", "sizes that vary are padded to powers of two", _power_of_two)]
    paddings.append(stream.pad("largest", "sizes that vary are padded to the largest", None))
    paddings.append(stream.without_last())
    candidates = [*paddings, *stream.restage(), stream.arrays()]
    return _each_once([cure for cure in candidates if cure is not None])


def _each_once(candidates: Sequence[Trial | Refused]) -> list[Trial | Refused]:
    """Cures that make the same stream are tried once, under the first name."""
    result: list[Trial | Refused] = []
    names_by_key: dict[tuple[object, ...], str] = {}
    for cure in candidates:
        if isinstance(cure, Refused):
            result.append(cure)
            continue
        key = (cure.staging.cure, *(call.text for call in cure.calls))
        result.append(
            Refused(cure.name, cure.change, f"the same calls as with {names_by_key[key]}")
            if key in names_by_key
            else cure
        )
        names_by_key.setdefault(key, cure.name)
    return result


@dataclass(frozen=True)
class _Stream:
    side: str
    staging: Staging
    calls: Sequence[Call]
    numbers: Sequence[int]
    traces: int | None

    def pad(self, name: str, change: str, size: Callable[[int], int] | None) -> Trial | None:
        """Pad every axis that varies with zeros, up to a size, or to the largest."""
        varying = self._varying()
        if not varying:
            return None

        def grow(path: Path, leaf: Any) -> Any:
            if path not in varying:
                return leaf
            widths = [
                (0, (size(n) if size else max(varying[path][axis])) - n) if axis in varying[path] else (0, 0)
                for axis, n in enumerate(leaf.shape)
            ]
            return np.pad(leaf, widths)

        calls = [_rewrite(call, map_with_paths(call.arguments, grow)) for call in self.calls]
        return Trial(name, change, self.staging, calls, self.numbers, "within")

    def without_last(self) -> Trial | None:
        """Calls whose sizes are smaller than those of most are left out."""
        varying = self._varying()
        shapes = [call.text for call in self.calls]
        most, times = Counter(shapes).most_common(1)[0]
        if not varying or times < 2 or shapes[-1] == most or any(text != most for text in shapes[:-1]):
            return None
        change = "the last batch, which is smaller, is dropped"
        smaller = all(sizes[-1] < max(sizes) for axes in varying.values() for sizes in axes.values())
        return Trial("drop_last", change, self.staging, self.calls[:-1], self.numbers[:-1]) if smaller else None

    def restage(self) -> list[Trial | Refused]:
        """List the cures that stage the function in another way."""
        if self.side == "tf" and (self.traces or 0) <= 1:
            return []
        if self.side == "tf":
            retracing = dataclasses.replace(self.staging, cure="reduce_retracing")
            change = "tf.function(reduce_retracing=True)"
            return [
                Trial("reduce_retracing", change, retracing, self.calls, self.numbers),
                *self._with_signature("input_signature", "an input_signature with None for sizes that vary"),
            ]
        varying = self._varying()
        change = "jax.export once, with a symbol for each size that varies"
        return list(self._with_signature("symbolic_shapes", change)) if varying else []

    def arrays(self) -> Trial | None:
        """Numbers that vary become arrays, and what holds them is static no longer."""
        varying = {path for path, values in self._by_path().items() if _vary(values)}
        if not varying:
            return None

        def as_array(path: Path, leaf: Any) -> Any:
            return _array(leaf) if path in varying else leaf

        calls = [_rewrite(call, map_with_paths(call.arguments, as_array)) for call in self.calls]
        names = ", ".join(sorted({".".join(path) for path in varying}))
        dynamic = tuple(dict.fromkeys(path[0] for path in varying))
        staging = dataclasses.replace(self.staging, cure="arrays", dynamic=dynamic)
        return Trial("arrays", f"{names} passed as an array", staging, calls, self.numbers)

    def _with_signature(
        self, name: Literal["input_signature", "symbolic_shapes"], change: str
    ) -> list[Trial | Refused]:
        signature, reason = self._signature()
        if reason:
            return [Refused(name, change, reason)]
        staging = dataclasses.replace(self.staging, cure=name, signature=signature)
        return [Trial(name, change, staging, self.calls, self.numbers)]

    def _signature(self) -> tuple[Named, str]:
        """Specs in place of arrays, sizes that vary as names, equal where they vary alike; or why there are none."""
        if reason := self._one_form():
            return {}, reason
        varying = self._varying()
        symbols: dict[tuple[int, ...], str] = {}
        for axes in varying.values():
            for sizes in axes.values():
                symbols.setdefault(tuple(sizes), f"size{len(symbols)}")

        def specify(path: Path, leaf: Any) -> Any:
            if not isinstance(leaf, np.ndarray):
                return leaf
            axes = varying.get(path, {})
            shape = tuple(symbols[tuple(axes[axis])] if axis in axes else n for axis, n in enumerate(leaf.shape))
            return ArraySpec(shape, leaf.dtype.name)

        return map_with_paths(self.calls[0].arguments, specify), ""

    def _varying(self) -> dict[Path, dict[int, list[int]]]:
        """By array of one dtype and rank, and by axis, the sizes that vary, call by call of those that have it."""
        varying: dict[Path, dict[int, list[int]]] = {}
        for path, values in self._by_path().items():
            if len({_kind(value) for value in values}) > 1 or not isinstance(values[0], np.ndarray):
                continue
            axes = {axis: [value.shape[axis] for value in values] for axis in range(values[0].ndim)}
            if axes := {axis: sizes for axis, sizes in axes.items() if len(set(sizes)) > 1}:
                varying[path] = axes
        return varying

    def _one_form(self) -> str:
        """Why the calls cannot share a signature; empty where they can."""
        if len({repr(map_leaves(call.arguments, lambda _: None)) for call in self.calls}) > 1:
            return "the calls have arguments of more than one structure"
        unlike = [path for path, values in self._by_path().items() if len({_kind(value) for value in values}) > 1]
        return f"{'.'.join(unlike[0])} is of more than one dtype, rank or kind" if unlike else ""

    def _by_path(self) -> Mapping[Path, list[Any]]:
        by_call = [leaves(call.arguments) for call in self.calls]
        paths = dict.fromkeys(path for leaves_of_call in by_call for path in leaves_of_call)
        return {path: [leaves_of_call[path] for leaves_of_call in by_call if path in leaves_of_call] for path in paths}


def _kind(leaf: Any) -> object:
    return (leaf.dtype.name, leaf.ndim) if isinstance(leaf, np.ndarray) else type(leaf)


def _rewrite(call: Call, arguments: Named) -> Call:
    return Call(describe(arguments), arguments)


def _power_of_two(size: int) -> int:
    return 1 << max(size - 1, 0).bit_length()


def _vary(values: Sequence[Any]) -> bool:
    """Whether a leaf is a number, not always an array, that differs between calls."""
    plain = [value for value in values if isinstance(value, bool | int | float | np.generic)]
    return (
        bool(plain)
        and len({(type(value), str(value)) for value in values}) > 1
        and len(plain) == sum(not isinstance(value, np.ndarray) for value in values)
    )


def _array(leaf: Any) -> np.ndarray:
    """A number as an array of the dtype that both frameworks give it."""
    if isinstance(leaf, np.ndarray | np.generic):
        return np.asarray(leaf)
    return np.asarray(leaf, {bool: "bool", int: "int32", float: "float32"}[type(leaf)])
