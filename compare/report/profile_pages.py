"""The page of `jaxport explain profile`: kernels by phase, lines and the kernels that they become, and pauses."""

from __future__ import annotations

from pathlib import Path

from compare.record.profile_part import ReadProfile
from compare.report import profile_rows
from compare.report.cluster_rows import place
from compare.report.page_html import styles, templates
from compare.report.showable import printable
from compare.writing import write_atomically

LONGEST = 500
"""Rows of one table: profile.json beside the page has them all."""


def write_profile(profile: ReadProfile, title: str, out: Path) -> Path:
    """Write profile.html into the folder, which is made; its path.

    Args:
      profile: what was read.
      title: what the profile is called.
      out: the folder.
    """
    safe = printable(profile)
    page = templates().get_template("profile.html.j2")
    text = page.render(
        style=styles("dump.css"),
        place=place,
        longest=LONGEST,
        title=printable(title),
        files=safe.files,
        headline=profile_rows.headline(safe),
        sentences=list(profile_rows.sentences(safe)),
        phases=profile_rows.phase_rows(safe),
        lines=profile_rows.lines(safe),
        pauses=profile_rows.pauses(safe),
    )
    write_atomically(out / "profile.html", text)
    return out / "profile.html"
