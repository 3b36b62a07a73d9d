"""Images that outlive their process, in the user's cache folder: what was compiled once starts in half a millisecond.

`EINLOOM_CACHE` names another folder, or is `off`. `einloom cache` lists and clears.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from einloom.ir.operation import Operation
from einloom.jit.folders import cache_folder
from einloom.jit.store import Store
from einloom.machine import Machine
from einloom.once import once
from einloom.targets.image import Image

__all__ = ["image_key", "image_store", "package_stamp", "program_key", "remembered_image"]


@once
def image_store() -> Store | None:
    """Return where images are kept; None if `EINLOOM_CACHE` is `off` or `none`, or there is no such place.

    It is asked once a process.
    """
    named = os.environ.get("EINLOOM_CACHE", "").strip()
    if named in ("off", "none") or package_stamp() is None:
        return None
    try:
        folder = Path(named).absolute() if named else cache_folder() / "programs"
    except OSError:  # The current folder is gone.
        return None
    return Store(folder) if folder.is_absolute() else None  # Nobody's home is known, or it is no place.


def remembered_image(key: str, operands: int, machine: Machine, make: Callable[[], Image]) -> Image:
    """Return the image that is kept under a key; make it and keep it if there is none for so many operands there."""
    store = image_store()
    content = store.read(key) if store else None
    known = None if content is None else Image.from_bytes(content)
    if known is not None and known.fits(operands, machine):
        return known
    image = make()
    if store:
        store.write(key, image.to_bytes())
    return image


def image_key(operation: Operation, schedule: str, machine: Machine, threads: int) -> str:
    """Return all that decides the program of an operation."""
    return program_key((operation, schedule, threads), machine)


def program_key(decided: object, machine: Machine) -> str:
    """Return all that decides a program: what is computed and how, the machine, and the einloom that makes it.

    The code refers to nothing outside itself, so neither Python nor NumPy is part of it.
    """
    target = (machine.isa, machine.vector, *sorted(machine.features), machine.l1d, machine.l2, machine.l3)
    return repr((decided, target, machine.cores, machine.name, machine.rates, package_stamp()))


@once
def package_stamp() -> str | None:
    """Return a digest of path, size and time of this package's files; None if they are not files."""
    try:
        files = sorted(_files(Path(__file__).parent.parent))
        return hashlib.sha256(repr(files).encode()).hexdigest()
    except OSError:
        return None


def _files(folder: str | os.PathLike[str]) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif not entry.name.endswith((".pyc", ".pyo")):
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns
