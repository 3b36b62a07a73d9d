"""Draw a report as a table in the terminal, and say below it what a reader should know. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from einloom.bench.cases import Ceiling, Unit
from einloom.bench.report import LEVEL

__all__ = ["draw_report", "make_console", "percent_text", "print_table", "ratio_text", "remarks", "time_text"]

PIPE_WIDTH = 140


def make_console() -> Console:
    """Return a console on standard output, wide where it is no terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def draw_report(report: dict[str, Any], console: Console, title: str = "") -> None:
    """Print the table of a report, and below it the remarks."""
    units = list(dict.fromkeys(row["unit"] for row in report["rows"]))
    unit, summary = (units[0] if len(units) == 1 else ""), report["summary"]
    table = Table(title=title or report["suite"], title_justify="left", show_footer=len(report["rows"]) > 1)
    table.add_column("case", "geometric mean", no_wrap=True)
    table.add_column("compile", time_text(summary["compile_seconds"]), justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    mean = _rate_text(summary["rate"], "") if unit else ""
    table.add_column(f"einloom\n{unit}", mean, justify="right", style="bold", no_wrap=True)
    table.add_column(_ceiling_name(report), percent_text(summary["share"]), justify="right", no_wrap=True)
    bounded = _has_bounds(report)
    if bounded:
        table.add_column("of\nbound", percent_text(summary["bound_share"]), justify="right", no_wrap=True)
    for name in report["peers"]:
        peer = summary["peers"][name]
        footer = _peer_text(peer["rate"] if unit else None, peer["ratio"], "")
        table.add_column(f"{name}\n{unit}", footer, justify="right", no_wrap=True)
    for row in report["rows"]:
        table.add_row(row["case"], *_cells(row, "" if unit else row["unit"], bounded))
    print_table(console, table)
    for line in remarks(report):
        console.print(line, style="dim")


def print_table(console: Console, table: Table) -> None:
    """Print a table; where the terminal is too narrow for it, each row's name and its figures below each other."""
    unlimited = console.options.update(width=10 * PIPE_WIDTH)
    if console.measure(table, options=unlimited).minimum <= console.width:
        console.print(table)
        return
    if table.title:
        console.print(table.title, style="italic", no_wrap=True, overflow="fold")
    heads = [" ".join(str(column.header).split()) for column in table.columns]
    rows = list(zip(*(column.cells for column in table.columns)))
    if table.show_footer:
        rows.append(tuple(column.footer for column in table.columns))
    for name, *cells in rows:
        console.print(name, style="bold", no_wrap=True, overflow="fold")
        texts = ((head, " ".join(str(cell).split())) for head, cell in zip(heads[1:], cells))
        figures = ", ".join(f"{head} {text}" for head, text in texts if text)
        console.print(Padding(figures, (0, 0, 0, 2)))


def time_text(seconds: float | None) -> str:
    """Return a time in the unit that suits it, "" for None."""
    if seconds is None:
        return ""
    units = ((1, "s"), (1e3, "ms"), (1e6, "µs"))
    scale, unit = next((each for each in units if seconds * each[0] >= 1), (1e9, "ns"))
    amount = seconds * scale
    return f"{amount:.3g} {unit}" if amount < 100 else f"{amount:.0f} {unit}"


def percent_text(share: float | None) -> str:
    """Return a share in percent, "" for None."""
    return "" if share is None else f"{share * 100:.0f} %"


def ratio_text(ratio: float | None) -> Text:
    """Return how many times as fast einloom is, green where it is not behind, red where it is."""
    return Text("") if ratio is None else Text(f"{ratio:.2f}x", style="green" if ratio >= LEVEL else "red")


def remarks(report: dict[str, Any]) -> Iterator[str]:
    """Yield the machine, the ceilings, versions, what is missing, and the particulars of some cases."""
    machine, threads = report["machine"], report["threads"]
    versions = "".join(f", {name} {version}" for name, version in report["peers"].items())
    rounds = f"median of {report['runs']} interleaved round" + "s" * (report["runs"] > 1)
    everybody = " (all)" if report["isa_of_all"] else ""
    used = f"{threads} thread" + "s" * (threads > 1)
    yield f"{machine['name']}, {machine['vector']}{everybody}, {used}; {rounds}{versions}"
    peak = "peak, generated multiply-adds" + " of one thread times the threads" * (threads > 1)
    names = {
        Ceiling.PEAK: (peak, Unit.FLOPS),
        Ceiling.COPY: ("copy, bytes read and written", Unit.BYTES),
        Ceiling.READ: ("read, bytes", Unit.BYTES),
    }
    bounded = _has_bounds(report)
    for kind, (name, unit) in names.items():
        rows = [row for row in report["rows"] if bounded or row["ceiling_is"] == kind]
        rates = [rate for row in rows if (rate := row["ceilings"].get(kind))]
        if rates:
            span = dict.fromkeys(f"{value:.1f}" for value in (min(rates), max(rates)))
            yield f"{name}: {' to '.join(span)} {unit}"
    if bounded:
        yield "bound: arithmetic at that peak, or every tensor's bytes once at that rate, whichever takes longer"
    for name in report["missing"]:
        yield f"{name} is not installed and was left out"
    yield from _particulars(report)


def _has_bounds(report: dict[str, Any]) -> bool:
    """Whether the bytes of some row take longer than its arithmetic, so that its bound is not the peak."""
    return any(row["bound_share"] != row["share"] for row in report["rows"])


def _cells(row: dict[str, Any], unit: str, bounded: bool) -> Iterator[str | Text]:
    ours = row["einloom"]
    yield time_text(ours["compile_seconds"])
    yield time_text(ours["seconds"])
    failure = Text("failed" if ours["right"] else "WRONG", style="bold red")
    yield failure if ours["problem"] else _rate_text(ours["rate"], unit)
    yield percent_text(row["share"])
    if bounded:
        yield percent_text(row["bound_share"])
    for peer in row["peers"].values():
        yield _peer_text(peer["rate"], peer["ratio"], unit) if peer["rate"] else Text("-", style="dim")


def _rate_text(rate: float | None, unit: str) -> str:
    return "-" if rate is None else f"{rate:.{1 if rate >= 10 else 2}f} {unit}".rstrip()


def _peer_text(rate: float | None, ratio: float | None, unit: str) -> Text:
    text = Text(_rate_text(rate, unit) if rate else "")
    if ratio is not None:
        text.append(f" {ratio:6.2f}x", style="green" if ratio >= LEVEL else "red")
    return text


def _ceiling_name(report: dict[str, Any]) -> str:
    kinds = list(dict.fromkeys(row["ceiling_is"] for row in report["rows"]))
    return f"of\n{kinds[0]}" if len(kinds) == 1 else f"of {kinds[0]}\nor {' or '.join(kinds[1:])}"


def _particulars(report: dict[str, Any]) -> Iterator[str]:
    """Notes and problems, each said once with the cases that it is about."""
    said: dict[str, list[str]] = {}
    for row in report["rows"]:
        for name, figures in {"einloom": row["einloom"], **row["peers"]}.items():
            text = figures["problem"].partition("\n")[0] or figures["note"]
            if text:
                said.setdefault(f"{name}: {text}", []).append(row["case"])
    for text, cases in said.items():
        if len(cases) == len(report["rows"]):
            yield text
        else:
            yield f"{text} ({', '.join(cases) if len(cases) <= 3 else f'{len(cases)} cases'})"
