"""Medians, ratios, the better of two settings, geometric means, and what the table and the plot make of them."""

from __future__ import annotations

import importlib.util
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from einloom.bench.cases import Case, Ceiling, Kind
from einloom.bench.measure import Figures, Options, Row
from einloom.bench.peers.contestants import Contestant
from einloom.bench.plot import draw_plot
from einloom.bench.report import is_good, make_report
from einloom.bench.table import draw_report, percent_text, time_text
from einloom.cli import main
from einloom.errors import UnsupportedTarget
from einloom.machine import AVX2

PRODUCT = Case.contraction("mk,kn->mn", {"m": 100, "k": 100, "n": 100})
OURS = Figures("einloom", "default", (1e-4, 2e-4, 1e-4), 0.002, version="9", import_seconds=0.1)
SLOW = Figures("peer", "default", (4e-4, 4e-4, 4e-4), version="7", note="by hand")
FAST = Figures("peer", "tuned", (2e-4, 3e-4, 5e-5), version="7")
ROW = Row(PRODUCT, OURS, (SLOW, FAST), {Ceiling.PEAK: (4e10, 2e10, 4e10), Ceiling.COPY: (1e10,)})
PEER = Contestant("peer", "peer")


def report_of(*rows: Row, missing: tuple[str, ...] = ()) -> dict[str, Any]:
    return make_report("suite", rows, [PEER], missing, Options(runs=3), AVX2)


def drawn(report: dict[str, Any], width: int = 140) -> str:
    text = io.StringIO()
    draw_report(report, Console(file=text, width=width, highlight=False))
    return text.getvalue()


def test_figures_are_medians_of_rounds() -> None:
    assert ROW.best("peer") is FAST
    assert ROW.ratio("peer") == pytest.approx(1.5)
    assert ROW.share == pytest.approx(0.5)
    entry = report_of(ROW)["rows"][0]
    assert entry["einloom"]["rate"] == pytest.approx(20.0)
    assert entry["peers"]["peer"]["rate"] == pytest.approx(10.0)
    assert entry["peers"]["peer"]["rates_of_settings"] == pytest.approx({"default": 5.0, "tuned": 10.0})
    assert entry["ceiling"] == pytest.approx(40.0)


def test_a_bound_is_the_longer_of_arithmetic_and_traffic() -> None:
    assert PRODUCT.ceilings == (Ceiling.PEAK, Ceiling.COPY)
    assert ROW.bound_share == pytest.approx(0.5)  # 2e6 flop take 50 µs of 100, 120,000 bytes at 1e10 a second 12
    slow = replace(ROW, ceilings={Ceiling.PEAK: (4e10,), Ceiling.COPY: (1.5e9, 1e9)})
    assert slow.share == pytest.approx(0.5)
    assert slow.bound_share == pytest.approx(0.8)
    plain = drawn(report_of(ROW))
    assert "bound" not in plain and "copy" not in plain
    text = drawn(report_of(ROW, slow))
    assert "80 %" in text
    assert "63 %" in text  # their geometric mean
    assert "copy, bytes read and written: 1.5 to 10.0 GB/s" in text
    assert "bound: arithmetic at that peak" in text


def test_rows_bounded_by_one_thing_are_measured_against_that_alone() -> None:
    kernel = Case("2x3x4", "km,nk->nm", {"m": 2, "n": 3, "k": 4}, kind=Kind.KERNEL)
    assert kernel.ceilings == (Ceiling.PEAK,)
    moved = Case.contraction("ab->ba", {"a": 100, "b": 100})
    assert moved.ceilings == (Ceiling.COPY,)
    row = replace(ROW, case=moved, ceilings={Ceiling.COPY: (1e10,)})
    assert row.share == row.bound_share == pytest.approx(0.08)
    assert replace(row, ceilings={}).bound_share is None


def test_a_setting_that_is_wrong_does_not_count() -> None:
    row = replace(ROW, peers=(SLOW, replace(FAST, right=False, error=3.0)))
    assert row.best("peer") is SLOW


def test_geometric_means_skip_what_failed() -> None:
    twice = replace(ROW, peers=(replace(SLOW, seconds=(6e-4, 6e-4, 6e-4)),))
    failed = replace(ROW, peers=(Figures("peer", "default", problem="no such operation"),))
    summary = report_of(ROW, twice, failed)["summary"]
    assert summary["rate"] == pytest.approx(20.0)
    assert summary["peers"]["peer"]["ratio"] == pytest.approx(3.0)
    assert summary["peers"]["peer"]["compared"] == summary["peers"]["peer"]["not_behind"] == 2
    assert summary["peers"]["peer"]["least_ratio"] == pytest.approx(1.5)


def test_a_wrong_or_failed_case_is_not_good() -> None:
    assert is_good(report_of(ROW))
    wrong = report_of(replace(ROW, ours=replace(OURS, right=False, error=float("inf"))))
    assert not is_good(wrong)
    assert wrong["rows"][0]["einloom"]["problem"].startswith("wrong result")
    assert "WRONG" in drawn(wrong)
    failed = report_of(replace(ROW, ours=replace(OURS, seconds=(), problem="no kernels\n  more")))
    assert not is_good(failed)
    assert "failed" in drawn(failed)
    assert "einloom: no kernels" in drawn(failed)


def test_the_table_says_what_a_reader_needs() -> None:
    text = drawn(report_of(ROW, replace(ROW, peers=(SLOW,)), missing=("etops",)))
    for expected in ("20.0", "10.0", "1.50x", "50 %", "100 µs", "2 ms", "geometric mean", "peer 7", "by hand"):
        assert expected in text
    assert "etops is not installed and was left out" in text
    assert "peak, generated multiply-adds: 40.0 GFLOP/s" in text


def test_times_and_shares_read_well() -> None:
    assert [time_text(t) for t in (None, 2.5, 0.1234, 3e-6, 4.2e-8)] == ["", "2.5 s", "123 ms", "3 µs", "42 ns"]
    assert (percent_text(None), percent_text(0.914)) == ("", "91 %")


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedTarget, match=r"pip install 'einloom\[plot\]'"):
        draw_plot(report_of(ROW), str(tmp_path / "plot.png"))
    assert main(["bench", "tccg24", "--plot", "plot.png", "--peers", ""]) == 1


@pytest.mark.parametrize("width", [44, 60, 140])
def test_names_and_figures_survive_a_narrow_terminal(width: int) -> None:
    named = replace(ROW, case=replace(ROW.case, name="efbad,cf->abcde of 36 and more"))
    text = drawn(report_of(named, ROW), width)
    assert named.case.name in text
    for figure in ("100 µs", "20.0", "50 %", "1.50x"):
        assert figure in text
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
