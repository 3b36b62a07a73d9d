"""Progress of a contraction that others compute: a bar over its slices."""

# pyright: standard
# Dask's types are unknown where it is not installed.

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["shown_slices", "shown_units"]


@contextmanager
def shown_slices(show: bool, slices: int, what: str) -> Generator[Callable[[int], None]]:
    """Give what is called with the number of slices that were computed."""
    if not show:
        yield lambda count: None
        return
    from rich import progress

    columns = progress.MofNCompleteColumn(), progress.TimeElapsedColumn(), progress.TimeRemainingColumn()
    with progress.Progress(progress.TextColumn("{task.description}"), progress.BarColumn(), *columns) as bar:
        task = bar.add_task(what, total=slices)
        yield lambda count: bar.advance(task, count)


@contextmanager
def shown_units(client: Any, slices: int, what: str) -> Generator[str]:
    """Give the topic under which workers of Dask report slices; empty for no client."""
    topic = f"einloom-{uuid.uuid4().hex}"
    with shown_slices(client is not None, slices, what) as advance:
        if client is None:
            yield ""
            return
        client.subscribe_topic(topic, lambda event: advance(event[1]))
        try:
            yield topic
        finally:
            client.unsubscribe_topic(topic)
