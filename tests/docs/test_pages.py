"""The pages: their examples run, their links lead somewhere, and readers of the README are led there from anywhere."""

from __future__ import annotations

import ast
import doctest
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import einloom
from einloom.cli import main, make_parser
from einloom.jit.host import host

ROOT = Path(__file__).parents[2]
PLACES = ("*.md", "docs/**/*.md", "benchmarks/*.md", "tests/*.md")
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))
HOW_TO = ("contract-arrays", "contract-networks", "look-at-an-expression", "change-settings", "types", "debug")
RUN = (
    "README.md",
    "docs/index.md",
    "docs/tutorial/first-einsum.md",
    "docs/tutorial/your-own-schedule.md",
    "docs/tutorial/tune-a-contraction.md",
    "docs/how-to/tune-a-contraction.md",
    "docs/reference/schedules.md",
    "docs/reference/machine-code.md",
    *(f"docs/how-to/{name}.md" for name in (*HOW_TO, "fuse-bias-and-activation", "use-with-pytorch", "use-with-jax")),
)
"""Pages whose Python blocks are one program; other pages have tests of their own."""
SHORTER = {"budget=200": "budget=4"}
"""What takes minutes on a page, and what a test does instead."""
PRINTED = ("axis b has two extents", "dimension k is contracted", "     0    31c0")
"""How blocks of pages begin that their examples print, on every machine."""
QUICK = ("show", "space", "bound", "info")
"""Commands that take a second at most."""
NEEDS = {"docs/how-to/use-with-pytorch.md": "torch", "docs/how-to/use-with-jax.md": "jax"}


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of a page in a language, "" for those that say none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for said, block in found if said == language]


@pytest.mark.parametrize("page", RUN)
@pytest.mark.filterwarnings("ignore::einloom.FallbackWarning", "ignore::DeprecationWarning:torch")
def test_examples_run(page: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    text = (ROOT / page).read_text(encoding="utf-8")
    program = "\n".join(blocks(text, "python"))
    assert program
    for long, short in SHORTER.items():
        program = program.replace(long, short)
    with einloom.settings(records=tmp_path):
        exec(program, {})
    printed = capsys.readouterr().out
    assert set(re.findall(r"(\d+) elements are wrong", printed)) <= {"0"}
    assert [block for block in blocks(text, "") if block.startswith(PRINTED) and block not in printed] == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_name_what_there_is(page: Path) -> None:
    """Also where they need a cluster or a GPU, so that nothing runs them here."""
    for block in blocks(page.read_text(encoding="utf-8"), "python"):
        sources = [each.source for each in doctest.DocTestParser().get_examples(block)] or [block]
        names = {ast.unparse(node) for node in ast.walk(ast.parse("".join(sources))) if isinstance(node, ast.Attribute)}
        for name in names:
            found: object = einloom
            for word in name.split(".")[1:] if re.fullmatch(r"el(\.\w+)+", name) else ():
                if isinstance(found, ModuleType):
                    assert hasattr(found, word), name
                    found = getattr(found, word)


def commands(text: str) -> list[list[str]]:
    """Return the words of einloom's command lines in the blocks of a page."""
    lines = "".join(block for said in ("", "sh", "bash") for block in blocks(text, said)).replace("\\\n", " ")
    return [shlex.split(line, comments=True)[1:] for line in lines.splitlines() if re.match(r"einloom\s+[a-z-]", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_command_lines_are_understood(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        try:
            make_parser(words).parse_args(words)
        except SystemExit:
            pytest.fail(f"einloom {shlex.join(words)}\n{capsys.readouterr().err}")


def test_the_readme_has_commands_that_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that measure nothing; the others have tests of their own."""
    asked = [each for each in commands((ROOT / "README.md").read_text(encoding="utf-8")) if each[0] in QUICK]
    assert {words[0] for words in asked} == set(QUICK)
    for words in asked:
        assert main(words) == 0, words
    assert "vfmadd" in capsys.readouterr().out or host().isa != "x86-64"


def test_what_examples_print_is_on_pages() -> None:
    shown = [block for page in RUN for block in blocks((ROOT / page).read_text(encoding="utf-8"), "")]
    assert all(any(block.startswith(words) for block in shown) for words in PRINTED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    """Links of the project's own home are files of this checkout."""
    home = f"{project()['urls']['Source']}/blob/main/"  # type: ignore[index]
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        target = link.partition("#")[0]
        if target.startswith(home):
            assert (ROOT / target.removeprefix(home)).exists(), link
        elif target and "://" not in target:
            assert (page.parent / target).exists(), link


def test_the_readme_is_read_on_other_sites_too() -> None:
    """A package index shows it without the files beside it: its links are absolute."""
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_version_is_said_once_more() -> None:
    assert project()["version"] == einloom.__version__


def test_readers_meet_the_terms_of_the_field() -> None:
    """What users read says architecture and packages."""
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        assert not re.findall(r"\bhouses?\b|\brooms?\b", page.read_text(encoding="utf-8"), re.I), page
