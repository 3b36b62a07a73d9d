"""Buffers full of canaries, arrays anywhere in them, and what a call wrote: what it should, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TYPES = ("float32", "float64")
WRONG_TYPES = (">f4", ">f8", "int32", "float16", "complex64")


class Buffers:
    """The memory of one call: what lay in it, and whether it still does.

    Args:
        rng: decides everything.
        size: of each buffer in bytes.
    """

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
        self.size = size
        self.buffers: list[Array] = []
        self.before: list[Array] = []

    def fresh(self) -> Array:
        """Return another buffer."""
        seed = self.rng.getrandbits(32)
        self.buffers.append(np.random.default_rng(seed).integers(0, 256, self.size, np.uint8))
        return self.buffers[-1]

    def any(self, share: float = 0.2) -> Array:
        """Return a buffer: now and then one that another array lies in already."""
        return self.rng.choice(self.buffers) if self.buffers and self.rng.random() < share else self.fresh()

    def hostile(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Return an array of this shape, whose type, strides, alignment and flags are what the dice say."""
        rng = self.rng
        if rng.random() < 0.08:
            dtype = rng.choice((*WRONG_TYPES, *TYPES))
        strides = random_strides(rng, shape, np.dtype(dtype).itemsize)
        offset = 64 + 8 * rng.randrange(16) + (rng.randrange(8) if rng.random() < 0.25 else 0)
        array = self.view(shape, strides, dtype, offset, self.any())
        array.flags.writeable = rng.random() > 0.08
        return array

    def view(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, offset: int, buffer: Array) -> Array:
        """Return an array of these byte strides whose lowest byte lies at an offset into a buffer."""
        ends = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
        low = -sum(min(end, 0) for end in ends) if 0 not in shape else 0
        return np.ndarray(shape, dtype, buffer.data, offset + low, strides)

    def begin(self) -> None:
        """Remember all bytes."""
        self.before = [buffer.copy() for buffer in self.buffers]

    def was(self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        """Return what lay, before the call, at these byte strides from an array's first element; it must be inside."""
        address = array.__array_interface__["data"][0]
        for buffer, before in zip(self.buffers, self.before):
            start = address - buffer.ctypes.data
            if 0 <= start <= self.size:
                return np.ndarray(shape, array.dtype, before.data, start, strides)
        raise AssertionError("the array lies in no buffer")

    def nothing_written(self) -> bool:
        """Return whether every byte is as it was."""
        return all(np.array_equal(now, was) for now, was in zip(self.buffers, self.before))

    def only_written(self, *arrays: Array) -> bool:
        """Return whether every byte is as it was but those of these arrays' elements."""
        ends = [(buffer.ctypes.data, buffer.ctypes.data + self.size) for buffer in self.buffers]
        masks = [np.ones(self.size, bool) for _ in self.buffers]
        for array in arrays:
            places = _byte_addresses(array)
            for (low, high), mask in zip(ends, masks):
                mask[places[(places >= low) & (places < high)] - low] = False
        return all(np.array_equal(now[mask], was[mask]) for now, was, mask in zip(self.buffers, self.before, masks))


def _byte_addresses(array: Array) -> Array:
    places = np.array([array.__array_interface__["data"][0]])
    for extent, stride in zip((*array.shape, array.itemsize), (*array.strides, 1)):
        places = (places[:, None] + np.arange(extent) * stride).ravel()
    return places


def random_strides(rng: random.Random, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return byte strides: mostly contiguous in some order of the axes; else with gaps, negative, 0, wild."""
    order = list(range(len(shape)))
    rng.shuffle(order)
    strides, step = [0] * len(shape), size
    for axis in order:
        step *= rng.choice((1, 1, 1, 2, 3))
        strides[axis] = step * rng.choice((1, 1, 1, 1, -1))
        step *= max(shape[axis], 1)
    if rng.random() < 0.15 and shape:
        strides[rng.randrange(len(shape))] = rng.choice((0, size, size // 2, size + 1, -size))
    return tuple(strides)


def fill(rng: random.Random, array: Array) -> None:
    """Give an array small whole numbers, so that every sum of products is exact; a read-only one, too."""
    frozen = not array.flags.writeable
    array.flags.writeable = True
    values = np.random.default_rng(rng.getrandbits(32)).integers(-3, 4, array.shape)
    array[...] = values.astype(array.dtype)
    array.flags.writeable = not frozen


def is_small(array: Array) -> bool:
    """Return whether an array still holds what `fill` gives: another one may lie across it."""
    with np.errstate(all="ignore"):
        return bool(np.isin(array, np.arange(-3, 4)).all())
