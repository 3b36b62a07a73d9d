"""The classes of errors: one root, and each is what callers of other libraries catch as well."""

from __future__ import annotations

import builtins

import pytest

import einloom as el
from einloom import errors

CLASSES = [each for name in errors.__all__ if issubclass(each := getattr(errors, name), el.EinloomError)]


@pytest.mark.parametrize("kind", [each for each in CLASSES if each is not el.EinloomError])
def test_each_is_a_standard_exception_too(kind: type[Exception]) -> None:
    standard = {name for name, each in vars(builtins).items() if isinstance(each, type) and issubclass(kind, each)}
    assert standard > {"Exception", "BaseException", "object"}


def test_all_are_public() -> None:
    assert [each.__name__ for each in CLASSES if not hasattr(el, each.__name__)] == []
