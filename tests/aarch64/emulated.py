"""Tests that run on an emulated AArch64 processor only: what it is taken for, and the public surface, end to end.

`EINLOOM_EMULATED_CPU` names the processor and its switches, `max+sme=off`. `cortex-a72` faults on every instruction
that plain Neon lacks, so whatever passes on it has never executed one; the first test sees such a fault.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.jit import ExecutablePages, host
from einloom.machine import NEON

NARROW = {"dotprod", "fp16"}
WIDE = NARROW | {"bf16", "i8mm"}
PROCESSORS: dict[str, tuple[str, set[str]]] = {
    "cortex-a72": ("neon", set()),
    "neoverse-n1": ("neon", NARROW),
    "a64fx": ("sve512", {"fp16", "sve"}),
    "neoverse-v1": ("sve256", NARROW | {"i8mm", "sve"}),  # As QEMU knows it: real ones have bf16 as well.
    "neoverse-n2": ("neon", WIDE | {"sve", "sve2"}),  # Neon before scalable vectors of its width.
    "max": ("sve512", WIDE | {"sve", "sve2", "sme"}),
}
"""The vectors of every processor that tests know, and what it has beyond Neon."""

LOST = {"sve=off": {"sve", "sve2"}, "sme=off": {"sme"}, "sve256=off": set[str]()}
"""What a processor loses by its switches; without vectors of 256 bits it has no longer ones."""

NAME, *SWITCHES = os.environ["EINLOOM_EMULATED_CPU"].split("+")
VECTOR = "neon" if {"sve=off", "sve256=off"} & {*SWITCHES} else PROCESSORS[NAME][0]
FEATURES = PROCESSORS[NAME][1].difference(*(LOST.get(switch, set()) for switch in SWITCHES))
SVE_CODE = bytes.fromhex("e0e32004c0035fd6")  # cntb x0; ret


def python(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a text in another emulated Python."""
    return subprocess.run(
        [sys.executable, "-c", text], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def random(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def close(result: Any, expected: Any, k: int) -> None:
    """Check a result against one of float64 inputs of which k products were summed."""
    bound = 2 * k * np.finfo(result.dtype).eps * max(1, np.abs(expected).max()) * 8
    assert result.shape == expected.shape
    assert np.abs(result - expected).max(initial=0) <= bound


def test_instructions_that_the_processor_lacks_fault() -> None:
    child = os.fork()
    if child == 0:
        import ctypes
        import faulthandler

        faulthandler.disable()
        with ExecutablePages(SVE_CODE) as pages:
            length = ctypes.CFUNCTYPE(ctypes.c_int64)(pages.address)()
            os._exit(0 if length >= 16 else 1)
    _, status = os.waitpid(child, 0)
    if "sve" not in FEATURES:
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGILL
    else:
        assert status == 0


def test_the_host_is_what_is_emulated() -> None:
    machine = host()
    assert platform.machine() == "aarch64"
    assert (machine.isa, machine.vector) == ("aarch64", VECTOR)
    known = PROCESSORS["max"][1] - ({"sme"} if "sve=off" in SWITCHES else set())  # Older emulators lose both at once.
    assert known & machine.features == known & FEATURES
    assert machine.cores == len(os.sched_getaffinity(0)) or machine.cores >= 1
    assert 4096 <= machine.l1d <= machine.l2 <= machine.l3


def test_kernels_need_no_more_than_neon() -> None:
    kernel = el.primitives.brgemm(m=16, n=6, k=64)
    assert kernel.isa == host().vector
    f = el.compile("ab,bc->ac", (17, 9), (9, 13))
    a, b = random(17, 9), random(9, 13, seed=1)
    close(f(a, b), a.astype("f8") @ b, 9)
    assert "fmla" in f.show("asm")
    assert NEON.features <= host().features


EINSUMS = (
    ("ab,bc->ac", (5, 7), (7, 9)),
    ("ab,bc->ac", (33, 40), (40, 21)),
    ("abc,cd->abd", (3, 8, 10), (10, 11)),
    ("bhqd,bhkd->bhqk", (2, 2, 9, 8), (2, 2, 7, 8)),
    ("abcd->cdab", (3, 4, 5, 6)),
    ("ab->ba", (19, 23)),
    ("ab->a", (7, 30)),
    ("aab->b", (4, 4, 5)),
    ("a,a->", (50,), (50,)),
    ("a,b->ab", (6,), (9,)),
    ("ab,ab->ab", (6, 9), (6, 9)),
    ("ab,bc,cd->ad", (4, 5), (5, 6), (6, 7)),
    ("ijk,jlm,kmn->iln", (3, 4, 5), (4, 3, 2), (5, 2, 6)),
    ("...a,ab->...b", (2, 3, 8), (8, 5)),
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_einsum(dtype: str) -> None:
    for equation, *shapes in EINSUMS:
        operands = [random(*shape, dtype=dtype, seed=index) for index, shape in enumerate(shapes)]
        expected = np.einsum(equation, *[operand.astype("f8") for operand in operands])
        close(np.asarray(el.einsum(equation, *operands)), np.asarray(expected), 60)


def test_views_are_read_in_place() -> None:
    a, b = random(30, 24), random(24, 40, seed=1)
    for left, right in ((a[::2], b[:, ::-1]), (a[:, ::-1], b[::-1]), (b.T[::3], a.T), (a[3:20, 1:9], b[1:9, 5:6])):
        close(el.einsum("ab,bc->ac", left, right), left.astype("f8") @ right, 24)


@pytest.mark.parametrize("equation", ["ab,bc->ac", "ab,bc->ca", "ab,cb->ac", "ba,bc->ca"])
def test_bytes_are_summed_with_whatever_the_processor_has(equation: str) -> None:
    """A64FX multiplies groups in scalable vectors alone, and kernels need vectors of 128 bits beside them."""
    sizes, rng = {"a": 17, "b": 256, "c": 48}, np.random.default_rng(0)
    shapes = [[sizes[name] for name in term] for term in equation.partition("->")[0].split(",")]
    a, b = (rng.integers(-128, 128, shape).astype("i1") for shape in shapes)
    expected = np.einsum(equation, a, b, dtype="i4")
    assert np.array_equal(el.einsum(equation, a, b, dtype="int32"), expected)


CONFIG = {
    "dtype": "float32",
    "prim_first_touch": "zero",
    "prim_main": "brgemm",
    "prim_last_touch": "relu",
    "dim_types": ("m", "n", "k", "m", "n", "k"),
    "exec_types": ("shared", "seq", "prim", "prim", "prim", "prim"),
    "dim_sizes": (3, 2, 4, 16, 12, 8),
    "strides_in0": (512, 0, 128, 1, 0, 16),
    "strides_in1": (0, 384, 96, 0, 8, 1),
    "strides_out": (384, 192, 0, 1, 16, 0),
}


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_tensor_operation(threads: int) -> None:
    a, b = random(3, 4, 8, 16), random(2, 4, 12, 8, seed=1)
    expected = np.maximum(np.einsum("xkim,ykni->xynm", a.astype("f8"), b), 0)
    given = el.TensorOperationConfig(**CONFIG)  # type: ignore[arg-type]
    for config in (given, el.optimize(given)):
        out = np.full((3, 2, 12, 16), np.nan, "f4")
        el.TensorOperation(config, threads=threads).execute(a, b, out)
        close(out, expected, 32)


def test_command_line() -> None:
    run = subprocess.run([sys.executable, "-m", "einloom", "info"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert f"aarch64 {host().vector}" in run.stdout
    command = [sys.executable, "-m", "einloom", "einsum", "abc,cd->abd", "--sizes", "a=4,b=5,c=6,d=7"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    x86 = el.primitives.brgemm(m=4, n=4, k=4, isa="avx2")
    with pytest.raises(el.UnsupportedTarget):
        x86(random(16), random(16), random(16), 4, 4, 4)
