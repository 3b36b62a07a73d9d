"""Contraction paths: whatever opt_einsum and NumPy take gives the right result, and everything else is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import opt_einsum
import pytest

import einloom as el
from tests.ids import words_of

CHAIN = "ab,bc,cd,de->ae"
RNG = np.random.default_rng(3)
OPERANDS = tuple(RNG.random(shape) for shape in ((3, 4), (4, 5), (5, 6), (6, 7)))
EXPECTED = np.linalg.multi_dot(OPERANDS)


class _Tree:
    """A tree of another library: it knows its path."""

    def get_path(self) -> list[tuple[int, int]]:
        return [(2, 3), (0, 1), (0, 1)]


@dataclass(frozen=True)
class _Slice:
    project: int | None = None


@dataclass(frozen=True)
class _SlicedTree(_Tree):
    """A tree of another library, with names of its own."""

    sliced_inds: dict[str, _Slice]
    inputs: tuple[tuple[str, ...], ...] = (("x", "b0"), ("b0", "b1"), ("b1", "b2"), ("b2", "y"))


def _from_the_right(inputs: list[frozenset[str]], output: frozenset[str], sizes: dict[str, int], limit: Any) -> Any:
    assert set().union(*inputs) == set(sizes) and output <= set(sizes) and limit is None
    return [(count - 2, count - 1) for count in range(len(inputs), 1, -1)]


@pytest.mark.parametrize(
    "optimize",
    [
        "auto",
        "greedy",
        "optimal",
        "dp",
        True,
        False,
        None,
        [(0, 1), (0, 1), (0, 1)],
        ((np.int64(3), 0), (1, 0), (0, 1)),
        [(0, 1, 2, 3)],
        [(1, 3, 0), (0, 1)],
        [(0,), (1,), (0, 1, 2), (1, 0)],
        [(0, 1), (0, 1), (0, 1), (0,)],
        ["einsum_path", (0, 1), (0, 2), (0, 1)],
        ("greedy", 1000),
        ("optimal", 1e6),
        _from_the_right,
        _Tree(),
        opt_einsum.RandomGreedy(max_repeats=2),
    ],
    ids=words_of,
)
def test_every_form_of_path(optimize: Any) -> None:
    assert np.allclose(el.einsum(CHAIN, *OPERANDS, optimize=optimize), EXPECTED)
    assert np.allclose(el.compile(CHAIN, *OPERANDS, optimize=optimize)(*OPERANDS), EXPECTED)


@pytest.mark.parametrize(("optimize", "meant"), [(True, "auto"), (None, "auto"), (False, [(0, 1, 2, 3)])])
def test_opt_einsum_is_asked_for_a_name_or_a_path(optimize: Any, meant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 3.3 takes nothing else."""
    asked: list[Any] = []
    contract_path: Any = opt_einsum.contract_path

    def observed(*arguments: Any, **options: Any) -> Any:
        asked.append(options["optimize"])
        return contract_path(*arguments, **options)

    monkeypatch.setattr(opt_einsum, "contract_path", observed)
    el.contract_path(CHAIN, *OPERANDS, optimize=optimize)
    assert asked == [meant]


@pytest.mark.parametrize("optimize", ["dp", "optimal", "greedy", "auto-hq"])
def test_a_path_through_extents_of_0(optimize: str) -> None:
    operands = np.array(2.0), np.zeros((2, 5, 3, 0)), np.zeros((3, 2, 4))
    assert np.array_equal(el.einsum(",daeb,edc->e", *operands, optimize=optimize), np.zeros(3))


@pytest.mark.parametrize("path", [[(0, 1)], [(1, 0)], [(0,), (0, 1)], [(1,), (1,), (0, 1), (0,)]])
@pytest.mark.parametrize("equation", ["ab,bc->ac", "ab,bc->", "ab,bc->cab", "ab,bc->b"])
def test_paths_of_two_operands(path: Any, equation: str) -> None:
    operands = OPERANDS[:2]
    assert np.allclose(el.einsum(equation, *operands, optimize=path), np.einsum(equation, *operands))


