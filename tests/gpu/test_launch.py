"""Launches: their text parses back, and what no device could run is refused with the reason."""

from __future__ import annotations

import pytest

from einloom.errors import ScheduleError
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.space import gpu
from einloom.space.on_gpu.experts import expert_leaf
from tests.gpu.test_simt import REVERSE, VECTORS


@pytest.mark.parametrize("text", [REVERSE, VECTORS])
def test_the_text_parses_back(text: str):
    launch = read_launch(text)
    assert write_launch(launch) == text.strip()
    assert read_launch(write_launch(launch)) == launch


def test_a_launch_knows_its_size():
    launch = read_launch(REVERSE)
    assert (launch.blocks, launch.threads, launch.shared_bytes) == (2, 4, 16)
    assert [each.name for each in launch.arguments] == ["a", "b"]
    assert launch.has_barriers and not read_launch(VECTORS).has_barriers


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("register float32 r 1", "register float32 a 1", "a names two things"),
        ("thread i.1 4", "thread i.1 0", r"i.1 has 0 iterations"),
        ("shared float32 t 4", "shared float32 t 0", "t has 0 elements"),
        ("a[4 i.0 + i.1]", "a[4 i.0 + x]", r"counts by x, which is no loop around it"),
        ("t[j.0]", "u[j.0]", r"u\[j.0\] is no element of an array here"),
        ("b[4 i.0 + i.1] = r[0]", "a[4 i.0 + i.1] = r[0]", "writes a, which is only read"),
        ("  loop j.0 4", "  vector j.0 4\n    barrier", "vector j.0 holds something else than one load or store"),
        ("  loop j.0 4", "  vector j.0 3", "vector j.0 has 3 elements, and vectors have 2 or 4"),
        ("r[0] = t[j.0] shared", "r[0] = mad(t[j.0], 2)", "mad takes 3 operands"),
        ("r[0] = t[j.0] shared", "r[0] = t[j.0] global", "global is no memory, or no cache, of this load"),
        ("r[0] = t[j.0] shared", "r[0] = t[j.0] shared cache=l3", "cache=l3 is no memory, or no cache"),
        ("global cache=l2", "global cache=read_only", "cache=read_only is no memory, or no cache, of this store"),
        ("r[0] global cache=l2", "r[0] cache=l2", "does not say that b lies in global memory"),
        ("global in float32 a", "global in int32 a", r"mixes a of int32 and r of float32"),
        ("  loop j.0 4", "  thread j.0 4", "those are levels of the launch"),
        ("  loop j.0 4", "  loop i.1 4", "i.1 stands inside another loop of its name"),
    ],
)
def test_what_no_device_could_run_is_refused(old: str, new: str, message: str):
    assert old in REVERSE
    with pytest.raises(ScheduleError, match=message):
        read_launch(REVERSE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("launch reverse", "start reverse", "a launch begins with its name"),
        ("thread i.1 4", "thread i.1 four", "how many iterations it has"),
        ("shared float32 t 4", "shared float31 t 4", "an array is a memory"),
        ("r[0] = t[j.0] shared if j.0 + i.1 < 4", "r[0] + t[j.0]", "this is no statement"),
        ("if j.0 + i.1 < 4", "if j.0 + i.1 > 4", "is no limit"),
        ("if j.0 + i.1 < 4", "if j.0 + i.1 < 4²", "is no limit"),
        ("thread i.1 4", "thread i.1 ²", "how many iterations it has"),
        ("shared float32 t 4", "shared float32 t ²", "an array is a memory"),
        ("a[4 i.0 + i.1]", "a[" + "9" * 5000 + " i.0 + i.1]", "is no multiple of a loop's index"),
        ("a[4 i.0 + i.1]", "a[4 * i.0]", "is no multiple of a loop's index"),
        ("  barrier", "      barrier", "stands outside everything"),
    ],
)
def test_a_text_that_is_none_names_its_line(old: str, new: str, message: str):
    assert old in REVERSE
    with pytest.raises(ScheduleError, match=message):
        read_launch(REVERSE.replace(old, new))


def test_loops_inside_of_too_many_loops_are_refused():
    loops = "\n".join("  " * (depth + 1) + f"loop i.{depth} 1" for depth in range(3000))
    with pytest.raises(ScheduleError, match="stands inside of 200 loops"):
        read_launch(f"launch deep\n{loops}")


def test_arrays_that_64_bits_do_not_count_are_refused():
    with pytest.raises(ScheduleError, match="x has more elements than 64 bits count"):
        expert_leaf(gpu("axpy", n=2**61)).launch()
