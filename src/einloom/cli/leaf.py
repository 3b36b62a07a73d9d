"""One leaf of a GPU's space, for `einloom space KERNEL --show … --run …`: its text, and what it does on a device."""

from __future__ import annotations

import argparse

from einloom.config import current_settings
from einloom.errors import ArgumentError, InternalError
from einloom.ir.gpu.text import write_launch
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.driver import GpuDriver
from einloom.search.measure import median
from einloom.search.on_gpu.records import recorded_leaf
from einloom.search.on_gpu.work import KernelWork
from einloom.search.on_gpu.worker import Bench
from einloom.search.records import readable_file
from einloom.space.candidate import Candidate, Space
from einloom.space.kernels import Kernel
from einloom.space.on_gpu.experts import expert_leaf
from einloom.targets.gpu.comment import comment_of
from einloom.targets.gpu.dialects import DIALECTS
from einloom.targets.gpu.printer import print_launch
from einloom.tuning import kernel_problem

__all__ = ["FORMS", "add_arguments", "check_asked", "run_leaf", "show_leaf"]

FORMS = ("nest", "launch", "opencl", "cuda")
RUNS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what concerns one leaf."""
    parser.add_argument("--leaf", type=int, metavar="SEED", help="a random leaf in place of the tuned or expert's")
    parser.add_argument("--show", choices=FORMS, help="print a leaf: its loops, its launch, or its kernel's text")
    parser.add_argument("--run", choices=list(DIALECTS), dest="device_kind", help="run a leaf, check it and time it")
    parser.add_argument("--any-size", action="store_true", help="let its kernel take sizes as arguments")


def check_asked(arguments: argparse.Namespace) -> None:
    """Refuse what would have no effect.

    Raises:
        ArgumentError: a choice of a leaf, and no leaf to show or run; or JSON of one.
    """
    chooses, has_leaf = arguments.leaf is not None or arguments.any_size, arguments.show or arguments.device_kind
    if chooses and not has_leaf:
        raise ArgumentError("--leaf and --any-size are about one leaf\n  Say --show or --run, too.")
    if arguments.json and has_leaf:
        raise ArgumentError("--json prints figures of a space, not a leaf\n  Leave it out, or --show and --run.")


def show_leaf(space: Space, arguments: argparse.Namespace) -> None:
    """Print, and run, what the command line asks for; what runs is a leaf of the device's own space.

    Raises:
        DeviceError: there is no device to run on.
        InternalError: the kernel computes something else than its meaning.
    """
    driver, leaf, origin = None, None, "expert's leaf"
    if arguments.device_kind:
        driver = open_gpu(arguments.device_kind)
        problem = kernel_problem(space.kernel, driver)
        space, file = problem.space, readable_file(current_settings().records)
        leaf = None if file is None else recorded_leaf(space, problem.key, file)
        origin = "tuned leaf" if leaf else origin
    if arguments.leaf is not None:
        leaf, origin = space.random_leaf(arguments.leaf), "random leaf"
    leaf = leaf or expert_leaf(space)
    if arguments.show:
        print(_text(leaf, arguments.show, arguments.any_size))
    if driver is not None:
        seconds = run_leaf(leaf, space.kernel, driver, RUNS, arguments.any_size)
        bound = leaf.bound().seconds * 1e6
        print(
            f"{space.name} on {driver.limits.name}, {origin}: right; least {min(seconds) * 1e6:.4g} us, median "
            f"{median(seconds) * 1e6:.4g} us of {RUNS}, bound {bound:.4g} us"
        )


def _text(leaf: Candidate, form: str, sizes: bool) -> str:
    if form in DIALECTS:
        return print_launch(leaf.launch(), DIALECTS[form], comment_of(leaf), sizes)
    return write_launch(leaf.launch()) if form == "launch" else leaf.show()


def run_leaf(leaf: Candidate, kernel: Kernel, driver: GpuDriver, runs: int, sizes: bool = False) -> list[float]:
    """Run a leaf on small whole numbers, compare what it computes with the kernel's meaning; return its runs' seconds.

    Raises:
        InternalError: it computes something else.
    """
    bench, launch = Bench(driver, KernelWork(kernel), sizes), leaf.launch()
    answer = bench.prepare(write_launch(launch))
    if answer["status"] != "ok":
        raise InternalError(f"{kernel.name} on {driver.limits.name}: {answer['note']}\n{leaf.to_json()}")
    return bench.seconds(launch, runs)
