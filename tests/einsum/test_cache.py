"""What one process compiled another one runs, without what compiles; and never what is damaged."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from einloom.ir.text import parse_operation
from einloom.jit.host import host
from einloom.jit.store import Store
from einloom.machine import AVX512
from einloom.targets import stored
from einloom.targets.image import Image
from einloom.targets.stored import remembered_image

PROGRAM = """
import sys
import numpy as np
import einloom as el
rng = np.random.default_rng(7)
A, B = rng.random((8, 9, 10)), rng.random((10, 11))
got = el.einsum("abc,cd->abd", A, B)
assert np.allclose(got, np.einsum("abc,cd->abd", A, B))
compilers = {"asm", "kernels", "passes"}
print(*sorted(compilers & {name.split(".")[1] for name in sys.modules if name.startswith("einloom.")}))
"""


MORE = """
import numpy as np
import einloom as el
f = el.compile("ab,bc,cd,de->ae", *[(90, 90)] * 4, dtype="float32", threads=2, optimize=[(0, 1)] * 3)
g = el.compile("ab,bc,cd,de->ae", *[(90, 90)] * 4, dtype="float32", threads=2, memory_limit=1000)
A = [np.eye(90, k=k, dtype=np.float32) for k in range(4)]
for h in (f, g):
    for _ in range(4):  # Through Python, then through generated entries.
        assert np.array_equal(h(*A), np.eye(90, k=6)), h
"""


def run(cache: str | Path, program: str = PROGRAM, **environment: str) -> list[str]:
    """Contract in a process of its own; return which of what compiles it loaded."""
    variables = os.environ | {"EINLOOM_CACHE": str(cache)} | environment
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


OPERATION = parse_operation("identity first=none last=none\naxis a 4 c\nin0 float32 a=1\nout float32 a=1")
KEPT = Image(b"\xc3" * 8, AVX512.isa, frozenset({"avx512f"}), 4, 2, 64, 3, labels=(("here", 4),))
MADE = Image(b"\xc3", AVX512.isa, frozenset(), 0, 2, 0, 1)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store(tmp_path / "programs")
    monkeypatch.setattr(stored, "code_store", lambda: store)
    return store


def read_or_made(store: Store, content: bytes) -> Image:
    """The image after somebody wrote `content` where it is kept; another one is there after it was made."""
    store.write("key", content)
    return remembered_image(lambda: "key", len(OPERATION.operands), AVX512, lambda: MADE)


def test_a_second_process_loads_no_compiler(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    assert run(folder) == ["asm", "kernels", "passes"]
    assert len(list(folder.iterdir())) == 1
    assert run(folder) == []


def test_nor_for_teams_lanes_slices_and_later_calls(tmp_path: Path) -> None:
    program = MORE + PROGRAM
    assert run(tmp_path / "programs", program) == ["asm", "kernels", "passes"]
    assert run(tmp_path / "programs", program) == []


TREE = """
import sys
import numpy as np
import einloom as el
A = [np.eye(9, k=k) for k in range(3)]
assert np.array_equal(el.einsum("ab,bc,cd->ad", *A), np.eye(9, k=3))
print(*{"opt_einsum"} & {*sys.modules})
"""


def test_the_paths_of_trees_are_kept_and_what_is_none_is_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    assert run(folder, TREE) == ["opt_einsum"]
    assert run(folder, TREE) == []
    store = Store(folder)
    altered = 0
    for name, _ in store.files():
        if (folder / name).read_bytes().endswith(b"]]"):
            (folder / name).write_bytes(_as_kept(name, b"[[0, 5], [0, 1]]"))
            altered += 1
    assert altered == 1
    assert run(folder, TREE) == ["opt_einsum"]
    assert run(folder, TREE) == []


def _as_kept(name: str, payload: bytes) -> bytes:
    return hashlib.sha256(bytes.fromhex(name) + payload).digest() + payload


def test_damaged_programs_are_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    run(folder)
    [file] = folder.iterdir()
    content = file.read_bytes()
    for damaged in (content[:-1], content[:-1] + bytes([content[-1] ^ 1]), b""):
        file.write_bytes(damaged)
        assert run(folder) != []
        assert file.read_bytes() == content


@pytest.mark.parametrize(
    "said",
    [
        {"entry": 10**6},
        {"entry": "x"},
        {"entry": -5},
        {"scratch_bytes": -5},
        {"operands": 1},
        {"shared_trips": 0},
        {"shared_trips": "7"},
        {"team": -1},
        {"has_sync": True},
        {"isa": "other"},
        {"features": ["none such"]},
        {"features": 5},
        {"labels": [1, 2]},
        {"code": 1},
        {"unheard of": 1},
    ],
)
def test_what_is_no_program_of_this_operation_is_compiled_again(said: dict[str, Any], store: Store) -> None:
    assert read_or_made(store, KEPT.to_bytes()) == KEPT
    head, _, code = KEPT.to_bytes().partition(b"\n")
    assert read_or_made(store, json.dumps(json.loads(head) | said).encode() + b"\n" + code) == MADE
    assert store.read("key") == MADE.to_bytes()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}\n", b"[" * 100_000, b"\xff\n\xc3", b"{}\n\xc3"])
def test_what_is_no_program_at_all_is_compiled_again(content: bytes, store: Store) -> None:
    assert read_or_made(store, content) == MADE


def test_where_no_folder_can_be_nothing_is_kept(tmp_path: Path) -> None:
    run("/" + "a" * 5000)
    gone = tmp_path / "gone"
    gone.mkdir()
    compiles = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}){PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-c", compiles], capture_output=True, text=True, env=os.environ | {"EINLOOM_CACHE": "here"}
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("homes", [{"HOME": "home"}, {"XDG_CACHE_HOME": "caches"}])
def test_without_a_home_nothing_is_left_in_the_current_folder(
    homes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("", **{"XDG_CACHE_HOME": ""} | homes)
    assert list(tmp_path.iterdir()) == []


def test_a_place_below_the_home(tmp_path: Path) -> None:
    run("~/programs", HOME=str(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == ["programs"]


def test_off_keeps_nothing(tmp_path: Path) -> None:
    run("off", XDG_CACHE_HOME=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_every_vector_isa_has_programs_of_its_own(tmp_path: Path, vector: str) -> None:
    folder = tmp_path / "programs"
    run(folder)
    run(folder, EINLOOM_ISA=vector)
    assert run(folder, EINLOOM_ISA=vector) == []
    assert len(list(folder.iterdir())) == (1 if vector == host().vector else 2)
