"""Figures of matplotlib, which nothing but drawing needs: without it, all that draws says what to install."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any

from einloom.errors import UnsupportedTarget

__all__ = ["check_figures", "make_figure"]


def check_figures() -> None:
    """Find out whether figures can be drawn.

    Raises:
        UnsupportedTarget: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise UnsupportedTarget("plots need matplotlib, which is not installed\n  pip install 'einloom[plot]'")


def make_figure(width: float, height: float) -> Any:
    """Return an empty figure that no window shows, of a size in inches.

    Raises:
        UnsupportedTarget: matplotlib is not installed.
    """
    check_figures()
    figures: Any = import_module("matplotlib.figure")
    return figures.Figure(figsize=(width, height), layout="constrained")
