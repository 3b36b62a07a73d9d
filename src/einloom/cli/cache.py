"""`einloom cache`: the compiled programs that outlive their processes."""

from __future__ import annotations

import argparse
from typing import Any

from einloom.jit.code_store import code_store

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "cache",
        description="Say where compiled programs are kept, list them, or remove them all. EINLOOM_CACHE=off keeps "
        "none, EINLOOM_CACHE=FOLDER keeps them there.",
    )
    parser.add_argument("what", choices=["path", "list", "clear"], help="what to do")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print what the command line asks for; return the exit status."""
    store = code_store()
    if store is None:
        print("nothing is kept: EINLOOM_CACHE is off")
    elif arguments.what == "path":
        print(store.folder)
    elif arguments.what == "list":
        files = store.files()
        for name, size in files:
            print(f"{name[:16]} {size:>9,} bytes")
        print(f"{len(files)} programs, {sum(size for _, size in files):,} bytes in {store.folder}")
    else:
        print(f"{store.clear()} programs removed from {store.folder}")
    return 0
