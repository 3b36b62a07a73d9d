"""The process's OpenMP runtime: which one, and where its three functions lie. It starts no thread.

The runtime that is loaded already comes first, so that one team of threads serves every library of the process.

>>> runtime = find_runtime()
>>> runtime is None or runtime.parallel > 0
True
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Runtime", "find_runtime", "loaded_runtimes"]

# Wheels carry copies with a hash in the name: libgomp-a34b3233.so.1.0.0
_RUNTIME = re.compile(r"/(libgomp|libomp5?|libiomp5)[-.][^/]*$")


@dataclass(frozen=True, slots=True)
class Runtime:
    """An OpenMP runtime: its file, and the addresses of functions that libgomp defines and the others also export.

    Attributes:
        path: as the dynamic loader knows it.
        parallel: `void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)`.
        thread_number: `int omp_get_thread_num(void)`.
        team_size: `int omp_get_num_threads(void)`.
    """

    path: str
    parallel: int
    thread_number: int
    team_size: int


def find_runtime() -> Runtime | None:
    """Return the runtime that is loaded, else one that can be loaded, else None."""
    if not sys.platform.startswith("linux"):
        return None
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        loaded = loaded_runtimes(file.read())
    found = (_opened(path, os.RTLD_NOLOAD) for path in loaded)
    loadable = (_opened(name, 0) for name in _loadable_names())
    return next((runtime for group in (found, loadable) for runtime in group if runtime), None)


def loaded_runtimes(maps: str) -> list[str]:
    """Return the paths of the OpenMP runtimes in a text of /proc/self/maps, in the order of their addresses."""
    paths = (line.split(maxsplit=5)[5] for line in maps.splitlines() if "/" in line)
    return [path for path in dict.fromkeys(paths) if _RUNTIME.search(path)]


def _loadable_names() -> Iterator[str]:
    yield "libgomp.so.1"
    yield os.path.join(sys.prefix, "lib", "libiomp5.so")  # where the wheel intel-openmp puts it
    yield "libiomp5.so"
    yield "libomp.so.5"


def _opened(path: str, mode: int) -> Runtime | None:
    try:
        library = ctypes.CDLL(path, mode=mode)
        functions = (library.GOMP_parallel, library.omp_get_thread_num, library.omp_get_num_threads)
    except (OSError, AttributeError):
        return None
    addresses = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
    return Runtime(path, *addresses)
