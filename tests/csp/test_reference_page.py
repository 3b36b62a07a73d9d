"""The reference page of the language: its examples run, and it names everything that the package exports."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from einloom import csp
from einloom.csp.language.lexer import KEYWORDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "space-language.md"
BLOCKS = re.findall(r"^```(space|python)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def examples():
    """Yield each python block with the space block above it."""
    text = ""
    for kind, body in BLOCKS:
        if kind == "space":
            text = body
        else:
            yield text, body


@pytest.mark.parametrize("number", range(len(list(examples()))))
def test_example(number):
    text, body = list(examples())[number]
    parsed = doctest.DocTestParser().get_doctest(body, {"text": text, "csp": csp}, f"example {number}", str(PAGE), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(parsed, out=report.append)
    assert parsed.examples and not runner.failures, "".join(report)


@pytest.mark.parametrize("number", range(sum(kind == "space" for kind, _ in BLOCKS)))
def test_space_compiles_and_prints_back(number):
    text = [body for kind, body in BLOCKS if kind == "space"][number]
    space = csp.parse_space(text)
    assert csp.parse_space(csp.show(space.definition)).definition == space.definition


def test_the_page_names_every_word_of_the_language():
    page = PAGE.read_text(encoding="utf-8")
    assert not [word for word in KEYWORDS if not re.search(rf"\b{word}\b", page)]
    assert not [name for name in ("Candidate", "Definition", "Instance", "Lowering", "State") if name not in page]
