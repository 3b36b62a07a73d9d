"""Draw who computes what: the iterations of two loops, coloured by the thread that runs them first."""

# pyright: standard

from __future__ import annotations

from typing import Any

from einloom.errors import ScheduleError
from einloom.figures import make_figure
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.walk import run_threads

__all__ = ["draw_owners", "owners"]

LABELS = 12
"""Most labels along an edge."""


def owners(nest: LoopNest, rows: str, columns: str) -> dict[tuple[int, int], list[int]]:
    """Return, by the indices of two loops, the threads that run such iterations, the earliest first.

    Raises:
        ScheduleError: a letter that is no loop, or the same one twice.
    """
    for letter in (rows, columns):
        nest.level(letter)
    if rows == columns:
        raise ScheduleError(f"loop {rows} twice\n  Name two loops.")
    places = LETTERS.index(rows), LETTERS.index(columns)
    found: dict[tuple[int, int], dict[int, None]] = {}

    def visit(thread: int, indices: tuple[int, ...]) -> None:
        found.setdefault((indices[places[0]], indices[places[1]]), {})[thread] = None

    run_threads(nest, visit)
    return {cell: list(threads) for cell, threads in found.items()}


def draw_owners(nest: LoopNest, rows: str, columns: str, path: str | None = None) -> Any:
    """Return a matplotlib figure with a cell for every pair of indices; with `path` also write it there.

    Raises:
        UnsupportedTarget: matplotlib is not installed.
    """
    figure = make_figure(6, 5)
    from matplotlib import colormaps  # pyright: ignore[reportMissingImports]

    cells = owners(nest, rows, columns)
    xs, ys = sorted({column for _, column in cells}), sorted({row for row, _ in cells})
    image = [[cells.get((y, x), [-1])[0] for x in xs] for y in ys]
    axes = figure.add_subplot()
    if image:
        threads = nest.threads
        colours = colormaps["tab20" if threads <= 20 else "turbo"].resampled(threads)
        drawn = axes.imshow(image, cmap=colours, vmin=-0.5, vmax=threads - 0.5)
        figure.colorbar(drawn, label="thread", ticks=range(0, threads, -(-threads // LABELS)))
    for put, values in ((axes.set_xticks, xs), (axes.set_yticks, ys)):
        every = range(0, len(values), max(-(-len(values) // LABELS), 1))
        put(every, [str(values[place]) for place in every])
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    axes.set_title(str(nest.string))
    if path is not None:
        figure.savefig(path)
    return figure
