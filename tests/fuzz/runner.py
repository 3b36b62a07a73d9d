"""Run seeded cases in a child process, so that a crash, a hang or a flood of memory is a failure with its seed.

`python -m tests.fuzz.runner equations 0 100` tries the cases 0 to 99 and prints what is wrong.
"""

from __future__ import annotations

import importlib
import resource
import signal
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CASE_SECONDS = 60
MEMORY = 8 * 2**30


def failures(module: str, first: int, count: int) -> list[str]:
    """Return what went wrong in the cases `first` to `first + count - 1` of `tests.fuzz.<module>`, with their seeds."""
    line = [sys.executable, "-m", "tests.fuzz.runner", module, str(first), str(count)]
    done = subprocess.run(line, cwd=REPOSITORY, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if not line.isdigit()]
    if done.returncode:
        begun = [line for line in lines if line.isdigit()]
        wrong.append(f"{begun[-1:]}: the process ended with {done.returncode}\n{done.stderr[-2000:]}")
    return wrong


def main(module: str, first: str, count: str) -> None:
    """Try the cases: print each seed, and a line for each case that `check` complains about."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    check = importlib.import_module(f"tests.fuzz.{module}").check
    for seed in range(int(first), int(first) + int(count)):
        print(seed, flush=True)
        signal.alarm(CASE_SECONDS)  # What hangs is killed.
        complaint = _complaint(check, seed)
        if complaint:
            print(f"{module} {seed}: {complaint}".replace("\n", " | "), flush=True)
    signal.alarm(0)


def _complaint(check, seed: int) -> str:
    try:
        return check(seed)
    except Exception as error:  # Whatever it is: no call may end like this.
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(*sys.argv[1:])
