"""The pages about the language and the engine: their examples run, and the reference names what the package exports."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from einloom import csp
from einloom.csp.language.lexer import KEYWORDS

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "reference" / "space-language.md"
EXPLANATION = DOCS / "explanation" / "constraint-engine.md"


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the blocks of a page, as `(kind, text)`."""
    return re.findall(r"^```(space|python)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def examples() -> list[tuple[str, str]]:
    """Return each python block of the reference with the space block above it."""
    text, found = "", []
    for kind, body in blocks(REFERENCE):
        if kind == "space":
            text = body
        else:
            found.append((text, body))
    return found


def run(name: str, text: str, body: str) -> None:
    """Run an example with the space that stands above it as `text`."""
    parsed = doctest.DocTestParser().get_doctest(body, {"text": text, "csp": csp}, name, name, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(parsed, out=report.append)
    assert parsed.examples and not runner.failures, "".join(report)


@pytest.mark.parametrize("number", range(len(examples())))
def test_example(number):
    run(f"example {number}", *examples()[number])


def test_the_walk_through_the_engine():
    """The blocks of the explanation are one session."""
    found = blocks(EXPLANATION)
    (space,) = [body for kind, body in found if kind == "space"]
    run("constraint-engine", space, "\n".join(body for kind, body in found if kind == "python"))


@pytest.mark.parametrize("number", range(sum(kind == "space" for kind, _ in blocks(REFERENCE))))
def test_space_compiles_and_prints_back(number):
    text = [body for kind, body in blocks(REFERENCE) if kind == "space"][number]
    space = csp.parse_space(text)
    assert csp.parse_space(csp.show(space.definition)).definition == space.definition


def test_the_page_names_every_word_of_the_language():
    page = REFERENCE.read_text(encoding="utf-8")
    assert not [word for word in KEYWORDS if not re.search(rf"\b{word}\b", page)]
    assert not [name for name in ("Domains", "Definition", "Instance", "Extension", "State") if name not in page]
