"""einloom's thread count as one more pool that `threadpoolctl` limits, where that package is installed.

`threadpoolctl` finds pools by the shared libraries that a process has loaded. einloom has none, so its controller
stands for the C library, which every process has, and sets a limit in `einloom.config`.
"""

from __future__ import annotations

from typing import Any

from einloom.config import set_process_limit, thread_count
from einloom.jit.host import host

__all__ = ["register"]

C_LIBRARIES = ("libc.so", "libc-2", "libc.musl", "ld-musl", "libSystem")


def register(version: str) -> None:
    """Let `threadpoolctl.threadpool_limits` limit this version of einloom; without that package nothing happens."""
    try:
        import threadpoolctl
    except ImportError:
        return

    class Controller(threadpoolctl.LibController):
        user_api = "einloom"
        internal_api = "einloom"
        filename_prefixes = C_LIBRARIES

        def get_num_threads(self) -> Any:
            return thread_count(cores=host().cores)

        def set_num_threads(self, num_threads: int) -> None:
            set_process_limit(None)
            if num_threads != self.get_num_threads():  # The end of a block restores what was no limit before.
                set_process_limit(num_threads)

        def get_version(self) -> Any:
            return version

    threadpoolctl.register(Controller)
