"""Pages of both programs on devices: every figure of the JSON is there, escaped, whatever is missing."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hlo_views import small
from pages import HOSTILE, Page, decoded, holes, hostile
from target_views import KERNEL, LADDER, NOTE, OF_ONE, PTX, cell, on_tpu, pair, target

from compare.report import html, target_pages
from compare.report.hlo_page import page as hlo_page
from compare.report.showable import printable

FIGURES = (
    *("17", "19", "23", "11", "5 cuBLASLt, 2 cuDNN", "4.01 MiB 4,209,688", "1.18 MiB 1,234,567", "5.00 MiB 5,247,048"),
    *("361 kFLOP 360,521", "20.2 MiB 21,133,760", "23.5 µs by memory", "37.0 µs by memory", "979 ms", "79.1 GiB"),
    *("A GPU of 80 GB", "its white paper, table 2", "jax-cuda12-pjrt 0.10.2", "cpu", "gpu"),
)
OF_A_LAUNCH = (
    *("loop_add_fusion", "loop_add_fusion.4", "96 x 2", "128", "56", "72 B", "1.03 KiB", "25 %", "registers", "75 %"),
    *("56.0 KiB", "kCublasLtMatmul", "custom-call.7", "cuBLASLt", "4.01 MiB", "/home/u/model.py:23"),
    *("/home/u/model.py:7", "/home/u/model.py:9", "/home/u/model.py:11"),
)


def page_of(one: Any, name: str = "H100") -> str:
    """The page of one device."""
    return target_pages.pages(pair(**{name: one}))[name]


def shown(html: str) -> str:
    """The visible text of a page in one line."""
    return " ".join(Page(html).text.split())


def test_every_figure_of_the_json_is_on_the_page() -> None:
    said = shown(page_of(target()))
    for part in (*FIGURES, *OF_A_LAUNCH, NOTE, f"tf@jax: {OF_ONE}", *target()["differences"], *target()["regrouped"]):
        assert part in said, part
    assert "modules differ On H100, XLA makes 19 launches of the port and 23 of TensorFlow's program" in said


def test_a_launch_opens_to_its_kernel_at_every_level() -> None:
    text = page_of(target())
    said = shown(text)
    assert "StableHLO 1 line 1 %1 = stablehlo.add %arg0" in said
    assert "PTX first 2 of 366 lines, all in module_1.add.ptx 1 2 // .version 8.8" in said
    assert "mnist_mlp.targets/H100/jax/module_1.add.ptx" in Page(text).values("href")
    assert said.index("StableHLO 1 line") < said.index("PTX first 2")


def test_a_file_of_the_dump_is_linked_where_the_command_keeps_it() -> None:
    text = target_pages.pages(pair(**{"v5e:2x2": target()}))["v5e:2x2"]
    assert "mnist_mlp.targets/v5e-2x2/jax/module_1.add.ptx" in Page(text).values("href")


def test_a_launch_without_levels_opens_to_nothing_and_promises_nothing() -> None:
    said = shown(page_of(target(ladders={})))
    assert "hlo.json" not in said and "StableHLO" not in said


def test_a_kernel_that_is_launched_again_points_to_its_first_row() -> None:
    again = target(**{"jax@jax": cell(launched=[KERNEL, KERNEL, KERNEL | {"bytes": 10**9}])})
    parsed = Page(page_of(again))
    assert parsed.text.count(".version 8.8") == 1
    assert parsed.text.count("The kernel of launch 3.") == 2
    assert "jax-3" in parsed.values("id") and parsed.values("href").count("#jax-3") == 2


def test_of_very_many_kernels_the_heaviest_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_pages, "MOST_LADDERS", 2)
    names = ("light", "heavy", "middle")
    launched = [KERNEL | {"kernel": name, "bytes": size} for name, size in zip(names, (1, 3, 2), strict=True)]
    ladders = [LADDER | {"kernel": name, "levels": [PTX | {"text": f"; {name}"}]} for name in names]
    changed = {"jax@jax": cell(launched=launched), "ladders": {"jax@jax": ladders}}
    said = shown(page_of(target(**changed)))
    assert "; heavy" in said and "; middle" in said and "; light" not in said
    assert said.count("hlo.json has its levels.") == 1
    assert said.index("hlo.json has its levels.") > said.index("; middle")


def test_pages_of_a_pair_lead_to_each_other(tmp_path: Path) -> None:
    both = pair(**{"H100": target(), "v5e:2x2": on_tpu()})
    written = target_pages.write_target_pages(both, tmp_path)
    assert [path.name for path in written] == ["mnist_mlp.H100.html", "mnist_mlp.v5e_2x2.html"]
    everywhere = {"mnist_mlp.html", *(path.name for path in written)}
    for text in (hlo_page(small(), target_pages.tabs(both)), *(path.read_text() for path in written)):
        parsed = Page(text)
        assert everywhere <= set(parsed.values("href"))
        assert parsed.values("aria-current") == ["page"]
        assert "v5e:2x2" in parsed.text


def test_a_pair_without_devices_has_neither_pages_nor_tabs(tmp_path: Path) -> None:
    alone = {"name": "mnist_mlp"}
    assert target_pages.write_target_pages(alone, tmp_path) == []
    assert target_pages.tabs(alone) == ()
    assert not Page(hlo_page(small())).values("aria-current")


def test_devices_of_one_name_for_files_have_pages_of_their_own() -> None:
    names = target_pages.page_names(pair(**{"a:b": {}, "a/b": {}, "a_b": {}, "x" * 300: {}, "x" * 301: {}}))
    assert len(set(names.values())) == 5
    assert all(re.fullmatch(r"mnist_mlp\.\w+(~\d)?\.html", name) and len(name) < 120 for name in names.values())


def test_a_tpu_without_launches_says_so() -> None:
    said = shown(page_of(on_tpu(), "v5e:2x2"))
    assert "equal modules On v5e:2x2, XLA makes 17 kernels of either program" in said
    assert said.count("XLA lists no launches for this device.") == 1
    assert "order kernel instruction" not in said


def test_a_cell_without_a_module_has_its_reason_in_place_of_figures() -> None:
    said = shown(page_of(target(**{"jax@jax": {"reason": "expected ptxas, found none"}, "equal": None})))
    assert said.count("expected ptxas, found none") == 2
    assert "not compared On H100, XLA makes 23 launches of TensorFlow's program, and nothing of the port" in said
    assert "tf@jax: what is launched" in said and "jax@jax: what is launched" not in said


def test_where_neither_compiles_both_reasons_stand_without_a_table_of_figures() -> None:
    text = page_of(target(**{"tf@jax": {"reason": "first"}, "jax@jax": {"reason": "second"}}))
    assert "tf@jaxfirst" in shown(text) and "jax@jaxsecond" in shown(text)
    assert "table" not in Page(text).tags and "lists no launches" not in shown(text)


def test_no_string_of_the_json_becomes_an_element() -> None:
    evil = hostile(pair(**{f"<script>alert(1)</script>{HOSTILE}": target()}))
    (text,) = target_pages.pages(evil).values()
    assert not {"b", "script"} & set(Page(text).tags)
    assert "<b onclick='x'>&amp;" in Page(text).text and "<script>alert(1)</script>" in Page(text).text
    assert "\x1b" not in text
    assert all(re.fullmatch(r"[#\w.%~/-]+|data:,", link) for link in Page(text).values("href"))
    tabbed = hlo_page(printable(small()), target_pages.tabs(evil))
    assert Page(tabbed).tags.count("script") == 2
    assert "<script>alert(1)</script>" in Page(tabbed).text


def test_pages_fetch_nothing_and_their_links_have_targets() -> None:
    text = page_of(target(**{"jax@jax": cell(launched=[KERNEL, KERNEL])}))
    parsed = Page(text)
    identifiers = parsed.values("id")
    assert len(identifiers) == len(set(identifiers))
    assert {link[1:] for link in parsed.values("href") if link[0] == "#"} <= set(identifiers)
    assert not parsed.values("src") and "script" not in parsed.tags
    assert any(value.startswith("default-src 'none'") for value in parsed.values("content"))
    assert all("scope=" in header for header in re.findall(r"<th\b[^>]*>", text))


def test_a_page_comes_out_whatever_part_is_missing_or_null() -> None:
    plain = target()
    lists = ("sources", "grid", "threads", "notes", "differences", "regrouped", "library_calls", "packages")
    changed = [each for each in holes(plain) if not _null_in(each, lists)]
    assert len(changed) > 100
    for each in changed:
        assert "</html>" in page_of(each)


def _null_in(value: Any, lists: tuple[str, ...]) -> bool:
    """Whether a list of texts or numbers holds a null, which no command writes."""
    if isinstance(value, dict):
        return any(_null_in(item, lists) or (name in lists and _holds_null(item)) for name, item in value.items())
    return isinstance(value, list) and any(_null_in(item, lists) for item in value)


def _holds_null(value: Any) -> bool:
    return None in (value.values() if isinstance(value, dict) else value or ())


# The report of a run


def report(targets: dict[str, Any]) -> str:
    """report.html of a run that compiled one workload for devices; a record has no ladders."""
    record = decoded({"workloads": {"mnist_mlp": {"targets": json.loads(json.dumps(targets))}}})
    return html.render(record)


def test_the_report_has_the_same_figures_and_the_same_sentence() -> None:
    said = shown(report({"H100": target(), "v5e:2x2": on_tpu()}))
    for part in (*FIGURES, *OF_A_LAUNCH, NOTE):
        assert part in said, part
    assert "XLA makes 19 launches of the port and 23 of TensorFlow's program" in said
    assert "On v5e:2x2, XLA makes 17 kernels of either program" in said


def test_the_report_of_a_run_without_devices_says_nothing_of_them() -> None:
    assert "Targets" not in shown(report({}))


def test_the_report_comes_out_with_a_device_of_which_nothing_is_known() -> None:
    said = shown(report({"H100": copy.copy({}), "T4": {"jax@jax": {"reason": "expected libdevice"}}}))
    assert "For H100, XLA compiles neither program: the record does not say why." in said
    assert "expected libdevice" in said
