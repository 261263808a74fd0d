"""Prepares the inputs of both sides: one workload at one size, with arrays that are drawn once, in one file."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compare.errors import RequestError
from compare.inputs.sizes import choose_size, dimensions_at, input_bytes, parity_size, refusals
from compare.sides import mapped, wire
from compare.sides.requests import Loading
from workloads.core.arrays import draw_batches, draw_cases, draw_weights
from workloads.core.declared import AnyWorkload
from workloads.core.dimensions import describe_dimensions, others
from workloads.core.precision import narrow_dtype
from workloads.core.spec import Arrays, ArraySpec, Cost, Dimensions, Training, Workload

SEEDS = 3
"""Random cases for a workload."""

LARGE_BYTES = 1 << 24
"""Inputs beyond this are drawn once: millions of elements are samples enough."""

MOST_VARIED_ELEMENTS = 1 << 20
"""The most bytes of all inputs at an additional size that no range names: more takes minutes."""


@dataclass(frozen=True)
class Drawn:
    """The drawn arrays of a workload at a size, on disk."""

    size: str
    dimensions: Dimensions
    loading: Loading
    inputs: Mapping[str, ArraySpec[int]]
    cost: Cost | None
    others: tuple[Dimensions, ...] = ()
    """The sizes of its named dimensions that parity is judged at as well."""
    at: str = ""
    """The named dimensions, where this is one of those: "B=3, T=7"."""


@dataclass(frozen=True)
class Prepared(Drawn):
    """A workload at a size."""

    workload: AnyWorkload = dataclasses.field(kw_only=True)

    @property
    def without_workload(self) -> Drawn:
        """The arrays and sizes without the workload: plain data."""
        return Drawn(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Drawn)})

    def on_pass(self, main_pass: str | None, unrolled_steps: int = 0) -> Prepared:
        """The workload for compilation and timing on a pass; None for the training step, or else the forward pass.

        Args:
          unrolled_steps: training steps in one program; 0 for one at a time.
        """
        loading = dataclasses.replace(self.loading, main_pass=main_pass or "", unrolled=unrolled_steps)
        return dataclasses.replace(self, loading=loading)

    @property
    def title(self) -> str:
        """The workload as messages call it."""
        return f"{self.workload.name} at {self.at}" if self.at else self.workload.name


def on_pass(
    both: tuple[Prepared, Prepared], main_pass: str | None, unrolled_steps: int = 0
) -> tuple[Prepared, Prepared]:
    """Choose the pass of both instances, that of parity and that of the timing; one object where they are one.

    Args:
      main_pass: None takes the training step, or else the forward pass.
      unrolled_steps: training steps in one program; 0 for one at a time.
    """
    small = both[0].on_pass(main_pass, unrolled_steps)
    return small, small if both[0] is both[1] else both[1].on_pass(main_pass, unrolled_steps)


def named_apart(workloads: Sequence[AnyWorkload]) -> None:
    """Raise RequestError where two workloads have one name."""
    names = [workload.name for workload in workloads]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RequestError(f"expected workloads of different names, found {twice[0]!r} twice: rename one")


def prepare_both(
    workload: Workload, size: str | None, data: Path | None, scratch: Path, judge_at: str | None = None
) -> tuple[Prepared, Prepared]:
    """The arrays that parity is judged on, and those that are compiled and timed.

    They are the same, unless they are huge or parity is asked for at another size (`judge_at`).

    Args:
      size: a size of the workload; None takes the default, `smoke` for what trains and `default` for functions.
      data: a file of training data; None takes the workload's own.

    Raises:
      RequestError: the workload has no such size, or refuses its dimensions.
    """
    timed_size = choose_size(workload, size)
    examples = examples_of(workload, timed_size, data)
    judged_size = choose_size(workload, judge_at) if judge_at else parity_size(workload, timed_size, examples)
    if judged_size == timed_size:
        small = prepare(workload, timed_size, examples, scratch)
        return small, small
    small = prepare(workload, judged_size, examples_of(workload, judged_size, data), scratch)
    return small, prepare(workload, timed_size, examples, scratch, one_case=True)


def prepare_one(workload: Workload, size: str, data: Path | None, scratch: Path) -> Prepared:
    """One random case at a size, as large as it may be.

    Args:
      data: a file of training data; None takes the workload's own.

    Raises:
      RequestError: the workload has no such size, or refuses its dimensions.
    """
    return prepare(workload, size, examples_of(workload, size, data), scratch, one_case=True)


def examples_of(workload: Workload, size: str, data: Path | None) -> Arrays | None:
    """The training data of a size, by input, [examples, ...]; None where nothing is trained.

    Args:
      data: a file of training data; None takes the workload's own.

    Raises:
      RequestError: the workload refuses these dimensions.
    """
    with refusals(workload, size):
        return workload.training.examples(data, workload.dimensions(size)) if workload.training else None


def prepare(workload: Workload, size: str, examples: Arrays | None, scratch: Path, one_case: bool = False) -> Prepared:
    """Draw every array of a workload and write it where the workers read it.

    Args:
      examples: training data by input, [examples, ...]; None where nothing is trained.

    Raises:
      RequestError: the workload refuses these dimensions.
    """
    dimensions = dimensions_at(workload, size, examples)
    with refusals(workload, size):
        narrow_dtype(dimensions)
        specs = workload.input_specs(dimensions)
        weights = draw_weights(workload, dimensions)
    seeds = 1 if one_case or input_bytes(workload, dimensions) > LARGE_BYTES else SEEDS
    cases = draw_cases(workload, dimensions, seeds, examples, kinks=not one_case)
    batches = draw_batches(workload, dimensions, examples) if examples else {}
    twin = wire.pack_twin(cases, weights, batches)
    path = scratch / f"{workload.name}-{size}.arrays"
    mapped.save(twin, path)
    loading = Loading(
        workload=workload.name,
        targets={"tf": _target(workload, workload.tf), "jax": _target(workload, workload.jax)},
        builds=workload.builds,
        dimensions=dimensions,
        inputs=tuple(specs),
        cases=tuple(cases),
        arrays=path,
        sha256=digest(twin),
    )
    cost = workload.cost(dimensions) if workload.cost else None
    plain_specs = {name: plain(spec) for name, spec in specs.items()}
    other_dimensions = () if one_case else _others(workload, dimensions)
    return Prepared(size, dimensions, loading, plain_specs, cost, other_dimensions, workload=workload)


def with_arrays(own: Prepared, cases: Mapping[str, Arrays], weights: Arrays, batches: Arrays) -> Prepared:
    """The workload on other arrays, in a file beside its own.

    Args:
      weights: by path.
    """
    twin = wire.pack_twin(cases, weights, batches)
    sha256 = digest(twin)
    path = own.loading.arrays.with_name(f"{own.loading.arrays.name}-{sha256[:16]}")
    if not path.exists():
        mapped.save(twin, path)
    return dataclasses.replace(
        own, loading=dataclasses.replace(own.loading, arrays=path, sha256=sha256, cases=tuple(cases))
    )


def _others(workload: Workload, dimensions: Dimensions) -> tuple[Dimensions, ...]:
    def fits(dimensions: Dimensions) -> bool:
        try:
            return (
                sum(math.prod(spec.shape) for spec in workload.input_specs(dimensions).values()) <= MOST_VARIED_ELEMENTS
            )
        except ValueError:
            return True  # refused for another reason: the judgement at this size names it

    return others(dimensions, workload.varying, workload.ranges, fits)


def prepare_others(
    workload: Workload, size: str, dimensions: Dimensions, others: Sequence[Dimensions], scratch: Path
) -> list[Prepared | str]:
    """The workload at other sizes of its named dimensions, without training; a string says why one is refused.

    Args:
      others: per further size, the dimensions that differ.
    """
    return [_prepare_variant(workload, size, dimensions, variant, scratch) for variant in others]


def _prepare_variant(
    workload: Workload, size: str, dimensions: Dimensions, variant: Dimensions, scratch: Path
) -> Prepared | str:
    size_name = "-".join([size, *(f"{name}{number}" for name, number in variant.items())])
    try:
        once = dataclasses.replace(workload, training=None, example={}, sizes={size_name: {**dimensions, **variant}})
        return dataclasses.replace(prepare(once, size_name, None, scratch), others=(), at=describe_dimensions(variant))
    except (RequestError, ValueError) as error:
        return str(error)


def check_batch(workload: Workload, size: str, data: Path | None) -> tuple[Training, Arrays]:
    """The training run whose batch is enlarged, and its data by input, [examples, ...].

    Args:
      data: a file of training data; None takes the workload's own.

    Raises:
      RequestError: the workload does not train, or its batch is no dimension that can be chosen.
    """
    training, examples = workload.training, examples_of(workload, size, data)
    if training is None or examples is None:
        raise RequestError(f"expected a workload that trains, found {workload.name}: it has no batch to enlarge")
    dimensions = workload.dimensions(size)
    if training.batch not in dimensions or training.batch in training.infer_dimensions(examples):
        raise RequestError(
            f"expected {training.batch!r} among the dimensions that size {size} of {workload.name} chooses "
            f"({', '.join(dimensions)}), found none to enlarge: name it in Training.batch"
        )
    return training, examples


def prepare_batch(workload: Workload, size: str, batch: int, data: Path | None, scratch: Path) -> Prepared:
    """The workload at a size with another batch: one case, and one batch of its training run.

    Args:
      batch: the number of examples in a batch.
      data: a file of training data; None takes the workload's own.

    Raises:
      RequestError: as `check_batch` does.
    """
    training, examples = check_batch(workload, size, data)
    size_name = f"{size}-batch{batch}"
    sizes = {size_name: {**workload.dimensions(size), training.batch: batch}}
    once = dataclasses.replace(workload, training=dataclasses.replace(training, steps=1), sizes=sizes)
    return prepare(once, size_name, examples, scratch, one_case=True)


def digest(arrays: Arrays) -> str:
    """sha256 of names, dtypes, shapes and bytes: equal where both sides were given the same."""
    sha256 = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        sha256.update(f"{name} {array.dtype} {array.shape} ".encode())
        sha256.update(array.tobytes())
    return sha256.hexdigest()


def plain(spec: ArraySpec) -> ArraySpec:
    """The specification with Python's numbers: a port file may use NumPy's, which messages cannot contain."""
    low, high = (None if end is None else float(end) for end in (spec.low, spec.high))
    if low is not None and high is not None and high <= low:
        # Integers beyond 2^53, closer to one another than floats are.
        high = math.nextafter(low, math.inf)
    return ArraySpec(tuple(int(size) for size in spec.shape), str(np.dtype(spec.dtype)), low, high, float(spec.scale))


def type_text(spec: ArraySpec) -> str:
    """A spec as XLA writes its type: "f32[8,128]"."""
    return describe(spec.shape, spec.dtype)


def describe(shape: tuple[int, ...], dtype: str) -> str:
    """A shape and dtype as XLA writes the type: "f32[8,128]"."""
    short = (
        dtype.replace("complex", "c")
        .replace("bfloat", "bf")
        .replace("float", "f")
        .replace("f8_", "f8")
        .replace("uint", "u")
        .replace("int", "i")
    )
    return f"{short.replace('bool', 'pred')}[{','.join(map(str, shape))}]"


def _target(workload: Workload, reference: str) -> str:
    where, separator, attribute = reference.rpartition(":")
    if where.endswith(".py") and workload.folder is not None:
        return f"{workload.folder / where}{separator}{attribute}"
    return reference
