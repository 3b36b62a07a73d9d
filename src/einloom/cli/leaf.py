"""One leaf of a GPU's space, for `einloom space KERNEL --show … --run …`: its text, and what it does on a device."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from einloom.errors import InternalError
from einloom.expression.on_gpu.steps import loaded_kernel
from einloom.ir.gpu.launch import Space as Memory
from einloom.ir.gpu.text import write_launch
from einloom.ir.numbers import elements_of, narrowed, wide_type
from einloom.jit.gpu.devices import open_gpu
from einloom.space.backbone import Region
from einloom.space.candidate import Candidate, Space
from einloom.space.on_gpu.experts import expert_leaf
from einloom.targets.gpu.dialects import DIALECTS
from einloom.targets.gpu.printer import print_launch

__all__ = ["FORMS", "add_arguments", "show_leaf"]

FORMS = ("nest", "launch", "opencl", "cuda")
RUNS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what concerns one leaf."""
    parser.add_argument("--leaf", type=int, metavar="SEED", help="a random leaf in place of the expert's")
    parser.add_argument("--show", choices=FORMS, help="print a leaf: its loops, its launch, or its kernel's text")
    parser.add_argument("--run", choices=list(DIALECTS), dest="device_kind", help="run a leaf, check it and time it")


def show_leaf(space: Space, arguments: argparse.Namespace) -> None:
    """Print, and run, what the command line asks for.

    Raises:
        DeviceError: there is no device to run on.
        InternalError: the kernel computes something else than its meaning.
    """
    leaf = expert_leaf(space) if arguments.leaf is None else space.random_leaf(arguments.leaf)
    if arguments.show:
        print(_text(leaf, arguments.show))
    if arguments.device_kind:
        print(_measured(leaf, arguments.device_kind))


def _text(leaf: Candidate, form: str) -> str:
    if form in DIALECTS:
        return print_launch(leaf.launch(), DIALECTS[form], leaf.space.name)
    return write_launch(leaf.launch()) if form == "launch" else leaf.show()


def _measured(leaf: Candidate, kind: str) -> str:
    """Run a leaf on small whole numbers, compare, and return a line with its times."""
    driver, launch, kernel = open_gpu(kind), leaf.launch(), leaf.space.kernel
    started = loaded_kernel(driver, print_launch(launch, DIALECTS[kind]), launch.name)
    given = dict(_arguments(leaf))
    arrays = {each.name: driver.upload(given[each.name]) for each in launch.arguments if each.space is Memory.GLOBAL}
    passed = [arrays.get(each.name, given[each.name][0]) for each in launch.arguments]
    grid, block = (tuple(level.extent for level in levels) for levels in (launch.grid, launch.block))
    seconds = [driver.seconds(started.start(grid, block, passed)) for _ in range(RUNS)]
    wide = {name: array.astype(wide_type(launch.array[name].dtype)) for name, array in given.items()}
    regions = {region.name: region for region in leaf.space.backbone.regions}
    views: dict[str, Any] = {name: _view(leaf, regions[name], wide[name]) for name in regions}
    expected = kernel.meaning(views | {name: wide[name][0] for name in leaf.space.backbone.parameters})
    for name, value in expected.items():
        driver.download(arrays[name], given[name])
        found = _view(leaf, regions[name], given[name])
        if not np.array_equal(found, narrowed(value, launch.array[name].dtype).reshape(found.shape)):
            raise InternalError(f"{kernel.name} on {driver.limits.name} computes another {name}\n{leaf.to_json()}")
    device = leaf.space.device
    bound = "" if device.rates is None else f", bound {leaf.bound().seconds * 1e6:.4g} us on {device.name}"
    median = sorted(seconds)[RUNS // 2]
    return (
        f"{kernel.name} on {driver.limits.name}: right; least {min(seconds) * 1e6:.4g} us, median {median * 1e6:.4g} us"
        f" of {RUNS}{bound}"
    )


def _arguments(leaf: Candidate) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield what the kernel is called with, by name: whole numbers whose sums are exact in every type."""
    random, backbone = np.random.default_rng(0), leaf.space.backbone
    for region in backbone.regions:
        dtype = backbone.type_of(region)
        values = random.integers(-1, 2, backbone.extent(region)).astype(wide_type(dtype))
        yield region.name, narrowed(values, dtype)
    for number, name in enumerate(backbone.parameters):
        yield name, np.full(1, number + 2).astype(elements_of(backbone.dtype.accumulate))


def _view(leaf: Candidate, region: Region, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array over its axes."""
    backbone = leaf.space.backbone
    sizes = [backbone.axis[axis].size for axis in region.axes]
    return as_strided(array[backbone.origin(region) :], sizes, [array.itemsize * stride for stride in region.strides])
