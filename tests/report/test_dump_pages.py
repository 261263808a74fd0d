"""Pages of a dump directory: everything that the record says is there, escaped, whatever is missing."""

from __future__ import annotations

import argparse
import copy
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pages import Page, holes, hostile
from places import DATA
from rich.console import Console

from compare.commands import dump
from compare.errors import RequestError
from compare.hlo.dumps.summary import summarize
from compare.plain_json import to_json
from compare.report import dump_module_page, dump_pages
from compare.report.page_html import render

pytestmark = pytest.mark.process

DUMPS = DATA / "dumps"
PTX = {"file": "f.ptx", "bytes": 9, "target": "sm_90a", "kernels": [
    {"name": "add_kernel", "parameters": 2, "registers": {"b32": 14}, "launch": {"reqntid": "128, 1, 1"}}]}  # fmt: skip
THUNKS = {"file": "t.txt", "kinds": {"kKernel": 1}, "thunks": [
    {"number": 0, "kind": "kKernel", "depth": 1, "what": "add"}]}  # fmt: skip


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """The samples of both frameworks as one dump, with a GPU's files in the first module."""
    found = [to_json(summarize(DUMPS / folder)) for folder in ("jax", "tf_jit", "tf_autocluster")]
    modules = [module for each in found for module in each["modules"]]
    modules[0] |= {"ptx": [PTX], "thunks": [THUNKS], "problems": [{"file": "bad.txt", "reason": "expected HLO"}]}
    return found[0] | {"modules": modules, "unknown": [{"path": "notes.txt", "bytes": 5, "kind": "of no module"}]}


def pages(record: dict[str, Any]) -> list[str]:
    """Every page of a dump, the index first."""
    return [render(dump_pages.index_page(record)), *map(module_page, record["modules"])]


def module_page(module: object) -> str:
    return render(dump_module_page.page(module))


def shown(html: str) -> str:
    """The visible text of a page in one line."""
    return " ".join(Page(html.replace("</t", " </t").replace("</dt", " </dt")).text.split())


def test_the_index_links_a_page_a_module_and_names_every_other_file(record: dict[str, Any], tmp_path: Path) -> None:
    index = dump_pages.write_pages(record, tmp_path / "out")
    links = [link for link in Page(index.read_text()).values("href") if link.endswith(".html")]
    assert len(links) == len(record["modules"]) == 4
    assert {each.name for each in index.parent.iterdir()} == {"index.html", *links}
    text = shown(index.read_text())
    for module in record["modules"]:
        assert module["function"] in text
    assert "notes.txt 5 B" in text
    assert "21 → 29 3" in text


def test_a_page_says_all_parts_of_its_module(record: dict[str, Any]) -> None:
    text = shown(module_page(record["modules"][0]))
    for sentence in (
        "instructions 21 29",
        "fusion 0 3 +3",
        "broadcast_multiply_fusion fusion kLoop f32[64,64] sine, constant, broadcast, multiply",
        "jit(steps)/while/body/mul model.py:4",
        "sharding-removal dce -2 get-tuple-element 19",
        "while-loop-trip-count-annotator shapes, layouts, order or attributes 19",
        "Buffers: 32.1 KiB",
        "parameter 16.0 KiB",
        "8 x float 256 256",
        "module.mlir as the frontend handed it over 45",
        "add_kernel sm_90a 2 14 b32 reqntid 128, 1, 1",
        "kKernel add",
        "bad.txt expected HLO",
        'xla_dump_hlo_pass_re: ".*"',
    ):
        assert sentence in text


def test_a_page_names_the_constants_that_the_text_leaves_out(record: dict[str, Any]) -> None:
    module = record["modules"][1]
    assert module["stages"]["before"]["left_out"]
    assert "leaves out the values of 2 constants" in shown(module_page(module))


def test_a_parameter_that_is_returned_says_so(record: dict[str, Any]) -> None:
    assert "parameter, also output arg1.1" in shown(module_page(record["modules"][2]))


def test_a_page_without_a_part_says_how_to_have_it() -> None:
    text = shown(module_page({"number": 1, "name": "jit_f", "function": "f"}))
    for sentence in (
        "No stage of the program could be read.",
        "No pass was dumped: set --xla_dump_hlo_pass_re=.*",
        "No buffer assignment was dumped.",
        "No LLVM IR was dumped",
        "No MLIR was dumped.",
        "Neither PTX nor a thunk sequence was dumped.",
    ):
        assert sentence in text


def test_links_have_targets_and_nothing_is_fetched(record: dict[str, Any]) -> None:
    names = {*dump_pages.page_names(record["modules"]), "index.html", "data:,"}
    for html in pages(record):
        page = Page(html)
        identifiers = page.values("id")
        assert len(identifiers) == len(set(identifiers))
        assert {link for link in page.values("href") if link[0] != "#"} <= names
        assert {link[1:] for link in page.values("href") if link[0] == "#"} <= set(identifiers)
        assert not page.values("src") and "script" not in page.tags
        assert any(value.startswith("default-src 'none'") for value in page.values("content"))
        assert all("scope=" in header for header in re.findall(r"<th\b[^>]*>", html))


def test_no_string_of_a_dump_becomes_an_element_or_steers_a_terminal(record: dict[str, Any], tmp_path: Path) -> None:
    changed = hostile(record)
    dump_pages.write_pages(changed, tmp_path)
    for path in tmp_path.iterdir():
        html = path.read_text()
        assert not {"b", "script"} & set(Page(html).tags)
        assert "<b onclick='x'>&amp;" in Page(html).text
        assert "\x1b" not in html
    file = io.StringIO()
    dump_pages.print_modules(changed, Console(file=file))
    assert "\x1b" not in file.getvalue()


