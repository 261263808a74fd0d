"""What a notebook shows of a check: the verdict, the gates and the first place that fails."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from compare.record.workload_part import Workload
from compare.report import verdicts
from compare.report.page_html import TEMPLATES, templates


def render(name: str, part: Workload, lines: Sequence[str] = ()) -> str:
    """A piece of HTML without scripts, for a page of somebody else. Every string of the record is escaped.

    Args:
      name: of the workload.
      part: what the record says of it.
      lines: further sentences.
    """
    rows = verdicts.gates(part)
    failing = [leaf for row in rows for leaf in row.failing]
    return (
        templates()
        .get_template("check.html.j2")
        .render(
            name=name,
            verdict=verdicts.outcome(part),
            gates=rows,
            first=failing[0] if failing else None,
            complaints=(*verdicts.complaints(name, part), *lines),
            words=verdicts.WORDS,
            style=Markup((TEMPLATES / "check.css").read_text()),
        )
    )
