"""The pages that translation buffers look up: `looked_up`.

A buffer has an entry for each of so many pages, and forgets the one that was not used for longest. A page is found
again where fewer others have been touched since: those of one iteration of the loop that comes back to it. Lines are
counted with less care (`Use.fetched`); a page is dear, and there are few entries.
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.passes.model.buffers import share_forgotten
from einloom.passes.model.flow import Flow
from einloom.passes.model.forgetting import added
from einloom.passes.model.walk import Use, Walk

__all__ = ["TLBS", "looked_up", "refilled"]

TLBS = ((64, 8), (1536, 50))
"""Pages that translation buffers hold, and cycles of a miss that nothing hides."""

FULL, OVER = 0.92, 1.08
"""Up to which share of the entries every page stays, and from which on none does. Any page may have any entry, so that
only averages stand between: a block has a page more here, one less there."""


def looked_up(flow: Flow) -> list[tuple[float, float]]:
    """Return the pages that each translation buffer has to look up: of inputs, and of the output."""
    uses = [*flow.tensors, *flow.scratch.values()]
    touched = added([use.pages for use in uses])
    meanwhile: Sequence[float] = ()
    found: list[tuple[float, float]] = []
    for entries, _ in TLBS:
        if touched[0] > FULL * entries:
            meanwhile = meanwhile or added([_touched_between(use) for use in uses])
            gone, lost = _shares(touched, entries), _shares(meanwhile, entries)
            pages = [_looked_up(flow.walk, use, gone, lost) for use in uses]
        else:  # It knows all from the first time on.
            pages = [use.pages[use.first] for use in uses]
        output = pages[flow.output]
        if flow.output in flow.scratch:
            output += pages[len(flow.tensors) + [*flow.scratch].index(flow.output)]
        found.append((sum(pages) - output, output))
    return found


def refilled(flow: Flow) -> tuple[float, float]:
    """Return the pages of scratch that are filled again, as often as they are: of packed inputs, and of the output."""
    runs = flow.walk.runs
    again = {position: (runs[use.first] - 1) * use.pages[use.first] for position, use in flow.scratch.items()}
    output = again.pop(flow.output, 0.0)
    return sum([pages for position, pages in again.items() if position not in flow.held]), output


def _touched_between(use: Use) -> list[float]:
    """Return, by depth, the pages of a buffer between a moment of one iteration and the same moment of the next one.

    What the loop inside comes back to all the time are the pages of both iterations.
    """
    pages, last = use.pages, use.last
    each = zip(pages, pages[1:last], pages[2 : last + 1])
    return [pages[0], *(max(own, min(own + inside, around)) for around, own, inside in each), *pages[max(last, 1) :]]


def _shares(pages: Sequence[float], entries: int) -> list[float]:
    """Return which share is lost meanwhile, by depth, as deep as anything is."""
    return [share_forgotten(each, entries, FULL, OVER) for each in pages if each > FULL * entries]


def _looked_up(walk: Walk, use: Use, gone: Sequence[float], lost: Sequence[float]) -> float:
    """Return the pages of a buffer that are looked up in all iterations.

    From one loop to the one around it: all of them in each iteration, where they are forgotten until the next one;
    else those that it adds. Rows that go on side by side may each end in the page in which the next one began. That
    was an iteration of the loop around ago: if that is too long, each row counts alone. What the loop inside comes
    back to is as near as its last iteration.

    Args:
        walk: the loops.
        use: of the buffer.
        gone: by depth, the share that is forgotten from the beginning of an iteration to that of the next one, where
            copies touch what they pack.
        lost: the same from within an iteration.
    """
    pages, ends, first, trips = use.pages, use.ends, use.first, walk.trips
    depth, forgotten = len(lost), 0.0
    if depth > use.last:
        depth = use.last
        forgotten = gone[depth] if depth < len(gone) else 0.0
    if depth < first:
        depth = first
    fetched = pages[depth]
    while depth > first:
        inner, outer = pages[depth], pages[depth - 1]
        reached = outer
        if depth <= len(gone) and ends[depth] > ends[depth - 1]:
            alone = (inner - ends[depth]) * trips[depth] + ends[depth]
            reached += max(alone - outer, 0.0) * gone[depth - 1]
        fetched *= forgotten * trips[depth] + (1 - forgotten) * reached / inner
        depth -= 1
        near = 2 * inner / outer - 1
        forgotten = near * forgotten + (1 - near) * lost[depth] if near > 0 else lost[depth]
    times = walk.runs[first]
    return times * fetched - (times - 1) * (1 - forgotten) * pages[first]  # Scratch is where it was.
