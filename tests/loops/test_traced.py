"""Traced bodies: native code and the interpreter against NumPy, products under random strings and other bodies."""

from __future__ import annotations

import random

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import FLOAT32
from einloom.ir.interpret import interpret_nest
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.memory import Memory
from einloom.loops.nest import LoopNest
from einloom.loops.trace.compile import compile_body
from einloom.machine import MACHINES
from einloom.targets.cpu import lower_nest

from ..soak import soak_count
from .strings import random_specs, random_string

BLOCK = 3


def blocked_operands(rng: np.random.Generator, specs: list[el.LoopSpec]) -> dict[str, np.ndarray]:
    """Blocked operands that reach as far as the loops K, M, N do."""
    k, m, n = (spec.bound + 4 for spec in specs)
    shapes = {"A": (m, k, BLOCK, BLOCK), "B": (n, k, BLOCK, BLOCK), "C": (n, m, BLOCK, BLOCK)}
    return {name: rng.integers(-4, 5, shape).astype(np.float32) for name, shape in shapes.items()}


def product(specs: list[el.LoopSpec], given: dict[str, np.ndarray]) -> np.ndarray:
    """What the loops compute: blocks that start at the visited indices of M and N, summed over all indices of K."""
    expected = given["C"].copy()
    k = slice(4 + specs[0].start, 4 + specs[0].bound)
    for n in visited(specs[2]):
        for m in visited(specs[1]):
            a, b = given["A"][4 + m, k], given["B"][4 + n, k]
            expected[4 + n, 4 + m] = np.einsum("kij,klj->li", a.transpose(0, 2, 1), b) if b.size else 0
            if not b.size:
                expected[4 + n, 4 + m] = given["C"][4 + n, 4 + m]
    return expected


def visited(spec: el.LoopSpec) -> list[int]:
    return list(range(spec.start, spec.bound, spec.step))


def gemm_body(specs: list[el.LoopSpec]):
    step, first = specs[0].step, specs[0].start

    def gemm(a, b, c, A, B, C):
        with el.when(a == first):
            el.tpp.zero(C[c + 4, b + 4])
        el.tpp.brgemm(A[b + 4, a + 4], B[c + 4, a + 4], C[c + 4, b + 4], batch=step)

    return gemm


