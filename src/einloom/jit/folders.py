"""Where einloom keeps what outlives a process: the user's cache folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Return einloom's folder among the user's caches; it need not exist.

    On Linux it is found without `platformdirs`, which finds the same one but takes longer to load than a contraction to
    compile.
    """
    if sys.platform.startswith("linux"):
        caches = os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache"
        return Path(os.path.expanduser(caches)) / "einloom"
    import platformdirs

    return platformdirs.user_cache_path("einloom")
