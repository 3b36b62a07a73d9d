"""`contestant_process`: a contestant in a process of its own. What is said there: `worker`."""

from __future__ import annotations

from collections.abc import Mapping

from einloom.search.process import Process

__all__ = ["contestant_process"]

_START = """
import sys, time, numpy
begin = time.perf_counter()
import einloom
passed = time.perf_counter() - begin
from einloom.bench.worker import serve
serve({name!r}, passed)
"""

_HEURISTIC = {"EINLOOM_RECORDS": "off"}
"""What somebody tuned on this machine is no part of a benchmark."""


def contestant_process(name: str, threads: int = 1, environment: Mapping[str, str] | None = None) -> Process:
    """Return the process of a contestant; its first words are `version` and `import_seconds`.

    Args:
        name: of the contestant.
        threads: how many it may use; OpenMP, OpenBLAS and MKL are told by environment.
        environment: variables beside those.
    """
    return Process(name, _START.format(name=name), threads, {**_HEURISTIC, **(environment or {})})
