"""Records: what searches have measured, one JSON object a line, and which schedule a problem was tuned to.

    {"version": 1, "key": "…", "operation": "gemm …", "machine": "…", "vector": "avx512", "threads": 1,
     "schedule": "seq …", "status": "ok", "seconds": 0.0012, …}

Lines are appended under a lock, so several processes may write; a line that a killed process left unfinished is passed
over. A line with `"confirmed": true` was measured again in a fresh process, beside the heuristic's schedule: the last
one of a problem whose codes are still what is generated (`einloom.search.claims`) is what `einloom.einsum` and
`einloom.compile` use. Nothing of a record is code: its schedule is text that is parsed, and bound again.

The file is `records.jsonl` in the user's data folder; `EINLOOM_RECORDS` names another one, or is `off`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from einloom.errors import ArgumentError
from einloom.frozen import frozen
from einloom.machine import Machine
from einloom.search.file_lock import alone_with

__all__ = ["OFF", "Record", "Records", "chosen_file", "kept", "problem_key", "readable_file", "records_at"]

VERSION = 1
FILE = "records.jsonl"
OFF = "off"
_CONFIRMED = '"confirmed": true'

Value = str | int


@frozen
class Record:
    """One measured schedule.

    Attributes:
        key: of the problem: see `problem_key`.
        operation: text of the operation, its axes named by their positions.
        machine, vector, threads: where, and on how many threads.
        schedule: text.
        status: `ok`, or what went wrong: `wrong`, `crash`, `timeout`, `memory`, `refused`.
        seconds: the least time; 0 if there is none.
        times: medians of rounds, in seconds, of a confirmed record.
        heuristic: the heuristic's time in the same rounds, in seconds.
        confirmed: whether it was measured again in a fresh process, and what it computes is right.
        decisions: of the leaf, by name, and `space`, a hash of the space that they were taken in.
        code: a digest of the machine code.
        heuristic_code: the same of the heuristic's, of a confirmed record.
        compiler: a digest of the einloom that compiled it.
        seed, strategy: of the search.
        einloom: the version.
        note: what a reader should know.
    """

    key: str
    operation: str
    machine: str
    vector: str
    threads: int
    schedule: str
    status: str = "ok"
    seconds: float = 0.0
    times: tuple[float, ...] = ()
    heuristic: float = 0.0
    confirmed: bool = False
    decisions: dict[str, Value] = field(default_factory=dict[str, Value])
    space: str = ""
    code: str = ""
    heuristic_code: str = ""
    compiler: str = ""
    seed: int = 0
    strategy: str = ""
    einloom: str = ""
    note: str = ""

    @property
    def is_trial(self) -> bool:
        """Whether it says of one evaluation how long it took, or that it failed."""
        return not self.confirmed and (self.seconds > 0 or self.status != "ok")

    def line(self) -> str:
        """Return the record as a line of a file; what has its default value is left out."""
        told = {
            each.name: value
            for each in fields(self)
            if (value := getattr(self, each.name)) not in ((), {}, "", 0, 0.0, False) or each.name in _ALWAYS
        }
        return json.dumps({"version": VERSION, **told}) + "\n"

    @staticmethod
    def parse(line: str) -> Record | None:
        """Return the record of a line; None if it is none, or one of a later einloom."""
        try:
            found: dict[str, Any] = json.loads(line)
            if found.pop("version") != VERSION:
                return None
            wrong = [name for name, kind in _KINDS.items() if name in found and not isinstance(found[name], kind)]
            found["times"] = tuple(found.get("times", ()))
            return None if wrong or not _is_possible(found) else Record(**found)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        return asdict(self)


_ALWAYS = ("key", "operation", "machine", "vector", "threads", "schedule", "status")
_SECONDS = 1e-9, 1e6
"""What a call may take: a record that says anything else was not measured. 0 says nothing."""

_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("key", "operation", "machine", "vector", "schedule", "status", "space", "note"), str),
    **dict.fromkeys(("code", "heuristic_code", "compiler", "strategy", "einloom"), str),
    **dict.fromkeys(("seconds", "heuristic"), (int, float)),
    **dict.fromkeys(("threads", "seed"), int),
    "confirmed": bool,
    "decisions": dict,
    "times": list,
}


def _is_possible(found: dict[str, Any]) -> bool:
    """Whether numbers and decisions are such as a search measures and takes."""
    least, most = _SECONDS
    times = all(isinstance(each, int | float) and least <= each <= most for each in found["times"])
    single = all(each == 0 or least <= each <= most for each in (found.get("seconds", 0), found.get("heuristic", 0)))
    decisions = all(isinstance(each, Value) for each in found.get("decisions", {}).values())
    return times and single and decisions and found.get("threads", 0) >= 1


def problem_key(operation: str, machine: Machine, threads: int) -> str:
    """Return what records of a problem are found by: a hash of the operation's text, the processor and the threads."""
    told = f"{operation}\n{machine.name}\n{machine.vector}\n{threads}"
    return sha256(told.encode()).hexdigest()[:20]


