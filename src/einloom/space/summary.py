"""A candidate in a few lines: its open decisions grouped by choice and domain, as text and as HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape

__all__ = ["as_html", "as_text"]

Open = Mapping[str, tuple[str | int, ...]]


def as_text(headline: str, decisions: Open) -> str:
    """Return a headline and one line for each group.

    >>> print(as_text("axpy", {"size(n.1)": (2, 4), "size(x.n.1)": (2, 4)}))
    axpy
      size              2 x  2 4
    """
    rows = (f"  {choice:14} {count:4} x  {values}" for choice, values, count in _groups(decisions))
    return "\n".join([headline, *rows])


def as_html(headline: str, decisions: Open) -> str:
    """Return a headline and a table with one row for each group."""
    cells = "".join(
        f"<tr><td>{escape(choice)}</td><td>{count}</td><td>{escape(values)}</td></tr>"
        for choice, values, count in _groups(decisions)
    )
    head = "<tr><th>choice</th><th>open</th><th>values</th></tr>"
    return f"<p>{escape(headline)}</p><table>{head}{cells}</table>"


def _groups(decisions: Open) -> Iterable[tuple[str, str, int]]:
    """Return choice, values and number of the decisions that have both in common."""
    groups = Counter((name.split("(")[0], " ".join(map(str, values))) for name, values in decisions.items())
    return [(choice, values, count) for (choice, values), count in groups.items()]
