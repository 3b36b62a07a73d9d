"""The check passes what is right and fails what is not: one element off, one not written, one bit in a permutation."""

from __future__ import annotations

import numpy as np
import pytest

import einloom.bench.check
from einloom.bench.cases import Case, load_suite
from einloom.bench.check import check_result
from einloom.bench.data import make_operands, make_output

PRODUCT = Case.contraction("mk,kn->mn", {"m": 17, "k": 33, "n": 9})


def test_a_right_product_passes_and_a_wrong_element_fails() -> None:
    operands, start = make_operands(PRODUCT), make_output(PRODUCT)
    result = operands[0] @ operands[1]
    verdict = check_result(PRODUCT, operands, start, result)
    assert verdict.right
    assert verdict.elements == 17 * 9
    assert 0 < verdict.error < 1
    result[16, 8] += 1e-3
    assert not check_result(PRODUCT, operands, start, result).right


def test_the_tolerance_follows_the_data_type() -> None:
    case = Case.contraction("mk,kn->mn", PRODUCT.sizes, dtype="float64")
    operands = make_operands(case)
    assert operands[0].dtype == np.float64
    result = operands[0].astype(np.float32) @ operands[1].astype(np.float32)
    assert not check_result(case, operands, make_output(case), result).right


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_both_parts_of_complex_numbers_are_checked(dtype: str) -> None:
    case = PRODUCT.of_type(dtype)
    operands, start = make_operands(case), make_output(case)
    assert all(np.ptp(part) > 0.5 for operand in operands for part in (operand.real, operand.imag))
    result = operands[0] @ operands[1]
    assert check_result(case, operands, start, result).right
    result.imag[3, 4] += 1e-3
    assert not check_result(case, operands, start, result).right


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_integers_have_to_be_exact_modulo_their_bits(dtype: str) -> None:
    case = PRODUCT.of_type(dtype)
    operands, start = make_operands(case), make_output(case)
    result = np.einsum(case.equation, *operands)
    assert result.dtype == dtype and check_result(case, operands, start, result).right
    result[3, 4] ^= 1
    assert not check_result(case, operands, start, result).right


def test_truth_values_have_to_be_exact() -> None:
    case = Case.contraction("mk,kn->mn", {"m": 17, "k": 3, "n": 9}, dtype="bool")
    operands, start = make_operands(case), make_output(case)
    result = operands[0] @ operands[1]
    assert 0.2 < result.mean() < 0.8 and check_result(case, operands, start, result).right
    result[3, 4] ^= True
    assert not check_result(case, operands, start, result).right


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_checked_to_their_own_precision(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    case = PRODUCT.of_type(dtype)
    operands, start = make_operands(case), make_output(case)
    result = (operands[0].astype(np.float32) @ operands[1].astype(np.float32)).astype(operands[0].dtype)
    assert check_result(case, operands, start, result).right
    result[3, 4] += np.asarray(2, result.dtype)
    assert not check_result(case, operands, start, result).right


def test_a_permutation_has_to_be_exact() -> None:
    case = Case.contraction("ab->ba", {"a": 4, "b": 5})
    (operand,) = make_operands(case)
    assert check_result(case, [operand], make_output(case), operand.T).right
    wrong = np.nextafter(operand.T, np.float32(1))
    assert not check_result(case, [operand], make_output(case), wrong).right


def test_products_that_are_all_zero_allow_nothing_else() -> None:
    case = Case.contraction("mk,kn->mn", {"m": 3, "k": 0, "n": 4})
    operands = make_operands(case)
    assert check_result(case, operands, make_output(case), np.zeros((3, 4), np.float32)).right
    assert not check_result(case, operands, make_output(case), np.full((3, 4), 1e-30, np.float32)).right


def test_a_kernel_adds_to_its_output() -> None:
    (case,) = load_suite("gemm_kernels", "5x5x5")
    (a, b), start = make_operands(case), make_output(case)
    assert check_result(case, [a, b], start, start + b @ a).right
    assert not check_result(case, [a, b], start, b @ a).right


def test_relu_comes_last() -> None:
    case = load_suite("tensor_operations", "relu")[0]
    operands = make_operands(case)
    product = np.einsum(case.equation, *operands, optimize=True)
    assert check_result(case, operands, make_output(case), np.maximum(product, 0)).right
    assert not check_result(case, operands, make_output(case), product).right


@pytest.mark.parametrize("place", [(0, 0), (199, 299)])
def test_a_sample_sees_the_corners_and_any_gap(monkeypatch: pytest.MonkeyPatch, place: tuple[int, int]) -> None:
    monkeypatch.setattr(einloom.bench.check, "SAMPLE_POINTS", 40_000)
    case = Case.contraction("mk,kn->mn", {"m": 200, "k": 50, "n": 300})
    operands, start = make_operands(case), make_output(case)
    result = operands[0] @ operands[1]
    verdict = check_result(case, operands, start, result)
    assert verdict.right
    assert verdict.elements * 50 <= 40_000
    corner = result.copy()
    corner[place] += 1e-2
    assert not check_result(case, operands, start, corner).right
    for row, column in ((7, 7), (111, 3), (150, 211), (42, 299)):
        gap = result.copy()
        gap[row, column] = np.nan
        assert not check_result(case, operands, start, gap).right


def test_repeated_labels_and_scalars() -> None:
    trace = Case.contraction("ii->", {"i": 7})
    (operand,) = make_operands(trace)
    assert check_result(trace, [operand], make_output(trace), np.asarray(np.trace(operand))).right
    diagonal = Case.contraction("ii->i", {"i": 7})
    assert check_result(diagonal, [operand], make_output(diagonal), np.diagonal(operand)).right
