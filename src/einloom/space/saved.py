"""What a candidate's file says: kernel, options, device, a hash of the space, and the decisions by name.

>>> saved = Saved("axpy", {"n": 64}, "Quadro K4000", "0123456789abcdef", {"size(n.1)": [8]})
>>> Saved.parse(saved.text()) == saved
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from einloom.errors import ScheduleError
from einloom.frozen import frozen

__all__ = ["Saved"]

_EXAMPLE = '{"kernel": "axpy", "options": {"n": 64}, "device": "…", "space": "…", "decisions": {"size(n.1)": [8]}}'


@frozen
class Saved:
    """The content of a file.

    Attributes:
        kernel: the name of the kernel.
        options: its sizes and options, in the order of its parameters.
        device: the name of the device.
        space: a hash of the backbone, the device's limits and the constraints.
        decisions: values by the names of decisions.
    """

    kernel: str
    options: dict[str, Any]
    device: str
    space: str
    decisions: dict[str, list[str | int]]

    def text(self) -> str:
        """Return the file's text."""
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def parse(text: str) -> Saved:
        """Return what a text says.

        Raises:
            ScheduleError: it is no such text.
        """
        kinds = {"kernel": str, "options": dict, "device": str, "space": str, "decisions": dict}
        try:
            found = json.loads(text)
            wrong = [each.name for each in fields(Saved) if not isinstance(found[each.name], kinds[each.name])]
        except (ValueError, TypeError, KeyError) as error:
            raise _not_a_candidate(repr(error)) from None
        if wrong:
            raise _not_a_candidate(f"{wrong[0]} = {found[wrong[0]]!r}")
        return Saved(**{each.name: found[each.name] for each in fields(Saved)})

    def check(self, kernel: str, options: Mapping[str, Any], device: str) -> None:
        """Refuse decisions about another kernel, other sizes or another device.

        Raises:
            ScheduleError: they are.
        """
        here = Saved(kernel, json.loads(json.dumps(dict(options))), device, self.space, self.decisions)
        if here != self:
            raise ScheduleError(f"these decisions belong to {self._owner()}, not to {here._owner()}")

    def _owner(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.kernel}({options}) on {self.device}"


def _not_a_candidate(reason: str) -> ScheduleError:
    return ScheduleError(
        f"these are no decisions of a candidate: {reason}\n  They look like {_EXAMPLE}; `Candidate.save` writes them."
    )
