"""What the interface promises beyond numbers: results, out=, forms of call, other libraries, pickles, threads."""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pytest

import einloom as el

RNG = np.random.default_rng(5)
A = RNG.random((8, 9, 10), np.float32)
B = RNG.random((10, 11), np.float32)
AB = np.einsum("abc,cd->abd", A, B)


def test_out_is_written_and_returned() -> None:
    out = np.full((8, 9, 11), np.nan, np.float32)
    assert el.einsum("abc,cd->abd", A, B, out=out) is out
    assert np.allclose(out, AB, rtol=1e-5)


def test_out_of_any_strides() -> None:
    memory = np.full((11, 20, 8), np.nan, np.float32)
    out = memory[::-1, 1:19:2].transpose(2, 1, 0)
    assert el.einsum("abc,cd->abd", A, B, out=out) is out
    assert np.allclose(out, AB, rtol=1e-5)
    assert np.isnan(memory[:, ::2]).all() and np.isnan(memory[:, 19:]).all()


def test_the_result_is_fresh_and_contiguous() -> None:
    result = el.einsum("ab->ab", B)
    assert result.flags.c_contiguous and not np.shares_memory(result, B) and np.array_equal(result, B)


def test_a_result_without_axes_is_a_scalar() -> None:
    result = el.einsum("ab,ab->", B, B)
    assert isinstance(result, np.float32) and np.isclose(result, (B * B).sum(), rtol=1e-5)


def test_implicit_output_ellipsis_and_broadcasting() -> None:
    assert np.allclose(el.einsum("abc,cd", A, B), AB, rtol=1e-5)
    assert np.allclose(el.einsum("...c,cd->...d", A, B), AB, rtol=1e-5)
    row = RNG.random((1, 9), np.float32)
    assert np.allclose(el.einsum("...i,...i->...", B[:, :9], row), np.einsum("ji,ji->j", B[:, :9], row + 0 * B[:, :9]))
    assert np.allclose(el.einsum("ab,cb->ac", np.ones((3, 1)), np.ones((4, 5))), 5)


def test_unicode_labels_and_spaces() -> None:
    assert np.allclose(el.einsum("αβγ, γδ -> αβδ", A, B), AB, rtol=1e-5)


def test_interleaved_form() -> None:
    assert np.allclose(el.einsum(A, [0, 1, 2], B, [2, 3], [0, 1, 3]), AB, rtol=1e-5)
    assert np.allclose(el.einsum(A, ["x", "y", "z"], B, ["z", "w"], ["x", "y", "w"]), AB, rtol=1e-5)
    assert np.allclose(el.einsum(A, [0, 1, 2], B, [2, 3]), AB, rtol=1e-5)


def test_types_promote_as_in_numpy() -> None:
    result = el.einsum("abc,cd->abd", A, B.astype(np.float64))
    assert result.dtype == np.float64
    assert el.einsum("abc,cd->abd", A, B, dtype="float64").dtype == np.float64


def test_foreign_byte_order_is_converted() -> None:
    assert np.allclose(el.einsum("abc,cd->abd", A.astype(">f4"), B), AB, rtol=1e-5)


def test_strides_that_are_no_whole_elements() -> None:
    records = np.zeros(10, dtype=[("tag", "i1"), ("value", "f4")])
    records["value"] = B[:, 0]
    assert np.isclose(el.einsum("a,a->", records["value"], B[:, 1]), B[:, 0] @ B[:, 1], rtol=1e-5)


def test_an_expression_takes_other_strides() -> None:
    f = el.compile("abc,cd->abd", A, B)
    turned = np.asfortranarray(A)
    assert np.allclose(f(turned, B[:, ::-1]), np.einsum("abc,cd->abd", A, B[:, ::-1]), rtol=1e-5)


def test_an_expression_pickles() -> None:
    f = pickle.loads(pickle.dumps(el.compile("abc,cd->abd", A, B)))
    assert np.allclose(f(A, B), AB, rtol=1e-5)


def test_a_schedule_as_text() -> None:
    f = el.compile("abc,cd->abd", A, B, schedule="seq a:1 seq b:4 prim m=d n=b k=c")
    assert np.allclose(f(A, B), AB, rtol=1e-5)
    assert "seq b 0:9:4" in f.show("nest")


def test_what_an_expression_says_of_itself() -> None:
    f = el.compile("abc,cd->abd", A, B)
    assert f.flops == 2 * 8 * 9 * 10 * 11 and f.bytes == 4 * (720 + 110 + 792)
    assert "abc,cd->abd" in repr(f) and "gemm" in f.show("nest") and f.show("asm")
    assert "abc,cd-&gt;abd" in f._repr_html_()
    assert f.output_shape == (8, 9, 11)


def test_the_same_inputs_give_the_same_bits() -> None:
    big = RNG.random((200, 300), np.float32)
    first = el.einsum("ab,cb->ac", big, big, threads=2)
    assert all(np.array_equal(first, el.einsum("ab,cb->ac", big, big, threads=2)) for _ in range(3))


def test_python_threads_share_an_expression() -> None:
    big = RNG.random((150, 150), np.float32)
    f = el.compile("ab,cb->ac", big, big, threads=2)
    expected, results = f(big, big), [None] * 6

    def work(i: int) -> None:
        for _ in range(20):
            results[i] = f(big, big)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert all(np.array_equal(expected, result) for result in results)


def test_a_forked_child_computes() -> None:
    big = RNG.random((400, 400), np.float32)
    expected = el.einsum("ab,bc->ac", big, big, threads=2)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(el.einsum("ab,bc->ac", big, big, threads=2), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_settings_of_threads() -> None:
    with el.settings(threads=2):
        assert np.allclose(el.einsum("abc,cd->abd", A, B), AB, rtol=1e-5)
    with pytest.raises(el.ArgumentError):
        el.einsum("abc,cd->abd", A, B, threads=0)


def test_sums_over_nothing_are_zero() -> None:
    assert np.array_equal(el.einsum("ab,bc->ac", np.ones((3, 0)), np.ones((0, 4))), np.zeros((3, 4)))
    assert el.einsum("ab,bc->ac", np.ones((0, 3)), np.ones((3, 4))).shape == (0, 4)
    assert el.einsum("ab->", np.ones((0, 4))) == 0


def test_packs_read_the_operands_anew() -> None:
    """The same buffers with new contents give a new result."""
    left, right = RNG.random((300, 200)), RNG.random((200, 300))
    out = np.empty((300, 300))
    el.einsum("ab,bc->ac", left, right, out=out)
    right *= 2
    again = el.einsum("ab,bc->ac", left, right)
    assert np.allclose(again, 2 * out)


def test_contract_path() -> None:
    path, info = el.contract_path("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5))
    assert path == [(0, 1), (0, 1)] and "contraction" in str(info).lower()
    el.clear_cache()


@pytest.mark.parametrize("equation", ["c,badc->acbd", "ab,bc->ac", "ab->ba", "ab,cd->abcd", "abc->cab"])
def test_results_without_elements_go_anywhere(equation: str) -> None:
    """NumPy gives empty arrays strides of 0; they were refused as an output that overlaps itself."""
    terms, result = equation.split("->")
    for empty in result:
        sizes = {label: 0 if label == empty else 2 + place for place, label in enumerate("abcd")}
        operands = [np.ones([sizes[label] for label in term]) for term in terms.split(",")]
        out = np.empty([sizes[label] for label in result[::-1]]).T
        assert el.einsum(equation, *operands, out=out) is out
        assert el.einsum(equation, *operands).shape == out.shape
