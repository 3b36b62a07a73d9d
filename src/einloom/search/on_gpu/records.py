"""Records of operations that were tuned on a GPU: the decisions of a leaf, by name, under the operation and the device.

They lie in the same file as those of processors. What a record decides is taken in the space of today, which refuses
what does not hold there.
"""

from __future__ import annotations

import logging
from hashlib import sha256
from pathlib import Path

from einloom.errors import EinloomError
from einloom.search.records import records_at
from einloom.space.candidate import Candidate, Space

__all__ = ["gpu_key", "recorded_leaf"]

_log = logging.getLogger("einloom")


def gpu_key(problem: str, identity: str) -> str:
    """Return what records are found by: a hash of what is computed and of the device with its driver."""
    return sha256(f"{problem}\n{identity}".encode()).hexdigest()[:20]


def recorded_leaf(space: Space, key: str, file: Path) -> Candidate | None:
    """Return the leaf that a problem was tuned to; None if it was not, or the record does not fit the space."""
    record = records_at(file).best(key)
    if record is None or not record.decisions:
        return None
    try:
        leaf = space.root.apply(record.decisions)
        leaf.check_is_leaf()
    except EinloomError as error:
        _log.warning("the record of a kernel is not used: %s (%s)", error, file)
        return None
    return leaf
