"""`Process`: a Python process of its own that answers requests, seen from the one that asks.

Requests and answers are JSON objects, a line each. What is measured there shares nothing with this process: what
crashes or hangs takes nothing else along.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from einloom.errors import DeviceError, EinloomError, ScheduleError

__all__ = ["Evaluate", "Process", "answer_requests", "private_output", "send"]

_WARM_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(64 * 2**20)}
"""Keeps freed memory in the process, so that temporary arrays meet no page faults after the first call."""


_COMPILES = {"EINLOOM_CACHE": "off"}
"""Compiling is measured too, and is not to be found done."""

_SPEAKS = {"PYTHONIOENCODING": "utf-8"}
"""Requests and answers are of this encoding, whatever the user's terminal takes."""


class Process:
    """A process. Use it in a `with` block, or `close` it.

    Args:
        name: what errors call it.
        code: what it runs; it answers on standard output, first of all saying something about itself.
        threads: how many it may use; OpenMP, OpenBLAS and MKL are told by environment.
        environment: variables beside those.

    Attributes:
        hello: what the process says first, after `start_up`.
    """

    def __init__(self, name: str, code: str, threads: int = 1, environment: Mapping[str, str] | None = None) -> None:
        counts = {key: str(threads) for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        self.name = name
        self.hello: dict[str, Any] = {}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._rest = b""
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            env={**os.environ, **_WARM_MEMORY, **_COMPILES, **_SPEAKS, **counts, **(environment or {})},
        )

    def start_up(self, timeout: float = 120.0) -> dict[str, Any]:
        """Wait until the process is ready; return what it says about itself.

        Raises:
            DeviceError: it died or took longer than `timeout` seconds.
        """
        self.hello = self._answer(timeout)
        return self.hello

    def ask(self, do: str, timeout: float = 120.0, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer.

        Raises:
            DeviceError: the process died, or took longer than `timeout` seconds and was ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}).encode() + b"\n")
        except (OSError, ValueError):  # it died, or was ended after it took too long
            raise self._death() from None
        return self._answer(timeout)

    def _answer(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor, deadline = self._process.stdout.fileno(), time.monotonic() + timeout
        while b"\n" not in self._rest:
            if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                self.close()
                raise DeviceError(f"{self.name} took longer than {timeout:.0f} s")
            piece = os.read(descriptor, 65536)
            if not piece:
                raise self._death()
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _death(self) -> DeviceError:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return DeviceError(f"{self.name} ended with code {code}" + (f": {lines[-1]}" if lines else ""))

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def private_output() -> TextIO:
    """Keep this process's standard output for answers: what anybody else prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def send(answers: TextIO, message: Mapping[str, Any]) -> None:
    """Send an answer."""
    answers.write(json.dumps(message) + "\n")
    answers.flush()


Evaluate = Callable[..., dict[str, Any]]
"""Returns what came of a candidate of one problem: compared with what is right, and timed."""


def answer_requests(answers: TextIO, prepared: Callable[[dict[str, Any]], tuple[Evaluate, dict[str, Any]]]) -> None:
    """Answer requests until standard input ends: `prepared` those that name a problem, what it returned all others."""
    evaluate: Evaluate | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request.pop("do") == "prepare":
                evaluate, answer = prepared(request)
            else:
                assert evaluate is not None  # asked in order
                answer = evaluate(**request)
        except ScheduleError as error:
            answer = {"status": "refused", "note": str(error)}
        except MemoryError as error:
            answer = {"status": "memory", "note": f"{type(error).__name__}: {error}"}
        except (EinloomError, AssertionError) as error:
            answer = {"status": "crash", "note": f"{type(error).__name__}: {error}"}
        send(answers, answer)
