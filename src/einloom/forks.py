"""A fork waits until no other thread imports what einloom loads on first use: many of its parts, and some libraries.

The lock of a module that another thread was importing stays taken for ever in a forked child, since that thread does
not exist there, and the first import of the module by the child would wait for it.
"""

from __future__ import annotations

import _imp
import importlib
import os
import time
from threading import get_ident
from typing import Any

__all__ = ["register", "wait_for_imports"]

_bootstrap: Any = vars(importlib)["_bootstrap"]  # Nobody else knows the locks.

PATIENCE = 60.0
"""Seconds after which a fork goes on, whatever is being imported: by a thread that waits for this one, perhaps."""


LATE = {"einloom", "opt_einsum", "platformdirs", "threadpoolctl"}
"""What a call of einloom may import for the first time."""


def wait_for_imports() -> None:
    """Return when nothing of einloom is being imported, holding the lock that every import takes when it begins."""
    end = time.monotonic() + PATIENCE
    _imp.acquire_lock()
    while _is_importing() and time.monotonic() < end:
        _imp.release_lock()
        time.sleep(0.001)
        _imp.acquire_lock()


def _is_importing() -> bool:
    """Whether another thread imports something of einloom; what this one imports goes on in the child."""
    locks = [lock() for name, lock in list(_bootstrap._module_locks.items()) if name.partition(".")[0] in LATE]
    return any(lock is not None and lock.owner not in (None, get_ident()) for lock in locks)


def register() -> None:
    """Let every fork of this process wait."""
    if hasattr(os, "register_at_fork"):
        release = _imp.release_lock
        os.register_at_fork(before=wait_for_imports, after_in_parent=release, after_in_child=release)
