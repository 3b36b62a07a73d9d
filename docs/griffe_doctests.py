"""Let docstrings' examples stand in the reference as code: griffe knows them in a section of their own alone."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["Doctests"]

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *\n).+)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts fences around examples."""

    def on_object(self, *, obj: griffe.Object, **options: Any) -> None:
        """Change the docstring of an object that was loaded."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
