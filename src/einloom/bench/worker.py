"""The process of one contestant: takes JSON lines on standard input and answers each with one on standard output.

    {"do": "prepare", "case": {…}, "threads": 1, "target": "cpu"}   {"compile_seconds": 0.003, "right": true, …}
    {"do": "measure", "seconds": 0.05}                              {"seconds": 0.0012}
    {"do": "peak", "seconds": 0.01}                                 {"rate": 2.6e11}
    {"do": "copy", "seconds": 0.05}                                 {"rate": 3.1e10}
    {"do": "read", "seconds": 0.05}                                 {"rate": 2.2e10}

Peak is in flop a second, copy in bytes read and written a second, read in bytes read a second. An answer with
`problem` takes the place of the usual one where something failed. What libraries print goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import numpy as np

from einloom.bench.cases import Case, Ceiling
from einloom.bench.check import check_result
from einloom.bench.data import Array, make_operands, make_output
from einloom.bench.peers.contestants import Prepared
from einloom.dtypes import COMPUTED
from einloom.errors import UnsupportedTarget
from einloom.jit.timing import timed_calls, undisturbed
from einloom.search.process import private_output, send

__all__ = ["serve", "settle"]

LONG = 1e-3
"""Seconds of a call beyond which, on one thread, processor time counts: the system gives the core to others within it,
which shorter calls escape now and then."""


def serve(contestant: str, import_seconds: float) -> None:
    """Answer requests until standard input ends. The first line says who is there."""
    answers = private_output()
    session = _Session(contestant)
    package = importlib.import_module(contestant)
    version = getattr(package, "__version__", "")
    send(answers, {"contestant": contestant, "version": str(version), "import_seconds": import_seconds})
    for line in sys.stdin:
        send(answers, session.answer(json.loads(line)))


class _Session:
    """One case at a time: prepared, checked, measured."""

    def __init__(self, contestant: str) -> None:
        self._module = importlib.import_module(f"einloom.bench.peers.{contestant}")
        self._prepared: Prepared | None = None
        self._arrays: list[Array] = []
        self._copied: Array | None = None
        self._threads = 1
        self._dtype = "float32"

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; failures of the contestant are answers too."""
        action = {
            "prepare": self._prepare,
            "measure": self._measure,
            Ceiling.PEAK: self._peak,
            Ceiling.COPY: self._copy,
            Ceiling.READ: self._read,
        }
        try:
            return action[request.pop("do")](**request)
        except UnsupportedTarget as error:
            return {"problem": str(error)}
        except Exception as error:
            return {"problem": f"{type(error).__name__}: {error}"}

    def _prepare(self, case: dict[str, Any], threads: int, target: str) -> dict[str, Any]:
        work = Case.from_json(case)
        operands, output = make_operands(work), make_output(work)
        start = output.copy() if work.accumulates else output
        prepared = self._module.prepare(work, operands, output, threads, target)
        verdict = check_result(work, operands, start, prepared.once())
        settle()  # The check computes with NumPy.
        self._prepared, self._arrays, self._threads = prepared, [*operands, output], threads
        self._dtype = COMPUTED[work.dtype].real.name  # which both parts of complex numbers are computed in
        seen = {"compile_seconds": prepared.compile_seconds, "note": prepared.note}
        return seen | {"right": verdict.right, "elements": verdict.elements, "error": verdict.error}

    def _measure(self, seconds: float) -> dict[str, Any]:
        """The fastest of at least two calls, for at least so many seconds."""
        assert self._prepared is not None  # asked in order
        call, least = self._prepared.call, 0.0
        if self._threads == 1:
            least = min(timed_calls(call, 0.0))
        if least > LONG:
            least = undisturbed(timed_calls(call, seconds, clock=time.thread_time))
        else:
            least = min(timed_calls(call, seconds))
        settle()
        return {"seconds": least / self._prepared.repeats}

    def _peak(self, seconds: float) -> dict[str, Any]:
        from einloom.jit.peak import peak_flops

        # One thread finds its core free now and then even on a busy machine; several together seldom do.
        return {"rate": self._threads * peak_flops(self._dtype, 1, seconds)}

    def _copy(self, seconds: float) -> dict[str, Any]:
        from einloom.bench.peers.einloom import copy_seconds

        source = self._largest()
        if self._copied is None:
            self._copied = np.zeros_like(source)
        least = copy_seconds(source, self._copied, self._threads, seconds)
        return {"rate": 2 * source.nbytes / least}

    def _read(self, seconds: float) -> dict[str, Any]:
        from einloom.bench.peers.einloom import read_seconds

        source = self._largest()
        return {"rate": source.nbytes / read_seconds(source, self._threads, seconds)}

    def _largest(self) -> Array:
        return max(self._arrays, key=lambda array: array.nbytes)


def settle(patience: float = 1.0, glance: float = 0.01) -> None:
    """Wait until this process leaves its cores to the next contestant.

    Libraries let their threads spin for a while after the last call, OpenBLAS for 0.1 s.
    """
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        before = time.process_time()
        time.sleep(glance)
        if time.process_time() - before < glance / 4:
            return
