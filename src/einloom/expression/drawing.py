"""The tree of an expression's steps as a picture: its nodes' places, SVG for notebooks, a plot with costs and roofs."""

# pyright: standard
# matplotlib's types are unknown where it is not installed.

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from einloom.expression.table import StepRow
from einloom.figures import make_figure
from einloom.frozen import frozen
from einloom.machine import Machine
from einloom.passes.model.rates import rates_of

__all__ = ["Node", "draw_expression", "nodes_of", "tree_svg"]

COLUMN, LINE, MARGIN = 78, 52, 26
"""Distances in the SVG, in pixels."""

BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8}
"""Of words that stand on lines."""


@frozen
class Node:
    """A tensor in the tree: an operand, or what a step makes.

    Attributes:
        x, y: its place: leaves in columns 0, 1, 2, …, the result in line 0.
        label: its name and axes.
        row: the step that makes it; None for an operand.
        children: the tensors that the step reads, by number.
        share: of the arithmetic of all steps.
    """

    x: float
    y: int
    label: str
    row: StepRow | None = None
    children: tuple[int, ...] = ()
    share: float = 0.0


def nodes_of(rows: Sequence[StepRow]) -> dict[int, Node]:
    """Return the nodes of a tree by the numbers of their tensors, the result last."""
    steps, nodes, columns = {row.number: row for row in rows}, dict[int, Node](), 0
    total = sum(row.flops for row in rows) or 1
    labels = {i: name for row in rows for i, name in zip((row.number, *row.inputs), _names(row.formula))}
    waiting = [(rows[-1].number, 0, False)]
    while waiting:  # A path may be a thousand steps deep: no recursion.
        number, depth, is_done = waiting.pop()
        row = steps.get(number)
        if row is None:
            nodes[number] = Node(columns, depth, labels[number])
            columns += 1
        elif is_done:
            middle = sum(nodes[i].x for i in row.inputs) / len(row.inputs)
            nodes[number] = Node(middle, depth, labels[number], row, row.inputs, row.flops / total)
        else:
            waiting.append((number, depth, True))
            waiting += [(i, depth + 1, False) for i in reversed(row.inputs)]
    return nodes


def _names(formula: str) -> list[str]:
    made, _, read = formula.partition(" = ")
    return [made, *(f"{part}]" for part in read.partition(" ")[2].split("]")[:-1])]


def tree_svg(rows: Sequence[StepRow]) -> str:
    """Return the tree as SVG, the result at the top; a node is the redder the more of the arithmetic it is."""
    nodes = nodes_of(rows)

    def place(node: Node) -> tuple[float, float]:
        return MARGIN + COLUMN * (node.x + 0.5), MARGIN + LINE * node.y

    width = COLUMN * (1 + max(node.x for node in nodes.values())) + 2 * MARGIN
    height = LINE * max(node.y for node in nodes.values()) + 2 * MARGIN
    lines, marks = [], []
    for node in nodes.values():
        x, y = place(node)
        for child in node.children:
            end = place(nodes[child])
            lines.append(f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{end[0]:.0f}" y2="{end[1]:.0f}" stroke="#999"/>')
        note = node.label if node.row is None else f"{node.row.formula}: {node.row.flops:,} flop"
        radius = 3 if node.row is None else 5 + 9 * math.sqrt(node.share)
        colour = "#777" if node.row is None else f"hsl({40 - 40 * node.share:.0f},85%,55%)"
        marks.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.1f}" fill="{colour}"><title>{html.escape(note)}</title>'
            f'</circle><text x="{x:.0f}" y="{y + 22:.0f}" font-size="10" text-anchor="middle" fill="currentColor">'
            f"{html.escape(node.label.strip())}</text>"
        )
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(lines)}{"".join(marks)}</svg>'


def draw_expression(title: str, rows: Sequence[StepRow], machine: Machine, seconds: float | None) -> Any:
    """Return a figure: the tree with the costs of its steps, and their places under the roofs of the machine.

    Args:
        title: the equation.
        rows: the steps.
        machine: whose rates are the roofs.
        seconds: of one call, whose rate is drawn; None: nothing was measured.

    Raises:
        UnsupportedTarget: matplotlib is not installed.
    """
    figure = make_figure(11, 4.8)
    left, right = figure.subplots(1, 2)
    figure.suptitle(title if len(title) <= 100 else f"{title[:100]}…")
    _draw_tree(left, nodes_of(rows))
    _draw_roofs(right, rows, machine, seconds)
    return figure


def _draw_tree(axes: Any, nodes: dict[int, Node]) -> None:
    for node in nodes.values():
        for child in node.children:
            axes.plot([node.x, nodes[child].x], [-node.y, -nodes[child].y], color="0.6", linewidth=1, zorder=1)
    steps = [node for node in nodes.values() if node.row is not None]
    sizes, shares = [40 + 400 * node.share for node in steps], [node.share for node in steps]
    marks = axes.scatter(
        [n.x for n in steps], [-n.y for n in steps], s=sizes, c=shares, cmap="YlOrRd", zorder=2, vmin=0
    )
    for node in nodes.values() if len(nodes) <= 40 else ():
        cost = "" if node.row is None else f"\n{node.row.flops:.3g} flop\n{node.row.bytes:.3g} bytes"
        axes.annotate(
            node.label + cost,
            (node.x, -node.y),
            (0, -10),
            textcoords="offset points",
            ha="center",
            va="top",
            size=7,
            bbox=BEHIND,
        )
    axes.figure.colorbar(marks, ax=axes, label="share of the arithmetic", shrink=0.6)
    axes.margins(0.2)
    axes.set_axis_off()


def _draw_roofs(axes: Any, rows: Sequence[StepRow], machine: Machine, seconds: float | None) -> None:
    rates = rates_of(machine)
    single = rows[-1].compiled.step.operation.output.dtype.name != "float64"
    peak = rates.float32 if single else rates.float64
    found = [row.flops / row.bytes for row in rows if row.flops and row.bytes]
    low, high = min([0.1, *found]) / 2, max([1000.0, *found]) * 2
    for name, rate in (("L2", rates.l2), ("L3", rates.l3), ("memory", rates.memory)):
        axes.plot(
            [low, peak / rate, high], [low * rate / 1e9, peak / 1e9, peak / 1e9], label=f"{name} {rate / 1e9:.0f} GB/s"
        )
    axes.scatter(
        found, [min(peak, each * rates.memory) / 1e9 for each in found], s=18, color="black", zorder=3, label="steps"
    )
    if seconds is not None:
        flops, traffic = sum(row.flops for row in rows), sum(row.bytes for row in rows)
        axes.scatter(
            [flops / traffic], [flops / seconds / 1e9], marker="*", s=120, color="red", zorder=4, label="measured"
        )
    origin = "recorded rates" if machine.rates else "typical rates; `einloom info --measure` records its own"
    axes.set(xscale="log", yscale="log", xlabel="flop per byte", ylabel="GFLOP/s of one core")
    axes.set_title(f"{machine.name}\n{origin}", fontsize=9)
    axes.legend(fontsize=8)
