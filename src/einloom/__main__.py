"""`python -m einloom`: the command line."""

from __future__ import annotations

import sys

from einloom.cli import main

if __name__ == "__main__":
    sys.exit(main())
