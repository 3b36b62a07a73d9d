"""A pytest plugin for emulation, where Python is twelve times as slow: property tests try a tenth of their examples."""

from __future__ import annotations

import pytest
from hypothesis import settings

PART = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lower the number of examples of every test that hypothesis drives."""
    for item in items:
        function = getattr(item, "obj", None)
        given = getattr(function, "_hypothesis_internal_use_settings", None)
        if given is not None:
            fewer = settings(given, max_examples=max(1, given.max_examples // PART))
            function._hypothesis_internal_use_settings = fewer  # type: ignore[union-attr]
