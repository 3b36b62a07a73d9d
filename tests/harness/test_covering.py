"""Covering designs cover: every value, every two values of two parameters, with few rows, the same ones every time."""

from __future__ import annotations

import doctest
from itertools import combinations, product

import pytest

from tests import covering as module
from tests.covering import covering

CHOICES = [
    {"a": (1, 2, 3)},
    {"a": (1,), "b": (2,)},
    {"a": "xyz", "b": (0, 1), "c": (False, True), "d": range(7)},
    {"m": range(39), "a": range(9), "b": range(6), "open": (False, True), "end": (False, True)},
    {f"p{i}": range(4) for i in range(8)},
]


@pytest.mark.parametrize("choices", CHOICES, ids=lambda choices: "x".join(str(len(each)) for each in choices.values()))
def test_every_two_values_meet_in_few_rows(choices: dict[str, range]) -> None:
    rows = list(covering(**choices))
    for one, other in combinations(choices, 2):
        assert {(row[one], row[other]) for row in rows} == set(product(choices[one], choices[other]))
    for name, values in choices.items():
        assert {row[name] for row in rows} == set(values)
    lengths = sorted((len(values) for values in choices.values()), reverse=True)
    least = lengths[0] * (lengths[1] if len(lengths) > 1 else 1)
    assert least <= len(rows) <= 2 * least


def test_long_parameters_need_not_meet_in_every_pair() -> None:
    choices = {"m": range(40), "n": range(30), "op": range(5)}
    rows = list(covering(**choices))
    assert 200 <= len(rows) <= 300
    assert {(row["m"], row["op"]) for row in rows} == set(product(range(40), range(5)))
    assert {row["n"] for row in rows} == set(range(30))
    assert len({(row["m"], row["n"]) for row in rows}) >= 0.9 * len(rows), "partners change"
    assert [row["m"] for row in covering(most_pairs=0, m=range(40), n=range(30))] == list(range(40))


def test_the_rows_are_the_same_every_time() -> None:
    assert list(covering(**CHOICES[2])) == list(covering(**CHOICES[2]))


def test_its_example() -> None:
    assert doctest.testmod(module).attempted and not doctest.testmod(module).failed