@pytest.mark.parametrize("path", [[], [(0,)], [(0,), (0,)], "auto", False])
def test_paths_of_one_operand(path: Any) -> None:
    assert np.allclose(el.einsum("ab->b", OPERANDS[0], optimize=path), OPERANDS[0].sum(0))


@pytest.mark.parametrize(
    "optimize",
    [
        [],
        [(0, 1)],
        [(0, 1), (0, 1)],
        [(0, 1), (0, 1), (0, 1), (0, 1)],
        [(0, 0), (0, 1), (0, 1)],
        [(-1, 0), (0, 1), (0, 1)],
        [(0, 4), (0, 1), (0, 1)],
        [(0, 1), (0, 3), (0, 1)],
        [(), (0, 1), (0, 1), (0, 1)],
        [0, 1, 2],
        [(0.0, 1.0), (0, 1), (0, 1)],
        [("a", "b"), (0, 1), (0, 1)],
        ["einsum_path"],
        ["einsum_path", (0, 1)],
        ["greedy", "much"],
        ("greedy", -1),
        ("nonsense", 10),
        "nonsense",
        b"auto",
        5,
        1.5,
        {},
        np.zeros((2, 2)),
        lambda *arguments: [(0, 1)],
        lambda *arguments: None,
    ],
    ids=words_of,
)
def test_what_is_no_path_is_refused(optimize: Any) -> None:
    for call in (el.einsum, el.compile, el.contract_path):
        with pytest.raises(el.EquationError):
            call(CHAIN, *OPERANDS, optimize=optimize)


@pytest.mark.parametrize("path", [[], [(0,)], [(0, 0)], [(0, 2)], [(-2, -1)], [(0, 1), (0, 1)], "nonsense", 7, 0, 1])
def test_no_paths_of_two_operands(path: Any) -> None:
    for call in (el.einsum, el.compile, el.contract_path):
        with pytest.raises(el.EquationError):
            call("ab,bc->ac", *OPERANDS[:2], optimize=path)


def test_a_path_that_leaves_operands_writes_nothing() -> None:
    """It wrote into the last operand, a read-only one too, and read behind the ends of the others."""
    x, y, z = (np.full(5, value) for value in (1.0, 2.0, 3.0))
    z.flags.writeable = False
    with pytest.raises(el.EquationError, match="leaves 2 tensors"):
        el.einsum("a,a,a->", x, y, z, optimize=[(0, 1)])
    with pytest.raises(el.EquationError, match="leaves 2 tensors"):
        el.einsum("a,b,c->ab", x, y, z, optimize=[(0, 1)])
    assert (z == 3).all()


def test_a_sliced_tree_says_what_is_cut() -> None:
    tree = _SlicedTree({"b1": _Slice(), "y": _Slice()})
    f = el.compile(CHAIN, *OPERANDS, optimize=tree)
    assert f.slicing is not None and [(cut.label, cut.step) for cut in f.slicing.cuts] == [("e", 1), ("c", 1)]
    assert np.allclose(f(*OPERANDS), EXPECTED)
    assert el.compile(CHAIN, *OPERANDS, optimize=_SlicedTree({})).slicing is None
    limited = el.compile(CHAIN, *OPERANDS, optimize=tree, memory_limit=16)  # A limit says more.
    assert limited.slicing is not None and max(cut.step for cut in limited.slicing.cuts) > 1


@pytest.mark.parametrize(
    "tree",
    [_SlicedTree({"b1": _Slice(project=0)}), _SlicedTree({"x": _Slice()}, (("x",), ("x",), ("x",), ("x",)))],
    ids=["of one index", "of other tensors"],
)
def test_trees_sliced_otherwise_are_refused(tree: _SlicedTree) -> None:
    with pytest.raises(el.PathError):
        el.einsum(CHAIN, *OPERANDS, optimize=tree)


def test_a_described_path() -> None:
    path, info = el.contract_path("ab,...bc, cd->...ad", *OPERANDS[:3], optimize=[(1, 2), (0, 1)])
    assert path == [(1, 2), (0, 1)] and info.opt_cost < info.naive_cost
