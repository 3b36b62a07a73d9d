"""`contraction_path`: which tensors are contracted together, and when. It knows no steps and no code.

A path is a tuple of entries. Each names positions in the list of tensors that are left, which go out of the list; what
they are contracted to goes to its end. The last entry leaves one tensor, the result.

>>> from einloom.plan.problem import make_problem
>>> problem = make_problem("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)], [None] * 3, "float32")
>>> contraction_path(problem, [(1, 2), (0, 1)])
((1, 2), (0, 1))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, Protocol, runtime_checkable

import numpy as np

from einloom.errors import EquationError, PathError
from einloom.plan.equation import caret_lines, label_symbols
from einloom.plan.problem import Problem

__all__ = [
    "Path",
    "contraction_path",
    "described_path",
    "element_limit",
    "is_strategy",
    "is_unlimited",
    "sliced_labels",
    "tree_of",
]

Path = tuple[tuple[int, ...], ...]

UNLIMITED = -1
"""What opt_einsum takes as `memory_limit` for none."""


@runtime_checkable
class Tree(Protocol):
    """A contraction tree of another library, cotengra's for example."""

    def get_path(self) -> Sequence[Sequence[int]]:
        """Return the tree as a path."""
        ...


class Slice(Protocol):
    """How a tree slices a label."""

    @property
    def project(self) -> int | None:
        """The only index that is taken; None: each is, in a slice of its own."""
        ...


@runtime_checkable
class SlicedTree(Tree, Protocol):
    """A tree that slices labels, or may: cotengra's."""

    @property
    def inputs(self) -> Sequence[Sequence[Any]]:
        """The labels of the tensors, by names of its own."""
        ...

    @property
    def sliced_inds(self) -> Mapping[Any, Slice]:
        """The labels that are sliced."""
        ...


@runtime_checkable
class Searcher(Protocol):
    """An optimiser of another library that finds contraction trees: cotengra's."""

    def search(self, inputs: Sequence[Any], output: Sequence[str], sizes: dict[str, int], /) -> Tree:
        """Return a tree for tensors with these labels."""
        ...


def contraction_path(problem: Problem, optimize: Any = "auto", memory_limit: Any = None) -> Path:
    """Return the path that `optimize` stands for: whatever `opt_einsum` or NumPy take.

    Args:
        problem: what is contracted.
        optimize: the name of a strategy, a bool, None, a path, NumPy's `["einsum_path", …]` and `(name, limit)`, an
            optimiser object or function of `opt_einsum`'s form, an optimiser that has `search()`, or a tree that has
            `get_path()`.
        memory_limit: most elements of an intermediate tensor, or `"max_input"`, that strategies try to keep; any if
            None or -1.

    Raises:
        EquationError: there is no such strategy.
        PathError: what it gives is not a path of these operands.
    """
    count = len(problem.equation.inputs)
    if count <= 2 and isinstance(optimize, str) and optimize == "auto":
        return (tuple(range(count)),)  # Without the import of opt_einsum.
    given = _given_path(problem, optimize)
    return _checked(problem, described_path(problem, optimize, memory_limit)[0] if given is None else given)


def tree_of(problem: Problem, optimize: Any) -> Tree | None:
    """Return the tree that `optimize` is or finds; None: it is nothing of that kind."""
    if is_strategy(optimize) or isinstance(optimize, (tuple, list)):  # To ask for a protocol takes long.
        return None
    if isinstance(optimize, Tree):
        return optimize
    return optimize.search(*_in_symbols(problem)) if isinstance(optimize, Searcher) else None


def sliced_labels(problem: Problem, tree: Tree) -> tuple[str, ...]:
    """Return the labels of which a tree takes every index in a slice of its own.

    Raises:
        PathError: it slices other tensors than the problem's, or leaves indices out.
    """
    if not isinstance(tree, SlicedTree) or not tree.sliced_inds:
        return ()
    terms = problem.equation.inputs
    if [len(term) for term in tree.inputs] != [len(term) for term in terms]:
        raise _no_path(problem, tree, f"it slices {len(tree.inputs)} tensors of other axes")
    if any(cut.project is not None for cut in tree.sliced_inds.values()):
        raise _no_path(problem, tree, "it takes one index alone of a label")
    own = {name: label for names, term in zip(tree.inputs, terms) for name, label in zip(names, term)}
    return tuple(own[name] for name in tree.sliced_inds)


