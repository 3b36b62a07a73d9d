"""Run the notebooks of this folder, each in a fresh kernel: `python notebooks/run.py [NAME …]`.

A notebook says in its metadata which libraries it needs (`"einloom": {"needs": […]}`). One whose libraries are not
installed is named and left out.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parent
SECONDS = 300
"""Most time of a cell."""


def missing(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the libraries that a notebook needs and that are not installed."""
    needs = notebook.metadata.get("einloom", {}).get("needs", [])
    return [name for name in needs if importlib.util.find_spec(name) is None]


def run(path: Path) -> str:
    """Run a notebook and return what became of it: `"right"`, what was missing, or the error."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    if lacking := missing(notebook):
        return f"left out: {', '.join(lacking)} not installed"
    try:
        NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    except CellExecutionError as error:
        return f"failed\n{error}"
    return "right"


def main(names: list[str]) -> int:
    """Run the notebooks of these names, all if there are none; 1 if one failed."""
    failed = 0
    for path in [FOLDER / name for name in names] or sorted(FOLDER.glob("*.ipynb")):
        outcome = run(path)
        failed |= outcome.startswith("failed")
        print(f"{path.name}: {outcome}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
