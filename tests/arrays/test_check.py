"""The rules for memory against their meaning, byte by byte; and that they take no memory for large arrays."""

from __future__ import annotations

import itertools
import random
import tracemalloc

import pytest

import einloom as el
from einloom.arrays.check import check_alignment, check_disjoint, check_itself, check_reach
from einloom.arrays.region import Region

STRIDES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24)


def bytes_of(region: Region) -> list[int]:
    """Every byte of every element, in order."""
    found = []
    for index in itertools.product(*map(range, region.extents)):
        address = region.address + sum(i * stride for i, stride in zip(index, region.strides))
        found += range(address, address + region.size)
    return found


def random_region(rng: random.Random, name: str, written: bool) -> Region:
    rank = rng.randint(0, 4)
    extents = tuple(rng.choice((0, 1, 2, 2, 3, 4)) for _ in range(rank))
    strides = tuple(rng.choice((-1, 1)) * rng.choice(STRIDES) for _ in range(rank))
    return Region(
        name, rng.randrange(1000, 1060), extents, strides, rng.choice((1, 2, 4, 8)), "float32", written, (0, 0)
    )


def refused(kind: type[el.EinloomError], check: object, *arguments: object) -> bool:
    assert callable(check)
    try:
        check(*arguments)
    except kind:
        return True
    return False


def test_overlap_within_a_region() -> None:
    found = 0
    for seed in range(1500):
        region = random_region(random.Random(seed), "out", written=True)
        touched = bytes_of(region)
        overlaps = len(set(touched)) < len(touched)
        assert refused(el.StrideError, check_itself, region) == overlaps, (seed, region)
        found += overlaps
    assert 200 < found < 1300


def test_overlap_of_two_regions() -> None:
    found = 0
    for seed in range(1500):
        rng = random.Random(seed)
        first, second = random_region(rng, "out", written=True), random_region(rng, "operand 0", written=False)
        share = not set(bytes_of(first)).isdisjoint(bytes_of(second))
        assert refused(el.OverlapError, check_disjoint, [second, first]) == share, (seed, first, second)
        found += share
    assert 200 < found < 1300


def test_reach_and_span() -> None:
    for seed in range(300):
        region = random_region(random.Random(seed), "a", written=False)
        touched = bytes_of(region)
        if not touched:
            assert region.span == (region.address, region.address)
            continue
        low, high = min(touched), max(touched) + 1
        assert region.span == (low, high)
        around = [(low, high), (low + 1, high), (low, high - 1), (low - 9, high + 9)]
        results = [
            refused(el.StrideError, check_reach, Region("a", *_shape(region), buffer=buffer)) for buffer in around
        ]
        assert results == [False, True, True, False]


def _shape(region: Region) -> tuple[int, tuple[int, ...], tuple[int, ...], int, str]:
    return region.address, region.extents, region.strides, region.size, region.dtype


def test_what_is_not_known_is_not_checked() -> None:
    """An address without a buffer is taken as it is."""
    address = Region("a", 3, (4,), (2,), 4, "float32", written=True)
    check_alignment(address)
    check_reach(address)
    check_disjoint([address, address])


def test_the_same_elements_may_coincide() -> None:
    out = Region("out", 64, (4, 3), (4, 16), 4, "float32", True, (0, 200))
    same = Region("in0", 64, (4, 3), (4, 16), 4, "float32", False, (0, 200))
    turned = Region("in0", 64, (3, 4), (4, 16), 4, "float32", False, (0, 200))
    check_disjoint([same, out], lambda written, other: True)
    for other, rule in ((same, None), (turned, lambda written, other: True)):
        with pytest.raises(el.OverlapError, match="out shares memory with in0"):
            check_disjoint([other, out], rule)


def test_no_memory_for_large_regions() -> None:
    """Axes that interleave: sorted strides alone prove nothing."""
    tracemalloc.start()
    check_itself(Region("out", 0, (2, 2**40), (8 * 3, 8 * 2), 8, "float64"))
    with pytest.raises(el.StrideError):
        check_itself(Region("out", 0, (2**20, 2**20), (8 * 3, 8 * 2), 8, "float64"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
