"""An arm64 CPython with einloom's dependencies, run by QEMU's user mode emulation; fetched once into a cache folder.

    python tests/aarch64/emulator.py prepare                          fetch what is missing, say where everything lies
    python tests/aarch64/emulator.py python [--cpu max] -- -c "…"     run the emulated Python, einloom on its path
    python tests/aarch64/emulator.py test [--quick] [--optional] [--cpu max] [-- PYTEST-ARGUMENTS]

Nothing outside the cache folder (`$EINLOOM_CACHE`, else `~/.cache/einloom`) is touched, and no privilege is needed. It
takes apt and dpkg with package sources that have arm64 packages (Debian's do), and pip with network.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CPUS", "CannotPrepare", "Emulator", "prepared"]

REPOSITORY = Path(__file__).resolve().parents[2]
CPUS = ("cortex-a72", "max")
"""Emulated processors: one that faults on everything beyond Neon, and one that has all that QEMU knows."""

LIBRARIES = ("libgomp1", "libstdc++6", "libgcc-s1")
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
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el"}

APT_CONFIGURATION = """APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }};
Dir::State "{folder}/state"; Dir::State::status "{folder}/state/status"; Dir::Cache "{folder}/cache";
Acquire::Languages "none"; Acquire::Retries "3"; APT::Install-Recommends "false"; APT::Sandbox::User "root";
"""


class CannotPrepare(Exception):
    """Something that the emulator needs is not there; the message says what, and what to do."""


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

    def _launcher(self, cpu: str) -> Path:
        """Return a script that runs Python on a processor; it is `sys.executable` there, so children run too."""
        script = self.site.parent / f"python-{re.sub('[^a-z0-9]+', '-', cpu)}"
        environment = {
            "PYTHONHOME": str(self.root / "usr"),
            "PYTHONPATH": os.pathsep.join(map(str, (self.site, REPOSITORY / "src", REPOSITORY))),
            "PYTHONPYCACHEPREFIX": str(self.site.parent / "bytecode"),
            "OPENBLAS_NUM_THREADS": "1",
            "EINLOOM_EMULATED_CPU": cpu.replace(",", "+"),  # QEMU takes a comma for the end of a variable.
        }
        settings = [part for name, value in environment.items() for part in ("-E", f"{name}={value}")]
        command = [str(self.qemu), "-0", str(script), "-cpu", cpu, "-L", str(self.root), *settings, str(self.python)]
        text = f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'
        if not script.exists() or script.read_text() != text:
            fresh = script.with_suffix(f".{os.getpid()}")
            fresh.write_text(text)
            fresh.chmod(0o755)
            fresh.rename(script)
        return script


def cache_folder() -> Path:
    """Return the folder that holds the emulator, one for each recipe, so that a changed recipe is fetched anew."""
    recipe = hashlib.sha256(repr((LIBRARIES, WHEELS, PLATFORMS)).encode()).hexdigest()[:8]
    base = os.environ.get("EINLOOM_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "einloom"
    return Path(base).expanduser().resolve() / f"aarch64-{recipe}"


def prepared(report: bool = False) -> Emulator:
    """Return the emulator, fetching it first where it is not there yet.

    Raises:
        CannotPrepare: a program, the network or a package is missing.
    """
    folder = cache_folder()
    if not folder.is_dir():
        with _locked(folder):
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


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time fetch."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = open(folder.with_suffix(".lock"), "w")  # noqa: SIM115
    except OSError as error:
        raise CannotPrepare(
            f"cannot write to {folder.parent}: {error.strerror}\n  Set EINLOOM_CACHE to another folder."
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _prepare(folder: Path, report: bool) -> None:
    """Fetch everything into a folder beside the final one, and rename it when it is complete."""
    for program in ("apt-get", "apt-cache", "dpkg"):
        if not shutil.which(program):
            raise CannotPrepare(f"there is no {program} here\n  The emulator is made of Debian packages: use Debian.")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as name:
        parts = Path(name, "parts")
        parts.mkdir()
        packages = Packages(Path(name, "arm64"), "arm64")
        version = _newest_python(packages)
        packages.unpack((f"python3.{version}-minimal", f"libpython3.{version}-stdlib", *LIBRARIES), parts / "root")
        _install_wheels(version, parts / "site")
        if _installed_qemu() is None:
            _fetch_qemu(Path(name, "host"), parts / "qemu-aarch64")
        parts.rename(folder)
    if report:
        print(f"fetched an arm64 CPython 3.{version} into {folder} in {time.monotonic() - begin:.0f} s", flush=True)


class Packages:
    """The packages of one architecture, in a state of apt's own that holds nothing as installed."""

    def __init__(self, folder: Path, architecture: str) -> None:
        self.folder = folder
        self.architecture = architecture
        for part in ("state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "state/status").touch()
        configuration = folder / "apt.conf"
        configuration.write_text(APT_CONFIGURATION.format(architecture=architecture, folder=folder))
        self._environment = os.environ | {"APT_CONFIG": str(configuration)}
        self._run("apt-get", "update", "-qq")

    def _run(self, *command: str) -> str:
        return _output(command, self._environment, f"{self.architecture} packages")

    def names(self, prefix: str) -> list[str]:
        """Return the names of packages that begin so."""
        return self._run("apt-cache", "pkgnames", prefix).split()

    def unpack(self, names: Sequence[str], target: Path) -> None:
        """Fetch packages and what they depend on, and unpack them."""
        self._run("apt-get", "install", "-qq", "--yes", "--download-only", *names)
        for archive in sorted((self.folder / "cache/archives").glob("*.deb")):
            self._run("dpkg", "-x", str(archive), str(target))


def _output(command: Sequence[str], environment: dict[str, str] | None, what: str) -> str:
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if not line.startswith("W:")]
        raise CannotPrepare(
            f"cannot fetch {what}: {' '.join(command[:2])} failed\n  "
            + "\n  ".join(lines[-4:])
            + "\n  It needs network, and package sources that have this architecture (Debian's do)."
        )
    return run.stdout


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
    _output([*command, *WHEELS], None, "arm64 wheels")


def _fetch_qemu(folder: Path, target: Path) -> None:
    """Fetch the emulator for this machine: a static program, which needs nothing else."""
    machine = platform.machine()
    packages = Packages(folder, DEBIAN_ARCHITECTURES.get(machine, machine))
    name = "qemu-user-static" if "qemu-user-static" in packages.names("qemu-user") else "qemu-user"
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
    sys.path.insert(0, str(REPOSITORY))
    sys.exit(main(sys.argv[1:]))
