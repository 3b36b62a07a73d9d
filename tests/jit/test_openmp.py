"""Which OpenMP runtime is taken."""

from __future__ import annotations

import pytest

from einloom.jit import openmp
from einloom.jit.openmp import Runtime, find_runtime, loaded_runtimes

LINE = "7f0000000000-7f0000001000 r-xp 00000000 08:01 42                         {}"
NAMES = [
    "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0",
    "/site packages/scikit_learn.libs/libgomp-e985bcbb.so.1.0.0",
    "/opt/llvm/lib/libomp.so",
    "/usr/lib/llvm-14/lib/libomp.so.5",
    "/usr/lib/x86_64-linux-gnu/libomp5.so",
    "/env/lib/libiomp5.so",
]
OTHERS = ["/usr/lib/libgomp-plugin/other.so", "/usr/lib/libompi.so.40", "/usr/lib/libopenblas.so", "[heap]", ""]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_runtimes(name):
    text = "\n".join(LINE.format(path) for path in ["/usr/lib/libc.so.6", name, name])
    assert loaded_runtimes(text) == [name]


@pytest.mark.parametrize("name", OTHERS)
def test_names_of_other_libraries(name):
    assert loaded_runtimes(LINE.format(name)) == []


def test_loaded_comes_before_loadable(monkeypatch):
    asked = []

    def opened(path: str, mode: int) -> Runtime | None:
        asked.append(path)
        return Runtime(path, 1, 2, 3) if path in available else None

    monkeypatch.setattr(openmp, "_opened", opened)
    monkeypatch.setattr(openmp, "loaded_runtimes", lambda maps: ["/a/libomp.so", "/b/libiomp5.so"])
    available = {"/b/libiomp5.so", "libgomp.so.1"}
    assert find_runtime() == Runtime("/b/libiomp5.so", 1, 2, 3)
    assert asked == ["/a/libomp.so", "/b/libiomp5.so"]
    available = {"libgomp.so.1"}
    assert find_runtime() == Runtime("libgomp.so.1", 1, 2, 3)
    available = set()
    assert find_runtime() is None


def test_other_systems_have_none(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert find_runtime() is None


def test_a_library_without_the_functions_is_none():
    assert openmp._opened("libc.so.6", 0) is None
    assert openmp._opened("libnothing.so.1", 0) is None
