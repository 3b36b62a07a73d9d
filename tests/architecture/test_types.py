"""pyright is strict: in every package but those that are listed here, and that list only gets shorter."""

from __future__ import annotations

import tomllib

from tests.architecture.imports import ROOT, modules

NOT_STRICT_YET = {
    "__init__.py",
    "__main__.py",
    "arrays",
    "asm",
    "ir/__init__.py",
    "ir/meanings.py",
    "ir/statement.py",
    "jit",
    "passes",
    "plan/__init__.py",
    "plan/paths.py",
    "primitives",
    "tensor_operation.py",
    "threadpools.py",
}
"""What pyright checks by its standard rules, whole packages by their folder; everything new is strict."""

STANDARD_RULES = {
    "einloom.bench.peers.etops",
    "einloom.bench.peers.torch",
    "einloom.bench.plot",
    "einloom.cluster.drawing",
    "einloom.cluster.on_dask",
    "einloom.cluster.on_mpi",
    "einloom.cluster.progress",
    "einloom.cluster.summa",
    "einloom.cluster.tuning",
    "einloom.expression.drawing",
    "einloom.frameworks.on_dask",
    "einloom.frameworks.on_jax",
    "einloom.frameworks.on_torch",
    "einloom.loops.plot",
}
"""Modules inside strict packages around a library without types: they say so above their imports."""


def test_every_module_is_strict_or_listed() -> None:
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())
    strict = {name.removeprefix("src/einloom/") for name in project["tool"]["pyright"]["strict"]}
    files = {str(path.relative_to(ROOT)) for path in modules().values()}
    loose = {file for file in files if not _covers(strict, file)}
    assert {file for file in loose if not _covers(NOT_STRICT_YET, file)} == set(), "name it in pyproject.toml"
    assert {name for name in NOT_STRICT_YET if not any(_covers({name}, file) for file in loose)} == set(), (
        "it is strict"
    )


def _covers(names: set[str], file: str) -> bool:
    return any(file == name or file.startswith(f"{name}/") for name in names)


def test_what_is_strict_is_there() -> None:
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())
    assert [name for name in project["tool"]["pyright"]["strict"] if not (ROOT.parents[1] / name).exists()] == []


def test_nobody_goes_back_to_looser_rules() -> None:
    loose = {name for name, path in modules().items() if "\n# pyright: " in path.read_text()}
    assert loose <= STANDARD_RULES
