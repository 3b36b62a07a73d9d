"""`einloom info`: what einloom knows about this machine."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import textwrap
from dataclasses import asdict
from typing import Any

from einloom.cli.waiting import waiting

__all__ = ["add_parser", "run"]

VECTOR_FEATURES = ("avx", "fma", "f16c", "amx", "neon", "sve", "sme", "bf16", "i8mm", "dotprod", "fp16", "asimd")
"""Beginnings of the names of features that kernels may use."""


def add_parser(subparsers: Any) -> None:
    """Add the command to argparse's subparsers."""
    parser = subparsers.add_parser(
        "info",
        description="Print the ISA that kernels are generated for, features, caches, cores and versions.",
    )
    parser.add_argument("--peak", action="store_true", help="measure the peak with generated multiply-adds")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="measure what the optimiser reckons with, and record for this user what differs by more than noise",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the facts; 0."""
    if arguments.peak or arguments.measure:
        _check_vectors()
    facts = _facts(arguments.peak)
    if arguments.measure:
        with waiting("the rates of this machine are measured, for some seconds"):
            _record()
    if recorded := _recorded():
        facts["recorded"] = recorded
    if arguments.json:
        print(json.dumps(facts, indent=1))
        return 0
    width = max(60, shutil.get_terminal_size().columns)
    for name, text in _fact_texts(facts):
        print(textwrap.fill(text, width, initial_indent=f"{name:13}", subsequent_indent=" " * 13))
    return 0


def _check_vectors() -> None:
    """Refuse to measure where no code is generated.

    Raises:
        UnsupportedTarget: it is not.
    """
    from einloom.errors import UnsupportedTarget
    from einloom.jit.host import host

    if not host().has_vectors:
        raise UnsupportedTarget(
            f"{host().name} has neither AVX2 with FMA and F16C, AVX-512 nor Neon\n  What it reaches is not measured."
        )


def _facts(peak: bool) -> dict[str, Any]:
    """What there is to know: sizes in bytes, rates in flop a second."""
    import numpy

    import einloom
    from einloom.config import thread_count
    from einloom.jit.host import host

    machine = host()
    facts: dict[str, Any] = {
        "einloom": einloom.__version__,
        "machine": machine.name,
        "isa": machine.isa,
        "vector": machine.vector,
        "vector_bits": machine.vector_bits,
        "features": sorted(machine.features),
        "caches": {"l1d": machine.l1d, "l2": machine.l2, "l3": machine.l3},
        "cores": machine.cores,
        "threads": thread_count(cores=machine.cores),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": numpy.__version__,
        "system": f"{platform.system()} {platform.release()}",
    }
    if peak:
        with waiting("the peak of this machine is measured"):
            facts["peak"] = _measured_peaks(machine.cores)
    return facts


def _record() -> None:
    """Measure the rates of this machine and write them down."""
    from einloom.jit.host import host
    from einloom.jit.rates import measured_rates
    from einloom.jit.recorded import record_rates
    from einloom.search.limits import limits_beside, measured_limits, raised_limits
    from einloom.search.records import chosen_file

    if records := chosen_file():
        raised_limits(limits_beside(records), host(), measured_limits(host()))
    record_rates(host(), measured_rates())


def _recorded() -> dict[str, Any]:
    """The file of recorded rates and what it says of this processor; nothing where there is no file."""
    from einloom.jit.host import host
    from einloom.jit.recorded import rates_file, recorded_rates

    file, rates = rates_file(), recorded_rates(host())
    if file is None or not os.path.isfile(file):  # Who may not look there is told nothing, either.
        return {}
    return {"file": str(file), **(asdict(rates) if rates is not None else {})}


def _measured_peaks(cores: int) -> list[dict[str, Any]]:
    from einloom.jit.peak import peak_flops

    counts = dict.fromkeys((1, cores))
    return [
        {"dtype": dtype, "threads": count, "flops": peak_flops(dtype, count, 0.2)}
        for dtype in ("float32", "float64")
        for count in counts
    ]


def _fact_texts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    caches = facts["caches"]
    vector = [name for name in facts["features"] if name.startswith(VECTOR_FEATURES)]
    rows = [
        ("einloom", facts["einloom"]),
        ("machine", facts["machine"]),
        ("kernels for", f"{facts['isa']} {facts['vector']}, {facts['vector_bits']} bits"),
        ("features", " ".join(vector) or "none that kernels use"),
        ("caches", ", ".join(f"{level} {_bytes_text(size)}" for level, size in caches.items())),
        ("cores", str(facts["cores"])),
        ("threads", f"{facts['threads']} by default"),
        ("Python", f"{facts['python']}, NumPy {facts['numpy']}, {facts['system']}"),
    ]
    for peak in facts.get("peak", []):
        threads = f"{peak['threads']} thread" + "s" * (peak["threads"] > 1)
        rows.append(("peak", f"{peak['flops'] / 1e9:.1f} GFLOP/s {peak['dtype']}, {threads}"))
    if recorded := facts.get("recorded"):
        rates = ", ".join(f"{name} {rate / 1e9:.4g}" for name, rate in recorded.items() if name != "file")
        said = f"{rates} (GFLOP/s, GB/s)" if rates else "no rates of this processor"
        rows.append(("recorded", f"{said} in {recorded['file']}"))
    return rows


def _bytes_text(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
