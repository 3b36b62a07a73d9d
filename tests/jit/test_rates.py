"""Rates of a machine: what is measured, and what is recorded of it."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import einloom
from einloom.cli import main
from einloom.errors import ArgumentError
from einloom.jit.host import host
from einloom.jit.rates import ROUNDS, bytes_loop, measured_rates
from einloom.jit.recorded import STAYS, STEPS, VERSION, coarse, rates_file, record_rates, recorded_rates, settled
from einloom.machine import AVX2, AVX512, Rates

SOME = Rates(100e9, 50e9, 90e9, 40e9, 20e9, 10e9)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "rates.json"
    monkeypatch.setenv("EINLOOM_RATES", str(path))
    return path


def test_what_was_recorded_is_read_for_this_processor_and_vector_isa(file: Path) -> None:
    assert recorded_rates(AVX512) is None
    written = record_rates(AVX512, SOME)
    assert written is not None and written[0] == file
    assert recorded_rates(AVX512) == written[1]
    assert recorded_rates(AVX2) is None and recorded_rates(replace(AVX512, name="another")) is None
    record_rates(AVX2, replace(SOME, memory=1e9))
    assert recorded_rates(AVX512) == written[1]
    assert all(0 <= now / then - 1 < 0.06 for then, now in zip(astuple(SOME), astuple(written[1])))
    assert json.loads(file.read_text())["einloom"] == einloom.__version__


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 0}', '{"version": 1, "generic": 3}', "\x00", "[" * 100_000]
)
def test_what_cannot_be_read_counts_as_nothing_and_is_replaced(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    assert recorded_rates(AVX512) is None
    record_rates(AVX512, SOME)
    assert recorded_rates(AVX512) is not None
    file.write_text(json.dumps({"version": VERSION, f"{AVX512.name}, avx512": {"float32": 1.0}}))
    assert recorded_rates(AVX512) is None


@pytest.mark.parametrize("text", ['{"important": 1}', "[1, 2]", "7", f'{{"version": {VERSION + 1}, "other": {{}}}}'])
def test_what_holds_something_else_is_kept(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(ArgumentError, match=r"does not hold rates but .*\n  Remove it, or set EINLOOM_RATES"):
        record_rates(AVX512, SOME)
    assert file.read_text() == text and recorded_rates(AVX512) is None


@pytest.mark.parametrize("rate", ["fast", 0, -1.0, float("nan"), float("inf"), None, [1], 10**400, 1e-300, 1e300])
def test_what_is_no_rate_counts_as_nothing(file: Path, rate: object) -> None:
    file.parent.mkdir()
    for written, read in ((1e9, replace(SOME, l2=1e9)), (rate, None)):
        rates = asdict(SOME) | {"l2": written}
        file.write_text(json.dumps({"version": VERSION, f"{AVX512.name}, avx512": rates}))
        assert recorded_rates(AVX512) == read


@pytest.mark.parametrize("rate", ["fast", 0, -1.0, float("nan"), float("inf"), None, 1e-300])
def test_rates_that_no_processor_has_are_refused(rate: Any) -> None:
    with pytest.raises(ArgumentError, match=r"the rate stream of a machine is .*\n  Give flop or bytes a second"):
        replace(SOME, stream=rate)


@pytest.mark.parametrize("place", ["folder", "file/rates.json", "n" * 300])
def test_what_cannot_be_written_says_what_to_do(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv("EINLOOM_RATES", str(tmp_path / place))
    with pytest.raises(ArgumentError, match=r"rates cannot be written to .*\n  Set EINLOOM_RATES to a file"):
        record_rates(AVX512, SOME)
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}


def test_threads_write_one_file_after_another(file: Path) -> None:
    def record(memory: float) -> bool:
        return record_rates(AVX512, replace(SOME, memory=memory)) is not None and recorded_rates(AVX512) is not None

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(record, [1e9] * 200))
    assert list(file.parent.iterdir()) == [file]


def test_nothing_is_kept_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EINLOOM_RATES", "none")
    assert rates_file() is None and record_rates(AVX512, SOME) is None and recorded_rates(AVX512) is None
    monkeypatch.delenv("EINLOOM_RATES")
    path = rates_file()
    assert path is not None and path.name == "rates.json" and "einloom" in path.parts


def test_the_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EINLOOM_RATES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert recorded_rates(AVX512) is None
    written = record_rates(AVX512, SOME)
    assert written is not None and written[0].is_relative_to(tmp_path)
    assert recorded_rates(AVX512) == written[1]


def test_a_place_below_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EINLOOM_RATES", "~/mine.json")
    assert rates_file() == tmp_path / "mine.json"


def test_nothing_waits_for_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "rates")
    monkeypatch.setenv("EINLOOM_RATES", str(tmp_path / "rates"))
    assert recorded_rates(AVX512) is None
    with pytest.raises(ArgumentError, match=r"rates cannot be written to .*: it is no regular file"):
        record_rates(AVX512, SOME)
    assert (tmp_path / "rates").is_fifo()


def test_the_root_of_all_folders_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EINLOOM_RATES", "/")
    with pytest.raises(ArgumentError, match="rates cannot be written to /: it is no regular file"):
        record_rates(AVX512, SOME)


def test_rates_are_rounded_up_in_steps() -> None:
    steps = {coarse(rate) for rate in range(1000, 2000)}
    assert len(steps) == 13 and all(coarse(rate) > 0.999 * rate for rate in range(1000, 2000))
    assert {coarse(step) for step in steps} == steps


SAME_EACH_TIME = settings(deadline=None, derandomize=True, database=None)
RATES = st.floats(1e3, 1e15)
NOISE = st.floats(-STAYS + 1e-6, STAYS - 1e-6)  # Between whole steps, whichever way their logarithms are rounded.
REAL = st.floats(STAYS + 1.02, 40)


@SAME_EACH_TIME
@given(RATES, st.lists(NOISE, max_size=20))
def test_no_sequence_of_measurements_within_noise_changes_a_recorded_rate(first: float, noise: list[float]) -> None:
    recorded = settled(first, None)
    for steps in noise:
        assert settled(first * 2 ** (steps / STEPS), recorded) == recorded


@SAME_EACH_TIME
@given(RATES, st.lists(NOISE, max_size=20), REAL, st.booleans())
def test_a_change_beyond_noise_is_recorded_whatever_was_measured_before(
    first: float, noise: list[float], steps: float, rises: bool
) -> None:
    recorded = settled(first, None)
    for each in noise:
        recorded = settled(first * 2 ** (each / STEPS), recorded)
    changed = first * 2 ** (steps / STEPS if rises else -steps / STEPS)
    assert settled(changed, recorded) == coarse(changed) != recorded


def test_measuring_again_leaves_the_file_as_it_is_until_a_rate_has_changed(file: Path) -> None:
    record_rates(AVX512, SOME)
    before = file.read_text()
    noisy = Rates(*[rate * factor for rate, factor in zip(astuple(SOME), (1.15, 0.85, 1.1, 0.9, 1.0, 0.83))])
    record_rates(AVX512, noisy)
    assert file.read_text() == before
    record_rates(AVX512, replace(noisy, l3=20e9))
    changed = recorded_rates(AVX512)
    assert changed is not None and changed.l3 == coarse(20e9)
    assert replace(changed, l3=coarse(SOME.l3)) == Rates(*map(coarse, astuple(SOME)))


def test_rates_of_another_form_of_the_file_are_no_noise(file: Path) -> None:
    record_rates(AVX512, SOME)
    entries = json.loads(file.read_text())
    file.write_text(json.dumps(entries | {"version": VERSION - 1}))
    record_rates(AVX512, Rates(*[1.1 * rate for rate in astuple(SOME)]))
    assert recorded_rates(AVX512) == Rates(*[coarse(1.1 * rate) for rate in astuple(SOME)])


def test_another_vector_isa_has_rates_of_its_own() -> None:
    assert replace(AVX512, rates=SOME).with_vector("avx2").rates is None
    assert replace(AVX512, rates=SOME).with_vector("avx512").rates == SOME


def test_every_rate_is_measured() -> None:
    rates = measured_rates(memory=2**22, seconds=0.001)
    assert all(1e8 < rate < 1e14 for rate in astuple(rates))


def test_the_best_of_all_rounds_counts_rate_by_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([(float(i), 9.0 - i, 3.0, 4.0, 5.0, 6.0) for i in range(1, ROUNDS + 1)])
    monkeypatch.setattr("einloom.jit.rates._rates_once", lambda memory, seconds: next(rounds))
    assert measured_rates() == Rates(ROUNDS, 8.0, 3.0, 4.0, 5.0, 6.0)
    assert next(rounds, None) is None


@pytest.mark.parametrize("vector", ["avx512", "avx2", "neon"])
@pytest.mark.parametrize("way", ["read", "stream"])
def test_loops_for_every_machine(vector: str, way: str) -> None:
    listing = bytes_loop(vector, way).listing()
    wanted = {"neon": {"read": "ldp", "stream": "stnp"}}.get(vector, {"read": "vmovups", "stream": "vmovntps"})[way]
    assert listing.count(wanted) == 512 // {"avx512": 64, "avx2": 32, "neon": 32}[vector]


def test_the_command_records(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("einloom.jit.rates.measured_rates", lambda: SOME)
    assert main(["info", "--measure", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["recorded"]
    assert said["file"] == str(file) and said["memory"] == coarse(SOME.memory)
    assert recorded_rates(host()) is not None
