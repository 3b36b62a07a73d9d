"""einloom: tensor expressions to machine code, from Python.

>>> import numpy as np, einloom as el
>>> el.einsum("ab,bc->ac", np.ones((2, 3)), np.ones((3, 4)))[0, 0]
np.float64(3.0)
"""

from __future__ import annotations

from einloom.errors import (
    DeadEnd,
    DeviceError,
    DTypeError,
    EinloomError,
    EncodingError,
    EquationError,
    InternalError,
    OverlapError,
    ScheduleError,
    ShapeError,
    StrideError,
    UnsupportedTarget,
)

__version__ = "0.1.0"
