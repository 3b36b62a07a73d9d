"""What is asked of a GPU, in one table: kernels beside cuBLAS, copies and naive ones, `tccg24`, and the bound.

    python benchmarks/gpu.py                               on CUDA, within 10 minutes, beside torch where it is there
    python benchmarks/gpu.py --target opencl --shrink 8    on a small device, extents divided
    python benchmarks/gpu.py --parts contractions bounds   some of it

Results are compared with the interpreter before anything is timed; times are the device's own. Each part has its share
of the seconds, with what earlier ones left; what it does not reach is named.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from einloom.bench.cases import load_suite
from einloom.bench.peers.torch_cuda import event_seconds, torch_on
from einloom.errors import EinloomError
from einloom.ir.gpu.text import write_launch
from einloom.ir.operation import Operation
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.driver import GpuDriver
from einloom.plan.names import with_plain_names
from einloom.search.on_gpu.work import KernelWork, OperationWork, Work
from einloom.search.on_gpu.worker import Bench
from einloom.search.search import Budget
from einloom.space.candidate import Candidate
from einloom.space.kernels import Kernel, kernel
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_gpu.experts import expert_leaf, naive_leaf
from einloom.tuning import kernel_problem, tune_on_gpu

RUNS = 20
TOLERANCE = 1.01
COPIED = 2**30
"""Bytes of a copy on the device."""

PRODUCTS = (("float32", 1024, 0.78), ("float32", 4096, 0.70), ("float16", 4096, 0.60))
"""Square matrix products: type, extent, share of cuBLAS's rate that is asked."""

LEAVES: dict[str, dict[str, Any]] = {
    "axpy": {"n": 2**20},
    "mv": {"m": 1024, "n": 1024},
    "gesummv": {"m": 1024, "n": 1024},
    "matmul": {"m": 256, "n": 256, "k": 256},
    "batch_matmul": {"b": 16, "m": 64, "n": 64, "k": 64},
    "doitgen": {"r": 32, "q": 32, "p": 64, "s": 64},
}
"""Kernels whose random leaves are held to their bounds."""


