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
"""Of the processor, so that a busy machine kills no case: of all threads together."""
CASE_STILL_SECONDS = 900
"""Of the clock, for who waits and computes nothing."""
MEMORY = 8 * 2**30


def failures(module: str, first: int, count: int) -> list[str]:
    """Return what went wrong in the cases `first` to `first + count - 1` of `tests.fuzz.<module>`, with their seeds.

    Behind a case that ended the process another one goes on.
    """
    wrong: list[str] = []
    behind = first + count
    while first < behind:
        line = [sys.executable, "-m", "tests.fuzz.runner", module, str(first), str(behind - first)]
        done = subprocess.run(line, cwd=REPOSITORY, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        wrong += [line for line in lines if not line.isdigit()]
        if not done.returncode:
            break
        begun = [line for line in lines if line.isdigit()]
        wrong.append(f"{begun[-1:]}: the process ended with {done.returncode}\n{done.stderr[-2000:]}")
        first = int(begun[-1]) + 1 if begun else behind
    return wrong


def main(module: str, first: str, count: str) -> None:
    """Try the cases: print each seed, and a line for each case that `check` complains about."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    check = importlib.import_module(f"tests.fuzz.{module}").check
    for seed in range(int(first), int(first) + int(count)):
        print(seed, flush=True)
        signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)  # What hangs is killed.
        signal.alarm(CASE_STILL_SECONDS)
        complaint = _complaint(check, seed)
        if complaint:
            print(f"{module} {seed}: {complaint}".replace("\n", " | "), flush=True)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)


def _complaint(check, seed: int) -> str:
    try:
        return check(seed)
    except Exception as error:  # Whatever it is: no call may end like this.
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(*sys.argv[1:])
