"""An arm64 CPython with einloom's dependencies, run by QEMU's user mode emulation; fetched once into a cache folder.

    python tests/aarch64/emulator.py prepare                          fetch what is missing, say where everything lies
    python tests/aarch64/emulator.py python [--cpu max] -- -c "…"     run the emulated Python, einloom on its path
    python tests/aarch64/emulator.py test [--quick] [--optional] [--cpu max] [-- PYTEST-ARGUMENTS]

Nothing outside the cache folder (`$EINLOOM_CACHE`, else `~/.cache/einloom`) is touched, and no privilege is needed. It
takes apt and dpkg with package sources that have arm64 packages (Debian's do), and pip with network.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CPUS", "CannotPrepare", "Emulator", "prepared"]

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.debian import (  # noqa: E402
    CannotPrepare,
    Packages,
    cache_folder,
    check_programs,
    debian_architecture,
    locked,
    output,
)

CPUS = ("cortex-a72", "max")
"""Emulated processors: one that faults on everything beyond Neon, and one that has all that QEMU knows."""

QEMU_SUITE = "sid"
"""Where the emulator comes from: the first version that has SME without SVE is newer than Debian's releases."""

RIGHT_SINCE, SME_ALONE_SINCE = 9, 11
"""Versions of QEMU from which on sums of outer products of bytes are right, and SME needs no SVE."""

LIBRARIES = ("libstdc++6", "libgcc-s1")
WHEELS = (
    "numpy",
    "opt_einsum",
    "platformdirs",
    "rich",
    "pytest",
    "hypothesis",
    "capstone",
    "iced-x86",
    "ml_dtypes",
    "threadpoolctl",
)
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64")
OLDEST_PYTHON = 11  # 3.11


@dataclass(frozen=True, slots=True)
class Emulator:
    """What was prepared.

    Attributes:
        qemu: the emulator's program.
        root: folder with the arm64 C library and CPython.
        site: folder with NumPy and the other packages.
        python: CPython inside `root`.
    """

    qemu: Path
    root: Path
    site: Path
    python: Path

    def command(self, cpu: str, arguments: Sequence[str]) -> list[str]:
        """Return the command that runs the emulated Python with these arguments."""
        return [str(self._launcher(cpu)), *arguments]

    @property
    def version(self) -> int:
        """The emulator's major version."""
        return int(output([str(self.qemu), "--version"], None, "QEMU's version").split("version ")[1].split(".")[0])

    @property
    def has_sme_alone(self) -> bool:
        """Whether it knows processors that have SME and no SVE."""
        return self.version >= SME_ALONE_SINCE

    def _launcher(self, cpu: str) -> Path:
        """Return a script that runs Python on a processor; it is `sys.executable` there, so children run too."""
        script = self.site.parent / f"python-{re.sub('[^a-z0-9]+', '-', cpu)}"
        environment = {
            "PYTHONHOME": str(self.root / "usr"),
            "PYTHONPATH": os.pathsep.join(map(str, (self.site, REPOSITORY / "src", REPOSITORY))),
            "PYTHONPYCACHEPREFIX": str(self.site.parent / "bytecode"),
            "OPENBLAS_NUM_THREADS": "1",
            "OPENBLAS_CORETYPE": "ARMV8",  # Its choice for SME takes SVE for granted.
            "EINLOOM_EMULATED_CPU": cpu.replace(",", "+"),  # QEMU takes a comma for the end of a variable.
        }
        if self.version < RIGHT_SINCE:
            environment["EINLOOM_ISA"] = "-sme"
        settings = [part for name, value in environment.items() for part in ("-E", f"{name}={value}")]
        command = [str(self.qemu), "-0", str(script), "-cpu", cpu, "-L", str(self.root), *settings, str(self.python)]
        text = f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'
        if not script.exists() or script.read_text() != text:
            fresh = script.with_suffix(f".{os.getpid()}")
            fresh.write_text(text)
            fresh.chmod(0o755)
            fresh.rename(script)
        return script


def prepared(report: bool = False) -> Emulator:
    """Return the emulator, fetching it first where it is not there yet.

    Raises:
        CannotPrepare: a program, the network or a package is missing.
    """
    folder = cache_folder("aarch64", LIBRARIES, WHEELS, PLATFORMS, QEMU_SUITE)
    if not folder.is_dir():
        with locked(folder):
            if not folder.is_dir():
                _prepare(folder, report)
    return _found(folder)


