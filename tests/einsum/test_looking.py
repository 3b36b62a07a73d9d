"""What people look at: the table of `repr`, the tree in notebooks, the plot of costs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

import einloom as el

TREE = el.compile("ab,bc,cd->ad", (6, 8), (8, 9), (9, 7), dtype="float32")


def test_the_table_says_what_an_issue_needs() -> None:
    head, *steps, place = repr(TREE).splitlines()
    assert head.startswith("Expression('ab,bc,cd->ad', float32, 6x8 8x9 9x7 -> 6x7, ")
    flops = [int(re.search(r"([\d,]+) flop", step)[1].replace(",", "")) for step in steps]  # type: ignore[index]
    assert sum(flops) == TREE.flops and len(steps) == len(TREE.path)
    code = [int(re.search(r"([\d,]+) of code", step)[1].replace(",", "")) for step in steps]  # type: ignore[index]
    assert sum(code) == len(TREE.code)
    assert el.__version__ in place and TREE.isa in place and "arena" in place
    single = el.compile("ab,bc->ac", (6, 8), (8, 9))
    assert str(single.schedule) in repr(single)


def test_a_long_tree_shows_the_steps_with_most_arithmetic() -> None:
    count = 30
    equation = ",".join(f"{chr(256 + i)}{chr(257 + i)}" for i in range(count))
    f = el.compile(f"{equation}->{chr(256)}{chr(256 + count)}", *[(2, 2)] * count)
    lines = repr(f).splitlines()
    assert len(lines) < 16 and "17 steps with less arithmetic" in lines[-2]


def test_expressions_without_code_have_tables() -> None:
    assert "interpreted" in repr(el.compile("ab->ba", (2, 3), target="interpreter"))
    assert "Expression('ab->ba'" in repr(el.compile("ab->ba", (0, 3)))


def test_notebooks_draw_the_tree() -> None:
    text = TREE._repr_html_()
    picture = xml.fromstring(text[text.index("<svg") :])
    space = "{http://www.w3.org/2000/svg}"
    circles, lines = picture.findall(f"{space}circle"), picture.findall(f"{space}line")
    assert len(circles) == 5 and len(lines) == 4  # three operands, two steps
    titles = [circle.find(f"{space}title").text for circle in circles]  # type: ignore[union-attr]
    assert sum("flop" in (title or "") for title in titles) == 2
    assert "<svg" not in el.compile("ab->ba", (2, 3))._repr_html_()


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "costs.png"
    figure = TREE.plot(str(file), seconds=1e-6)
    assert file.stat().st_size > 10_000
    tree, roofs, *_ = figure.axes
    assert sum("flop" in note.get_text() for note in tree.texts) == 2
    assert {"L2", "L3", "memory"} <= {line.get_label().split()[0] for line in roofs.lines}
    assert "measured" in [marks.get_label() for marks in roofs.collections]
    assert el.compile("ab->ba", (2, 3), target="interpreter").plot().axes
