"""The command line: which commands there are, `info` and `show`, and how errors end. Commands import what they need.

Exit codes: 0 all good, 1 a check failed or einloom could not do the work here, 2 the command line or the equation is
wrong.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from einloom.errors import DTypeError, EinloomError, EquationError, ScheduleError, ShapeError

__all__ = ["main", "make_parser"]

COMMANDS = {
    "info": ("einloom.cli", "what einloom knows about this machine"),
    "einsum": ("einloom.bench.einsum", "compile, run, check and compare one einsum"),
    "show": ("einloom.cli", "show what an einsum becomes: steps, loop nest, machine code"),
    "bench": ("einloom.bench.command", "measure a suite beside other libraries"),
    "space": ("einloom.space.command", "size, dead ends and open decisions of an implementation space"),
    "demo": ("einloom.bench.demo", "real work, compiled, checked and compared, in under a minute"),
}
"""Command to the module whose `add_parser(subparsers)` makes its parser, and its line of help."""

USAGE_ERRORS = (EquationError, ShapeError, DTypeError, ScheduleError)

VECTOR_FEATURES = ("avx", "fma", "f16c", "amx", "neon", "sve", "sme", "bf16", "i8mm", "dotprod", "fp16", "asimd")
"""Beginnings of the names of features that kernels may use."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, of this process by default, and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parsed = make_parser(given).parse_args(given)
    try:
        code = parsed.run(parsed)
        sys.stdout.flush()
        return code
    except EinloomError as error:
        print(f"einloom: {type(error).__name__}: {error}", file=sys.stderr)
        return 2 if isinstance(error, USAGE_ERRORS) else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"einloom: {error.strerror}: {error.filename}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def make_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for a command line: only the command that it names is imported."""
    parser = argparse.ArgumentParser(
        prog="einloom", description="Tensor expressions to machine code, from Python.", allow_abbrev=False
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(required=True, metavar="command", title="commands")
    chosen = next((word for word in arguments if word in COMMANDS), None)
    for name, (module, description) in COMMANDS.items():
        if name != chosen:
            subparsers.add_parser(name, help=description)
        elif module != __name__:
            importlib.import_module(module).add_parser(subparsers)
        else:
            _ADD_PARSER[name](subparsers)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"einloom {_version()}")
        parser.exit()


def _version() -> str:
    import einloom

    return einloom.__version__


# ---- info -----------------------------------------------------------------------------------------------------------


def _add_info(subparsers: Any) -> None:
    parser = subparsers.add_parser("info", help=COMMANDS["info"][1])
    parser.add_argument("--peak", action="store_true", help="measure the peak with generated multiply-adds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run_info)


def _run_info(arguments: argparse.Namespace) -> int:
    facts = _facts(arguments.peak)
    if arguments.json:
        print(json.dumps(facts, indent=1))
        return 0
    width = max(60, shutil.get_terminal_size().columns)
    for name, text in _fact_texts(facts):
        print(textwrap.fill(text, width, initial_indent=f"{name:13}", subsequent_indent=" " * 13))
    return 0


def _facts(peak: bool) -> dict[str, Any]:
    """What there is to know: sizes in bytes, rates in flop a second."""
    import numpy

    from einloom.jit.host import host
    from einloom.jit.threads import runtime_name

    machine = host()
    facts: dict[str, Any] = {
        "einloom": _version(),
        "machine": machine.name,
        "isa": machine.isa,
        "vector": machine.vector,
        "vector_bits": machine.vector_bits,
        "features": sorted(machine.features),
        "caches": {"l1d": machine.l1d, "l2": machine.l2, "l3": machine.l3},
        "cores": machine.cores,
        "threads": runtime_name() if machine.vector != "none" else "none",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": numpy.__version__,
        "system": f"{platform.system()} {platform.release()}",
    }
    if peak:
        facts["peak"] = _measured_peaks(machine.cores)
    return facts


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
        ("threads by", facts["threads"]),
        ("Python", f"{facts['python']}, NumPy {facts['numpy']}, {facts['system']}"),
    ]
    for peak in facts.get("peak", []):
        threads = f"{peak['threads']} thread" + "s" * (peak["threads"] > 1)
        rows.append(("peak", f"{peak['flops'] / 1e9:.1f} GFLOP/s {peak['dtype']}, {threads}"))
    return rows


def _bytes_text(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


# ---- show -----------------------------------------------------------------------------------------------------------


def _add_show(subparsers: Any) -> None:
    from einloom.bench.sizes import add_equation

    parser = subparsers.add_parser("show", help=COMMANDS["show"][1])
    add_equation(parser)
    parser.add_argument("--what", choices=["tree", "nest", "asm"], default="nest", help="default: nest")
    parser.add_argument("--threads", type=int, help="default: EINLOOM_THREADS, OMP_NUM_THREADS or all cores")
    parser.add_argument("--isa", choices=["avx512", "avx2"], help="for another vector ISA than this machine's best")
    parser.set_defaults(run=_run_show)


def _run_show(arguments: argparse.Namespace) -> int:
    from einloom.api import compile
    from einloom.bench.sizes import sized_case
    from einloom.jit.host import host

    case = sized_case(arguments.equation, arguments.sizes, arguments.dtype)
    target = "cpu" if arguments.isa is None else host().with_vector(arguments.isa)
    shapes = case.shapes[:-1]
    expression = compile(case.equation, *shapes, dtype=case.dtype, threads=arguments.threads, target=target)
    print(expression)
    print(expression.show(arguments.what))
    return 0


_ADD_PARSER = {"info": _add_info, "show": _add_show}
