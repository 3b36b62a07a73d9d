"""The floors of the architecture: a module imports only from lower floors, its own folder and outside the project."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import einloom

ROOT = Path(einloom.__file__).parent

FLOORS = [
    {"errors", "dtypes", "config", "machine", "asm", "csp"},
    {"ir", "jit"},
    {"passes", "kernels"},
    {"loops", "space"},
    {"targets"},
    {"plan"},
    {"search"},
    {"expression", "tensor_operation", "primitives", "threadpools", "api", "__init__"},
    {"bench", "cli", "__main__"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

PURE = {"asm", "csp", "ir", "passes", "kernels", "loops", "space"}
"""Rooms that run on any machine: they never import `jit`."""

ONLY_ERRORS = {"asm", "csp"}
"""Rooms that know no tensors: besides themselves they import `errors` alone."""


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def imported_rooms(path: Path) -> Iterator[str]:
    """Every room of einloom that the module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module] if node.module != "einloom" else [f"einloom.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("einloom."):
                yield name.split(".")[1]


def violations(path: Path) -> list[str]:
    room = room_of(path)
    found = []
    for other in imported_rooms(path):
        if other == room or other.startswith("__version"):
            continue
        if other not in FLOOR:
            found.append(f"{path.name} imports {other}, which has no floor")
        elif FLOOR[other] > FLOOR[room] or (FLOOR[other] == FLOOR[room] and FLOOR[room] not in (0, 7, 8)):
            found.append(f"{room} (floor {FLOOR[room]}) imports {other} (floor {FLOOR[other]})")
        elif room in PURE and other == "jit":
            found.append(f"{room} imports jit")
        elif room in ONLY_ERRORS and other != "errors":
            found.append(f"{room} imports {other}; it may import errors only")
    return found


def test_every_room_has_a_floor() -> None:
    assert {room_of(path) for path in modules()} <= set(FLOOR)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_downwards(path: Path) -> None:
    assert not violations(path)


def test_the_check_sees_a_violation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "ir").mkdir()
    module = tmp_path / "ir" / "bad.py"
    module.write_text("def f():\n    from einloom.passes.fuse import fuse\n    return fuse\n")
    assert violations(module) == ["ir (floor 1) imports passes (floor 2)"]


def test_no_side_effects_of_the_import() -> None:
    """`import einloom` pulls in nothing slow: paths, tables and assemblers come with their first use."""
    import subprocess
    import sys

    code = "import sys, einloom; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"opt_einsum", "rich", "platformdirs", "hypothesis"} & set(loaded)
