"""Distributions: every element belongs to one rank, and panels cover what is summed."""

from __future__ import annotations

import numpy as np
import pytest

import einloom as el


@pytest.mark.parametrize("grid, copies", [((1, 1), 1), ((2, 3), 1), ((3, 1), 2), ((2, 2), 3)])
def test_blocks_cover_every_tensor_once(grid: tuple[int, int], copies: int) -> None:
    shapes = (7, 40, 2), (40, 2, 9)
    d = el.cluster.Distribution("ikb,kbj->bji", *shapes, grid=grid, copies=copies)
    for operand, shape in enumerate((*shapes, (2, 9, 7))):
        seen = np.zeros(shape, int)
        for rank in range(d.ranks):
            seen[d.block(operand, rank)] += 1
        assert np.array_equal(seen, np.ones(shape, int)), operand


def test_panels_cover_what_is_summed_and_have_one_owner() -> None:
    d = el.cluster.Distribution("ik,kj->ij", (8, 1300), (1300, 8), grid=(2, 3), copies=2)
    for layer in range(2):
        panels, summed = d.panels(layer), d.layer_range(layer)
        assert [p.start for p in panels] + [650] == [0] + [p.stop for p in panels]
        for panel in panels:
            first, second = (d.block(i, (layer * 2 + panel.row) * 3 + panel.column) for i in range(2))
            assert first[1].start <= summed.start + panel.start < summed.start + panel.stop <= first[1].stop
            assert second[0].start <= summed.start + panel.start < summed.start + panel.stop <= second[0].stop


def test_what_no_grid_takes() -> None:
    for equation, shapes, words in (
        ("ik,k->i", ((4, 4), (4,)), "a grid needs a label"),
        ("iik,kj->ij", ((4, 4, 4), (4, 4)), "neither diagonals"),
        ("ik,kj->ij", ((4, 1), (4, 4)), "broadcast"),
    ):
        with pytest.raises(el.ArgumentError, match=words):
            el.cluster.Distribution(equation, *shapes, grid=(2, 1))
    with pytest.raises(el.ArgumentError, match="from 1 on"):
        el.cluster.Distribution("ik,kj->ij", (4, 4), (4, 4), grid=(0, 1))
    for grid, copies in (((2,), 1), ((2, 2, 2), 1), ((2.0, 1), 1), ((1, 1), 1.5)):
        with pytest.raises(el.ArgumentError, match="from 1 on"):
            el.cluster.Distribution("ik,kj->ij", (4, 4), (4, 4), grid=grid, copies=copies)  # type: ignore[arg-type]
    with pytest.raises(el.ArgumentError, match="Pass the same equation, and comm="):
        d = el.cluster.Distribution("ik,kj->ij", (4, 4), (4, 4), grid=(1, 1))
        el.cluster.einsum("ik,kj->ij", np.ones((4, 4)), np.ones((4, 4)), distribution=d)


def test_blocks_that_nobody_has() -> None:
    d = el.cluster.Distribution("ik,kj->ij", (4, 4), (4, 4), grid=(2, 1))
    for operand, rank in ((0, 2), (0, -1), (3, 0), (-1, 0)):
        with pytest.raises(el.ArgumentError, match="ranks are 0 to 1"):
            d.block(operand, rank)


@pytest.mark.parametrize("equation", [" ik , kj -> ij ", "ik,kj", "...k,kj->...j"])
def test_equations_in_other_words(equation: str) -> None:
    shapes = (64, 96), (96, 32)
    plain, other = (el.cluster.Distribution(text, *shapes, grid=(2, 2)) for text in ("ik,kj->ij", equation))
    assert [other.block(i, 3) for i in range(3)] == [plain.block(i, 3) for i in range(3)]
    rows = [el.cluster.plan(d.equation, shapes, distribution=d).rows for d in (plain, other)]
    assert rows[0] == rows[1]


def test_options_that_a_grid_would_leave_out_are_refused() -> None:
    d, ones = el.cluster.Distribution("ik,kj->ij", (4, 4), (4, 4), grid=(1, 1)), np.ones((4, 4))
    given = {"conj": (0,), "dtype": "float32", "memory_limit": 4, "optimize": "greedy", "checkpoint": "x", "client": 1}
    for option, value in given.items():
        with pytest.raises(el.ArgumentError, match="distribution= takes comm= alone"):
            el.cluster.einsum("ik,kj->ij", ones, ones, distribution=d, **{option: value})
