"""Draws docs/images/hlo-scale.svg from what `pytest --benchmark-only tests/hlo/test_scale.py` measured.

usage: pytest --benchmark-only tests/hlo/test_scale.py --benchmark-json scale.json; python docs/hlo_scale.py scale.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import altair as alt

from compare.report import drawing
from compare.writing import write_atomically

OUT = Path(__file__).parent / "images" / "hlo-scale.svg"


def rows(measured: Path) -> list[dict[str, float]]:
    """Instructions a program, seconds and MiB of aligning two of them."""
    return [
        {
            "instructions": int(benchmark["params"]["instructions"]),
            "seconds": benchmark["stats"]["median"],
            "mib": benchmark["extra_info"]["peak_mib"],
        }
        for benchmark in json.loads(measured.read_text())["benchmarks"]
    ]


def chart(measurements: list[dict[str, float]]) -> alt.VConcatChart:
    """Time and memory against instructions, both axes logarithmic; grey is what linear growth would be."""
    return alt.vconcat(
        *(
            _panel(measurements, field, title)
            for field, title in (("seconds", "seconds"), ("mib", "MiB above the start"))
        )
    )


def _panel(measurements: list[dict[str, float]], field: str, title: str) -> alt.LayerChart:
    first = measurements[0]
    linear = [{**row, field: first[field] * row["instructions"] / first["instructions"]} for row in measurements]
    x = alt.X("instructions:Q", title="instructions of each program", scale=alt.Scale(type="log"))
    y = alt.Y(f"{field}:Q", title=title, scale=alt.Scale(type="log"))
    layers = [
        alt.Chart(alt.Data(values=linear)).mark_line(color=drawing.NULL_COLOR, strokeDash=[4, 4]).encode(x=x, y=y),
        alt.Chart(alt.Data(values=measurements)).mark_line(color=drawing.JAX_COLOR, point=True).encode(x=x, y=y),
    ]
    return drawing.layer_charts(layers, height=160)


if __name__ == "__main__":
    write_atomically(OUT, drawing.svg(chart(rows(Path(sys.argv[1])))))
    print(OUT)