def _found(folder: Path) -> Emulator:
    pythons = sorted((folder / "root/usr/bin").glob("python3.[0-9]*"))
    own = folder / "qemu-aarch64"
    qemu = own if own.exists() else _installed_qemu()
    if not pythons or qemu is None:
        raise CannotPrepare(f"{folder} is not complete\n  Remove it and try again.")
    return Emulator(qemu, folder / "root", folder / "site", pythons[-1])


def _installed_qemu() -> Path | None:
    program = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    return Path(program) if program else None


def _prepare(folder: Path, report: bool) -> None:
    """Fetch everything into a folder beside the final one, and rename it when it is complete."""
    check_programs()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as name:
        parts = Path(name, "parts")
        parts.mkdir()
        packages = Packages(Path(name, "arm64"), "arm64")
        version = _newest_python(packages)
        packages.unpack((f"python3.{version}-minimal", f"libpython3.{version}-stdlib", *LIBRARIES), parts / "root")
        _install_wheels(version, parts / "site")
        _fetch_qemu(Path(name), parts / "qemu-aarch64")
        parts.rename(folder)
    if report:
        print(f"fetched an arm64 CPython 3.{version} into {folder} in {time.monotonic() - begin:.0f} s", flush=True)


def _newest_python(packages: Packages) -> int:
    """Return the minor version of a packaged CPython, that of this process if it is there."""
    minors = {name.split("-")[0].partition(".")[2] for name in packages.names("python3.") if name.endswith("-minimal")}
    versions = sorted(int(minor) for minor in minors if minor.isdigit() and int(minor) >= OLDEST_PYTHON)
    if not versions:
        raise CannotPrepare(
            f"the package sources that answer have no arm64 CPython 3.{OLDEST_PYTHON} or newer\n"
            "  It needs network, and package sources as of Debian 12 or later."
        )
    return sys.version_info.minor if sys.version_info.minor in versions else versions[-1]


def _install_wheels(version: int, target: Path) -> None:
    platforms = [part for name in PLATFORMS for part in ("--platform", name)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--target", str(target), *platforms, "--python-version", f"3.{version}", "--only-binary=:all:"]
    output([*command, *WHEELS], None, "arm64 wheels")


def _fetch_qemu(folder: Path, target: Path) -> None:
    """Fetch the emulator for this machine: a static program, which needs nothing else.

    Where the newer suite does not answer, it is the one that is installed, else what this machine's sources have.
    """
    try:
        packages = Packages(folder / "newer", debian_architecture(), QEMU_SUITE)
    except CannotPrepare:
        if _installed_qemu() is not None:
            return
        packages = Packages(folder / "host", debian_architecture())
    name = "qemu-user" if "qemu-user-static" not in packages.names("qemu-user") else "qemu-user-static"
    packages.unpack([name], folder / "root")
    program = next(p for p in (folder / "root/usr/bin").glob("qemu-aarch64*") if "_be" not in p.name)
    shutil.copy(program, target)


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands of the module's docstring; return the exit status."""
    from tests.aarch64.suite import run_suite

    parser = argparse.ArgumentParser(prog="emulator.py", description="einloom on an emulated AArch64 processor")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare", help="fetch what is missing")
    python = commands.add_parser("python", help="run the emulated Python")
    python.add_argument("--cpu", default=CPUS[0])
    python.add_argument("rest", nargs="*", help="behind --: its arguments")
    test = commands.add_parser("test", help="run the tests")
    test.add_argument("--quick", action="store_true", help="a representative part, two to three minutes")
    test.add_argument("--optional", action="store_true", help="say so and succeed where nothing can be fetched")
    test.add_argument("--cpu", action="append", help="an emulated processor; may be given several times")
    test.add_argument("rest", nargs="*", help="behind --: arguments for pytest instead of the suite")
    options = parser.parse_args(arguments)
    try:
        emulator = prepared(report=True)
    except CannotPrepare as error:
        optional = options.command == "test" and options.optional
        print(f"AArch64 emulator: {error}" + "\nNOT RUN: the tests on AArch64" * optional, file=sys.stderr)
        return 0 if optional else 1
    if options.command == "prepare":
        print(f"emulator {emulator.qemu}\npython   {emulator.python}\npackages {emulator.site}")
        return 0
    if options.command == "python":
        return subprocess.run(emulator.command(options.cpu, options.rest), check=False).returncode
    return run_suite(emulator, tuple(options.cpu or CPUS), options.quick, tuple(options.rest))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
