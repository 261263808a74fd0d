"""Sizes, steps and seeds are whole numbers, and other numbers of a port file are finite: anything else is one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare.commands import _option_types
from workloads import ArraySpec, Workload
from workloads.core.registry import RegistryError, get
from workloads.core.spec import Cost, Deviation, Training


def workload(**fields: Any) -> Workload:
    return Workload(name="f", tf="t.py:f", jax="j.py:f", inputs={"x": ArraySpec((2,))}, **fields)


def training(**fields: Any) -> Training:
    return Training(synthetic=lambda _: {}, **fields)


REFUSED: dict[str, Callable[[], object]] = {
    "a size of 2.0": lambda: ArraySpec((2.0, 3)),  # pyright: ignore[reportArgumentType]
    "a size that is True": lambda: ArraySpec((True, 3)),
    "a size that is not a number": lambda: ArraySpec((float("nan"),)),  # pyright: ignore[reportArgumentType]
    "a size of 1e400": lambda: ArraySpec((1e400,)),  # pyright: ignore[reportArgumentType]
    "a size of a NumPy float": lambda: ArraySpec((np.float32(2),)),  # pyright: ignore[reportArgumentType]
    "a shape that is a text": lambda: ArraySpec("BT"),  # pyright: ignore[reportArgumentType]
    "a shape that is a number": lambda: ArraySpec(5),  # pyright: ignore[reportArgumentType]
    "a scale that is a text": lambda: ArraySpec((2,), scale="1"),  # pyright: ignore[reportArgumentType]
    "a low that is True": lambda: ArraySpec((2,), low=True, high=3),
    "a dimension of 4.0": lambda: workload(sizes={"default": {"B": 4.0}}),
    "a dimension that is True": lambda: workload(sizes={"default": {"B": True}}),
    "a range from 1.0": lambda: workload(ranges={"B": (1.0, 4)}),
    "a range of one number": lambda: workload(ranges={"B": (1,)}),
    "a range that is a number": lambda: workload(ranges={"B": 4}),
    "2.0 steps": lambda: training(steps=2.0),
    "steps that are True": lambda: training(steps=True),
    "a checkpoint of 1.0": lambda: training(checkpoints=(1.0,)),
    "a bound that is not a number": lambda: Deviation("semantics", float("nan"), "why"),
    "an infinite bound": lambda: Deviation("semantics", 1e400, "why"),
    "costs that are not numbers": lambda: Cost(float("nan"), 1, "source"),
    "infinite bytes": lambda: Cost(1, 1e400, "source"),
}


@pytest.mark.parametrize("made", REFUSED.values(), ids=REFUSED)
def test_what_is_no_such_number_is_refused_where_it_is_declared(made: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^expected .*, found "):
        made()


def test_whole_numbers_of_numpy_are_sizes() -> None:
    assert ArraySpec((np.int64(2), 3)).shape == (2, 3)  # pyright: ignore[reportArgumentType]


def test_a_port_file_with_a_size_of_2_0_is_refused_in_one_line(tmp_path: Path) -> None:
    port = tmp_path / "port.py"
    port.write_text(
        "from workloads import ArraySpec, Workload\n"
        "port = Workload(name='f', tf='t.py:f', jax='j.py:f', builds=False, inputs={'x': ArraySpec((2.0, 3))})\n"
    )
    with pytest.raises(RegistryError, match=r"a whole number such as 2 .* found 2\.0 of type float: .*\(line 2\)"):
        get(str(port))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *[(_option_types.count_or_zero, text) for text in ("-1", "2.0", "1e400", "nan", "True", "")],
        *[(_option_types.seconds, text) for text in ("1e300", "1e400", "nan", "inf", "-1")],
    ],
)
def test_an_option_takes_no_other_number(kind: Callable[[str], object], text: str) -> None:
    with pytest.raises(Exception, match=r"^expected .*, found "):
        kind(text)