def divisible(spec: el.LoopSpec) -> el.LoopSpec:
    """Blocks of M and N in whole steps: what a body sees are then all multiples of the step."""
    return el.LoopSpec(
        spec.start, spec.bound, spec.step, tuple(-(-size // spec.step) * spec.step for size in spec.block_sizes)
    )


@pytest.mark.soak
def test_products_under_random_strings() -> None:
    ran = refused = 0
    for seed in range(soak_count(6000, share=0.06)):
        rng = random.Random(seed)
        specs = [divisible(spec) if place else spec for place, spec in enumerate(random_specs(rng, 3, extent=7))]
        string = random_string(rng, 3)
        if string.grid and string.grid.threads > 8:
            continue
        threads = None if string.grid else rng.randint(1, 4)
        try:
            loop = el.ThreadedLoop(specs, str(string), threads)
        except el.ScheduleError:
            continue
        given = blocked_operands(np.random.default_rng(seed), specs)
        expected = product(specs, given)
        body = loop.body(gemm_body(specs))
        try:
            nest = body.nest(**given)
        except el.ScheduleError as error:
            assert "a race" in str(error) and "A" in str(string).partition("@")[0], f"{seed} {string}: {error}"
            refused += 1
            continue
        native = given["C"].copy()
        body(A=given["A"], B=given["B"], C=native)
        np.testing.assert_array_equal(native, expected, err_msg=f"seed {seed}: {string}, {threads} threads")
        memories = [Memory(given[name].copy().reshape(-1)) for name in "ABC"]
        interpret_nest(nest, memories)
        np.testing.assert_array_equal(memories[2].elements.reshape(native.shape), expected, err_msg=f"{seed} {string}")
        ran += 1
    assert ran > 200 and refused > 5


def run(string: str, specs: list[el.LoopSpec], body, threads: int | None = None, **tensors: np.ndarray) -> None:
    """Run a body in native code and in the interpreter, and see that both write the same."""
    traced = el.ThreadedLoop(specs, string, threads).body(body)
    memories = [Memory(tensor.copy().reshape(-1)) for tensor in tensors.values()]
    interpret_nest(traced.nest(**tensors), memories)
    traced(**tensors)
    for tensor, memory in zip(tensors.values(), memories):
        np.testing.assert_allclose(tensor.reshape(-1), memory.elements, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("string", ["abc", "aBC", "cbacb", "caBCb", "aC{R:2}B{C:2}", "abcbca"])
def test_plain_matrices_in_steps_that_do_not_divide(string: str) -> None:
    m, n, k = 37, 29, 23
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((k, m)).astype(np.float32), rng.standard_normal((n, k)).astype(np.float32)
    z = np.full((n, m), np.nan, np.float32)

    def gemm(a, b, c, X, Y, Z):
        with el.when(a == 0):
            el.tpp.zero(Z[c : c + 4, b : b + 8])
        el.tpp.gemm(X[a : a + 5, b : b + 8], Y[c : c + 4, a : a + 5], Z[c : c + 4, b : b + 8])
        with el.when(a + 5 >= k):
            el.tpp.relu(Z[c : c + 4, b : b + 8])

    specs = [el.LoopSpec(0, k, 5, (10,)), el.LoopSpec(0, m, 8, (16,)), el.LoopSpec(0, n, 4, (10,))]
    if string == "abcbca":
        specs[2] = el.LoopSpec(0, n, 4, (8,))
    run(string, specs, gemm, 3 if "{" not in string else None, X=x, Y=y, Z=z)
    np.testing.assert_allclose(z, np.maximum(y @ x, 0), rtol=1e-4, atol=1e-4)


def test_conditions() -> None:
    out = np.zeros((12, 4), np.float32)
    ones = np.ones(4, np.float32)

    def body(a, R, U):
        with el.when(a % 2 == 0):
            el.tpp.add(R[a], U, R[a])
        with el.when((a >= 3) & (a < 7)):
            el.tpp.add(R[a], U, R[a])
            with el.when(a != 5):
                el.tpp.add(R[a], U, R[a])
        with el.when(a > 50):
            el.tpp.zero(R[a])

    run("a", [el.LoopSpec(0, 12)], body, R=out, U=ones)
    expected = [(a % 2 == 0) + (3 <= a < 7) + (3 <= a < 7 and a != 5) for a in range(12)]
    assert out[:, 0].tolist() == expected


def test_a_condition_keeps_a_subscript_inside() -> None:
    source, out = np.arange(10, dtype=np.float32)[:, None].repeat(3, 1), np.zeros((10, 3), np.float32)

    def shifted(a, S, R):
        with el.when(a >= 1):
            el.tpp.add(S[a], S[a - 1], R[a])

    run("A", [el.LoopSpec(0, 10)], shifted, 2, S=source, R=out)
    assert out[:, 0].tolist() == [0, *(2 * a - 1 for a in range(1, 10))]

    def beyond(a, S, R):
        el.tpp.add(S[a], S[a - 1], R[a])

    with pytest.raises(
        el.ShapeError, match=r"reaches index -1 of axis 0, which has 10\n.*el.tpp.add\(S\[a\], S\[a - 1\]"
    ):
        el.ThreadedLoop([el.LoopSpec(0, 10)], "a").body(beyond)(S=source, R=out)


def test_scratch_and_transposed_blocks() -> None:
    source = np.arange(96, dtype=np.float64).reshape(8, 12)
    out = np.zeros((12, 8))

    def transpose(a, b, S, R):
        block = el.tpp.scratch((4, 4), "float64")
        el.tpp.copy(S[a : a + 4, b : b + 4], block)
        el.tpp.square(block)
        el.tpp.copy(block.T, R[b : b + 4, a : a + 4])

    run("AB", [el.LoopSpec(0, 8, 4), el.LoopSpec(0, 12, 4)], transpose, 3, S=source, R=out)
    np.testing.assert_array_equal(out, source.T**2)


def test_partial_sums_by_thread() -> None:
    rng = np.random.default_rng(2)
    values, partial, total = rng.standard_normal((20, 6)), np.full((4, 6), np.nan), np.zeros(6)
    loop = el.ThreadedLoop([el.LoopSpec(0, 20)], "A", threads=4)

    @loop.body
    def accumulate(a, V, P):
        el.tpp.add(P[loop.get_tid()], V[a], P[loop.get_tid()])

    partial[:] = 0
    accumulate(V=values, P=partial)
    np.testing.assert_allclose(partial[1], values[5:10].sum(0))

    gather = el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(lambda a, P, T: el.tpp.add(T, P[a], T))
    gather(P=partial, T=total)
    np.testing.assert_allclose(total, values.sum(0))


def test_teams_of_a_grid_are_subscripts() -> None:
    out = np.zeros((3, 2, 4), np.float32)
    ones = np.ones(4, np.float32)
    loop = el.ThreadedLoop([el.LoopSpec(0, 6), el.LoopSpec(0, 5)], "A{R:3}B{C:2}")

    @loop.body
    def count(a, b, R, U):
        place = R[loop.get_tid_in_parallel_dim("a"), loop.get_tid_in_parallel_dim("b")]
        el.tpp.add(place, U, place)

    count(R=out, U=ones)
    assert out[:, :, 0].tolist() == [[6, 4]] * 3


def test_a_barrier_lets_threads_read_what_others_wrote() -> None:
    layers, width = 6, 8
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((layers, width, 4, width * 4)).astype(np.float32) / 8
    state = np.zeros((layers + 1, 2, width * 4), np.float32)
    state[0] = rng.standard_normal((2, width * 4))

    def layer(a, b, W, S):
        out = S[a + 1, :, 4 * b : 4 * b + 4]
        el.tpp.zero(out)
        el.tpp.gemm(W[a, b].T, S[a], out)
        el.tpp.tanh(out)

    specs = [el.LoopSpec(0, layers), el.LoopSpec(0, width)]
    run("aB|", specs, layer, 4, W=weights, S=state)
    expected = state[0]
    for number in range(layers):
        expected = np.tanh(expected @ weights[number].reshape(width * 4, width * 4).T)
    np.testing.assert_allclose(state[-1], expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(el.ScheduleError, match="a race"):
        el.ThreadedLoop(specs, "aB", threads=4).body(layer)(W=weights, S=state)


def test_the_same_bits_however_threads_run() -> None:
    specs = [el.LoopSpec(0, 7, 2), el.LoopSpec(0, 6), el.LoopSpec(0, 6)]
    given = blocked_operands(np.random.default_rng(4), specs)
    given = {name: (each + 0.1).astype(np.float32) for name, each in given.items()}
    for string in ("aBC@schedule(dynamic,1)", "baC@schedule(guided)", "a|BC"):
        body = el.ThreadedLoop(specs, string, threads=4).body(gemm_body(specs))
        results = set()
        for _ in range(20):
            out = given["C"].copy()
            body(A=given["A"], B=given["B"], C=out)
            results.add(out.tobytes())
        assert len(results) == 1, string


def delayed(body, late: list[tuple[int, int]]):
    """The body, with some iterations that take a hundred times as long."""

    def slow(a, b, c, A, B, C):
        work, sums = el.tpp.scratch((128, 128), "float32"), el.tpp.scratch((128, 128), "float32")
        for row, column in late:
            with el.when((b == row) & (c == column)):
                el.tpp.zero(work)
                el.tpp.zero(sums)
                el.tpp.gemm(work, work, sums)
        body(a, b, c, A, B, C)

    return slow


@pytest.mark.parametrize("string", ["aBC@schedule(dynamic,1)", "baC@schedule(guided)", "a|BC", "aB{R:2}C{C:2}"])
def test_the_same_bits_with_threads_delayed_at_random(string: str) -> None:
    specs = [el.LoopSpec(0, 7, 2), el.LoopSpec(0, 6), el.LoopSpec(0, 6)]
    given = blocked_operands(np.random.default_rng(4), specs)
    given = {name: (each + 0.1).astype(np.float32) for name, each in given.items()}
    rng, results = random.Random(5), set[bytes]()
    for _ in range(6):
        late = [(rng.randrange(6), rng.randrange(6)) for _ in range(4)]
        body = el.ThreadedLoop(specs, string, threads=4).body(delayed(gemm_body(specs), late))
        out = given["C"].copy()
        body(A=given["A"], B=given["B"], C=out)
        results.add(out.tobytes())
    assert len(results) == 1


def test_empty_loops_write_nothing() -> None:
    out = np.ones((4, 4), np.float32)
    loop = el.ThreadedLoop([el.LoopSpec(0, 0), el.LoopSpec(0, 4)], "aB", threads=2)
    loop.body(lambda a, b, R: el.tpp.zero(R[b]))(R=out)
    assert (out == 1).all()


@pytest.mark.parametrize("vector", ["avx512", "avx2", "neon"])
def test_every_target_gets_code(vector: str) -> None:
    specs = (el.LoopSpec(0, 7, 2, (4,)), el.LoopSpec(0, 6, 1, (4,)), el.LoopSpec(0, 6))
    kinds = dict.fromkeys("ABC", ((16, 16, 3, 3), (144, 9, 3, 1), FLOAT32))
    for text in ("abBC|@schedule(guided,2)", "aC{R:2}bB{C:2}", "abBC@schedule(static,2)"):
        nest = LoopNest.of(parse_loop_string(text), specs, None if "{" in text else 3)
        program = lower_nest(compile_body(nest, gemm_body(list(specs)), kinds).nest, MACHINES[vector])
        assert len(program.assembler.bytes()) > 500


@pytest.mark.parametrize("string", ["ab", "bA", "aB@schedule(dynamic,1)"])
def test_lists_of_blocks_and_slices_with_steps(string: str) -> None:
    rng = np.random.default_rng(5)
    weights = rng.standard_normal((3, 4, 5)).astype(np.float32)  # taps, k, m
    signal = rng.standard_normal((6, 13, 4)).astype(np.float32)  # rows, places, k
    out = np.full((6, 6, 5), 0.5, np.float32)

    def convolve(a, b, W, X, Y):
        taps = (0, 2, 1, 1)
        place = 2 * b
        el.tpp.brgemm(
            [W[tap] for tap in taps], [X[a, place + tap : place + tap + 6 : 2] for tap in taps], Y[a, b : b + 3]
        )

    run(string, [el.LoopSpec(0, 6), el.LoopSpec(0, 6, 3)], convolve, 2, W=weights, X=signal, Y=out)
    seen = np.stack([signal[:, tap : tap + 12 : 2] for tap in (0, 2, 1, 1)])
    expected = 0.5 + np.einsum("tanc,tcm->anm", seen, weights[[0, 2, 1, 1]])
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_a_block_with_steps_is_written_in_place() -> None:
    out = np.zeros((4, 10), np.float32)

    def ones(a, X):
        el.tpp.increment(X[a, 1:10:3][0:3:2])

    run("A", [el.LoopSpec(0, 4)], ones, 2, X=out)
    assert np.flatnonzero(out[2]).tolist() == [1, 7] and (out[:, 1] == 1).all()


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (lambda a, X: [X[a], X[a + 1]], lambda a, X: [X[a]], "unequal length"),
        (lambda a, X: [], lambda a, X: [], "unequal length"),
        (lambda a, X: [X[a], X[0]], lambda a, X: [X[a], X[a]], "do not keep their distance"),
        (lambda a, X: [X[a], X[a].T], lambda a, X: [X[a], X[a]], "different tensors"),
    ],
)
def test_lists_that_are_no_batch(first, second, message: str) -> None:
    body = el.ThreadedLoop([el.LoopSpec(0, 3)], "a").body(
        lambda a, X, Y: el.tpp.brgemm(first(a, X), second(a, X), Y[a])
    )
    with pytest.raises(el.ScheduleError, match=message):
        body(X=np.ones((4, 3, 3), np.float32), Y=np.ones((3, 3, 3), np.float32))


def test_slices_step_forwards_by_numbers() -> None:
    loop = el.ThreadedLoop([el.LoopSpec(1, 3)], "a")
    for step in (0, -1, None):
        with pytest.raises(el.ScheduleError, match="such a step"):
            loop.body(_stepped(step))(X=np.ones(4, np.float32))


def test_slices_count_from_the_end() -> None:
    out = np.ones((3, 6), np.float32)
    run("a", [el.LoopSpec(0, 3)], lambda a, X: el.tpp.zero(X[a, -4:-1]), X=out)
    assert (out == [1, 1, 0, 0, 0, 1]).all()


def test_a_condition_may_be_entered_again() -> None:
    def body(a, X):
        second = el.when(a == 1)
        for place in (0, 2):
            with second:
                el.tpp.zero(X[a, place : place + 1])

    out = np.ones((3, 3), np.float32)
    run("a", [el.LoopSpec(0, 3)], body, X=out)
    assert out.tolist() == [[1, 1, 1], [0, 1, 0], [1, 1, 1]]


def _stepped(step: int | None):
    return lambda a, X: el.tpp.zero(X[0 : 4 : a if step is None else step])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_blocks_are_neither_written_nor_added(shape: tuple[int, int]) -> None:
    def body(a, X, P, Q):
        el.tpp.zero(X[a, 1, 1:1])
        el.tpp.relu(X[a, 2:2, 0:3], el.tpp.scratch((2, 3))[0:0])
        el.tpp.zero(el.tpp.scratch(shape))
        el.tpp.brgemm(P[a], Q[a], X[a])
        el.tpp.brgemm(P[a, 0:0], Q[a, :, 0:0], X[a])

    out = np.ones((4, 5, 5), np.float32)
    given = {"P": np.ones((4, 0, 5), np.float32), "Q": np.ones((4, 5, 0), np.float32)}
    el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(body)(X=out, **given)
    assert (out == 1).all()


def test_integers_of_numpy_are_numbers() -> None:
    def body(a, X):
        with el.when(np.int64(1) < a):
            el.tpp.zero(X[np.int64(3) - np.int32(1) * (np.int64(0) + a)])
        with el.when(np.int64(0) == +a):
            el.tpp.zero(X[a])

    out = np.ones((4, 2), np.float32)
    el.ThreadedLoop([el.LoopSpec(0, 4)], "a").body(body)(X=out)
    assert out[:, 0].tolist() == [0, 0, 1, 1]


def test_arguments_have_types_for_annotations() -> None:
    loop = el.ThreadedLoop([el.LoopSpec(0, 2)], "a")

    @loop.body
    def body(a: el.tpp.Index, x: el.tpp.Tensor) -> None:
        assert isinstance(a, el.tpp.Index) and isinstance(x, el.tpp.Tensor)
        el.tpp.zero(x[a])

    x = np.ones((2, 3), np.float32)
    body(x=x)
    assert not x.any()
