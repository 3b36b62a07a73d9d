"""Fit the polynomials of `einloom.kernels.formula.coefficients` and print that module.

Each is the polynomial whose largest weighted error is least, found by Remez' exchange on a grid in arithmetic of 70
digits; the functions are summed from their series. Run it with `python benchmarks/fit_coefficients.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, getcontext

Function = Callable[[Decimal], Decimal]
getcontext().prec = 70
PI = Decimal("3.141592653589793238462643383279502884197169399375105820974944592307816406")
TINY = Decimal(10) ** -66
POINTS = 200


def cosine(x: Decimal) -> Decimal:
    """Return cos x by its series."""
    total, term, index = Decimal(0), Decimal(1), 0
    while abs(term) > TINY:
        total, index = total + term, index + 2
        term = -term * x * x / (index * (index - 1))
    return total


def exponential_rest(r: Decimal) -> Decimal:
    """Return (e**r - 1 - r) / r**2."""
    total, term, index = Decimal(0), Decimal(1) / 2, 3
    while abs(term) > TINY:
        total, term, index = total + term, term * r / index, index + 1
    return total


def logarithm_rest(z: Decimal) -> Decimal:
    """Return (2 atanh(s) - 2 s) / s**3 at z = s**2."""
    total, power, index = Decimal(0), Decimal(1), 3
    while power > TINY:
        total, power, index = total + 2 * power / index, power * z, index + 2
    return total


def error_function_quotient(z: Decimal) -> Decimal:
    """Return erf(x) / x at z = x**2."""
    total, term, index = Decimal(0), Decimal(1), 0
    while index <= 3 * z or abs(term) > TINY * TINY:
        total, index = total + term / (2 * index + 1), index + 1
        term = -term * z / index
    return 2 * total / PI.sqrt()


def complement(x: Decimal) -> Decimal:
    """Return 1 - erf(x), from more digits than cancel."""
    getcontext().prec = 110
    result = 1 - x * error_function_quotient(x * x)
    getcontext().prec = 70
    return +result


@dataclass(frozen=True)
class Fit:
    """A polynomial to find: its name, the size of the elements it is for, function, interval, degree and weight."""

    name: str
    size: int
    function: Function
    low: Decimal
    high: Decimal
    degree: int
    weight: Function


def fits() -> list[Fit]:
    """Return all polynomials; intervals are a little wider than what rounded arguments reach."""
    half = Decimal(2).ln() / 2 * Decimal("1.001")
    root = Decimal(2).sqrt()
    square = ((root - 1) / (root + 1)) ** 2 * Decimal("1.001")
    found = []
    for size, exponential, logarithm, inner, outer, end in ((4, 4, 3, 6, 7, 4), (8, 10, 7, 11, 18, 6)):
        floor = Decimal(10) ** (-9 if size == 4 else -18)
        found += [
            Fit("EXPONENTIAL", size, exponential_rest, -half, half, exponential, lambda r: abs(r) + Decimal("0.02")),
            Fit("LOGARITHM", size, logarithm_rest, Decimal(0), square, logarithm, lambda z: z + Decimal("0.0001")),
            Fit("ERROR", size, error_function_quotient, Decimal(0), Decimal(1), inner, lambda z: Decimal(1)),
            Fit(
                "COMPLEMENT",
                size,
                lambda t: complement(1 + t).ln(),
                Decimal(0),
                Decimal(end - 1),
                outer,
                lambda t, floor=floor: complement(1 + t) + floor,
            ),
        ]
    return found


def fitted(fit: Fit) -> list[Decimal]:
    """Return the coefficients of a fit, that of x**0 first."""
    middle, reach = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    xs = [middle - reach * cosine(PI * i / POINTS) for i in range(POINTS + 1)]
    values, weights = [fit.function(x) for x in xs], [fit.weight(x) for x in xs]
    count = fit.degree + 2
    chosen = [round(i * POINTS / (count - 1)) for i in range(count)]
    for _ in range(30):
        rows = [
            [*(xs[i] ** power if power else Decimal(1) for power in range(fit.degree + 1)), (-1) ** j / weights[i]]
            for j, i in enumerate(chosen)
        ]
        *polynomial, _ = _solved(rows, [values[i] for i in chosen])
        errors = [w * (v - _evaluated(polynomial, x)) for w, v, x in zip(weights, values, xs)]
        extremes = _alternating(errors, count)
        if extremes == chosen or len(extremes) < count:
            break
        chosen = extremes
    return polynomial


def _alternating(errors: list[Decimal], count: int) -> list[int]:
    """Return where errors of alternating sign are extreme; `count` of them, the least ones left out."""
    found: list[int] = []
    for i, error in enumerate(errors):
        if not found or (error >= 0) != (errors[found[-1]] >= 0):
            found.append(i)
        elif abs(error) > abs(errors[found[-1]]):
            found[-1] = i
    while len(found) > count:
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found


def _evaluated(polynomial: list[Decimal], x: Decimal) -> Decimal:
    value = Decimal(0)
    for coefficient in reversed(polynomial):
        value = value * x + coefficient
    return value


def _solved(rows: list[list[Decimal]], right: list[Decimal]) -> list[Decimal]:
    """Return the solution of a system of linear equations, by elimination with pivots."""
    matrix = [[*row, value] for row, value in zip(rows, right)]
    size = len(matrix)
    for i in range(size):
        pivot = max(range(i, size), key=lambda row: abs(matrix[row][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for row in (row for row in range(size) if row != i):
            factor = matrix[row][i] / matrix[i][i]
            matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[i])]
    return [matrix[i][size] / matrix[i][i] for i in range(size)]


HEADER = '''"""Coefficients of polynomials, by the size of an element in bytes, that of x**0 first.

`benchmarks/fit_coefficients.py` prints this file; it says which function each approximates, and how.
"""

from __future__ import annotations

__all__ = ["COMPLEMENT", "ERROR", "EXPONENTIAL", "LOGARITHM"]
'''


def module() -> str:
    """Return the text of the module."""
    tables: dict[str, list[str]] = {}
    for fit in fits():
        numbers = "".join(f"        {float(coefficient)!r},\n" for coefficient in fitted(fit))
        tables.setdefault(fit.name, []).append(f"    {fit.size}: (\n{numbers}    ),\n")
    return HEADER + "".join(f"\n{name} = {{\n{''.join(parts)}}}\n" for name, parts in tables.items())


if __name__ == "__main__":
    print(module(), end="")
