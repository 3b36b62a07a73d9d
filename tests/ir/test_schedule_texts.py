"""Texts of schedules that people write: what is wrong is refused early and shortly, whatever its length."""

from __future__ import annotations

import numpy as np
import pytest

import einloom as el

A = np.random.default_rng(0).random((8, 9, 10))
B = np.random.default_rng(1).random((10, 11))
GOOD = "seq a:1 seq b:4 prim m=d n=b k=c"


@pytest.mark.parametrize("pack", ["pack in0@1 k b:-1", "pack in0@1 b c:0", "pack in1@0 d:-4 c d", "pack out@1 b d:0"])
def test_steps_of_packs_below_one(pack: str) -> None:
    """They crashed the process, or divided by zero."""
    with pytest.raises(el.ScheduleError, match="at least 1"):
        el.compile("abc,cd->abd", A, B, schedule=f"{GOOD} {pack}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seq",
        "a:1",
        "seq a",
        "seq a:1:1 prim",
        "seq a:one prim",
        "seq :1 prim",
        "seq a:1.5 prim",
        f"seq a:{'9' * 5000} prim",
        "seq a:1 seq b:4 prim q=d",
        "seq a:1 seq b:4 prim m=d m=b",
        "seq a:1 seq b:4 prim m=",
        "seq a:1 seq b:4 prim m=d n=b k=c pack b",
        f"{GOOD} pack 0@1 b c",
        f"{GOOD} pack in-1@1 b c",
        f"{GOOD} pack in2@1 b c",
        f"{GOOD} pack in0@9 b c",
        f"{GOOD} pack in0@1 b z",
        f"{GOOD} pack in0@1 b c:",
        f"{GOOD} pack in0@1",
        "prim m=d n=b k=c",
        "seq z:1 " + GOOD,
        "seq\u3000a:1 prim",
    ],
)
def test_texts_that_are_no_schedule(text: str) -> None:
    with pytest.raises(el.ScheduleError):
        el.compile("abc,cd->abd", A, B, schedule=text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("seq a:1 " * 100_000 + GOOD, "256"),
        (f"{GOOD} pack in0@1" + " b" * 200_000, "256"),
        (f"{GOOD}" + " pack in0@1" * 100_000, "in0"),
        ("x" * 1_000_000, "At most 256"),
        ("x y" * 300_000, "does not belong"),
        (GOOD + " prim" * 100_000 + " y", "does not belong"),
    ],
    ids=lambda text: text[:10],
)
def test_long_texts(text: str, limit: str) -> None:
    with pytest.raises(el.ScheduleError, match=limit) as caught:
        el.compile("abc,cd->abd", A, B, schedule=text)
    assert len(str(caught.value)) < 1000


def test_as_many_loops_as_go() -> None:
    f = el.compile("abc,cd->abd", A, B, schedule="seq a:1 " * 254 + GOOD)
    assert np.allclose(f(A, B), np.einsum("abc,cd->abd", A, B))
