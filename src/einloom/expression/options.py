"""`Options`: what a caller may ask of an expression beside its equation and its operands."""

from __future__ import annotations

from typing import Any

from einloom.frameworks.call import Call, path_text
from einloom.frozen import frozen
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.plan.finish import PLAIN, Finish
from einloom.plan.paths import is_unlimited

__all__ = ["DEFAULTS", "GPU_TARGETS", "Options"]

GPU_TARGETS = ("opencl", "cuda", "gpu")
"""Targets that are GPUs; `gpu` is CUDA where there is a device for it, else OpenCL."""


@frozen
class Options:
    """How an expression is to be computed.

    Attributes:
        optimize: what `opt_einsum` takes, for three and more operands.
        memory_limit: most elements of an intermediate tensor, or `"max_input"`; None: no limit.
        schedule: a schedule, its text or a loop string for a single contraction, instead of the heuristic one.
        threads: how many threads, None for the settings at each call.
        target: `"cpu"`, `"interpreter"`, one of `GPU_TARGETS` or a `Machine`.
        finish: what becomes of the sums.
    """

    optimize: Any = "auto"
    memory_limit: Any = None
    schedule: Schedule | str | None = None
    threads: int | None = None
    target: str | Machine = "cpu"
    finish: Finish = PLAIN

    @property
    def key(self) -> tuple[object, ...]:
        """Return what tells these options from others: True and 1, or 1.0 and 1 in a path, are not the same."""
        optimize: object = repr(self.optimize) if type(self.optimize) in (list, tuple) else self.optimize
        given: list[object] = [optimize, self.memory_limit, self.schedule, self.threads, self.target, self.finish]
        return tuple((type(each), each) for each in given)

    def call(self, text: str) -> Call | str:
        """Return an equation under these options as operators of other frameworks carry it, or the one they do not.

        Raises:
            ArgumentError: an optimiser that is an object.
        """
        if self.finish.epilogue:
            return "epilogue="
        if self.finish.alpha != 1:
            return f"alpha={self.finish.alpha!r:.80}"
        if self.finish.beta != 0:
            return f"beta={self.finish.beta!r:.80}"
        if not is_unlimited(self.memory_limit):
            return f"memory_limit={self.memory_limit!r:.80}"
        if self.target != "cpu":
            return f"target={self.target!r:.80}"
        schedule = "" if self.schedule is None else str(self.schedule)
        return Call(text, self.finish.conj, path_text(self.optimize), schedule, self.threads)


DEFAULTS = Options()
