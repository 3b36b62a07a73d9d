"""Backward by weights of a fully connected layer, dW = dY X', as three loops that one string instantiates.

    python examples/gemm_upd.py cABa 2048 4096 1024 32 32 32 8 0 0 400

The arguments: the loop string (a = K, b = M, c = N; the sum is over N), M, N, K, the blocks bm, bn, bk, into how many
parts the sum is cut, whether threads bring their blocks into pairs along n (1; for bfloat16, USE_BF16=1) or all are
upfront (0), how many partial sums: as threads, or as the grid's ways, if N is parallel, else 0; how many runs.
"""

from __future__ import annotations

import numpy as np
from sample import Work, begins, block_count, empty, integers, is_narrow, report, run_length, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs, whole_parts


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    m, n, k, bm, bn, bk, parts, private, partials, runs = integers(numbers, "M N K bm bn bk parts private? sums? runs")
    rows, columns, depth, narrow = block_count(m, bm), block_count(n, bn), block_count(k, bk), is_narrow()
    step = columns // whole_parts(columns, parts)
    specs = blocked_specs(string, {"a": (depth, 1), "b": (rows, 1), "c": (columns, step)})
    loop = el.ThreadedLoop(specs, string)
    ways = loop.nest.threads if loop.nest.grid is None else loop.get_loop_parallel_degree("c")
    wanted = ways if loop.get_loop_par_type("c") else 0
    if partials != wanted or (private and not narrow):
        raise el.ScheduleError(f"{string}: {partials} partial results, private {private}\n  Pass {wanted}, 0")

    @el.ThreadedLoop([el.LoopSpec(0, columns)], "A").body
    def upfront(a, dY, X, G, T):
        for block in range(rows):
            el.tpp.interleave(dY[a, block], G[a, block])
        for block in range(depth):
            el.tpp.copy(X[a, block].T, T[a, block])

    @loop.body
    def update(a, b, c, dY, X, P):
        target = P[loop.get_tid_in_parallel_dim("c") if partials else 0, b, a]
        with el.when(c == (-1 if partials else 0)):  # Partial sums begin anywhere.
            el.tpp.zero(target)
        if private:
            own = el.tpp.scratch((step, bn // 2, bm, 2), dY.dtype), el.tpp.scratch((depth, step, bk, bn), dY.dtype)[a]
            for place in range(step):
                with el.when(a % run_length(loop, "a") == 0):
                    el.tpp.interleave(dY[c + place, b], own[0][place])
                with el.when(begins(loop, "b", "c", b)):
                    el.tpp.copy(X[c + place, a].T, own[1][place])
            el.tpp.brgemm(*own, target)
        else:
            el.tpp.brgemm(dY[c, b], X[c, a] if narrow else X[c, a].T, target, batch=step)

    @el.ThreadedLoop([el.LoopSpec(0, depth), el.LoopSpec(0, rows)], "BA").body
    def gather(a, b, P, dW):
        for number in range(1, partials):
            el.tpp.add(P[0, b, a], P[number, b, a], P[0, b, a])
        el.tpp.copy(P[0, b, a], dW[b, a])

    rng = np.random.default_rng(0)
    gradient, inputs = uniform(rng, (columns, rows, bn, bm)), uniform(rng, (columns, depth, bn, bk))
    pairs, turned = empty((columns, rows, bn // 2, bm, 2)), empty((columns, depth, bk, bn))
    result, sums = empty((rows, depth, bk, bm)), empty((partials or 1, rows, depth, bk, bm), "float32")
    given = {"dY": pairs, "X": turned} if narrow and not private else {"dY": gradient, "X": inputs}

    def backward() -> None:
        sums[:partials] = 0
        if narrow and not private:
            upfront(dY=gradient, X=inputs, G=pairs, T=turned)
        update(**given, P=sums)
        gather(P=sums, dW=result)

    def truth() -> np.ndarray:
        return np.einsum("cmnl,cank->makl", gradient.astype(float), inputs.astype(float), optimize=True)

    return Work(loop, 2.0 * m * n * k, backward, runs, result, truth)


if __name__ == "__main__":
    report(build)
