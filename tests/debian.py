"""Debian packages, unpacked into a cache folder without privileges: what tests on other machines are made of.

Nothing outside the cache folder (`$EINLOOM_CACHE`, else `~/.cache/einloom`) is touched. It takes apt and dpkg with
package sources, and network.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["CannotPrepare", "Packages", "cache_folder", "check_programs", "debian_architecture", "locked", "output"]

DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el"}

APT_CONFIGURATION = """APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }};
Dir::State "{folder}/state"; Dir::State::status "{folder}/state/status"; Dir::Cache "{folder}/cache";
Acquire::Languages "none"; Acquire::Retries "3"; APT::Install-Recommends "false"; APT::Sandbox::User "root";
"""

SOURCE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {suite} main\n"


class CannotPrepare(Exception):
    """Something that is needed is not there; the message says what, and what to do."""


def cache_folder(name: str, *recipe: object) -> Path:
    """Return the folder that holds something, one for each recipe, so that a changed recipe is fetched anew."""
    digest = hashlib.sha256(repr(recipe).encode()).hexdigest()[:8]
    chosen = os.environ.get("EINLOOM_CACHE", "off")  # It may say that no programs are kept, which is no folder.
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "einloom" if chosen in ("", "off", "none") else chosen
    return Path(base).expanduser().resolve() / f"{name}-{digest}"


def debian_architecture() -> str:
    """Return what Debian calls this machine."""
    return DEBIAN_ARCHITECTURES.get(platform.machine(), platform.machine())


def check_programs() -> None:
    """Refuse a machine without Debian's tools."""
    for program in ("apt-get", "apt-cache", "dpkg"):
        if not shutil.which(program):
            raise CannotPrepare(f"there is no {program} here\n  What is fetched are Debian packages: use Debian.")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
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


class Packages:
    """The packages of one architecture, in a state of apt's own that holds nothing as installed.

    They come from this machine's package sources, or from another `suite` of Debian, signed by keys that are here.
    """

    def __init__(self, folder: Path, architecture: str, suite: str | None = None) -> None:
        self.folder = folder
        self.architecture = architecture
        for part in ("state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "state/status").touch()
        configuration = folder / "apt.conf"
        configuration.write_text(APT_CONFIGURATION.format(architecture=architecture, folder=folder))
        if suite is not None:
            sources = folder / "sources.list"
            sources.write_text(SOURCE.format(suite=suite))
            with configuration.open("a") as text:
                text.write(f'Dir::Etc::sourcelist "{sources}"; Dir::Etc::sourceparts "/dev/null";\n')
        self._environment = os.environ | {"APT_CONFIG": str(configuration)}
        self._run("apt-get", "update", "-qq")

    def _run(self, *command: str) -> str:
        return output(command, self._environment, f"{self.architecture} packages")

    def names(self, prefix: str) -> list[str]:
        """Return the names of packages that begin so."""
        return self._run("apt-cache", "pkgnames", prefix).split()

    def unpack(self, names: Sequence[str], target: Path) -> None:
        """Fetch packages and what they depend on, and unpack them."""
        self._run("apt-get", "install", "-qq", "--yes", "--download-only", *names)
        for archive in sorted((self.folder / "cache/archives").glob("*.deb")):
            self._run("dpkg", "-x", str(archive), str(target))


def output(command: Sequence[str], environment: dict[str, str] | None, what: str) -> str:
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if not line.startswith("W:")]
        raise CannotPrepare(
            f"cannot fetch {what}: {' '.join(command[:2])} failed\n  "
            + "\n  ".join(lines[-4:])
            + "\n  It needs network, and package sources that have this architecture (Debian's do)."
        )
    return run.stdout
