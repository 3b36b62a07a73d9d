"""What a record claims: that the code of its schedule was faster than the code of the heuristic's.

Both codes are named by their digests. Where einloom generates another code for one of the two, since one of them became
better or the heuristic chooses differently, nothing is known of which is faster now: such a record is where tuning may
begin again, and is used for nothing else.
"""

from __future__ import annotations

from hashlib import sha256

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.code_store import code_store
from einloom.machine import Machine
from einloom.once import OnceTable
from einloom.search.records import Record
from einloom.targets.image import Image
from einloom.targets.stored import program_key

__all__ = ["code_digest", "compiled_image", "digest_of", "still_holds"]

DIGESTS = 1024
"""Digests of code that a process remembers."""

_digests: OnceTable[str] = OnceTable(DIGESTS)


def still_holds(record: Record, operation: Operation, machine: Machine) -> bool:
    """Whether both codes that a record compares are what is generated today; the operation's axes have plain names.

    Raises:
        EinloomError: the record's schedule does not fit the operation.
    """
    if not (record.code and record.heuristic_code):
        return False
    asked = ("", record.heuristic_code), (record.schedule, record.code)
    return all(code_digest(operation, text, machine, record.threads) == digest for text, digest in asked)


def code_digest(operation: Operation, schedule: str, machine: Machine, threads: int) -> str:
    """Return the digest of the code of a schedule, "" for the heuristic's; it is compiled once for all processes.

    Raises:
        EinloomError: the schedule does not fit the operation.
    """
    key = program_key(("digest", str(operation), schedule, threads), machine)
    return _digests.get(key, lambda: _remembered(key, operation, schedule, machine, threads))


def _remembered(key: str, operation: Operation, schedule: str, machine: Machine, threads: int) -> str:
    store = code_store()
    known = None if store is None else store.read(key)
    if known is not None:
        return known.decode()
    digest = digest_of(compiled_image(operation, schedule or _heuristic(operation, machine, threads), machine))
    if store is not None:
        store.write(key, digest.encode())
    return digest


def _heuristic(operation: Operation, machine: Machine, threads: int) -> Schedule:
    from einloom.passes.pipeline import optimize_operation  # Late, as the binder: what is remembered needs neither.
    from einloom.passes.values import Options

    return optimize_operation(operation, machine, Options(threads))[1]


def compiled_image(operation: Operation, schedule: Schedule | str, machine: Machine) -> Image:
    """Return the image of a schedule or its text for a machine, which need not be this one.

    Raises:
        EinloomError: the schedule does not fit the operation.
    """
    from einloom.ir.bind import bind
    from einloom.passes.fuse import fuse_as_named
    from einloom.targets.image import image_of

    given = parse_schedule(schedule) if isinstance(schedule, str) else schedule
    return image_of(bind(fuse_as_named(operation, given), given), machine)


def digest_of(image: Image) -> str:
    """Return what records name the code of an image by."""
    return sha256(image.code).hexdigest()[:16]
