"""Types that there is no code for: NumPy computes them, says so once, and not at all where that is forbidden."""

from __future__ import annotations

import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import DTYPES

MISSING = [name for name in ("object", "longdouble", "clongdouble") if np.dtype(name).name not in DTYPES]

pytestmark = pytest.mark.filterwarnings("ignore::einloom.FallbackWarning")


def operands(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.arange(1, 13).reshape(3, 4)
    if dtype == "object":
        thirds = np.array([Fraction(int(n), 3) for n in numbers.ravel()], object).reshape(3, 4)
        return thirds, thirds.T.copy()
    return numbers.astype(dtype) / 3, numbers.T.astype(dtype) / 7


@pytest.mark.parametrize("dtype", MISSING)
@pytest.mark.parametrize("equation", ["ij,jk->ki", "ij,jk->", "ij,ji->i", "ij,jk->ijk"])
def test_results_are_numpys(dtype: str, equation: str) -> None:
    a, b = operands(dtype)
    a, b = a[:, ::-1], b[::-1]
    result = el.einsum(equation, a, b)
    expected = np.einsum(equation, a, b)
    assert np.array_equal(result, expected) or np.allclose(np.asarray(result, complex), np.asarray(expected, complex))
    assert np.asarray(result).dtype == np.asarray(expected).dtype


def test_chains_and_sums_and_compiled_expressions() -> None:
    a, b = operands("object")
    assert np.array_equal(el.einsum("ij,jk,kl->il", a, b, a), a @ b @ a)
    assert el.einsum("ij->", a) == a.sum()
    f = el.compile("ij,jk->ik", a, b)
    out = np.empty((3, 3), object)
    assert f(a, b, out=out) is out and np.array_equal(out, a @ b)
    assert f.isa == "none" and f.code == b"" and f.flops == 2 * 36


def test_objects_are_copied() -> None:
    a, _ = operands("object")
    assert np.array_equal(el.einsum("ij->ji", a), a.T)


def test_many_labels() -> None:
    many = np.ones((1,) * 30 + (2,) * 3, np.longdouble)
    assert el.einsum(many, range(33), many, [*range(100, 130), 30, 31, 32], [30]).tolist() == [4, 4]


def test_time_spans_are_summed() -> None:
    spans = np.arange(6).astype("timedelta64[s]").reshape(2, 3)
    assert np.array_equal(el.einsum("ij->j", spans), spans.sum(axis=0))
    assert el.einsum("ij->", spans) == spans.sum()
    for equation, given in (("ij->j", [spans.astype("datetime64[s]")]), ("ij,ij->", [spans, spans])):
        with pytest.raises(el.DTypeError):
            el.einsum(equation, *given)


@pytest.mark.parametrize("equation", ["ij->j", "ij,ij->ij", "ij,kj->ik"])
def test_types_that_libraries_register_are_refused_whatever_kind_they_claim(equation: str) -> None:
    eighths = np.ones((2, 3), pytest.importorskip("ml_dtypes").float8_e5m2)
    assert eighths.dtype.kind == "f"
    with pytest.raises(el.DTypeError, match="float8_e5m2"):
        el.einsum(equation, *[eighths] * (equation.count(",") + 1))


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_objects_are_conjugated(target: str) -> None:
    a = np.array([[1j, 3], [2 - 1j, Fraction(5)]], object)
    for equation, given in (("ij,jk->ik", [a, a]), ("ij->ji", [a]), ("ij,jk,kl->il", [a, a, a])):
        found = el.compile(equation, *given, conj=(0,), target=target)(*given)
        assert np.array_equal(found, el.einsum(equation, *given, conj=(0,)))
        assert np.array_equal(found, np.einsum(equation, a.conj(), *given[1:], optimize=False))


@pytest.mark.parametrize("equation", ["i->i", "i->", "i,i->", "i,j->ij"])
def test_texts_outside_their_array_are_refused(equation: str) -> None:
    kind = getattr(np.dtypes, "StringDType", None)
    if kind is None:
        pytest.skip("NumPy 1 has no such type")
    texts = np.array(["a", "b" * 100]).astype(kind())
    others = [np.ones(2)] * equation.count(",")
    calls = (
        lambda: el.einsum(equation, texts, *others),
        lambda: el.compile(equation, texts, *others),
        lambda: el.compile(equation, *[(2,)] * (1 + len(others)), dtype=texts.dtype),
        lambda: el.einsum("i->i", np.ones(2), out=texts, casting="unsafe"),
    )
    for call in calls:
        with pytest.raises(el.DTypeError, match=r"StringDType.*\n.*astype"):
            call()


def test_errors_of_objects_arrive_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError):

        class Divides:
            def __mul__(self, other: object) -> object:
                raise ZeroDivisionError

        el.einsum("i,i->", np.array([Divides()]), np.array([Divides()]))


def test_it_is_said_once_and_where() -> None:
    code = (
        "import numpy as np, warnings, einloom as el\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for n in (2, 3, 3):\n"
        "        el.einsum('i,i->', np.ones(n, np.longdouble), np.ones(n, np.longdouble))\n"
        "print([(each.category.__name__, each.lineno, each.filename) for each in caught])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[('FallbackWarning', 5, '<string>')]"


def test_it_can_be_forbidden() -> None:
    a, b = operands("object")
    f = el.compile("ij,jk->ik", a, b)
    with el.settings(fallback="error"):
        for call in (lambda: el.einsum("ij,jk->ik", a, b), lambda: f(a, b), lambda: el.compile("ij->i", a)):
            with pytest.raises(el.DTypeError, match=r"fallback='error'[^^]*ij"):
                call()
        with el.settings(fallback="warn"):
            f(a, b)
        assert el.einsum("ij->ji", operands("longdouble")[0]).shape == (4, 3)  # copies need no arithmetic
    assert f(a, b).shape == (3, 3)


def test_types_with_code_say_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert el.einsum("i,i->", np.ones(3, "float32"), np.ones(3)) == 3


def test_errors_name_every_type_that_there_is_code_for() -> None:
    with pytest.raises(el.DTypeError, match=r"float32.*bool, complex64, complex128"):
        el.einsum("a,a->", np.zeros(3, "U1"), np.zeros(3))
