"""Random einsum equations, most of them damaged: as NumPy computes them, or an `EinloomError`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import einloom as el

Array = np.ndarray[Any, Any]

LABELS = "abcijzAZ"
PIECES = (*LABELS, ",", ".", "...", "-", ">", "->", " ", "1", "_", "²", "", "ab", ",a")
SIZES = (0, 1, 1, 2, 2, 3, 4, 5)


def check(seed: int) -> str:
    """Return what is wrong with this case, or nothing."""
    rng = random.Random(seed)
    text, operands = _equation(rng)
    damaged = rng.random() < 0.7
    if damaged:
        text, operands = _damaged(rng, text, operands)
    expected = _numpy(text, operands)
    try:
        result = el.einsum(text, *operands)
    except el.EinloomError as error:
        return "" if expected is None else f"{_shown(text, operands)} is refused: {error}"
    if expected is None:
        return f"{_shown(text, operands)} is computed, and NumPy refuses it"
    if np.shape(result) != np.shape(expected) or result.dtype != expected.dtype or not np.array_equal(result, expected):
        return f"{_shown(text, operands)} is {result}, NumPy says {expected}"
    return ""


def _shown(text: str, operands: list[Array]) -> str:
    return f"{text!r} on {' '.join(str(operand.shape) for operand in operands)}"


def _numpy(text: str, operands: list[Array]) -> Any:
    """NumPy's result, or None. Small integers: every sum is exact, in any order.

    Spaces are taken out before: NumPy's parser of equations with an order does so everywhere, that of others in places.
    """
    try:
        return np.einsum(text.replace(" ", ""), *operands)
    except (ValueError, TypeError, IndexError, KeyError):
        return None


def _equation(rng: random.Random) -> tuple[str, list[Array]]:
    sizes = {label: rng.choice(SIZES) for label in LABELS}
    hidden = [rng.choice(SIZES) for _ in range(rng.randint(1, 2))]
    ellipsis = rng.random() < 0.3
    terms, operands = [], []
    for _ in range(rng.choice((1, 2, 2, 2, 3, 4))):
        labels = rng.choices(LABELS, k=rng.choice((0, 1, 2, 2, 3, 3)))
        shape = [sizes[label] for label in labels]
        if rng.random() < 0.1 and labels:
            place = rng.randrange(len(labels))
            if labels.count(labels[place]) == 1:
                shape[place] = 1
        if ellipsis and rng.random() < 0.7:
            place = rng.randint(0, len(labels))
            own = hidden[rng.randint(0, len(hidden)) :]
            labels.insert(place, "...")
            shape[place:place] = [extent if rng.random() < 0.8 else 1 for extent in own]
        terms.append("".join(labels))
        operands.append(_array(rng, shape))
    text = ",".join(terms)
    used = sorted(set(text) & set(LABELS))
    if rng.random() < 0.75:
        output = rng.sample(used, rng.randint(0, min(len(used), 4)))
        if "..." in text:
            output.insert(rng.randint(0, len(output)), "...")
        text += "->" + "".join(output)
    return text, operands


def _array(rng: random.Random, shape: list[int]) -> Array:
    dtype = rng.choice(("float64", "float64", "float32"))
    order = rng.sample(range(len(shape)), len(shape))
    step = rng.choice((1, 1, 2, -1))
    values = np.random.default_rng(rng.randrange(2**32)).integers(-3, 4, [shape[axis] for axis in order] + [2])
    array = values.astype(dtype)[..., 0 if rng.random() < 0.5 else 1]
    array = array.transpose(np.argsort(order)) if shape else array
    return array[::step] if shape and abs(step) == 1 else np.array(array)


def _damaged(rng: random.Random, text: str, operands: list[Array]) -> tuple[str, list[Array]]:
    for _ in range(rng.choice((1, 1, 2, 3))):
        place, end = rng.randint(0, len(text)), rng.randint(0, 3)
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:place] + rng.choice(PIECES) + text[place:]
        elif kind == 1:
            text = text[:place] + text[place + end :]
        elif kind == 2:
            text = text[:place] + rng.choice(PIECES) + text[place + end :]
        elif kind == 3:
            text = text[:place] + text[place:][::-1]
        elif kind == 4:
            operands = operands[:-1] if rng.random() < 0.5 else [*operands, _array(rng, [2])]
        else:
            operands = list(operands)
            rng.shuffle(operands)
    return text, operands
