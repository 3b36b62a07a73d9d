"""What the SIMT interpreter computes, and each fault that it reports: what real devices would answer with anything."""

from __future__ import annotations

import numpy as np
import pytest

from einloom.ir.gpu.simt import LaunchFault, run_launch
from einloom.ir.gpu.text import read_launch

REVERSE = """
launch reverse
  block i.0 2
  thread i.1 4 also j.1
  global in float32 a 8
  global out float32 b 8
  register float32 r 1
  shared float32 t 4
  r[0] = a[4 i.0 + i.1] global
  t[i.1] = r[0] shared
  barrier
  loop j.0 4
    r[0] = t[j.0] shared if j.0 + i.1 < 4
  b[4 i.0 + i.1] = r[0] global cache=l2
"""


def run(text: str) -> np.ndarray:
    memory = {"a": np.arange(8.0), "b": np.full(8, np.nan)}
    run_launch(read_launch(text), memory)
    return memory["b"]


def test_threads_exchange_through_shared_memory():
    assert run(REVERSE).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  barrier\n", "", r"thread \d+ touches the same element of t"),
        ("t[i.1] = r[0]", "t[0] = r[0]", r"touches the same element of t"),
        ("a[4 i.0 + i.1]", "a[5 i.0 + i.1]", r"thread 7 .*element 8 of a lies outside"),
        ("a[4 i.0 + i.1]", "a[-1 i.1]", r"element -1 of a lies outside"),
        ("t[j.0]", "t[4 j.0]", r"element 4 of t lies outside"),
        ("b[4 i.0 + i.1]", "b[i.1]", r"touches the same element of b"),
        ("b[4 i.0 + i.1]", "b[4 i.0]", r"touches the same element of b"),
        ("  t[i.1] = r[0] shared\n", "  t[i.1] = r[0] shared if i.1 < 3\n", r"t\[j.0\] is read before it is written"),
        ("  r[0] = a[4 i.0 + i.1] global\n", "", r"r\[0\] is read before it is written"),
    ],
)
def test_faults_are_reported_with_the_thread(old: str, new: str, message: str):
    assert old in REVERSE
    with pytest.raises(LaunchFault, match=message):
        run(REVERSE.replace(old, new))


VECTORS = """
launch vectors
  thread i 2
  global in float32 a 8
  global out float32 b 8
  register float32 r 4
  vector v 4
    r[v] = a[4 i + v] global
  vector w 4
    b[4 i + w] = r[w] global
"""


def test_vectors_have_to_be_aligned():
    assert run(VECTORS).tolist() == list(range(8))
    with pytest.raises(LaunchFault, match="the 4 elements of a vector are not aligned"):
        run(VECTORS.replace("a[4 i + v]", "a[3 i + v]"))
    with pytest.raises(LaunchFault, match="not aligned"):
        run(VECTORS.replace("in float32 a 8", "in float32 a 8 from 1").replace("a[4 i + v]", "a[-1 i + v]"))


def test_blocks_share_nothing():
    text = """
launch apart
  block i 2
  global in float32 a 8
  global out float32 b 8
  global float32 t 2
  register float32 r 1
  r[0] = a[i] global
  t[{}] = r[0] global
  r[0] = t[{}] global
  b[i] = r[0] global
"""
    assert run(text.format("i", "i"))[:2].tolist() == [0, 1]
    with pytest.raises(LaunchFault, match="another block touches the same element of t"):
        run(text.format("0", "0"))


def test_arithmetic_is_wide_and_rounds_once():
    text = """
launch sum
  global in float16 a 8
  global out float16 b 8
  register float32 r 1
  register float32 x 1
  r[0] = 0
  loop k 8
    x[0] = a[k] global
    r[0] = mad(x[0], x[0], r[0])
  b[0] = r[0] global
"""
    memory = {"a": np.full(8, 0.1, np.float16), "b": np.zeros(8, np.float16)}
    run_launch(read_launch(text), memory)
    assert memory["b"][0] == np.float16(8 * float(np.float16(0.1)) ** 2)
    assert not memory["b"][1:].any()  # What nobody writes stays.
