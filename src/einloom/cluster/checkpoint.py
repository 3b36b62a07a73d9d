"""`Checkpoint`: finished units of a contraction in a folder, for a run that goes on where another one ended.

A file holds one unit: a digest of what follows, a line of JSON with shape and type, then the elements. It is written
beside its place, flushed to the disk and renamed, so there is never half of one; what does not fit its digest counts
as not there. Names begin with the digest of the contraction, its operands and the peers that computed, so several may
share a folder. Every process that computes needs to reach the folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from einloom.arrays.library import Array
from einloom.cluster.peers import this_peer
from einloom.config import VERSION
from einloom.errors import ArgumentError, DeviceError
from einloom.frozen import frozen
from einloom.plan.units import Unit

__all__ = ["Checkpoint", "opened_checkpoint"]


@frozen(slots=False)
class Checkpoint:
    """Where finished units of one contraction lie.

    Attributes:
        folder: absolute.
        name: what the names of its files begin with.
        grain: how many slices a unit has at most, since the first run.
    """

    folder: str
    name: str
    grain: int

    def load(self, unit: Unit) -> Array | None:
        """Return a finished unit; None where there is none, or a damaged one."""
        try:
            digest, _, rest = self._file(unit).read_bytes().partition(b"\n")
            if _digest(rest) != digest:
                return None
            head, _, data = rest.partition(b"\n")
            told: dict[str, Any] = json.loads(head)
            return np.frombuffer(data, np.dtype(told["dtype"])).reshape(told["shape"]).copy()
        except OSError:
            return None

    def save(self, unit: Unit, result: Array) -> None:
        """Keep a finished unit.

        Raises:
            DeviceError: the folder takes no more.
        """
        told = json.dumps({"shape": result.shape, "dtype": result.dtype.str})
        rest = told.encode() + b"\n" + result.tobytes()
        _write(self._file(unit), _digest(rest) + b"\n" + rest)

    def finished(self) -> int:
        """Return how many units are there."""
        return len(list(Path(self.folder).glob(f"{self.name}-*.unit")))

    def told(self, finished: str, units: int) -> str:
        """Return what to say of a run that ended with so many finished units, of so many."""
        return f"{finished} of {units:,} units are kept in {self.folder}: the same call goes on from there."

    def resumable(self, units: int) -> str:
        """Return what to say of a run of so many units that ends now."""
        return self.told(f"{self.finished():,}", units)

    def _file(self, unit: Unit) -> Path:
        return Path(self.folder, f"{self.name}-{unit.start}-{unit.stop}.unit")


def opened_checkpoint(folder: str | os.PathLike[str], digest: str, operands: Sequence[Array], grain: int) -> Checkpoint:
    """Return the checkpoint of a contraction of these operands; the size of units is that of the run that began it.

    Processes that would compute other bits have another one.

    Raises:
        ArgumentError: it is no path.
        DeviceError: there can be no such folder.
    """
    if not isinstance(folder, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"checkpoint={folder!r:.80} is no path\n  Name a folder.")
    whole = sha256(f"{digest} {this_peer()}".encode())
    for operand in operands:
        whole.update(np.ascontiguousarray(operand).reshape(-1).view(np.uint8).data)
    place, name = Path(folder).absolute(), whole.hexdigest()[:24]
    file = place / f"{name}.json"
    try:
        place.mkdir(parents=True, exist_ok=True)
        grain = (_grain(file) if file.exists() else None) or grain
    except OSError as error:
        raise DeviceError(f"checkpoint={str(folder)!r}: {error}\n  Name a folder that can be written.") from error
    _write(file, json.dumps({"grain": grain, "einloom": VERSION}).encode())
    return Checkpoint(str(place), name, grain)


def _grain(file: Path) -> int | None:
    """Return the size of units that a file tells, a power of two; None: it is damaged."""
    try:
        grain: Any = json.loads(file.read_text())["grain"]
        return grain if isinstance(grain, int) and grain.bit_count() == 1 and grain > 0 else None
    except (ValueError, KeyError, TypeError):
        return None


def _digest(data: bytes) -> bytes:
    return sha256(data).hexdigest().encode()


def _write(file: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all."""
    beside = file.with_name(f"{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DeviceError(
            f"checkpoint: {file.parent} takes no file of {len(data):,} bytes: {error.strerror}\n"
            "  Make room; the units that are there already are kept."
        ) from error