def chosen_file(chosen: Any = None) -> Path | None:
    """Return the file that a choice of records means: None is the default one, False or "off" none, else a path.

    Raises:
        ArgumentError: it is none of these.
    """
    if chosen is False or chosen == OFF:
        return None
    if chosen is None or chosen is True:
        named = os.environ.get("EINLOOM_RECORDS", "").strip()
        if named == OFF:
            return None
        return _file_at(Path(named)) if named else _default_file()
    if isinstance(chosen, str | Path):
        return _file_at(Path(chosen))
    raise ArgumentError(f"records is {chosen!r:.80}\n  Give None for the default file, False for none, or a path.")


def _file_at(path: Path) -> Path:
    if "\0" in str(path):
        raise ArgumentError(f"records is {str(path)!r:.80}\n  No path has a zero byte.")
    path = Path(os.path.expanduser(path))
    is_folder = os.path.isdir(path) or not (path.suffix or os.path.isfile(path))
    return path / FILE if is_folder else path


def _default_file() -> Path:
    if sys.platform.startswith("linux"):
        return Path(_linux_data_folder()) / FILE
    import platformdirs  # Late: it takes longer to load than a contraction to compile.

    return platformdirs.user_data_path("einloom") / FILE


def readable_file(chosen: Any = None) -> Path | None:
    """Return the file that a choice of records means, None where there is none to read.

    Raises:
        ArgumentError: as `chosen_file`.
    """
    if chosen in (None, True) and not os.environ.get("EINLOOM_RECORDS", "").strip() and not _default_may_exist():
        return None
    return chosen_file(chosen)


def _default_may_exist() -> bool:
    """Whether there may be a default file, without asking for its exact place: mostly there is none."""
    if not sys.platform.startswith("linux"):
        return True
    return os.path.isdir(_linux_data_folder())


def _linux_data_folder() -> str:
    """What `platformdirs` finds there, which takes longer to load than a contraction to compile."""
    folder = os.environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")
    return os.path.join(folder, "einloom")


class Records:
    """A file of records.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = Records(Path(folder) / "mine.jsonl")
    ...     records.append([Record("k", "…", "a machine", "avx512", 1, "prim m=a", seconds=0.1, confirmed=True)])
    ...     records.best("k").seconds
    0.1
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._stamp: tuple[int, int] | None = None
        self._confirmed: dict[str, list[str]] = {}

    def append(self, records: Iterable[Record]) -> None:
        """Write records behind those that are there.

        Raises:
            OSError: the file cannot be written.
        """
        text = "".join(record.line() for record in records)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with open(self.file, "ab+") as stream, alone_with(stream):
            stream.seek(0, os.SEEK_END)
            if stream.tell():
                stream.seek(-1, os.SEEK_END)
                if stream.read(1) != b"\n":  # Somebody was killed while writing: leave that line to itself.
                    text = "\n" + text
            stream.write(text.encode())

    def all(self, key: str | None = None) -> Iterator[Record]:
        """Yield the records of a problem, or of all; lines that are none are passed over."""
        for line in self._lines():
            if key is None or key in line:
                record = Record.parse(line)
                if record is not None and key in (None, record.key):
                    yield record

    @property
    def any_confirmed(self) -> bool:
        """Whether there is a confirmed record of any problem."""
        self._refresh()
        return bool(self._confirmed)

    def best(self, key: str) -> Record | None:
        """Return the last confirmed record of a problem."""
        return next(self.confirmed(key), None)

    def confirmed(self, key: str) -> Iterator[Record]:
        """Yield the confirmed records of a problem, the last one first."""
        self._refresh()
        for line in reversed(self._confirmed.get(key, ())):
            record = Record.parse(line)
            if record is not None:
                yield record

    def _refresh(self) -> None:
        """Read the file again if it has changed."""
        try:
            status = self.file.stat()
        except OSError:
            self._stamp, self._confirmed = None, {}
            return
        stamp = status.st_mtime_ns, status.st_size
        if stamp != self._stamp:
            found: dict[str, list[str]] = {}
            for line in self._lines():
                if _CONFIRMED in line and (key := _key_in(line)):
                    found.setdefault(key, []).append(line)
            self._confirmed, self._stamp = found, stamp

    def _lines(self) -> list[str]:
        try:
            return self.file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def clear(self) -> None:
        """Delete the file."""
        self.file.unlink(missing_ok=True)


def _key_in(line: str) -> str:
    """The key of a line, without parsing it whole; "" if there is none."""
    _, _, rest = line.partition('"key": "')
    return rest.partition('"')[0]


_open: dict[Path, Records] = {}


def records_at(file: Path) -> Records:
    """Return the records of a file: one object a file, which reads it again only when it has changed."""
    return _open.setdefault(file, Records(file))


def kept(records: Records | None, record: Record) -> Records | None:
    """Write a record; return where the next ones go: nowhere where that fails, and the search goes on."""
    if records is None:
        return None
    try:
        records.append([record])
    except OSError as error:
        import logging  # Late: everyone reads records, and nobody else has anything to say.

        logging.getLogger("einloom").warning("records are not written from here on: %s", error)
        return None
    return records
