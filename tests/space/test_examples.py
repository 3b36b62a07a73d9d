"""The examples in docstrings of the space and in its explanation run as they stand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import einloom.space

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in Path(einloom.space.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", ["space", *(f"space.{module}" for module in MODULES), "ir.statement"])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(f"einloom.{name}")).failed == 0


def test_the_explanation():
    path = ROOT / "docs" / "explanation" / "implementation-space.md"
    found = doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 5 and found.failed == 0
