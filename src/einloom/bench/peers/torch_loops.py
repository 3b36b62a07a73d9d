"""torch's work for the samples of loops: matrices and images that lie as torch has them, in each of its layouts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

torch: Any = import_module("torch")  # Without its types, which are not there everywhere.

__all__ = ["ways_of"]

Way = Callable[[], object]


def ways_of(sample: str, arguments: Sequence[str], threads: int) -> Iterator[Way]:
    """Yield functions that do the work of a sample, one for each layout."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    numbers = [int(number) for number in arguments[1:]]
    dtype = torch.bfloat16 if os.environ.get("USE_BF16") == "1" else torch.float32
    if sample.startswith("conv"):
        return _convolution(sample, numbers, dtype)
    return _matrices(sample, numbers, dtype)


def _matrices(sample: str, numbers: list[int], dtype: Any) -> Iterator[Way]:
    m, n, k = numbers[:3]
    x, dy, w = torch.rand(n, k, dtype=dtype), torch.rand(n, m, dtype=dtype), torch.rand(m, k, dtype=dtype)
    for weights in (w, w.t().contiguous().t()):
        if sample == "gemm_forward":
            yield _perceptron(x, weights, torch.rand(m, dtype=dtype), numbers[7])
        elif sample == "gemm_bwd":
            yield _product(dy, weights)
        elif sample == "block_sparse_gemm":
            yield _product(x, weights.t())
    if sample == "gemm_upd":
        yield _product(dy.t(), x)
        yield _product(dy.t().contiguous(), x)


def _product(first: Any, second: Any) -> Way:
    out = torch.empty(first.shape[0], second.shape[1], dtype=first.dtype)
    return lambda: torch.mm(first, second, out=out)


def _perceptron(x: Any, weights: Any, bias: Any, layers: int) -> Way:
    each = [weights.clone(memory_format=torch.preserve_format) for _ in range(layers)]

    def forward() -> Any:
        state = x
        for matrix in each:
            state = torch.nn.functional.linear(state, matrix, bias).relu_()
        return state

    return forward


def _convolution(sample: str, numbers: list[int], dtype: Any) -> Iterator[Way]:
    n, h, w, c, k, r, s, sh, sw, ph, pw = numbers[:11]
    p, q = (h + 2 * ph - r) // sh + 1, (w + 2 * pw - s) // sw + 1
    for layout in (torch.contiguous_format, torch.channels_last):
        made: list[Any] = [(n, c, h, w), (k, c, r, s), (n, k, p, q)]
        x, filters, dy = (torch.rand(shape, dtype=dtype).contiguous(memory_format=layout) for shape in made)
        yield _pass(sample, x, filters, dy, torch.rand(k, dtype=dtype), [sh, sw], [ph, pw])


def _pass(sample: str, x: Any, filters: Any, dy: Any, bias: Any, step: Any, padding: Any) -> Way:
    if sample == "conv_fwd":
        return lambda: torch.conv2d(x, filters, bias, step, padding).relu_()
    wanted = [sample == "conv_bwd", sample == "conv_upd", False]
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(dy, x, filters, None, step, padding, [1, 1], False, [0, 0], 1, wanted)
