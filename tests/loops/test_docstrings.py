"""The examples in docstrings and on the reference page do what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(importlib.import_module("einloom").__path__[0])
MODULES = [f"einloom.loops.{path.stem}" for path in sorted((PACKAGE / "loops").glob("[a-z]*.py"))]
MODULES += [f"einloom.loops.trace.{path.stem}" for path in sorted((PACKAGE / "loops/trace").glob("[a-z]*.py"))]
PAGES = ["reference/loop-strings.md", "how-to/write-a-fused-kernel-as-loops.md"]


IR = [f"einloom.ir.{name}" for name in ("interchange", "loop_string", "loop_text", "schedule", "sharing")]


@pytest.mark.parametrize("name", [*MODULES, *IR, "einloom.threaded_loop"])
def test_examples_of_modules(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_pages(page: str) -> None:
    done = doctest.testfile(str(PACKAGE.parents[1] / "docs" / page), module_relative=False)
    assert done.attempted > 5 and done.failed == 0
