"""Draw a report as bars, one group a case, with matplotlib (`pip install einloom[plot]`)."""

# pyright: standard
# matplotlib's types are unknown where it is not installed.

from __future__ import annotations

from typing import Any

from einloom.errors import UnsupportedTarget
from einloom.figures import make_figure

__all__ = ["draw_plot"]


def draw_plot(report: dict[str, Any], path: str) -> None:
    """Write the rates of einloom and its peers, and the ceiling, to an image whose name says its format.

    Raises:
        UnsupportedTarget: matplotlib is not installed, or it does not know the format.
    """
    rows = report["rows"]
    series = {"einloom": [row["einloom"]["rate"] for row in rows]}
    series |= {name: [row["peers"][name]["rate"] for row in rows] for name in report["peers"]}
    figure = make_figure(max(6.0, 0.35 * len(rows) * (len(series) + 1)), 4.5)
    axes = figure.add_subplot()
    width = 0.8 / len(series)
    for number, (name, rates) in enumerate(series.items()):
        places = [group + number * width for group in range(len(rows))]
        axes.bar(places, [rate or 0.0 for rate in rates], width, label=name, align="edge")
    for group, row in enumerate(rows):
        if row["ceiling"]:
            axes.hlines(row["ceiling"], group, group + 0.8, colors="black", linewidth=1)
    axes.set_xticks([group + 0.4 for group in range(len(rows))], [row["case"] for row in rows], rotation=60, ha="right")
    axes.set_ylabel(" / ".join(sorted({row["unit"] for row in rows})))
    axes.set_title(f"{report['suite']}, {report['machine']['name']}, {report['threads']} threads; black: the ceiling")
    axes.legend()
    try:
        figure.savefig(path)
    except ValueError as error:
        raise UnsupportedTarget(f"{path}: {error}") from None
