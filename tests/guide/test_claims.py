"""Every fact that our pages state has a source, and a sentence that is changed has to be looked up again."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from claims import Claim, measured_sentences, problems, read_claims
from places import ROOT

CLAIMS = read_claims(ROOT / "docs/claims.toml")
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/guide").glob("*.md"))]
SENTENCE = "A cached call takes 0.15 ms."


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.page}: {claim.sentence[:60]}")
def test_a_claim_stands_in_its_page_and_has_its_source(claim: Claim) -> None:
    assert problems(claim, ROOT) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_sentence_with_a_measurement_has_a_source(page: str) -> None:
    listed = [claim.sentence for claim in CLAIMS if claim.page == page]
    text = (ROOT / page).read_text()
    assert [
        each for each in measured_sentences(text) if not any(claim in each or each in claim for claim in listed)
    ] == []


def test_every_page_of_the_guide_has_claims() -> None:
    assert set(PAGES) <= {claim.page for claim in CLAIMS} and len(CLAIMS) > 150


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "docs/guide/page.md").write_text(
        "# Title\n\nA cached call\ntakes 0.15 ms.\n\n```pycon\n>>> 1 + 1\n2\n```\n"
    )
    figures = [{"name": "a call", "value": 0.000149}, {"name": "lost", "value": None}]
    (tmp_path / "S19.json").write_text(json.dumps({"experiments": [{"figures": figures}]}))
    (tmp_path / "test_calls.py").write_text("def test_a_call() -> None: ...\n")
    return tmp_path


def claim(sentence: str = SENTENCE, **source: Any) -> Claim:
    return Claim("docs/guide/page.md", sentence, source)


MEASURED: dict[str, Any] = {"record": "S19.json", "figure": "a call", "says": "0.15", "scale": 1000}


def measured(**change: Any) -> dict[str, Any]:
    return MEASURED | change


@pytest.mark.parametrize(
    "source",
    [
        MEASURED,
        {"test": "test_calls.py::test_a_call"},
        {"executed": "1 + 1 2"},
        {"file": "test_calls.py", "holds": "-> None"},
        {"installed": "pytest/__init__.py", "holds": "unit and functional testing"},
        {"gotcha": "activations/gelu"},
        {"row": "S19", "document": "E"},
        {"url": "https://openxla.org/xla"},
    ],
    ids=lambda source: next(iter(source)),
)
def test_a_source_that_is_there_is_found(root: Path, source: dict[str, Any]) -> None:
    assert problems(claim(**source), root) == []


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (claim("A cached call takes 4.71 ms.", url="https://openxla.org/xla"), "the page has no such sentence"),
        (claim(**measured(scale=1e6)), "the sentence says 0.15, the record 149"),
        (claim(**measured(says="0.16")), "the sentence does not say 0.16"),
        (claim(record="S19.json", figure="a call", value=3), "the sentence says 3, the record 0.000149"),
        (claim(record="S19.json", figure="a call"), "expected says, value or undecided beside record, found none"),
        (claim(**measured(figure="lost")), "S19.json has no lost"),
        (claim(**measured(record="S99.json")), "no record S99.json"),
        (claim(test="test_calls.py::test_another"), "no test test_calls.py::test_another"),
        (claim(test="test_absent.py::test_a_call"), "no test test_absent.py::test_a_call"),
        (claim(executed="1 + 1 3"), "no block of the page"),
        (claim(file="test_calls.py", holds="-> int"), "does not have '-> int'"),
        (claim(installed="pytest/__init__.py", holds="absent words"), "does not have 'absent words'"),
        (claim(installed="no_such_package/a.py", holds="a"), "no_such_package/a.py does not have"),
        (claim(gotcha="activations/absent"), "no gotcha activations/absent"),
        (claim(limit="unique"), "no limit unique"),
        (claim(row="S19", document="B"), "no row S19 of B"),
        (claim(row="S99", document="A"), "no row S99 of A"),
        (claim(url="ftp://somewhere"), "no address"),
        (claim(), "expected one source, found none"),
        (claim(url="https://openxla.org/xla", gotcha="activations/gelu"), "expected one source, found gotcha, url"),
    ],
)  # fmt: skip
def test_a_claim_that_does_not_stand_is_found(root: Path, planted: Claim, said: str) -> None:
    (found,) = problems(planted, root)
    assert said in found


def test_a_sentence_that_was_changed_is_found_in_the_pages_too() -> None:
    stated = next(each for each in CLAIMS if each.page == "README.md")
    assert problems(Claim(stated.page, f"{stated.sentence} Always.", stated.source), ROOT) == [
        "the page has no such sentence"
    ]


def test_measurements_are_told_from_other_sentences() -> None:
    text = "A call takes 3 ms. It is JAX.\n\n- Of 128 rows.\n\n| a | 40 % |\n| b | none |\n\n```\n5 ms\n```\n\n`5 ms`"
    assert list(measured_sentences(text)) == ["A call takes 3 ms.", "| a | 40 % |"]


def test_the_mean_of_the_zoo_is_that_of_its_page() -> None:
    page = (ROOT / "docs/results/zoo-xeon.md").read_text()
    verdicts = page.partition("## Ahead")[2].partition("\n## Machine")[0].partition("\n## conv_mnist")[0]
    unchanged = re.findall(r"^- \*\*\w+\*\*: (?:.*?slower than [\w/]+, )?([\d.]+)x", verdicts, re.MULTILINE)
    assert len(unchanged) == 8
    mean = statistics.geometric_mean(float(ratio) for ratio in unchanged)
    assert f"of all eight unchanged it is {mean:.2f}x." in (ROOT / "docs/zoo.md").read_text()
