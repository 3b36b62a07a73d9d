"""The examples in the docstrings of the package run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from einloom import csp

MODULES = ["einloom.csp", *(each.name for each in pkgutil.walk_packages(csp.__path__, "einloom.csp."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
    assert module.__doc__, "every module says what it is"


def test_most_parts_show_an_example():
    finder = doctest.DocTestFinder()
    shown = [name for name in MODULES if any(each.examples for each in finder.find(importlib.import_module(name)))]
    assert len(shown) >= 12
