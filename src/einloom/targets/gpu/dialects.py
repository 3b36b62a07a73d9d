"""The languages of kernels, by the kind of driver that compiles them."""

from __future__ import annotations

from einloom.targets.gpu.cuda import CUDA
from einloom.targets.gpu.dialect import Dialect
from einloom.targets.gpu.opencl import OPENCL

__all__ = ["DIALECTS"]

DIALECTS: dict[str, Dialect] = {"opencl": OPENCL, "cuda": CUDA}
