"""Look at this process's memory map, and run Python in other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable

from tests.emulation import patience


def permissions(address: int) -> str | None:
    """Return the permissions of the mapping around an address, like "r-xp", or None where nothing is mapped."""
    with open("/proc/self/maps") as file:
        for line in file:
            span, flags = line.split()[:2]
            begin, end = (int(part, 16) for part in span.split("-"))
            if begin <= address < end:
                return flags
    return None


def python(script: str, **environment: str) -> str:
    """Run a script in a fresh Python with these variables added, and return what it printed."""
    unset = ("EINLOOM_ISA", "EINLOOM_THREADS", "OMP_NUM_THREADS")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=inherited | environment, capture_output=True, text=True, timeout=patience(60))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def exit_code_in_child(action: Callable[[], bool]) -> int:
    """Fork, run an action in the child, and return 0 if it returned True in time; it must print nothing."""
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(patience(30))  # a child that hangs dies, and its exit code is not 0
        code = 1
        try:
            code = 0 if action() else 2
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]
