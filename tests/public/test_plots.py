"""Whatever draws says the same where matplotlib is missing, before it draws; only drawing needs it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import einloom as el
from einloom.bench.plot import draw_plot
from einloom.cluster.run import Event, Run
from einloom.search.result import Tuned

NOTHING: Any = None


def drawn_loop() -> Any:
    loop = el.ThreadedLoop([el.LoopSpec(0, 2, 1), el.LoopSpec(0, 2, 1)], "ab", threads=1)
    return loop.plot("a", "b")


PLOTS: dict[str, Callable[[], Any]] = {
    "expression": lambda: el.compile("ab->ba", (2, 3), target="interpreter").plot(),
    "loop": drawn_loop,
    "tuned": lambda: Tuned(NOTHING, NOTHING, NOTHING, NOTHING, ()).plot(),
    "run": lambda: Run((Event("a", "0:4", 0.0, 2.0),), 0.0, 2.0).plot(),
    "plan": lambda: el.cluster.plan("ab,bc->ac", [(4, 4), (4, 4)], workers=(1, 2)).plot(),
    "bench": lambda: draw_plot({"rows": [], "peers": {}, "unit": ""}, "plot.png"),
}


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_without_matplotlib_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    with pytest.raises(el.UnsupportedTarget) as caught:
        PLOTS[name]()
    assert str(caught.value) == "plots need matplotlib, which is not installed\n  pip install 'einloom[plot]'"


def test_one_module_looks_for_matplotlib() -> None:
    root = Path(el.__file__).parent
    found = {
        str(path.relative_to(root)) for path in root.rglob("*.py") if 'find_spec("matplotlib")' in path.read_text()
    }
    assert found == {"figures.py"}
