"""Figures of contractions that processes share; matplotlib draws them."""

# pyright: standard
# matplotlib's types are unknown where it is not installed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.errors import UnsupportedTarget

if TYPE_CHECKING:
    from einloom.cluster.run import Run

__all__ = ["draw_run", "new_figure"]


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure that no window shows.

    Raises:
        UnsupportedTarget: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UnsupportedTarget("plots need matplotlib\n  pip install 'einloom[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def draw_run(run: Run) -> Any:
    """Return a figure of a run: a row for every worker, a bar for every unit; kept ones are grey."""
    rows = {who: row for row, who in enumerate(run.workers)}
    figure = new_figure(9, 1.2 + 0.35 * max(len(rows), 1))
    axes = figure.subplots()
    for event in run.events:
        colour = "0.7" if event.what.startswith("kept") else f"C{rows[event.who] % 10}"
        axes.barh(
            rows[event.who], event.end - event.begin, left=event.begin - run.begin, color=colour, edgecolor="white"
        )
    axes.set_yticks(list(rows.values()), list(rows))
    axes.invert_yaxis()
    axes.set_xlim(0, run.seconds)
    axes.set_xlabel("seconds")
    axes.set_title(f"{run.computed} units in {run.seconds:.3g} s, {run.efficiency:.0%} of it computing")
    return figure
