"""Loop strings as C++ and a compiler's work: what PARLOOPER does with them, without its libraries.

PARLOOPER itself needs LIBXSMM and is not built here. What is compared is the cost of a new string: the nest that it
describes as C++ with OpenMP, compiled at run time, loaded, and called with a body behind a pointer.

>>> from einloom.ir.loop_text import parse_loop_string
>>> from einloom.loops.spec import LoopSpec
>>> print(cpp_source(LoopNest.of(parse_loop_string("bA"), (LoopSpec(0, 8, 2), LoopSpec(0, 10)), threads=2)))
#include <algorithm>
#include <omp.h>
extern "C" void run(void (*body)(long, const long *)) {
#pragma omp parallel num_threads(2)
{
const long thread = omp_get_thread_num();
for (long b0 = 0; b0 < 10l; b0 += 1) {
#pragma omp for collapse(1) schedule(static) nowait
for (long a0 = 0; a0 < 8l; a0 += 2) {
const long indices[] = {a0, b0};
body(thread, indices);
}
}
}
}
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from einloom.errors import DeviceError
from einloom.ir.sharing import Dimension, Grid
from einloom.loops.nest import LoopNest, NestLoop, ends_of, start_of

__all__ = ["COMPILER", "Body", "compiled_nest", "cpp_source", "has_compiler"]

COMPILER = "g++"
FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-x", "c++", "-")

Body = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.POINTER(ctypes.c_long))
"""What a nest calls: the thread and the logical indices."""


def has_compiler() -> bool:
    """Return whether there is a compiler."""
    return shutil.which(COMPILER) is not None


def compiled_nest(nest: LoopNest, folder: Path) -> Callable[[Any], None]:
    """Return a nest as a function that takes a `Body`, compiled into a library in `folder`.

    Raises:
        DeviceError: the compiler refuses it, such as collapsed loops of one letter.
    """
    path = folder / f"nest{len(list(folder.iterdir()))}.so"
    done = subprocess.run([COMPILER, *FLAGS, "-o", str(path)], input=cpp_source(nest), capture_output=True, text=True)
    if done.returncode:
        raise DeviceError(f"{COMPILER} refuses {nest.string}\n  {done.stderr[:400]}")
    return ctypes.CDLL(str(path)).run


def cpp_source(nest: LoopNest) -> str:
    """Return a nest as C++."""
    return "\n".join(_lines(nest))


def _lines(nest: LoopNest) -> Iterator[str]:
    yield "#include <algorithm>\n#include <omp.h>"
    yield 'extern "C" void run(void (*body)(long, const long *)) {'
    yield f"#pragma omp parallel num_threads({nest.threads})"
    yield "{\nconst long thread = omp_get_thread_num();"
    for loop in nest.loops:
        if nest.group and loop is nest.group[0]:
            yield f"#pragma omp for collapse({len(nest.group)}) {nest.clause} nowait"
        yield _head(nest, loop)
    yield f"const long indices[] = {{{', '.join(loop.name for loop in nest.innermost)}}};"
    yield "body(thread, indices);"
    group = nest.string.group
    for place in reversed(range(len(nest.loops))):
        yield "}"
        waits = group[-1] if place in group else place  # The pragma of collapsed loops stands before the outermost one.
        if nest.loops[waits].barrier and (place not in group or place == group.start):
            yield "#pragma omp barrier"
    yield "}\n}"


def _head(nest: LoopNest, loop: NestLoop) -> str:
    ends = ", ".join(f"{end}l" if end[-1].isdigit() else end for end in ends_of(nest, loop))
    start, end, name = start_of(nest, loop), f"std::min({{{ends}}})" if "," in ends else ends, loop.name
    if loop.ways is None:
        return f"for (long {name} = {start}; {name} < {end}; {name} += {loop.step}) {{"
    grid = nest.grid or Grid()
    places = {
        Dimension.COLUMNS: f"thread % {grid.columns}",
        Dimension.ROWS: f"thread / {grid.columns} % {grid.rows}",
        Dimension.LAYERS: f"thread / {grid.columns * grid.rows}",
    }
    share = -(-loop.trips // loop.ways.count) * loop.step
    first, last = f"{start} + ({places[loop.ways.dimension]}) * {share}", f"{name}_begin + {share}l"
    return (
        f"for (long {name}_begin = {first}, {name} = {name}_begin; {name} < std::min({{{last}, (long)({end})}}); "
        f"{name} += {loop.step}) {{"
    )
