"""`code_store`: where generated code is kept for later processes, in the user's cache folder.

`EINLOOM_CACHE` names another folder, or is `off`. `einloom cache` lists and clears.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from einloom.jit.folders import cache_folder
from einloom.jit.store import Store
from einloom.once import once

__all__ = ["code_store", "package_digest", "package_stamp"]


@once
def code_store() -> Store | None:
    """Return where code is kept; None if `EINLOOM_CACHE` is `off` or `none`, or there is no such place.

    It is asked once a process.
    """
    named = os.environ.get("EINLOOM_CACHE", "").strip()
    if named in ("off", "none") or package_stamp() is None:
        return None
    try:
        folder = Path(os.path.expanduser(named)).absolute() if named else cache_folder() / "programs"
    except OSError:  # The current folder is gone.
        return None
    return Store(folder) if folder.is_absolute() else None  # Nobody's home is known, or it is no place.


@once
def package_stamp() -> str | None:
    """Return a digest of path, size and time of this package's files; None if they are not files."""
    try:
        files = sorted(_files(Path(__file__).parent.parent))
        return hashlib.sha256(repr(files).encode()).hexdigest()
    except OSError:
        return None


@once
def package_digest() -> str:
    """Return a digest of what this package's files say, wherever and whenever they were installed; "" of no files.

    Reading them takes 20 ms: `package_stamp` is for those who cannot wait for that.
    """
    root, digest = Path(__file__).parent.parent, hashlib.sha256()
    try:
        for path, size, _ in sorted(_files(root)):
            digest.update(f"{os.path.relpath(path, root)} {size}\n".encode() + Path(path).read_bytes())
    except OSError:
        return ""
    return digest.hexdigest()[:16]


def _files(folder: str | os.PathLike[str]) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":  # Python's own, half of all files.
                    yield from _files(entry.path)
            elif not entry.name.endswith((".pyc", ".pyo")):
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns
