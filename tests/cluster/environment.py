"""`make test-cluster`: an environment of its own with the extra `cluster`, and the tests with Dask and MPI in it.

    python tests/cluster/environment.py [--optional] [PYTEST-ARGUMENTS]

The environment lies in `build/cluster` and is made anew when pyproject.toml changes. With `--optional`, what cannot be
installed is named as not run, and is no failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "build" / "cluster"
TESTS = ("pytest>=8", "zarr>=3")
WITHOUT_MPI = ("dask[array]>=2025.1", "distributed>=2025.1")


def prepared() -> tuple[Path, str]:
    """Return the environment's Python, and what could not be installed; empty: everything is there."""
    python, stamp = FOLDER / "bin" / "python", FOLDER / "installed"
    digest = sha256((REPOSITORY / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.exists():
        known, _, missing = stamp.read_text().partition("\n")
        if known == digest and not missing:
            return python, ""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    if _install(python, "--editable", f"{REPOSITORY}[cluster]", *TESTS):
        missing = ""
    elif _install(python, "--editable", str(REPOSITORY), *WITHOUT_MPI, *TESTS):
        missing = "MPI"
    else:
        missing = "Dask and MPI"
    stamp.write_text(f"{digest}\n{missing}")
    return python, missing


def _install(python: Path, *packages: str) -> bool:
    line = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    return subprocess.run(line, check=False).returncode == 0


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the exit status."""
    given = [argument for argument in arguments if argument != "--optional"]
    python, missing = prepared()
    if missing:
        print(f"NOT RUN: the tests of einloom.cluster on {missing}, which cannot be installed", file=sys.stderr)
        if "--optional" not in arguments or missing != "MPI":
            return int("--optional" not in arguments)
    line = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/cluster", *given]
    return subprocess.run(line, env=os.environ | {"EINLOOM_TEST_CLUSTER": "1"}, cwd=REPOSITORY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
