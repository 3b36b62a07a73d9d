"""OpenCL without a GPU: PoCL, which runs kernels on this processor, fetched once into a cache folder.

    python tests/opencl/pocl.py prepare                        fetch what is missing, say where it lies
    python tests/opencl/pocl.py run COMMAND …                  run a command with PoCL as OpenCL's platform
    python tests/opencl/pocl.py test [--optional] [PYTEST-ARGUMENTS]

Nothing outside the cache folder is touched, and no privilege is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.debian import CannotPrepare, Packages, cache_folder, check_programs, debian_architecture, locked  # noqa: E402

PACKAGES = ("pocl-opencl-icd", "binutils")
"""PoCL with its compiler, and the linker that it calls."""


def prepared() -> Path:
    """Return the folder that PoCL was unpacked into, fetching it first where it is not there yet.

    Raises:
        CannotPrepare: a program, the network or a package is missing.
    """
    folder = cache_folder("pocl", PACKAGES)
    if not folder.is_dir():
        with locked(folder):
            if not folder.is_dir():
                _prepare(folder)
    return folder


def _prepare(folder: Path) -> None:
    """Fetch everything into a folder beside the final one, and rename it when it is complete."""
    check_programs()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as name:
        packages = Packages(Path(name, "apt"), debian_architecture())
        packages.unpack(PACKAGES, Path(name, "parts"))
        Path(name, "parts").rename(folder)
    library = next(folder.glob("usr/lib/*/libpocl.so.*"))
    (folder / "vendors").mkdir()
    (folder / "vendors/pocl.icd").write_text(f"{library}\n")
    print(f"fetched PoCL into {folder} in {time.monotonic() - begin:.0f} s", flush=True)


def environment(folder: Path) -> dict[str, str]:
    """Return the variables under which OpenCL finds PoCL, and PoCL what it needs."""
    libraries = [*folder.glob("usr/lib/*-linux-gnu*"), *folder.glob("usr/lib/llvm-*/lib")]
    return os.environ | {
        "OCL_ICD_VENDORS": str(folder / "vendors"),
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        "PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), str(folder / "usr/bin")]),
        "POCL_CACHE_DIR": str(folder / "kernels"),
    }


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands of the module's docstring; return the exit status."""
    command, *rest = arguments or ["prepare"]
    optional = command == "test" and "--optional" in rest
    try:
        folder = prepared()
    except CannotPrepare as error:
        print(f"PoCL: {error}" + "\nNOT RUN: the tests on OpenCL" * optional, file=sys.stderr)
        return 0 if optional else 1
    if command == "prepare":
        print(folder)
        return 0
    if command == "test":
        given = [argument for argument in rest if argument != "--optional"]
        rest = [sys.executable, "-m", "pytest", "-q", "tests/opencl", *given]
    return subprocess.run(rest, env=environment(folder), cwd=REPOSITORY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
