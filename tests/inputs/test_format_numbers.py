"""The number of a format is an integer from 1 that this release knows; every reader refuses anything else."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import damaged_bundles
import numpy as np
import pytest
from safetensors.numpy import save

from compare.bundles import bundle
from compare.errors import Foreseen
from compare.figures import kept_rows
from compare.record import results_file
from compare.report import benchmark_json
from compare.sides.recorded import FORMAT, METADATA_KEY, RecordedSide
from compare.weights import receipt

NUMBERS = ("0", "-1", "1.0", "true", '"1"', "null", "1e400", "NaN", "99", "[1]", "1" + "0" * 30)


def of_record(folder: Path, number: str) -> object:
    (folder / "results.json").write_text(f'{{"schema": {number}, "workloads": {{}}}}')
    return results_file.load(folder / "results.json")


def of_bundle(folder: Path, number: str) -> object:
    damaged_bundles.bug_report(folder / "b")
    index = folder / "b" / bundle.INDEX
    index.write_text(index.read_text().replace('"schema": 1', f'"schema": {number}'))
    return bundle.modules(folder / "b", folder)


def of_row(folder: Path, number: str) -> object:
    (folder / "S1.json").write_text(f'{{"schema": {number}, "row": "S1", "experiments": []}}')
    return kept_rows.load_row("S1", folder)


def of_receipt(folder: Path, number: str) -> object:
    empty = {name: {} for name in ("versions", "tied", "left", "allowed", "excluded")}
    texts = dict.fromkeys(("source", "weights", "target", "sha256"), "")
    content = json.dumps({**empty, **texts, "layers": [], "leaves": []})
    (folder / "r.receipt.json").write_text(f'{{"format": {number}, {content[1:]}')
    return receipt.read(folder / "r.receipt.json")


def of_benchmarks(folder: Path, number: str) -> object:
    kept = f'{{"schema": {number}, "part": {{}}}}'
    benchmark = f'{{"name": "b", "extra_info": {{"workload": "f", "mode": "jax/jit", "jaxport": {kept}}}}}'
    (folder / "b.json").write_text(f'{{"machine_info": {{}}, "benchmarks": [{benchmark}]}}')
    return benchmark_json.load(folder / "b.json")


def of_side(folder: Path, number: str) -> object:
    # 1 of the other formats is the first version; a recording's own is higher.
    number = {"1": str(FORMAT)}.get(number, number)
    head = f'{{"format": {number}, "side": "tf", "replies": {{}}}}'
    (folder / "tf.side").write_bytes(save({"0/x": np.ones(3)}, {METADATA_KEY: head}))
    return RecordedSide("tf", folder / "tf.side")


READERS = {
    "records": of_record, "bug reports": of_bundle, "rows": of_row, "receipts": of_receipt,
    "benchmarks": of_benchmarks, "recorded sides": of_side,
}  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_file_of_no_known_format_is_refused_in_one_line(
    tmp_path: Path, reader: Callable[[Path, str], object], number: str
) -> None:
    with pytest.raises(Foreseen, match=r"expected .*, found [^\n]*$"):
        reader(tmp_path, number)


@pytest.mark.usefixtures("programs_here")
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_file_of_the_known_format_is_read(tmp_path: Path, reader: Callable[[Path, str], object]) -> None:
    reader(tmp_path, "1")


def with_head(folder: Path, change: Callable[[str], str]) -> Path:
    """A recorded side whose safetensors head is other text."""
    head = json.dumps({"format": FORMAT, "side": "tf", "replies": {}})
    data = save({"0/x": np.ones(3)}, {METADATA_KEY: head})
    (length,) = struct.unpack("<Q", data[:8])
    text = change(data[8 : 8 + length].decode()).encode()
    (folder / "tf.side").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
    return folder / "tf.side"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda head: head.replace('{"jax', '{"format":"2","jax'), "metadata 'format' besides jaxport.side"),
        (lambda head: head.replace('{"jax', '{"format":"1e400","jax'), "metadata 'format' besides jaxport.side"),
        (lambda head: head.replace('{"jax', '{"jaxport.side":"{}","jax'), "the key 'jaxport.side' twice"),
        (
            lambda head: head.replace('"0/x":', '"0/x":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},"0/x":'),
            "'0/x'",
        ),
        (lambda head: head.replace('"dtype"', '"dtype":"F32","dtype"'), "the key 'dtype' twice"),
    ],
)
def test_a_head_that_says_two_things_is_refused(tmp_path: Path, change: Callable[[str], str], found: str) -> None:
    RecordedSide("tf", with_head(tmp_path, str))
    with pytest.raises(Foreseen, match=found):
        RecordedSide("tf", with_head(tmp_path, change))
