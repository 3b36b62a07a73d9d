"""The reference page of primitives is what the tables say now."""

from __future__ import annotations

import re
from pathlib import Path

from einloom.primitives.reference import reference_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "primitives.md"


def test_the_page_is_current() -> None:
    current = "python -m einloom.primitives.reference > docs/reference/primitives.md"
    assert PAGE.read_text(encoding="utf-8") == reference_page(), f"run {current}"


def test_its_example_runs() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", reference_page(), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(example, names)
    assert abs(names["b"][0] - 0.8413447) < 1e-6  # type: ignore[index]
