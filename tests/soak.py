"""`make soak`, or `python -m tests.soak`: full counts of the tests marked `soak`, each in a process of its own.

Such a test tries many random cases. `make test` takes a share of a few per cent, always the same ones; with
EINLOOM_SOAK=1 it takes all. A test asks how many:

    @pytest.mark.soak
    def test_equations() -> None:
        for seed in range(soak_count(50_000)):
            ...

A process of its own means that one test that crashes is one test that failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.emulation import times

__all__ = ["main", "soak_count"]

REPOSITORY = Path(__file__).resolve().parents[1]
SHARE = 0.03


def soak_count(full: int, share: float = SHARE) -> int:
    """Return how many cases a test marked `soak` tries: `full` under `make soak`, else that share, one at least.

    On an emulated processor it is a tenth of that share.
    """
    return full if os.environ.get("EINLOOM_SOAK") == "1" else times(max(1, round(full * share)))


def main(selection: Sequence[str]) -> int:
    """Run every selected test that is marked `soak` by itself, print a line for each; return 1 if one failed.

    What is skipped, for want of what it needs, has not passed: it is said, with the reason.
    """
    verdicts = Counter[str]()
    tests = soak_tests(selection)
    for test in tests:
        begin = time.monotonic()
        done = _pytest([test, "-rs"], {"EINLOOM_SOAK": "1"})
        verdict = "FAILED" if done.returncode else "passed" if " passed" in done.stdout else "skipped"
        print(f"{verdict:7} {time.monotonic() - begin:6.0f} s  {test}", flush=True)
        verdicts[verdict] += 1
        if verdict != "passed":
            print(done.stdout, done.stderr, sep="\n", flush=True)
    print(f"{verdicts['passed']} of {len(tests)} soak tests passed, {verdicts['skipped']} skipped")
    return int(bool(verdicts["FAILED"]) or not tests)


def soak_tests(selection: Sequence[str]) -> list[str]:
    """Return the node ids of the tests marked `soak` among the selected files and folders."""
    listed = _pytest(["--collect-only", "-m", "soak", *selection], {})
    if listed.returncode not in (0, 5):  # 5: nothing is marked
        raise SystemExit(listed.stdout + listed.stderr)
    return [line for line in listed.stdout.splitlines() if "::" in line]


def _pytest(arguments: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(line, cwd=REPOSITORY, env=os.environ | environment, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
