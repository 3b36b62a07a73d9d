"""Large and strange equations: legal ones are computed, others are refused early with the limit named."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import opt_einsum
import pytest

import einloom as el
from tests.ids import words_of

RNG = np.random.default_rng(8)


def test_a_chain_whose_labels_span_more_than_any_step() -> None:
    """Nine labels of 256 have 2**72 points together; no step of the chain has more than 2**24."""
    operands = [RNG.random((256, 256)) for _ in range(8)]
    result = el.einsum("ab,bc,cd,de,ef,fg,gh,hi->ai", *operands)
    assert np.allclose(result, np.linalg.multi_dot(operands), rtol=1e-12)


def test_a_network_of_36_tensors() -> None:
    """A grid with bonds of 3: 60 labels, 3**60 points together."""
    side = 6
    terms, operands = [], []
    for row in range(side):
        for column in range(side):
            bonds = [((row, column), (row, column + 1))] if column + 1 < side else []
            bonds += [((row, column - 1), (row, column))] if column else []
            bonds += [((row, column), (row + 1, column))] if row + 1 < side else []
            bonds += [((row - 1, column), (row, column))] if row else []
            terms.append(bonds)
            operands.append(RNG.random([3] * len(bonds)) / 3)
    arguments = [part for pair in zip(operands, terms) for part in pair]
    assert np.isclose(el.einsum(*arguments, []), opt_einsum.contract(*arguments, []))


def test_a_step_of_more_than_2_to_the_60_points() -> None:
    with pytest.raises(el.ShapeError, match=r"2\*\*60 points"):
        el.compile("ab,cd,ef->abcdef", *[(2**11, 2**11)] * 3)
    with pytest.raises(el.ShapeError, match=r"2\*\*60 elements"):
        el.compile("ab->a", (2**40, 2**40))
    with pytest.raises(el.ShapeError, match=r"2\*\*60 elements"):
        el.compile("abc->a", (0, 2**40, 2**40))


@pytest.mark.parametrize("count", [60, 150])
def test_more_labels_than_letters(count: int) -> None:
    operands = [RNG.random((2, 2)) for _ in range(count)]
    expected = np.linalg.multi_dot(operands)
    symbols = [opt_einsum.get_symbol(i) for i in range(count + 1)]
    assert {"×", "÷"} <= set(symbols) or count < 76
    equation = ",".join(a + b for a, b in pairwise(symbols)) + f"->{symbols[0]}{symbols[-1]}"
    assert np.allclose(el.einsum(equation, *operands), expected)
    arguments = [part for i, operand in enumerate(operands) for part in (operand, (i, i + 1))]
    assert np.allclose(el.einsum(*arguments, (0, count)), expected)
    assert np.allclose(el.einsum(*arguments), expected)


@pytest.mark.parametrize(
    "labels",
    [
        ([0, 1], [1, 2], [0, 2]),
        (("i", "j"), ("j", "k"), ("i", "k")),
        (np.array([7, 3]), np.array([3, 9]), np.array([7, 9])),
        ([(0, 0), "x"], ["x", None], [(0, 0), None]),
        (iter("ab"), iter("bc"), iter("ac")),
        ([Ellipsis, 1], [1, 2], [Ellipsis, 2]),
        ([1e9, -5], [-5, 0.5], [1e9, 0.5]),
    ],
    ids=words_of,
)
def test_labels_of_any_hashable_kind(labels: tuple[Any, ...]) -> None:
    a, b = RNG.random((3, 4)), RNG.random((4, 5))
    assert np.allclose(el.einsum(a, labels[0], b, labels[1], labels[2]), a @ b)


def test_an_implicit_output_is_sorted_as_the_labels_are() -> None:
    a = RNG.random((3, 4))
    assert np.array_equal(el.einsum(a, [100, 20]), a.T)


@pytest.mark.parametrize(
    "arguments",
    [
        (np.ones(2), [[0]]),
        (np.ones(2), [{}], []),
        (np.ones(2), [np.zeros(1)]),
        (np.ones(2), "a"),
        (np.ones(2), 5),
        (np.ones(2), None, []),
        (np.ones(2),),
        (),
    ],
    ids=words_of,
)
def test_lists_of_labels_that_are_none(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(el.EquationError):
        el.einsum(*arguments) if arguments else el.einsum(None)


@pytest.mark.parametrize(
    "equation",
    [
        "a" * 100_000,
        ",".join("a" * 50_000),
        "..." * 33_000,
        "a" * 50_000 + "->" + "a" * 50_000,
        "".join(map(chr, range(192, 50_000))) + "->",
        "aa->" + "a" * 100_000,
        "a->b" * 25_000,
    ],
    ids=lambda text: text[:8],
)
def test_long_equations_are_refused_shortly(equation: str) -> None:
    with pytest.raises(el.EinloomError) as caught:
        el.einsum(equation, np.ones((2, 2)))
    assert len(str(caught.value)) < 1000


def test_a_thousand_operands() -> None:
    count = 1000
    vectors = [RNG.random(3) for _ in range(count)]
    weights = [vector / vector.sum() for vector in vectors]
    arguments = [part for i, weight in enumerate(weights) for part in (weight, (i,))]
    assert np.isclose(el.einsum(*arguments, []), 1)


def test_a_diagonal_has_one_extent() -> None:
    """Only different operands broadcast, as in NumPy."""
    with pytest.raises(el.ShapeError, match="two extents"):
        el.einsum("aa->a", np.ones((1, 3)))
    assert np.array_equal(el.einsum("aa,a->a", np.ones((1, 1)), np.arange(3.0)), np.arange(3.0))


def test_a_strategy_that_calls_itself_too_deeply(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: Any, **__: Any) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(opt_einsum, "contract_path", too_deep)
    with pytest.raises(el.EquationError, match="'optimal': this strategy calls itself too deeply for 3 operands"):
        el.contract_path("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5), optimize="optimal")
