"""What tests of every folder share: the vector ISAs of this machine as a marker and a fixture.

A test that takes `vector` runs once for each vector ISA that this machine can run. `@pytest.mark.isa("avx512")` is for
tests of one: they are skipped where it is not there. `@pytest.mark.soak` is explained in `tests/soak.py`.
"""

from __future__ import annotations

import os

# Before einloom is imported, which looks at some of them then.
os.environ["EINLOOM_CACHE"] = "off"  # Tests compile.
os.environ["EINLOOM_RECORDS"] = "off"
os.environ["EINLOOM_RATES"] = "none"  # What somebody recorded of this machine changes no test, nor those it starts.

import pytest

from tests.ids import ADDRESS
from tests.isas import vectors_of_host


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `vector` to tests that take it and do not say themselves which they mean."""
    said = [name.strip() for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark)]
    if "vector" in metafunc.fixturenames and "vector" not in said:
        metafunc.parametrize("vector", vectors_of_host())


def _names(mark: pytest.Mark) -> list[str]:
    names = mark.args[0]
    return names.split(",") if isinstance(names, str) else list(names)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of vector ISAs that this machine has not; refuse names that differ between processes."""
    unstable = [item.nodeid for item in items if ADDRESS.search(item.nodeid)]
    if unstable:
        raise pytest.UsageError(f"names with addresses in them, name the cases by tests.ids.words_of: {unstable[:5]}")
    here = vectors_of_host()
    for item in items:
        for mark in item.iter_markers("isa"):
            missing = [name for name in mark.args if name not in here]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"this machine has no {', '.join(missing)}"))
