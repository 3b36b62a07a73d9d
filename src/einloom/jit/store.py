"""`Store`: bytes under keys in a folder of the user's own, for later processes. It knows nothing of what they mean.

What is read here may be run, so it must be the user's: every folder on the way belongs to the user or to root and is
not open to others' writing, the store's own is for nobody else, its files are opened without following links and
belong to the user. That is the protection against others; the digest at the beginning of a file, of its key and what
it holds, is against damage.
A file is written under another name and then renamed: readers see all of it or nothing. Whatever is wrong with a file
or the folder, reading gives None and writing does nothing: a store only ever saves time.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["MOST_BYTES", "Store"]

MOST_BYTES = 64 * 2**20
"""Bytes that a store keeps; beyond them the oldest quarter goes."""

MOST_OF_ONE = 4 * 2**20
"""Bytes of the largest file that is written or read."""

WRITES_PER_LOOK = 64
"""One of so many files, by its name, makes its writer look at the size of the store: 25,000 files take 90 ms."""

ABANDONED = 3600
"""Seconds after which a file that was never renamed is what a killed process left."""

_DIGEST = hashlib.sha256().digest_size
_NAME = re.compile(f"[0-9a-f]{{{2 * _DIGEST}}}")
_PART = re.compile("part-[0-9]+-[0-9a-f]{16}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Store:
    """The store in a folder, which is made with the first write.

    Args:
        folder: an absolute path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, key: str) -> bytes | None:
        """Return what was written under a key; None if nothing was, or nothing that can be trusted."""
        try:
            with _trusted(self.folder) as folder:
                content = _read(folder, _name(key))
        except OSError:
            return None
        payload = content[_DIGEST:]
        return payload if _digest(key, payload) == content[:_DIGEST] else None

    def write(self, key: str, payload: bytes) -> None:
        """Keep bytes under a key, for as long as there is room."""
        if len(payload) > MOST_OF_ONE:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _trusted(self.folder) as folder:
                name = _name(key)
                _write(folder, name, _digest(key, payload) + payload)
                if int(name, 16) % WRITES_PER_LOOK == 0:
                    _make_room(folder)

    def files(self) -> list[tuple[str, int]]:
        """Return name and size in bytes of what is kept."""
        try:
            with _trusted(self.folder) as folder:
                return sorted((name, kept.st_size) for name, kept in _kept(folder))
        except OSError:
            return []

    def clear(self) -> int:
        """Remove everything that is kept; return how many files that were."""
        count = 0
        with suppress(OSError), _trusted(self.folder) as folder:
            for name, _ in list(_kept(folder)):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
                    count += 1
        return count


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _digest(key: str, payload: bytes) -> bytes:
    """What a file begins with: of the key, too, since what was written under another one is no program of this one."""
    return hashlib.sha256(bytes.fromhex(_name(key)) + payload).digest()


@contextmanager
def _trusted(path: Path) -> Generator[int]:
    """Open a folder, from the root on, without following a link; it is the user's own and nobody else's.

    Raises:
        PermissionError: somebody else could put files there.
        OSError: it cannot be opened.
    """
    try:
        folder = _opened(path.parts[1:])
    except NotADirectoryError:  # A link on the way, mostly: then whatever it leads to is what is checked.
        folder = _opened((*Path(os.path.realpath(path.parent)).parts[1:], path.name))
    try:
        if os.fstat(folder).st_uid != os.geteuid() or stat.S_IMODE(os.fstat(folder).st_mode) & 0o077:
            raise PermissionError(f"{path} is open to others")
        yield folder
    finally:
        os.close(folder)


def _opened(parts: Sequence[str]) -> int:
    """Open a folder by its names from the root on; each on the way is checked when it is open."""
    folder = os.open("/", _FOLDER)
    try:
        for part in parts:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
            _check_owner(os.fstat(folder), part)
    except OSError:
        os.close(folder)
        raise
    return folder


def _check_owner(folder: os.stat_result, name: str) -> None:
    """A folder on the way: of root or the user, and without others' writing unless they keep off each other's files."""
    open_to_others = folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX
    if folder.st_uid not in (0, os.geteuid()) or open_to_others:
        raise PermissionError(f"{name} can be changed by others")


def _read(folder: int, name: str) -> bytes:
    file = os.open(name, _FILE, dir_fd=folder)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(f"{name} is not the user's own")
        if found.st_size > MOST_OF_ONE + _DIGEST:
            raise OSError(f"{name} is too large")
        content = os.read(file, found.st_size + 1)
        if len(content) != found.st_size:
            raise OSError(f"{name} changes")
        return content
    finally:
        os.close(file)


def _write(folder: int, name: str, content: bytes) -> None:
    part = f"part-{os.getpid()}-{os.urandom(8).hex()}"
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with open(file, "wb") as stream:
            stream.write(content)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


def _kept(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the store's files, whatever else is in the folder; what a killed process never finished is removed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                continue
            with suppress(FileNotFoundError):  # Another process removes files too.
                found = entry.stat(follow_symlinks=False)
                if _NAME.fullmatch(entry.name):
                    yield entry.name, found
                elif _PART.fullmatch(entry.name) and found.st_mtime < time.time() - ABANDONED:
                    os.unlink(entry.name, dir_fd=folder)


def _make_room(folder: int) -> None:
    kept = sorted(_kept(folder), key=lambda each: each[1].st_mtime_ns)
    excess = sum(found.st_size for _, found in kept) - MOST_BYTES
    if excess <= 0:
        return
    excess += MOST_BYTES // 4
    for name, found in kept:
        if excess <= 0:
            break
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        excess -= found.st_size
