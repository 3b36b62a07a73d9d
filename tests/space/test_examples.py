"""The examples in docstrings of the space and in its explanation run as they stand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import einloom.space

ROOT = Path(__file__).parents[2]
HERE = Path(einloom.space.__file__).parent
PATHS = [path.relative_to(HERE).with_suffix("") for path in HERE.rglob("*.py") if path.stem != "__init__"]
MODULES = sorted(".".join(path.parts) for path in PATHS)


@pytest.mark.parametrize("name", ["space", *(f"space.{module}" for module in MODULES), "ir.statement"])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(f"einloom.{name}")).failed == 0


@pytest.mark.parametrize("page", ["implementation-space", "bounds"])
def test_the_explanation(page):
    path = ROOT / "docs" / "explanation" / f"{page}.md"
    found = doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 5 and found.failed == 0
