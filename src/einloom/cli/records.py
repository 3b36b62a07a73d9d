"""`einloom records path|list|show|merge|export|clear`: what searches have remembered."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from einloom.errors import ArgumentError, EinloomError
from einloom.ir.text import parse_operation
from einloom.search.claims import still_holds
from einloom.search.problems import host_of
from einloom.search.records import Record, Records, chosen_file, problem_key, records_at

__all__ = ["add_parser", "chosen_records", "run"]

UNFINISHED = "its search was cut short; tune again, and it goes on from here"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser("records", description="What searches have measured, and what einsums use of it.")
    parser.add_argument("--records", type=Path, help="file or folder of records (default: the user's)")
    actions = parser.add_subparsers(required=True, metavar="action", title="actions")
    for name, run_it, description in (
        ("path", _path, "print the file's name"),
        ("list", _list, "print a line for every problem that was tuned, or whose tuning was cut short"),
        ("show", _show, "print the record of a problem whole, and whether it is used"),
        ("merge", _merge, "add the records of other files"),
        ("export", _export, "write the record of each tuned problem, and nothing else, to a file"),
        ("clear", _clear, "delete the file"),
    ):
        action = actions.add_parser(name, help=description, description=description)
        action.set_defaults(run=run, action=run_it)
        if name == "show":
            action.add_argument("key", help="of the problem, or how it begins")
        if name in ("merge", "export"):
            action.add_argument("files", nargs="+" if name == "merge" else 1, type=Path, metavar="FILE")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the command line asks for."""
    return arguments.action(chosen_records(arguments.records), arguments)


def chosen_records(path: Path | None) -> Records:
    """Return the records that a command is about.

    Raises:
        ArgumentError: records are off.
    """
    file = chosen_file(path)
    if file is None:
        raise ArgumentError("records are off: EINLOOM_RECORDS says so\n  Name a file with --records.")
    return records_at(file)


def tuned_records(records: Records) -> dict[str, Record]:
    """Return a record of each tuned problem, by key: the one that is used, else the last one."""
    found: dict[str, Record] = {}
    for record in records.all():
        before = found.get(record.key)
        if record.confirmed and (before is None or _is_used(record) or not _is_used(before)):
            found[record.key] = record
    return found


def _is_used(record: Record) -> bool:
    return not why_unused(record)


def why_unused(record: Record) -> str:
    """Return why this process does not use a confirmed record, "" if it does.

    Records of GPUs are found by their devices, which are not asked: they count as used.
    """
    try:
        operation = parse_operation(record.operation)
    except EinloomError:
        return "" if record.decisions else "its operation cannot be read"
    machine = host_of(operation)
    if record.key != problem_key(record.operation, machine, record.threads):
        return "measured on another machine"
    try:
        holds = still_holds(record, operation, machine)
    except EinloomError as error:
        return str(error).splitlines()[0]
    return "" if holds else "einloom generates other code now: tune again"


def _path(records: Records, arguments: argparse.Namespace) -> int:
    print(records.file)
    return 0


def _list(records: Records, arguments: argparse.Namespace) -> int:
    counts, tuned = Counter(record.key for record in records.all()), tuned_records(records)
    for record in [*tuned.values(), *unfinished_records(records, tuned).values()]:
        unused = why_unused(record) if record.confirmed else UNFINISHED
        gain = f"{record.heuristic / median(record.times):.2f}x" if record.times else ""
        axes = " ".join(line.split(" ", 1)[1] for line in record.operation.splitlines() if line.startswith("axis "))
        count = f"{counts[record.key]} record{'' if counts[record.key] == 1 else 's'}"
        told = f"{record.key}  {gain:>6}  {1e3 * record.seconds:.4g} ms  {count}  {axes}  {record.machine}"
        print(told + (f"  (not used: {unused})" if unused else ""))
    if not counts:
        print(f"no records in {records.file}")
    return 0


def unfinished_records(records: Records, tuned: Mapping[str, Record]) -> dict[str, Record]:
    """Return the fastest record, by key, of each problem with evaluations whose best was never compared."""
    found: dict[str, Record] = {}
    for record in records.all():
        if record.key not in tuned and record.status == "ok":
            before = found.get(record.key)
            if before is None or record.seconds < before.seconds:
                found[record.key] = record
    return found


def _show(records: Records, arguments: argparse.Namespace) -> int:
    record = record_of(records, arguments.key)
    unused = why_unused(record)
    print(json.dumps(record.to_json() | {"used": not unused} | ({"why": unused} if unused else {}), indent=1))
    return 0


def record_of(records: Records, key: str) -> Record:
    """Return the record of the problem of a key: the one that is used, else the last one.

    Raises:
        ArgumentError: there is none, or several keys begin so.
    """
    found = [record for each, record in tuned_records(records).items() if each.startswith(key)]
    if len(found) != 1:
        raise ArgumentError(
            f"{len(found)} tuned problems have a key that begins with {key!r} in {records.file}\n"
            "  `einloom records list` prints all keys."
        )
    return found[0]


def _merge(records: Records, arguments: argparse.Namespace) -> int:
    for file in arguments.files:
        open(file, "rb").close()  # What cannot be read is told: to whoever looks records up it holds none.
    known = {record.line() for record in records.all()}
    found = {each.line(): each for file in arguments.files for each in Records(file).all()}
    new = [each for line, each in found.items() if line not in known]
    records.append(new)
    print(f"{len(new)} records added to {records.file}")
    return 0


def _export(records: Records, arguments: argparse.Namespace) -> int:
    used, file = tuned_records(records), arguments.files[0]
    if file.exists() and (not file.is_file() or file.stat().st_size):
        raise ArgumentError(f"{file} exists already\n  Name a new file; `einloom records merge` adds to one.")
    Records(file).append(used.values())
    print(f"{len(used)} records written to {file}")
    return 0


def _clear(records: Records, arguments: argparse.Namespace) -> int:
    count = sum(1 for _ in records.all())
    records.clear()
    print(f"{count} records deleted in {records.file}" if count else f"no records in {records.file}")
    return 0
