"""The address of an array's data, read from the array object."""

from __future__ import annotations

import numpy as np
import pytest

from einloom.jit import array_address, arrays

BASE = np.arange(120.0).reshape(2, 3, 4, 5)
ARRAYS = [
    BASE,
    BASE[1:, ::-1, :, ::2],
    BASE.T,
    BASE[..., 0, 0],
    np.broadcast_to(BASE, (7, 2, 3, 4, 5)),
    np.array(3.0, np.float32),
    np.empty((0, 4)),
    np.asfortranarray(np.ones((3, 3), np.int8)),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    np.frombuffer(b"read only", np.uint8),
]


@pytest.mark.parametrize("array", ARRAYS)
def test_address_is_numpys(array):
    assert array_address(array) == array.ctypes.data == array.__array_interface__["data"][0]


def test_where_the_place_cannot_be_told_numpy_is_asked(monkeypatch):
    monkeypatch.setattr("sys.implementation.name", "another")
    assert arrays._pointer_place() is None
    monkeypatch.undo()
    monkeypatch.setattr(arrays, "_points_to_data", lambda array, place: True)
    assert arrays._pointer_place() is None  # every word looks like it
    monkeypatch.undo()
    monkeypatch.setattr(arrays, "_PLACE", None)
    assert [array_address(array) for array in ARRAYS] == [array.ctypes.data for array in ARRAYS]
