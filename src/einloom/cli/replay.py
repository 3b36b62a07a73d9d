"""`einloom replay KEY`: rebuild a recorded schedule from its decisions, and measure it beside the heuristic's.

With the log of a search in place of a key it lets the search propose the same trials again, without measuring.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from einloom.cli.records import chosen_records, record_of
from einloom.cli.sizes import positive
from einloom.ir.text import parse_operation
from einloom.search.log import replayed_log
from einloom.search.problems import host_of
from einloom.search.replay import replayed

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "replay",
        description="Take the decisions of a record again, compare the leaf with the record's schedule, and measure it "
        "beside the heuristic's in a fresh process. Of a log, search again with its times, without measuring.",
    )
    parser.add_argument(
        "key", help="of the problem, or how it begins: `einloom records list` prints it; or a file `tune --log` wrote"
    )
    parser.add_argument("--records", type=Path, help="file or folder of records (default: the user's)")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each (default: 5)")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Replay; 1 if the schedule does not compute what it should."""
    if Path(arguments.key).is_file():
        run = replayed_log(Path(arguments.key))
        print(
            f"{len(run.history)} trials as in the log; best {1e3 * run.explorer.best:.4g} ms, gap {100 * run.gap:.3g} %"
        )
        return 0
    record = record_of(chosen_records(arguments.records), arguments.key)
    found = replayed(record, host_of(parse_operation(record.operation)), arguments.rounds)
    print(found.schedule)
    if not found.times:
        print("it failed, or computes something else than the interpreter")
        return 1
    print(f"{1e3 * found.time:.4g} ms, {found.heuristic / found.time:.2f}x the heuristic's speed")
    return 0
