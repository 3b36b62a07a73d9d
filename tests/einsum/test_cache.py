"""What one process compiled another one runs, without what compiles; and never what is damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from einloom.jit.host import host

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


def run(cache: str | Path, **environment: str) -> list[str]:
    """Contract in a process of its own; return which of what compiles it loaded."""
    variables = os.environ | {"EINLOOM_CACHE": str(cache)} | environment
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_second_process_loads_no_compiler(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    assert run(folder) == ["asm", "kernels", "passes"]
    assert len(list(folder.iterdir())) == 1
    assert run(folder) == []


def test_damaged_programs_are_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    run(folder)
    [file] = folder.iterdir()
    content = file.read_bytes()
    for damaged in (content[:-1], content[:-1] + bytes([content[-1] ^ 1]), b""):
        file.write_bytes(damaged)
        assert run(folder) != []
        assert file.read_bytes() == content


def test_off_keeps_nothing(tmp_path: Path) -> None:
    run("off", XDG_CACHE_HOME=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_every_vector_isa_has_programs_of_its_own(tmp_path: Path, vector: str) -> None:
    folder = tmp_path / "programs"
    run(folder)
    run(folder, EINLOOM_ISA=vector)
    assert run(folder, EINLOOM_ISA=vector) == []
    assert len(list(folder.iterdir())) == (1 if vector == host().vector else 2)
