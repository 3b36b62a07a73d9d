"""einloom: tensor expressions to machine code, from Python.

>>> import numpy as np, einloom as el
>>> el.einsum("ab,bc->ac", np.ones((2, 3)), np.ones((3, 4)))[0, 0]
np.float64(3.0)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from einloom.api import clear_cache, compile, contract_path, einsum
from einloom.config import VERSION, settings
from einloom.errors import (
    ArgumentError,
    DeadEnd,
    DeviceError,
    DTypeError,
    EinloomError,
    EncodingError,
    EquationError,
    EquationTypeError,
    FallbackWarning,
    InternalError,
    OverlapError,
    PathError,
    ScheduleError,
    ShapeError,
    StrideError,
    UnsupportedTarget,
)
from einloom.expression import Expression
from einloom.expression.programs import prepare as _prepare
from einloom.forks import register as _register_at_fork
from einloom.ir.operation import DimType, Primitive
from einloom.ir.schedule import ExecType, Schedule
from einloom.machine import Machine
from einloom.threadpools import register as _register_thread_pool

if TYPE_CHECKING:
    from einloom import asm, cluster, jit, primitives, space
    from einloom.ir.configuration import TensorOperationConfig
    from einloom.loops import tpp
    from einloom.loops.trace.recorder import when
    from einloom.products import array, matmul, tensordot, transpose
    from einloom.search.search import Budget
    from einloom.tensor_operation import TensorOperation, optimize
    from einloom.threaded_loop import LoopSpec, ThreadedLoop
    from einloom.tuning import tune

__version__ = VERSION

__all__ = [
    "ArgumentError",
    "Budget",
    "DTypeError",
    "DeadEnd",
    "DeviceError",
    "DimType",
    "EinloomError",
    "EncodingError",
    "EquationError",
    "EquationTypeError",
    "ExecType",
    "Expression",
    "FallbackWarning",
    "InternalError",
    "LoopSpec",
    "Machine",
    "OverlapError",
    "PathError",
    "Primitive",
    "Schedule",
    "ScheduleError",
    "ShapeError",
    "StrideError",
    "TensorOperation",
    "TensorOperationConfig",
    "ThreadedLoop",
    "UnsupportedTarget",
    "array",
    "asm",
    "clear_cache",
    "cluster",
    "compile",
    "contract_path",
    "einsum",
    "jit",
    "matmul",
    "optimize",
    "primitives",
    "settings",
    "space",
    "tensordot",
    "tpp",
    "transpose",
    "tune",
    "when",
]


_LAYERS = {
    "asm": "asm",
    "cluster": "cluster",
    "jit": "jit",
    "primitives": "primitives",
    "space": "space",
    "tpp": "loops.tpp",
}
_MEMBERS = {
    "Budget": "search.search",
    "LoopSpec": "threaded_loop",
    "TensorOperation": "tensor_operation",
    "TensorOperationConfig": "ir.configuration",
    "ThreadedLoop": "threaded_loop",
    "array": "products",
    "matmul": "products",
    "optimize": "tensor_operation",
    "tensordot": "products",
    "transpose": "products",
    "tune": "tuning",
    "when": "loops.trace.recorder",
}

_register_at_fork()
_register_thread_pool(__version__)
_prepare()


def __getattr__(name: str) -> Any:
    """Import the layers below on first use, so that `import einloom` stays quick."""
    if name in _LAYERS:
        return import_module(f"einloom.{_LAYERS[name]}")
    if name in _MEMBERS:
        return getattr(import_module(f"einloom.{_MEMBERS[name]}"), name)
    raise AttributeError(f"module 'einloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__", "__file__", "__path__", "__version__"})