class Session:
    """A device, when to end, and how to time what runs on it.

    Args:
        arguments: of the command line.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.driver: GpuDriver = open_gpu(arguments.target)
        self.target, self.tune, self.shrink = arguments.target, arguments.tune, arguments.shrink
        self.leaves = arguments.leaves
        self.end = self.last = time.monotonic() + arguments.seconds

    def share(self, parts: int) -> None:
        """Let the part that begins end where it leaves as much to each of the others, of `parts` with it."""
        now = time.monotonic()
        self.end = now + max(self.last - now, 0) / parts

    def size(self, extent: int) -> int:
        """Return an extent on this device."""
        return max(extent // self.shrink, 1)

    @property
    def left(self) -> float:
        """Seconds until the end of this part."""
        return self.end - time.monotonic()

    def leaf(self, what: Operation | Kernel) -> Candidate:
        """Return the expert's leaf, or what tuning for some seconds finds."""
        if self.tune:
            return tune_on_gpu(what, self.target, Budget(seconds=self.tune), records=False).best.leaf
        return expert_leaf(kernel_problem(what, self.driver).space)

    def least(self, what: Operation | Kernel, leaf: Candidate, runs: int = RUNS) -> float:
        """Return the least seconds of some runs of a leaf that was seen to be right."""
        bench = Bench(self.driver, _work(what))
        answer = bench.prepare(write_launch(leaf.launch()))
        if answer["status"] != "ok":
            raise SystemExit(f"WRONG: {leaf.space.name}: {answer['note']}\n{leaf.to_json()}")
        return min(bench.seconds(leaf.launch(), runs))

    def copied(self, size: int) -> float:
        """Return bytes read and written a second by the driver's copy."""
        memory = self.driver.upload(np.zeros(size, np.uint8))
        times: list[float] = []
        for _ in range(RUNS // 2):
            begin = time.perf_counter()
            kept = [self.driver.copy(memory, 0, size) for _ in range(2)]
            self.driver.wait()
            times.append((time.perf_counter() - begin) / len(kept))
        return 2 * size / min(times)


def _work(what: Operation | Kernel) -> Work:
    return KernelWork(what) if isinstance(what, Kernel) else OperationWork(with_plain_names(what))


def products(session: Session, torch: Any) -> Iterator[str]:
    """Yield a line for each matrix product, and the strided one beside the naive kernel."""
    for dtype, extent, asked in PRODUCTS:
        n = session.size(extent)
        if session.left < 0:
            yield _not_run(f"product of {n}^3, {dtype}")
            continue
        what = operation_of_equation("mk,kn->mn", [(n, n)] * 2, dtype)
        seconds = session.least(what, session.leaf(what))
        rate = f"{2e-12 * n**3 / seconds:.4g} TFLOP/s"
        share = _beside(torch, "mk,kn->mn", [(n, n)] * 2, dtype, seconds)
        yield f"| product of {n}^3, {dtype} | {seconds * 1e6:.4g} us, {rate} | {share} of cuBLAS | {asked} |"
    sizes = {name: session.size(1024) for name in "mnk"}
    made = kernel("matmul", **sizes, stride_a=32)
    if session.left < 0:
        yield _not_run(f"strided product of {sizes['m']}^3")
        return
    device = kernel_problem(made, session.driver).space.device
    fast, slow = session.least(made, session.leaf(made)), session.least(made, naive_leaf(made, device), 3)
    yield f"| strided product of {sizes['m']}^3 | {fast * 1e6:.4g} us | {slow / fast:.3g} x the naive kernel | 20 |"


def streams(session: Session, torch: Any) -> Iterator[str]:
    """Yield lines of what moves memory, beside the device's copy."""
    rate = session.copied(COPIED // session.shrink**3)
    yield f"| copy on the device | {rate * 1e-9:.4g} GB/s | | |"
    n, m = session.size(2**26), session.size(512)
    axpy = kernel("axpy", n=n)
    found: list[tuple[str, Operation | Kernel, int]] = [(axpy.name, axpy, 12 * n)]
    for equation in ("abc->cba", "abc->acb", "abc->bac"):
        found.append((f"{equation} of {m}^3", operation_of_equation(equation, [(m, m, m)], "float32"), 8 * m**3))
    for name, what, size in found:
        if session.left < 0:
            yield _not_run(name)
            continue
        seconds = session.least(what, session.leaf(what))
        reached = size / seconds
        yield f"| {name} | {seconds * 1e6:.4g} us, {reached * 1e-9:.4g} GB/s | {reached / rate:.2f} of a copy | 0.85 |"


def contractions(session: Session, torch: Any) -> Iterator[str]:
    """Yield a line for each row of `tccg24`."""
    for case in load_suite("tccg24"):
        if session.left < 0:
            yield _not_run(case.equation)
            continue
        shapes = [tuple(map(session.size, shape)) for shape in case.shapes[:-1]]
        what = operation_of_equation(case.equation, shapes, "float32")
        seconds = session.least(what, expert_leaf(kernel_problem(what, session.driver).space))
        share = _beside(torch, case.equation, shapes, "float32", seconds)
        yield f"| {case.equation} | {seconds * 1e6:.4g} us | {share} of torch.einsum | 1.0 on 20 of 24 |"


def bounds(session: Session, torch: Any) -> Iterator[str]:
    """Yield how bounds of random leaves stand to their least times."""
    shares, benches = list[float](), dict[str, tuple[Kernel, Bench]]()
    for name, sizes in LEAVES.items():
        made = kernel(name, **{axis: session.size(extent) for axis, extent in sizes.items()})
        benches[name] = made, Bench(session.driver, KernelWork(made))
        first = expert_leaf(kernel_problem(made, session.driver).space)
        assert benches[name][1].prepare(write_launch(first.launch()))["status"] == "ok", made.name
    wrong = refused = 0
    for number in range(session.leaves):
        if session.left < 0:
            break
        made, bench = benches[list(benches)[number % len(benches)]]
        leaf = kernel_problem(made, session.driver).space.random_leaf(number)
        launch = leaf.launch()
        try:
            wrong += bench.evaluate(write_launch(launch), seconds=0, hopeless=0)["status"] != "ok"
            shares.append(leaf.bound().seconds / min(bench.seconds(launch, RUNS)))
        except EinloomError:  # A compiler may refuse what asks for more registers than there are.
            refused += 1
    above = sum(share > TOLERANCE for share in shares)
    told = f"{len(shares)} of {session.leaves} random leaves, {wrong} wrong, {refused} refused"
    middle = f"{median(shares):.3f}" if shares else "none"
    yield f"| bounds above the least of {RUNS} times | {told} | {above} | 0 |"
    yield f"| median bound over time | | {middle} | 0.35 |"


def _not_run(what: str) -> str:
    return f"| {what} | not run: the seconds are over | | |"


def _beside(torch: Any, equation: str, shapes: list[tuple[int, ...]], dtype: str, seconds: float) -> str:
    """Return torch's least time over ours, as text."""
    if torch is None:
        return "no torch to see what share"
    random = np.random.default_rng(0)
    operands = [torch.from_numpy(random.standard_normal(shape).astype(dtype)).cuda() for shape in shapes]
    times = event_seconds(torch, lambda: torch.einsum(equation, *operands), RUNS)
    return f"{min(times) / seconds:.3f}"


PARTS: dict[str, Callable[[Session, Any], Iterator[str]]] = {
    part.__name__: part for part in (products, streams, contractions, bounds)
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=["cuda", "opencl", "gpu"], default="cuda")
    parser.add_argument("--seconds", type=float, default=540, help="after these, what is left is named (default: 540)")
    parser.add_argument("--tune", type=float, default=0, help="seconds of tuning for each product and stream")
    parser.add_argument("--shrink", type=int, default=1, help="divide extents by this")
    parser.add_argument("--leaves", type=int, default=500, help="random leaves that are held to their bounds")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS], help="what to measure (default: all)")
    arguments = parser.parse_args()
    session = Session(arguments)
    torch = torch_on(session.driver)
    print(f"{session.driver.limits.name} ({session.driver.identity}), {'torch' if torch else 'no torch'}\n")
    print("| what | seen | figure | asked |\n| --- | --- | --- | --- |", flush=True)
    for position, name in enumerate(arguments.parts):
        session.share(len(arguments.parts) - position)
        for line in PARTS[name](session, torch):
            print(line, flush=True)
    print(f"\n{max(session.left, 0):.0f} s are left")


if __name__ == "__main__":
    main()
