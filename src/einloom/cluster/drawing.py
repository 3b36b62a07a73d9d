"""Figures of contractions that processes share; matplotlib draws them."""

# pyright: standard
# matplotlib's types are unknown where it is not installed.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from einloom.figures import make_figure

if TYPE_CHECKING:
    from einloom.cluster.predicted import Plan
    from einloom.cluster.run import Run

__all__ = ["draw_plan", "draw_run"]


def draw_run(run: Run) -> Any:
    """Return a figure of a run: a row for every worker, a bar for every unit; kept ones are grey."""
    rows = {who: row for row, who in enumerate(run.workers)}
    figure = make_figure(9, 1.2 + 0.35 * max(len(rows), 1))
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


def draw_plan(plan: Plan) -> Any:
    """Return a figure of a plan: time and efficiency over the number of workers."""
    figure = make_figure(8, 3.5)
    left, right = figure.subplots(1, 2)
    counts = [row.workers for row in plan.rows]
    left.loglog(counts, [row.seconds for row in plan.rows], "o-", label="all")
    left.loglog(counts, [row.computing for row in plan.rows], "--", label="computing")
    left.set_ylabel("seconds")
    left.legend()
    right.semilogx(counts, [row.efficiency for row in plan.rows], "o-")
    right.set_ylabel("efficiency")
    right.set_ylim(0, 1.05)
    for axes in (left, right):
        axes.set_xlabel("workers")
        axes.set_xscale("log", base=2)
    figure.suptitle(f"{plan.equation}: {plan.slices:,} slices, {plan.cuts}")
    return figure
