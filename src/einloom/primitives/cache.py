"""`KernelCache`: kernels by their full description, the least recently used ones forgotten. Safe between threads.

Of threads that ask for the same new kernel at once, one compiles it and the others wait for that one; threads that ask
for different ones do not wait for each other.

>>> cache = KernelCache(2, lambda spec, machine: f"kernel of {spec}")
>>> cache.get("a", None) is cache.get("a", None)
True
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["KernelCache"]


class KernelCache:
    """A bounded table of kernels.

    Args:
        capacity: how many kernels are kept.
        compiled: makes the kernel of a spec for a machine; both are compared by value.
    """

    def __init__(self, capacity: int, compiled: Callable[[Any, Any], Any]) -> None:
        self.capacity = capacity
        self._compiled = compiled
        self._lock = threading.Lock()
        self._kernels: OrderedDict[tuple[Any, Any], Future[Any]] = OrderedDict()

    def get(self, spec: Any, machine: Any) -> Any:
        """Return the kernel of a spec for a machine; the same one for equal descriptions, as long as it is kept.

        What compiling raises is raised in every thread that waits for it, and not remembered.
        """
        key = (spec, machine)
        with self._lock:
            kernel = self._kernels.get(key)
            is_new = kernel is None
            if kernel is None:
                kernel = self._kernels[key] = Future()
            self._kernels.move_to_end(key)
            while len(self._kernels) > self.capacity:
                self._kernels.popitem(last=False)
        if is_new:
            self._compile(key, kernel)
        return kernel.result()

    def _compile(self, key: tuple[Any, Any], kernel: Future[Any]) -> None:
        try:
            kernel.set_result(self._compiled(*key))
        except BaseException as error:
            with self._lock:
                if self._kernels.get(key) is kernel:
                    del self._kernels[key]
            kernel.set_exception(error)

    def clear(self) -> None:
        """Forget every kernel."""
        with self._lock:
            self._kernels.clear()

    def __len__(self) -> int:
        return len(self._kernels)
