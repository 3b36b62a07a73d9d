"""Formulas of exp, log, tanh, sigmoid and erf on any vector ISA, for float32 and float64.

Arguments are reduced with powers of two, the rest is a polynomial (`coefficients`). A power of two is made by adding a
constant whose last place is 1, so that the sum's lowest bits are the exponent, and shifting them to their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from einloom.dtypes import Kind
from einloom.frozen import frozen
from einloom.kernels.formula.coefficients import COMPLEMENT, ERROR, EXPONENTIAL, LOGARITHM
from einloom.kernels.formula.formula import (
    Bits,
    Formula,
    Node,
    bit_and,
    bit_or,
    equal,
    fma,
    fnma,
    greater,
    greater_equal,
    horner,
    less,
    maximum,
    minimum,
    scale,
    select,
    shift_left,
    shift_right,
    with_nan,
)

__all__ = ["Elements"]

LOG2_E = 1.4426950408889634
LN_2 = {4: (0.6931471824645996, -1.9046542121259336e-09), 8: (0.6931471805599453, 2.3190468138462996e-17)}
"""ln 2 as a sum of two elements."""


@frozen
class Elements:
    """A type of elements, as formulas see it, and the functions on it.

    Attributes:
        kind: floats or integers; the functions here are floats'.
        size: bytes of an element.
        scales: whether there is `scale`.
        keeps_nan: whether `minimum` and `maximum` are NaN if either operand is.
        fixes_nan: whether there is `with_nan`.
    """

    kind: Kind
    size: int
    scales: bool
    keeps_nan: bool
    fixes_nan: bool

    @property
    def is_float(self) -> bool:
        """Whether elements are floats."""
        return self.kind is Kind.FLOAT

    @property
    def mantissa(self) -> int:
        """Bits of the mantissa that are stored."""
        return 23 if self.size == 4 else 52

    @property
    def bias(self) -> int:
        """What is added to an exponent where it is stored."""
        return 127 if self.size == 4 else 1023

    @property
    def sign(self) -> Bits:
        """The bit of the sign."""
        return Bits(1 << 8 * self.size - 1)

    @property
    def not_sign(self) -> Bits:
        """All bits but the sign."""
        return Bits((1 << 8 * self.size - 1) - 1)

    @property
    def _whole(self) -> float:
        """A number whose last place is 1, and the bias: adding it rounds, and leaves an exponent in the lowest bits."""
        return 1.5 * 2.0**self.mantissa + self.bias

    def magnitude(self, x: Node) -> Node:
        """|x|."""
        return bit_and(x, self.not_sign)

    def with_sign(self, magnitude: Node, x: Node) -> Node:
        """A number >= 0 with the sign of x."""
        return bit_or(magnitude, bit_and(x, self.sign))

    def extreme(self, of: Callable[[Formula, Formula], Node], a: Node, b: Node) -> Node:
        """`minimum` or `maximum` with NaN wherever an operand is.

        Where only the second operand's NaN is kept, the first one's is put in; or both orders are computed: they are
        equal, or one of them is NaN, and a NaN stays one if bits are added.
        """
        if self.keeps_nan:
            return of(a, b)
        return with_nan(of(a, b), a) if self.fixes_nan else bit_or(of(a, b), of(b, a))

    def _reduced(self, x: Node) -> tuple[Node, Node, Node]:
        """Return (n + a constant, n, p) such that e**x = 2**n (1 + p), n whole and p small."""
        shifted = fma(x, LOG2_E, self._whole)
        n = shifted - self._whole
        high, low = LN_2[self.size]
        r = fnma(n, low, fnma(n, high, x))
        return shifted, n, fma(r * r, horner(r, EXPONENTIAL[self.size]), r)

    def _power(self, shifted: Node) -> Node:
        """2**n, if that is a normal number."""
        return shift_left(shifted, self.mantissa)

    def exp(self, x: Node) -> Node:
        """e**x with denormal results, 0 and infinity where they belong."""
        low, high = (-104.0, 89.0) if self.size == 4 else (-746.0, 710.0)
        _, n, p = self._reduced(minimum(high, maximum(low, x)))
        if self.scales:
            return scale(p + 1.0, n)
        half = fma(n, 0.5, self._whole)
        first = self._power(half)
        rest = self._power((n - (half - self._whole)) + self._whole)
        return fma(first, p, first) * rest

    def exp_normal(self, x: Node) -> Node:
        """e**x where it is a normal number."""
        shifted, _, p = self._reduced(x)
        power = self._power(shifted)
        return fma(power, p, power)

    def expm1_negative(self, x: Node) -> Node:
        """e**x - 1 for x <= 0, as exact near 0 as elsewhere."""
        shifted, _, p = self._reduced(maximum(self._least, x))
        power = self._power(shifted)
        return fma(power, p, power - 1.0)

    @property
    def _least(self) -> float:
        """From here down e**x - 1 is -1."""
        return -20.0 if self.size == 4 else -40.0

    def tanh(self, x: Node) -> Node:
        """tanh |x| = -u / (u + 2) with u = e**(-2 |x|) - 1."""
        u = self.expm1_negative(bit_or(x, self.sign) * 2.0)
        return self.with_sign(self.magnitude(u / (u + 2.0)), x)

    def sigmoid(self, x: Node) -> Node:
        """1 / (1 + e**-x), by e**-|x| so that small results are exact."""
        e = self.exp(bit_or(x, self.sign))
        return select(greater_equal(x, 0.0), 1.0, e) / (e + 1.0)

    def log(self, x: Node) -> Node:
        """ln x = k ln 2 + ln(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), the latter by s = f / (2 + f)."""
        k, m = self._exponent_and_mantissa(x)
        f = m - 1.0
        s = f / (f + 2.0)
        z = s * s
        half_square = f * (f * 0.5)
        high, low = LN_2[self.size]
        rest = fma(s, fma(z, horner(z, LOGARITHM[self.size]), half_square), k * low)
        finite = fma(k, high, f - (half_square - rest))
        positive = select(less(x, math.inf), finite, x)
        return select(greater(x, 0.0), positive, select(equal(x, 0.0), -math.inf, math.nan))

    def _exponent_and_mantissa(self, x: Node) -> tuple[Node, Node]:
        """Return (k, m) with x = 2**k m and sqrt(1/2) <= m < sqrt(2), for x > 0, denormal ones as well."""
        small = less(x, 2.0 ** (1 - self.bias))
        scaled = select(small, x * 2.0 ** (self.mantissa + 1), x)
        stored = shift_right(scaled, self.mantissa)
        unit = 2.0**self.mantissa  # With this exponent the lowest bits of a mantissa are a whole number.
        whole = bit_or(stored, Bits(self._bits_of(unit)))
        k = whole - select(small, unit + self.bias + self.mantissa + 1, unit + self.bias)
        m = bit_or(bit_and(scaled, Bits((1 << self.mantissa) - 1)), 1.0)
        large = greater(m, math.sqrt(2.0))
        return select(large, k + 1.0, k), select(large, m * 0.5, m)

    def _bits_of(self, power_of_two: float) -> int:
        return int(math.log2(power_of_two)) + self.bias << self.mantissa

    def erf(self, x: Node) -> Node:
        """An odd polynomial below 1; from there on 1 - e**q(|x|), q approximating ln(1 - erf)."""
        a = self.magnitude(x)
        inner = x * horner(x * x, ERROR[self.size])
        t = minimum(4.0 if self.size == 4 else 6.0, a) - 1.0
        outer = 1.0 - self.exp_normal(horner(t, COMPLEMENT[self.size]))
        return select(less(a, 1.0), inner, self.with_sign(outer, x))
