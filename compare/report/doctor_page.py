"""A diagnosis as a page of its own."""

from __future__ import annotations

from pathlib import Path

from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Diagnosis
from compare.report import doctor_words
from compare.report.page_html import styles, templates
from compare.report.program_texts import file_stem
from compare.report.showable import printable
from compare.writing import write_atomically

_TITLES = {BLOCKER: "Blockers", ATTENTION: "Decisions", NOTE: "Notes"}
_LONGEST_STEM = 100


def render(diagnosis: Diagnosis) -> str:
    """The page; every string of the model's is escaped."""
    safe = printable(diagnosis)
    groups = [
        (severity, title, [finding for finding in safe.findings if finding.severity == severity])
        for severity, title in _TITLES.items()
    ]
    return (
        templates()
        .get_template("doctor.html.j2")
        .render(diagnosis=safe, words=doctor_words, groups=groups, style=styles("dump.css", "doctor.css"))
    )


def write_page(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write NAME.html into the folder, making the folder where there is none; returns its path.

    Args:
      diagnosis: of a model.
      folder: for pages of the doctor.
    """
    page = render(diagnosis)
    path = folder / f"{page_stem(diagnosis.target)}.html"
    write_atomically(path, page)
    return path


def page_stem(target: str) -> str:
    """The name of a model as its page has it: that of its folder, its file, or FILE.NAME of code."""
    where, colon, name = target.rpartition(":")
    path = Path(where if colon and where.endswith(".py") else target)
    stem = path.resolve().name if path.is_dir() else path.stem
    return file_stem(f"{stem}.{name}" if colon and where.endswith(".py") else stem)[:_LONGEST_STEM]