def element_limit(problem: Problem, optimize: Any, memory_limit: Any) -> int | None:
    """Return how many elements an intermediate tensor may have at most, as either argument says it; None: any.

    Raises:
        EquationError: it is no number of elements.
    """
    if memory_limit == "max_input":
        inputs = problem.shapes[: len(problem.equation.inputs)]
        return max(max(math.prod(shape) for shape in inputs), 1)
    if not is_unlimited(memory_limit):
        return _limit(memory_limit, "memory_limit={!r}")
    return _limit(optimize[1]) if is_strategy(optimize) and isinstance(optimize, (tuple, list)) else None


def is_strategy(optimize: Any) -> bool:
    """Whether `optimize` names a strategy of opt_einsum, alone or with a limit, and neither is nor finds a path."""
    if isinstance(optimize, (tuple, list)):
        return len(optimize) == 2 and isinstance(optimize[0], str) and optimize[0] != "einsum_path"
    return optimize is None or isinstance(optimize, str | bool)


def described_path(
    problem: Problem, optimize: Any = "auto", memory_limit: Any = None
) -> tuple[list[tuple[int, ...]], Any]:
    """Return the path and what `opt_einsum` says about it.

    Raises:
        EquationError: as `contraction_path`.
    """
    import opt_einsum  # Late: most calls need no path.

    # Extents of 0 count as 1: strategies that bound costs by products of extents find no path otherwise.
    shapes = [tuple(max(problem.sizes[label], 1) for label in labels) for labels in problem.equation.inputs]
    strategy, limit = _strategy(problem, optimize)
    if not is_unlimited(memory_limit):
        limit = memory_limit if memory_limit == "max_input" else _limit(memory_limit, "memory_limit={!r}")
    try:
        path, info = opt_einsum.contract_path(
            _plain_equation(problem), *shapes, shapes=True, optimize=strategy, memory_limit=limit
        )
    except RecursionError:
        raise EquationError(
            f"optimize={optimize!r:.80}: this strategy calls itself too deeply for {len(shapes):,} operands\n"
            f"{caret_lines(problem.equation.text, ())}\n  Pass optimize='greedy', or a path."
        ) from None
    except RuntimeError as error:
        raise EquationError(
            f"optimize={optimize!r}: {error}\n{caret_lines(problem.equation.text, ())}\n  Allow larger tensors."
        ) from None
    return list(path), info


def _strategy(problem: Problem, optimize: Any) -> tuple[Any, int | None]:
    """Return what `opt_einsum` takes: a checked path, or the name of a strategy; and a limit.

    `contract_path` of opt_einsum 3.3 takes neither bools nor None: they become what later ones make of them.
    """
    given = _given_path(problem, optimize)
    if given is not None:
        return list(_checked(problem, given)), None
    strategy, limit = (optimize[0], _limit(optimize[1])) if isinstance(optimize, (tuple, list)) else (optimize, None)
    if strategy is None or strategy is True:
        return "auto", limit
    if strategy is False:
        return [tuple(range(len(problem.equation.inputs)))], limit
    if not isinstance(strategy, str):
        raise EquationError(f"optimize is a {type(strategy).__name__}\n  {_TAKEN}")
    _check_name(strategy)
    return strategy, limit


_TAKEN = (
    "Pass the name of a strategy, a path such as [(0, 1), (0, 1)], or an optimiser of opt_einsum's or cotengra's form."
)


