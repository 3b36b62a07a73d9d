"""Chunks that operands share: right for every label, and no combination of the operands' own moves less."""

from __future__ import annotations

import random

from einloom.plan.chunks import aligned


def test_chunks_that_match_stay() -> None:
    found = aligned(["ij", "jk"], [((4, 4), (6, 6)), ((6, 6), (8,))], [8, 8])
    assert found.moved == (0, 0) and found.of_label == {"i": (4, 4), "j": (6, 6), "k": (8,)}


def test_a_refinement_that_has_few_pieces_moves_nothing() -> None:
    found = aligned(["ij", "jk"], [((8,), (6, 6)), ((3, 9), (8,))], [8, 8])
    assert found.of_label["j"] == (3, 3, 6) and found.moved == (0, 0)


def test_the_smaller_operand_moves() -> None:
    tall, short = ((64, 64), tuple([10] * 9 + [9])), (tuple([9] * 11), (2,))
    found = aligned(["ij", "jk"], [tall, short], [8, 8])
    assert found.of_label["j"] == tall[1] and found.moved[0] == 0 < found.moved[1] < 99 * 2 * 8


def test_what_is_broadcast_keeps_its_chunk() -> None:
    found = aligned(["ij", "j"], [((4,), (1,)), ((2, 3),)], [8, 8])
    assert found.of_operand("ij", ((4,), (1,))) == ((4,), (1,)) and found.of_label["j"] == (2, 3)


def test_every_label_is_covered() -> None:
    rng = random.Random(1)
    for _ in range(200):
        extents = {x: rng.randrange(0, 12) for x in "abcd"}
        terms = ["".join(rng.sample("abcd", rng.randrange(1, 4))) for _ in range(3)]
        chunks = [tuple(cut(extents[x], rng) for x in term) for term in terms]
        found = aligned(terms, chunks, [4] * 3)
        for term, own, moved in zip(terms, chunks, found.moved):
            assert [sum(found.of_label[x]) for x in term] == [extents[x] for x in term]
            assert 0 <= moved <= 4 * _size(own)


def cut(extent: int, rng: random.Random) -> tuple[int, ...]:
    """Random chunks."""
    lengths = []
    while extent > 0:
        lengths.append(min(rng.randrange(1, 6), extent))
        extent -= lengths[-1]
    return tuple(lengths) or (0,)


def _size(chunks: tuple[tuple[int, ...], ...]) -> int:
    size = 1
    for lengths in chunks:
        size *= sum(lengths)
    return size
