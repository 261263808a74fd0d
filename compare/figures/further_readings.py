"""Values that are read from records of further commands: targets, recompilation, limits, clusters, operations."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable
from typing import Any

from compare.figures.readings import BYTES, FACTOR, SECONDS, number_at, reading, value_at
from compare.figures.row import Answer, Reading, Unread
from compare.record.base import Interval
from compare.record.datatypes_part import HOLDS, REFERENCE

_TAKEN = (REFERENCE, HOLDS)
"""Verdicts of `jaxport lookup datatypes` on a mode that takes a type: it is the reference, or agrees with it."""

DISABLED = "xla_disable_hlo_passes=priority-fusion"
"""The XLA option without whose pass every operation is a kernel on a GPU."""


def find_named(rows: Iterable[Any], name: str) -> dict[str, Any]:
    """The part of a record that has this name.

    Raises:
      Unread: none has.
    """
    parts = list(rows)
    for row in parts:
        if row.get("name") == name:
            return row
    raise Unread(f"expected a record of {name}, found one of {', '.join(str(row.get('name')) for row in parts)}")


def without_and_with_fusion(name: str, device: str, vector_bytes: int | None = None) -> tuple[Reading, ...]:
    """Kernels, bytes moved and bytes of intermediates of a port on a device, as `jaxport tune --target` compiles it.

    Args:
      vector_bytes: what bytes are divided by; None leaves them.
    """

    def cell(data: Any, row: str) -> dict[str, Any]:
        if name not in value_at(data, "workloads"):
            raise Unread(f"expected a record of {name}, found one of {', '.join(data['workloads'])}")
        return value_at(find_named(value_at(data, "workloads", name, "targets", device, "rows"), row), "cell")

    def pair(what: str, key: str, unit: str, by: float = 1) -> tuple[Reading, ...]:
        return (
            reading(f"{what} on {device} without fusion", unit, lambda data: number_at(cell(data, DISABLED), key) / by),
            reading(f"{what} on {device} with fusion", unit, lambda data: number_at(cell(data, "default"), key) / by),
        )

    traffic = pair("bytes", "bytes", BYTES) if not vector_bytes else pair("vectors moved", "bytes", "", vector_bytes)
    return (*pair("kernels", "kernels", ""), *traffic, *pair("intermediates", "temp_bytes", BYTES))


def ledger(name: str, side: str) -> tuple[Reading, ...]:
    """Compilations of a stream of calls, and the latency of a hit and of a miss, of one side."""

    def calls(data: Any) -> list[dict[str, Any]]:
        if value_at(data, "ledger", "name") != name:
            raise Unread(f"expected a record of {name}, found one of {data['ledger']['name']}")
        return value_at(data, "ledger", "sides", side, "calls")

    def latency(data: Any, compiled: bool) -> float:
        seconds = [number_at(call, "seconds") for call in calls(data) if bool(call["compilations"]) == compiled]
        if not seconds:
            raise Unread(f"no call of {name} {'compiled' if compiled else 'was found in the cache'}")
        return statistics.median(seconds)

    return (
        reading(f"{side}: compilations", "", lambda data: sum(number_at(call, "compilations") for call in calls(data))),
        reading(f"{side}: a call that compiles", SECONDS, lambda data: latency(data, True)),
        reading(f"{side}: a call that does not", SECONDS, lambda data: latency(data, False)),
    )


def outcomes(name: str, *raising: str) -> tuple[Reading, ...]:
    """The outcomes of one limit: 1 for each way to run it that raises, 0 for one with a result."""

    def read(way: str) -> Callable[[Any], float]:
        def raises(data: Any) -> float:
            outcome = value_at(find_named(value_at(data, "limits"), name), "ways", way, "outcome")
            if not outcome:
                raise Unread(f"{name} in {way}: its outcome is not known")
            return float(outcome == "raises")

        return raises

    return tuple(reading(f"{name} raises in {way}", "", read(way)) for way in raising)


def limits_that(what: str, agrees: bool | None, theme: str) -> Reading:
    """The number of limits of a theme that agree with their document, or do not.

    Args:
      agrees: whether they do.
    """

    def read(data: Any) -> float:
        limits = [limit for limit in value_at(data, "limits") if limit["theme"] == theme]
        if not limits:
            raise Unread(f"expected limits of {theme}, found none")
        return sum(limit["agrees"] is agrees for limit in limits)

    return reading(what, "", read)


def cluster_readings(name: str) -> tuple[Reading, ...]:
    """The clusters of the function that `jaxport compilation clusters` read, and the number of nodes in them."""

    def graph(data: Any) -> dict[str, Any]:
        return value_at(find_named(value_at(data, "clusterings"), name), "graph")

    return (
        reading("clusters", "", lambda data: len(value_at(graph(data), "clusters"))),
        reading(
            "nodes in clusters", "", lambda data: sum(bool(node["cluster"]) for node in value_at(graph(data), "nodes"))
        ),
        reading("nodes", "", lambda data: len(value_at(graph(data), "nodes"))),
    )


def counted_operations() -> tuple[Reading, ...]:
    """Counts from `jaxport lookup ops`: operations of tf.raw_ops, operations with an XLA kernel, opcodes of HLO."""
    return (
        reading("operations", "", lambda data: number_at(data, "counts", "public")),
        reading("operations with a kernel for XLA", "", lambda data: number_at(data, "counts", "public_xla_kernel")),
        reading("opcodes of HLO", "", lambda data: number_at(data, "counts", "hlo_opcodes")),
    )


def largest_batches(name: str, device: str) -> tuple[Reading, ...]:
    """The largest batch of both programs that fits into a device, by `jaxport hlo --largest-batch`."""

    def of(side: str) -> Callable[[Any], float]:
        cell = f"{side}@jax"
        return lambda data: number_at(
            find_named(value_at(data, "pairs"), name), "targets", device, cell, "largest_batch"
        )

    return tuple(reading(f"largest batch of {side}'s program on {device}", "", of(side)) for side in ("tf", "jax"))


def largest_measured(name: str, mode: str) -> Reading:
    """The largest batch of a mode below the memory limit, of those that `jaxport bench --batches` measured."""
    return reading(
        f"largest batch in {mode}",
        "",
        lambda data: number_at(data, "workloads", name, "batches", "largest", mode, "batch"),
    )


def growth(name: str, mode: str) -> Reading:
    """Bytes by which the peak of a mode grows for each example."""
    return reading(
        f"bytes an example in {mode}",
        BYTES,
        lambda data: number_at(data, "workloads", name, "batches", "bytes_per_example", mode),
    )


def replay_readings() -> tuple[Reading, ...]:
    """Counts from `jaxport replay`: modules, results, and results that differ."""

    def modules(data: Any) -> list[dict[str, Any]]:
        if not isinstance(data, list) or not data:
            raise Unread("the record holds no modules")
        return data

    def results(data: Any) -> list[dict[str, Any]]:
        return [result for module in modules(data) for result in value_at(module, "results")]

    def unlike(data: Any) -> float:
        differences = [
            difference for result in results(data) for difference in value_at(result, "differences").values()
        ]
        if not differences:
            raise Unread("the record holds no results")
        return sum(not difference["alike"] for difference in differences)

    return (
        reading("modules replayed", "", lambda data: len({value_at(module, "module") for module in modules(data)})),
        reading("results", "", lambda data: len(results(data))),
        reading("results that differ", "", unlike),
    )


def in_blocks(name: str, mode: str, layers: int) -> tuple[Reading, ...]:
    """Readings of `jaxport crossing blocks`: kernels in blocks of one layer and of all, and the latter's speed-up."""

    def run(data: Any, block: int) -> dict[str, Any]:
        for block_run in value_at(find_named(value_at(data, "series"), name), "runs"):
            if block_run["block"] == block:
                return block_run
        raise Unread(f"the record has no blocks of {block} layers of {name}")

    def whole_over_single(answer: Answer) -> tuple[float, Interval]:
        ratio = value_at(run(answer.printed, 1), "over_whole", mode)
        if ratio["withheld"]:
            raise Unread(f"{name} in {mode}: {ratio['withheld']}")
        interval = ratio["interval"]
        return number_at(ratio, "ratio"), tuple(interval) if interval else None

    return (
        *(
            reading(f"{mode}: kernels in blocks of {block}", "", lambda data, block=block: number_at(
                run(data, block), "kernels", mode
            ))
            for block in (1, layers)
        ),
        Reading(f"{mode}: whole faster than blocks of 1", FACTOR, whole_over_single),
    )  # fmt: skip


