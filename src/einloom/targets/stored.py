"""Images that outlive their process, in the user's cache folder: what was compiled once starts in a millisecond."""

from __future__ import annotations

from collections.abc import Callable

from einloom.jit.code_store import code_store, package_stamp
from einloom.machine import Machine
from einloom.once import once
from einloom.targets.image import Image

__all__ = ["image_key", "program_key", "remembered_image"]


def remembered_image(key_of: Callable[[], str], operands: int, machine: Machine, make: Callable[[], Image]) -> Image:
    """Return the image that is kept under a key; make it and keep it if there is none for so many operands there."""
    store = code_store()
    if store is None:
        return make()
    key = key_of()
    content = store.read(key)
    known = None if content is None else Image.from_bytes(content)
    if known is not None and known.fits(operands, machine):
        return known
    image = make()
    store.write(key, image.to_bytes())
    return image


def image_key(operation: object, schedule: str, machine: Machine, threads: int, *apart: object) -> str:
    """Return all that decides the program of an operation, or of what operations have in common.

    `apart`: which of its packs are programs of their own.
    """
    return program_key((operation, schedule, threads, *apart), machine)


def program_key(decided: object, machine: Machine) -> str:
    """Return all that decides a program: what is computed and how, the machine, and the einloom that makes it.

    The code refers to nothing outside itself, so neither Python nor NumPy is part of it.
    """
    return f"{decided!r} {_of_machine(machine)} {package_stamp()}"


@once
def _of_machine(machine: Machine) -> str:
    """Return what of a machine decides programs."""
    target = (machine.isa, machine.vector, *sorted(machine.features), machine.l1d, machine.l2, machine.l3)
    return repr((target, machine.cores, machine.name, machine.rates))
