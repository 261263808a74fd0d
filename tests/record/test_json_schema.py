"""docs/results.schema.json: what files really hold, made from the structs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from places import DATA, ROOT

from compare.record.json_schema import schema

FILE = ROOT / "docs" / "results.schema.json"
GOLDENS = sorted(DATA.glob("record_*.json"))
VALIDATOR = Draft202012Validator(json.loads(FILE.read_text()))


def test_the_file_is_current() -> None:
    assert FILE.read_text() == json.dumps(schema(), indent=1) + "\n", "run `make schema`"


def test_the_file_is_a_schema() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_every_golden_record_is_valid(path: Any) -> None:
    assert [
        f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(json.loads(path.read_text()))
    ] == []


def test_every_field_is_described() -> None:
    fields = [
        (part, name, field)
        for part, declared in VALIDATOR.schema["$defs"].items()
        for name, field in declared["properties"].items()
    ]
    assert len(fields) > 250
    assert [f"{part}.{name}" for part, name, field in fields if not field.get("description")] == []


def of_timing(**timing: Any) -> dict[str, Any]:
    return {"schema": 1, "workloads": {"add": {"timing": timing}}}


def mistakes(record: dict[str, Any]) -> Iterator[str]:
    return (error.json_path for error in VALIDATOR.iter_errors(record))


@pytest.mark.parametrize(
    "record",
    [
        of_timing(margin="inf"),
        of_timing(margin=None, ratios={"A vs B": {"ci95": [0.0, "inf"], "withheld": None}}),
        of_timing(modes={"jax/jit": None}, added_later=[1]),
        {"schema": 1, "workloads": {"add": None}},
    ],
    ids=["no finite number", "null", "a field of another version", "a workload that is null"],
)
def test_what_a_file_may_hold_is_valid(record: dict[str, Any]) -> None:
    assert list(mistakes(record)) == []


@pytest.mark.parametrize(
    "record",
    [
        of_timing(margin="wide"),
        of_timing(ratios={"A vs B": {"ci95": [0.0]}}),
        of_timing(modes={"jax/jit": {"median_s": [1.0]}}),
        {"schema": 1},
        {"schema": 1, "workloads": {"add": {"parity": {"verdict": "perhaps"}}}},
    ],
    ids=["a text for a number", "half an interval", "a list for a number", "no workloads", "no verdict"],
)
def test_what_is_of_another_type_is_not(record: dict[str, Any]) -> None:
    assert list(mistakes(record))
