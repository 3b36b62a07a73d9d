"""A contraction of 200 MB needs no memory beside its operands but scratch and code; measured in a process."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import numpy as np
import einloom as el


def peak():  # Of this program alone: the maximum that getrusage gives begins with its parent's.
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0])


a, b = np.ones((6400, 700), np.float32), np.ones((700, 6400), np.float32)
out = np.ones((6400, 6400), np.float32)
warm = np.ones((64, 64), np.float32)
el.einsum("ij,jk->ik", warm, warm, threads=1)
before = peak()
el.einsum("ij,jk->ik", a, b, out=out, threads=1)
assert out[0, 0] == out[-1, -1] == 700
copy = ALLOWED_COPY
print(peak() - before)
"""

ALLOWED = 10 * 1024
"""4 MiB of scratch and what compiling takes, in KiB."""


def _growth(copy: str) -> int:
    command = [sys.executable, "-c", PROGRAM.replace("ALLOWED_COPY", copy)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_large_contraction_stays_within_its_scratch() -> None:
    assert _growth("None") < ALLOWED


def test_the_measure_sees_a_copy_of_an_input() -> None:
    assert _growth("a.copy()") > ALLOWED


TREE = """
import json, sys
import numpy as np
import einloom as el


def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0])


shapes = [(1500, 40), (40, 1500), (1500, 30), (30, 1200), (1200, 20), (20, 1000)]
operands = [np.ones(shape, np.float32) for shape in shapes]
out = np.ones((1500, 1000), np.float32)
path = [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1)] if len(sys.argv) < 2 else json.loads(sys.argv[1])
warm = [np.ones((64, 64), np.float32)] * 3
el.einsum("ab,bc,cd->ad", *warm, threads=1)
f = el.compile("ab,bc,cd,de,ef,fg->ag", *operands, optimize=path, threads=1)
sizes = sorted(step.bytes for step in f._plan.steps[:-1])
before = peak()
f(*operands, out=out)
print((peak() - before) * 1024, sum(sizes[-2:]), f.scratch_bytes)
"""


def test_a_tree_holds_no_more_than_two_intermediate_tensors() -> None:
    for path in ("[[0, 1], [0, 4], [0, 3], [0, 2], [0, 1]]", "[[0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]"):
        done = subprocess.run([sys.executable, "-c", TREE, path], check=True, capture_output=True, text=True)
        grown, largest_two, scratch = map(int, done.stdout.split())
        assert grown <= largest_two + scratch + 1024 * ALLOWED, path
        assert largest_two > 1024 * ALLOWED // 2  # Else it would say nothing.
