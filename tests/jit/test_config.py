"""Settings: which of the places that name a number of threads counts, and what is no number of threads."""

from __future__ import annotations

import threading

import pytest

from einloom.config import Settings, current_settings, environment_threads, settings, thread_count
from einloom.errors import ArgumentError


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("EINLOOM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    environment_threads.clear()
    yield
    environment_threads.clear()


def set_variable(monkeypatch, name, text):
    """Set a variable and let it be read anew; a process reads it once."""
    monkeypatch.setenv(name, text)
    environment_threads.clear()


def test_variables_are_read_once(monkeypatch):
    assert thread_count(cores=7) == 7
    monkeypatch.setenv("EINLOOM_THREADS", "5")
    assert thread_count(cores=7) == 7


def test_each_place_goes_before_the_next(monkeypatch):
    assert thread_count(cores=7) == 7
    set_variable(monkeypatch, "OMP_NUM_THREADS", "6")
    assert thread_count(cores=7) == 6
    set_variable(monkeypatch, "EINLOOM_THREADS", " 5 ")
    assert thread_count(cores=7) == 5
    with settings(threads=4):
        assert thread_count(cores=7) == 4
        assert thread_count(3, cores=7) == 3
    assert thread_count(cores=7) == 5


def test_blocks_nest_and_end_with_an_error_too():
    with settings(threads=4) as outer:
        assert outer == Settings(threads=4)
        with pytest.raises(KeyError), settings(threads=2):
            raise KeyError
        with settings():
            assert thread_count(cores=7) == 4
    assert current_settings() == Settings()


def test_a_block_is_one_threads():
    seen = []
    with settings(threads=4):
        other = threading.Thread(target=lambda: seen.append(thread_count(cores=7)))
        other.start()
        other.join()
    assert seen == [7]


@pytest.mark.parametrize("value", [0, -1, 4097, 1.5, 2.0, "2x", True, [2]])
def test_what_is_no_number_of_threads_is_refused(value):
    with pytest.raises(ArgumentError, match="1 to 4096"), settings(threads=value):
        pass
    with pytest.raises(ArgumentError, match="1 to 4096"):
        thread_count(value, cores=2)


@pytest.mark.parametrize("text", ["0", "many", "-2", "1.5", "5000"])
def test_wrong_variable_is_named(monkeypatch, text):
    set_variable(monkeypatch, "EINLOOM_THREADS", text)
    with pytest.raises(ArgumentError, match=f"EINLOOM_THREADS is '?{text}'?"):
        thread_count(cores=2)
    assert thread_count(1, cores=2) == 1


@pytest.mark.parametrize(("text", "count"), [("3,2", 3), ("", 2), ("many", 2), ("0", 2), ("²", 2)])
def test_variable_of_openmp_is_read_as_openmp_reads_it(monkeypatch, text, count):
    set_variable(monkeypatch, "OMP_NUM_THREADS", text)
    assert thread_count(cores=2) == count
