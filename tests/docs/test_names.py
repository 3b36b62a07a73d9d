"""What pages name exists: files and folders, modules, public names, commands and targets of `make`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache, reduce
from pathlib import Path

import pytest

import einloom as el
from einloom.cli import COMMANDS
from tests.docs.test_pages import PAGES, ROOT

SOURCE = ROOT / "src" / "einloom"
HOMES = (ROOT, SOURCE, *(folder for folder in SOURCE.iterdir() if folder.is_dir()))
"""Where a path on a page may begin, besides the page's own folder: pages on a package leave its name out."""

FILE = re.compile(r"(?:[\w-]+/)+(?:[\w-]+\.\w+)?|(?!el\.)[\w-]+\.(?:py|md|space)")
MODULE = re.compile(r"(?<![\w./-])(?:einloom|el)(?:\.[A-Za-z_]\w*)+")
COMMAND = re.compile(r"einloom (\w+)")
TARGET = re.compile(r"make (\w+)")


def each_page(test: Callable[[Path], None]) -> Callable[[Path], None]:
    """Run a test for each page."""
    return pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))(test)


def quoted(page: Path) -> list[str]:
    """Return what a page writes as code: between backticks, line by line in blocks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [*re.findall(r"`([^`]+)`", prose), *(line for block in blocks for line in block.splitlines())]


@cache
def parts() -> set[str]:
    """The names of all folders and files: where the folder has been said, pages give no more."""
    return {path.name for folder in (SOURCE, ROOT / "tests") for path in folder.rglob("*")}


def exists(path: str, page: Path) -> bool:
    return path.strip("/") in parts() or any((home / path).exists() for home in (page.parent, *HOMES))


def stands(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    words = name.split(".")
    if words[0] == "el":
        return reduce(lambda found, word: getattr(found, word, None), words[1:], el) is not None
    for length in range(len(words), 0, -1):
        try:
            module = importlib.import_module(".".join(words[:length]))
        except ModuleNotFoundError:
            continue
        return reduce(lambda found, word: getattr(found, word, None), words[length:], module) is not None
    return False


@each_page
def test_files_are_there(page: Path) -> None:
    paths = [code for code in quoted(page) if FILE.fullmatch(code)]
    assert [path for path in paths if not exists(path, page)] == []


@each_page
def test_modules_and_public_names_are_there(page: Path) -> None:
    names = [name for code in quoted(page) for name in MODULE.findall(code)]
    assert [name for name in names if not stands(name)] == []


@each_page
def test_commands_are_there(page: Path) -> None:
    lines = quoted(page)
    commands = [match.group(1) for line in lines if (match := COMMAND.match(line.removeprefix("$ ")))]
    assert [name for name in commands if name not in COMMANDS] == []
    targets = [match.group(1) for line in lines if (match := TARGET.match(line))]
    made = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in targets if name not in made] == []


def test_a_page_that_names_what_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`passes/spin.py` and `passes/fuse.py`\n```python\nel.nothing(1)\nel.einsum(A)\n```\n")
    found = quoted(page)
    assert [code for code in found if FILE.fullmatch(code) and not exists(code, page)] == ["passes/spin.py"]
    assert [name for code in found for name in MODULE.findall(code) if not stands(name)] == ["el.nothing"]
