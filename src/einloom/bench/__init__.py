"""Measure einloom beside NumPy, PyTorch and etops. It is no profiler, and it judges by ratios of one run only.

Every contestant works in a process of its own (`worker`), at each of its settings that may be the best, in each way to
write the work that may be the fastest (`peers`), on the same operands, which lie in memory before the clock starts.
Contestants take turns, round after round (`measure`), so that a slow second of the machine meets all of them. A
contestant's figure in a round is its fastest call of that round; its figure in the end is the median over the rounds,
and a ratio is the median of the rounds' ratios. The machine's peak is what generated multiply-adds reach at best just
before and after einloom's turns; where memory is the bound, a copy or reading takes its place. Results are checked
before anything is measured (`check`).

    einloom bench tccg24 --peers numpy,torch --cases efbad
    einloom bench tccg24 --dtype complex64
"""

from __future__ import annotations
