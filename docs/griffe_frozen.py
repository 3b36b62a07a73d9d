"""Let classes of `einloom.frozen` stand in the reference as what they are: dataclasses, with their constructor."""

from __future__ import annotations

from typing import Any

import griffe

__all__ = ["FrozenClasses"]


class FrozenClasses(griffe.Extension):
    """Gives them the decorator that griffe knows."""

    def on_object(self, *, obj: griffe.Object, **options: Any) -> None:
        """Change the decorators of a class that was loaded."""
        for decorator in obj.decorators if isinstance(obj, griffe.Class) else ():
            if decorator.callable_path == "einloom.frozen.frozen":
                decorator.value = griffe.ExprName("dataclasses.dataclass")
                obj.labels.add("dataclass")