def test_modules_of_one_name_have_pages_of_their_own() -> None:
    long = {"number": 1, "name": "f" * 200}
    names = dump_pages.page_names([long, long, {"number": 1, "name": "a/b <c>"}, {"number": 1, "name": "a/b <c>"}])
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"module_0001\.[\w.-]+\.html", name) and len(name) < 100 for name in names)


@pytest.mark.parametrize("place", range(4))
def test_pages_come_out_whatever_part_is_missing_or_null(record: dict[str, Any], place: int) -> None:
    module = shortened(record["modules"][place])
    changed = list(holes(module))
    assert len(changed) > 100
    for each in changed:
        assert "</html>" in module_page(each)
    render(dump_pages.index_page({"modules": changed}))
    dump_pages.print_modules({"modules": changed}, Console(file=io.StringIO()))


def shortened(value: Any) -> Any:
    """The value with one item a list: a longer list with a hole teaches no more, and takes longer."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in list(value.items())[:12]}
    return [shortened(item) for item in value[:1]] if isinstance(value, list) else value


def test_a_long_table_is_cut_and_says_so(record: dict[str, Any]) -> None:
    module = copy.deepcopy(record["modules"][0])
    module["stages"]["steps"] *= 100
    assert f"{600 - dump_module_page.LONGEST} more: dump.json has them all." in shown(module_page(module))


def test_the_console_has_a_row_a_module_and_a_line_for_what_was_not_read(record: dict[str, Any]) -> None:
    file = io.StringIO()
    dump_pages.print_modules(record, Console(file=file, width=60))
    lines = file.getvalue().splitlines()
    assert len(lines) == 1 + 4 + 2
    assert re.fullmatch(r"0 +steps +JAX +21 → 29 +3 +2 +256 bits +32\.1 KiB +1 *", lines[1])
    assert any(line.split()[:3] == ["0", "cluster_0", "TensorFlow"] and "autocluster" in line for line in lines)
    assert lines[-2:] == ["not read: bad.txt: expected HLO", "of no module: notes.txt (5 B)"]


def test_a_narrow_terminal_keeps_every_module_in_one_row(record: dict[str, Any]) -> None:
    wide, narrow = (io.StringIO() for _ in range(2))
    for file, width in ((wide, 150), (narrow, 80)):
        dump_pages.print_modules(record, Console(file=file, force_terminal=True, width=width))
    assert "fusions" in wide.getvalue()
    assert "fusions" not in narrow.getvalue()
    rows = [line for line in narrow.getvalue().splitlines() if "→" in line and "before" not in line]
    assert [row.split()[1] for row in rows] == ["steps", "table", "train_step", "cluster_0"]


# The command


def run(*arguments: object) -> None:
    """`jaxport dump` with these arguments."""
    parser = argparse.ArgumentParser()
    dump.add_arguments(parser)
    dump.main(parser.parse_args([str(each) for each in arguments]))


def test_the_command_writes_pages_and_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(DUMPS / "jax", "-o", tmp_path / "out")
    printed = capsys.readouterr().out
    assert "steps" in printed
    assert printed.rstrip().endswith(str(tmp_path / "out" / "index.html"))
    assert json.loads((tmp_path / "out" / "dump.json").read_text())["schema"] == 1
    assert len(list((tmp_path / "out").iterdir())) == 2 + 2


def test_json_prints_the_record_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(DUMPS / "tf_autocluster", "-o", tmp_path, "--json")
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "dump.json").read_text())
    assert printed["modules"][0]["cluster"] == 0


def test_pages_written_into_the_dump_are_no_part_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(shutil.copytree(DUMPS / "jax", tmp_path / "dump"))
    for _ in range(2):
        run(folder, "-o", folder / "pages", "--json")
        assert json.loads(capsys.readouterr().out)["unknown"] == []


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("nothing", "found no such directory: set XLA_FLAGS=--xla_dump_to="),
        ("empty", "found nothing: set XLA_FLAGS=--xla_dump_to="),
        ("file", "found a file: set XLA_FLAGS=--xla_dump_to="),
        ("same", "expected an output folder other than the dump"),
    ],
)
def test_a_request_without_a_dump_is_refused_and_nothing_is_written(tmp_path: Path, made: str, message: str) -> None:
    path, out = tmp_path / "dump", tmp_path / "out"
    if made == "file":
        path.write_text("")
    elif made != "nothing":
        path.mkdir()
    with pytest.raises(RequestError, match=re.escape(message)):
        run(path, "-o", path if made == "same" else out)
    assert not out.exists()


def test_every_file_is_listed_with_what_it_is(record: dict[str, Any]) -> None:
    console = Console(file=io.StringIO(), width=200)
    dump_pages.print_files(record, console)
    said = console.file.getvalue()
    assert "module 0, steps: " in said and "of no module: 1 file" in said and "notes.txt" in said
    rows = {tuple(line.split(maxsplit=3)[::3]) for line in said.splitlines() if line.startswith("  before_optim")}
    assert rows == {("before_optimizations.txt", "HLO before or after all passes")}
    assert "jit_steps." not in said
    assert dump_pages.tail("module_0000.jit_f.x.txt", "other") == "module_0000.jit_f.x.txt"