def files_in(name: str, folder: str) -> Reading:
    """How many files an experiment left in one of its folders."""

    def read(answer: Answer) -> tuple[float, None]:
        count = sum(path.is_file() for path in (answer.folder / folder).rglob("*"))
        if not count:
            raise Unread(f"the experiment left no file in {folder}")
        return count, None

    return Reading(name, "", read)


def exported_error(runner: str) -> Reading:
    """How far the exported example is from its results, as a runner prints it: the largest of all results."""

    def read(answer: Answer) -> tuple[float, None]:
        differences = re.findall(r"differs by (\S+) of its largest value", answer.text)
        if not differences:
            raise Unread(f"the runner printed no difference but {answer.text.strip()[:80]!r}")
        return max(float(difference) for difference in differences), None

    return Reading(f"error of the example, by {runner}", "", read)


def sentences() -> Reading:
    """How many sentences `jaxport explain` has, of all workloads that it was given."""
    return reading(
        "sentences with a measurement",
        "",
        lambda data: sum(len(value_at(workload, "sentences")) for workload in value_at(data, "workloads")),
    )


def cast(name: str, mode: str) -> Reading:
    """A count from `jaxport lookup datatypes`: the types with the right result in a mode, which may be eager."""

    def read(data: Any) -> float:
        rows = value_at(find_named(value_at(data, "functions"), name), "rows")
        return sum(
            cast_row["mode"] == mode and cast_row["status"] in _TAKEN for row in rows for cast_row in row["modes"]
        )

    return reading(f"types that {mode} takes", "", read)
