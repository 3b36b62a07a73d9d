"""The examples in docstrings and on the reference page do what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(importlib.import_module("einloom").__path__[0])
MODULES = [f"einloom.loops.{path.stem}" for path in sorted((PACKAGE / "loops").glob("[a-z]*.py"))]
PAGE = PACKAGE.parents[1] / "docs/reference/loop-strings.md"


@pytest.mark.parametrize("name", [*MODULES, "einloom.ir.sharing", "einloom.threaded_loop"])
def test_examples_of_modules(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_of_the_page() -> None:
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert done.attempted > 5 and done.failed == 0
