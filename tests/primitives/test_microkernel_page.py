"""The page that reads a microkernel shows the code that einloom generates."""

from __future__ import annotations

import re
from pathlib import Path

import einloom as el

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "microkernel.md"


def _instructions(text: str) -> list[str]:
    return re.findall(r"v(?:movups|broadcastss|fmadd231ps) .*", text)


def test_the_page_shows_the_generated_loop() -> None:
    kernel = el.primitives.brgemm(m=48, n=16, k=64, isa="avx512")
    text = PAGE.read_text()
    assert repr(kernel) in text
    code = _instructions(text.split("```")[3])
    assert len(code) == 16
    loop = _instructions(kernel.listing().split("loop over k")[1])
    assert loop[: len(code)] == code


def test_the_page_names_the_parts_of_the_listing() -> None:
    text = PAGE.read_text()
    comments = re.findall(r"; (.*)", el.primitives.brgemm(m=48, n=16, k=64, isa="avx512").listing())
    assert comments and all(f"`{comment}`" in text for comment in comments)
