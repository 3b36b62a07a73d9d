"""Draw the pictures of ../parallel-modes.md again: `python docs/explanation/images/draw.py` (needs matplotlib)."""

from __future__ import annotations

from pathlib import Path

import matplotlib

import einloom as el

PICTURES = {
    "one-loop": ("aBc", 4),
    "collapse": ("aBC", 5),
    "static-pieces": ("aBC@schedule(static,6)", 4),
    "grid-rows": ("aB{R:4}c", None),
    "grid": ("B{R:2}aC{C:3}", None),
    "blocked-grid": ("bC{R:2}aB{C:2}cb", None),
}
"""Name to loop string and threads."""


def main() -> None:
    """Write a picture for each string: 12 iterations of b, in blocks of 6 and 2 where they are blocked, and 16 of c."""
    matplotlib.rcParams.update({"svg.hashsalt": "einloom", "svg.fonttype": "none"})
    for name, (string, threads) in PICTURES.items():
        specs = [el.LoopSpec(0, 8, 1), el.LoopSpec(0, 12, 1, (6, 2)), el.LoopSpec(0, 16, 1, (4,))]
        figure = el.ThreadedLoop(specs, string, threads=threads).plot("b", "c")
        figure.set_size_inches(3.6, 2.9)
        figure.savefig(Path(__file__).with_name(f"{name}.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
