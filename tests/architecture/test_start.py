"""What a process waits for at first: `import einloom` and the first contraction bring what they need, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from einloom.jit.host import host

pytestmark = pytest.mark.skipif(not host().has_vectors, reason="nothing is compiled here")

ON_REQUEST = {
    "einloom.bench",
    "einloom.cli",
    "einloom.cluster",
    "einloom.csp",
    "einloom.expression.on_gpu",
    "einloom.expression.show",
    "einloom.frameworks.on_dask",
    "einloom.frameworks.on_jax",
    "einloom.frameworks.on_torch",
    "einloom.ir.gpu",
    "einloom.ir.interpret",
    "einloom.ir.text",
    "einloom.jit.debug",
    "einloom.jit.gpu",
    "einloom.loops",
    "einloom.primitives",
    "einloom.search.search",
    "einloom.space",
    "einloom.targets.gpu",
    "einloom.tensor_operation",
    "einloom.tuning",
    "html",
    "hypothesis",
    "importlib.metadata",
    "logging",
    "opt_einsum",
    "platformdirs",
    "rich",
    "subprocess",
}
"""Nobody who computes a product of two arrays waits for these."""

COMPILER = {
    "einloom.asm",
    "einloom.ir.bind",
    "einloom.ir.nest",
    "einloom.kernels",
    "einloom.passes",
    "einloom.targets.cpu",
}
"""Who finds programs that were stored does not wait for these either."""

OF_OTHERS = {
    "x86_64": {"einloom.asm.aarch64", "einloom.kernels.verbs.aarch64", "einloom.kernels.verbs.neon"},
    "aarch64": {"einloom.asm.x86", "einloom.kernels.verbs.avx512", "einloom.kernels.verbs.x86"},
}
"""By the ISA of a machine what makes code for others."""

IMPORT = "import sys, einloom; print(*sys.modules)"
CONTRACT = (
    "import sys, numpy as np, einloom; a = np.ones((30, 30)); einloom.einsum('ij,jk->ik', a, a); print(*sys.modules)"
)


def loaded(code: str, cache: str) -> set[str]:
    """Return the modules that a new process has loaded at the end of some code."""
    environment = {**os.environ, "EINLOOM_CACHE": cache}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return set(answer.stdout.split())


def among(modules: set[str], unwanted: set[str]) -> set[str]:
    """Return which modules lie in unwanted packages, or are such modules."""
    return {module for module in modules if any(f"{module}.".startswith(f"{name}.") for name in unwanted)}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder in which programs are stored."""
    made = tmp_path / "programs"
    made.mkdir(mode=0o700)
    return str(made)


@pytest.mark.parametrize("code", [IMPORT, CONTRACT])
def test_who_compiles_waits_for_the_compiler_of_this_machine_alone(code: str) -> None:
    modules = loaded(code, "off")
    assert among(modules, ON_REQUEST | OF_OTHERS.get(host().isa, set())) == set()


def test_the_compiler_is_there_when_the_import_ends() -> None:
    """Users time their first contraction: what it needs has been imported before."""
    assert loaded(CONTRACT, "off") == loaded(IMPORT, "off")


@pytest.mark.parametrize("code", [IMPORT, CONTRACT])
def test_who_finds_stored_programs_waits_for_no_compiler(code: str, folder: str) -> None:
    loaded(CONTRACT, folder)
    assert among(loaded(code, folder), ON_REQUEST | COMPILER) == set()


def test_the_checks_see_what_is_not_needed() -> None:
    assert among({"einloom.csp.engine", "einloom.passes", "einloom.jit"}, COMPILER | ON_REQUEST) == {
        "einloom.csp.engine",
        "einloom.passes",
    }
    assert among(loaded(f"import einloom.asm; {IMPORT}", "off"), COMPILER) >= {"einloom.asm"}
    assert among(loaded(f"import einloom.cluster; {IMPORT}", "off"), ON_REQUEST) != set()