def _given_path(problem: Problem, optimize: Any) -> Any:
    """Return the path that `optimize` spells out or computes; None: it is a strategy of opt_einsum."""
    tree = tree_of(problem, optimize)
    if tree is not None:
        return tree.get_path()
    if callable(optimize):
        inputs, output, sizes = _in_symbols(problem)
        return optimize([frozenset(term) for term in inputs], frozenset(output), sizes, None)
    if not isinstance(optimize, (tuple, list)):
        return None
    if optimize and isinstance(optimize[0], str):
        if optimize[0] == "einsum_path":
            return optimize[1:]
        if len(optimize) == 2:
            return None
    return optimize


def _check_name(name: str) -> None:
    from opt_einsum.paths import get_path_fn

    try:
        get_path_fn(name)
    except KeyError as error:
        raise EquationError(f"optimize={name!r} is no strategy of opt_einsum\n  {error.args[0]}") from None


def is_unlimited(memory_limit: Any) -> bool:
    """Whether intermediate tensors may have any number of elements."""
    return memory_limit is None or (isinstance(memory_limit, int) and memory_limit == UNLIMITED)


def _limit(value: Any, where: str = "optimize=(…, {!r})") -> int:
    """NumPy and opt_einsum take limits as floats, too: `("greedy", 1e6)`, `memory_limit=2e9 / 12`."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and 1 <= value < 2**62:
        return int(value)
    said = f"{where.format(value)}: the limit is a number of elements, at least 1"
    raise EquationError(f"{said}\n  Give one, 'max_input', or None.")


def _checked(problem: Problem, path: Any) -> Path:
    """Return the path as tuples of integers, once it is sure that it contracts every operand exactly once."""
    left = len(problem.equation.inputs)
    entries: list[tuple[int, ...]] = []
    if not isinstance(path, (tuple, list)):
        raise _no_path(problem, path, f"it is a {type(path).__name__}")
    for number, entry in enumerate(path):
        places = _positions(problem, path, number, entry)
        if not all(0 <= place < left for place in places):
            raise _no_path(problem, path, f"entry {number} is {places}, but {left} tensors are left there")
        if not places or len(set(places)) != len(places):
            raise _no_path(problem, path, f"entry {number} is {places}; it names different positions, one or more")
        left += 1 - len(places)
        entries.append(places)
    if left != 1:
        raise _no_path(problem, path, f"it leaves {left} tensors")
    return tuple(entries) or ((0,),)


def _positions(problem: Problem, path: Any, number: int, entry: Any) -> tuple[int, ...]:
    try:
        return tuple(index(place) for place in entry)
    except TypeError:
        raise _no_path(problem, path, f"entry {number} is {entry!r}, no tuple of positions") from None


def _no_path(problem: Problem, path: Any, reason: str) -> PathError:
    text = repr(path)
    shown = text if len(text) <= 200 else f"{text[:200]}…"
    return PathError(
        f"optimize={shown} is no path for {len(problem.equation.inputs)} operands: {reason}\n"
        f"{caret_lines(problem.equation.text, ())}\n"
        "  Entries name tensors that are left, by position from 0; what they give goes to the end. One tensor stays."
    )


def _plain_equation(problem: Problem) -> str:
    """The equation with an output, no spaces and no ellipsis, as `opt_einsum` wants it."""
    symbols = _symbols(problem)
    terms = ("".join(symbols[label] for label in term) for term in problem.equation.inputs)
    return ",".join(terms) + "->" + "".join(symbols[label] for label in problem.equation.output)


def _in_symbols(problem: Problem) -> tuple[list[tuple[str, ...]], tuple[str, ...], dict[str, int]]:
    """The labels of the operands, those of the result, and the extents, as optimisers want them."""
    symbols = _symbols(problem)
    inputs = [tuple(symbols[label] for label in term) for term in problem.equation.inputs]
    output = tuple(symbols[label] for label in problem.equation.output)
    return inputs, output, {symbols[label]: size for label, size in problem.sizes.items()}


def _symbols(problem: Problem) -> dict[str, str]:
    """Single letters for the labels: their own, unless some belong to an ellipsis."""
    labels = [*problem.sizes]
    return dict(zip(labels, label_symbols(len(labels)) if any(len(label) > 1 for label in labels) else labels))
