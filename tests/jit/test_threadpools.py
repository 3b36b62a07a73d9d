"""`threadpoolctl` limits einloom like any other pool, and the limit ends with its block."""

from __future__ import annotations

import threadpoolctl

import einloom as el
from einloom.config import thread_count
from einloom.jit.host import host


def pools() -> list[int]:
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "einloom"]


def test_a_limit_holds_inside_its_block() -> None:
    cores = host().cores
    before = thread_count(cores=cores)
    with threadpoolctl.threadpool_limits(cores + 3):
        assert thread_count(cores=cores) == cores + 3 and set(pools()) == {cores + 3}
        with threadpoolctl.threadpool_limits({"einloom": cores + 2}):
            assert thread_count(cores=cores) == cores + 2
        assert thread_count(cores=cores) == cores + 3
        with el.settings(threads=cores + 5):
            assert thread_count(cores=cores) == cores + 5
        assert thread_count(cores + 4, cores=cores) == cores + 4
    assert thread_count(cores=cores) == before
    assert thread_count(cores=cores + 1) in (before, cores + 1)  # The environment's, or no limit at all.


def test_other_pools_may_be_limited_alone() -> None:
    before = thread_count(cores=6)
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert thread_count(cores=6) == before
