"""Contractions on the workers of a `LocalCluster`: the same bits whatever happens to them."""

# pyright: reportPrivateImportUsage=false, reportArgumentType=false
# Dask exports what it does not name, and takes None where it says str.

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

import einloom as el
from einloom.cluster.on_dask import on_workers
from tests.cluster.live.cases import LIMIT, NETWORK, drawn, network_operands
from tests.soak import soak_count


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    settings = {
        "distributed.scheduler.allowed-failures": 30,
        "distributed.comm.timeouts.connect": "60s",
        # A cluster looks after this time whether a worker is back, and gives it up if it has been killed again.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with (
        distributed.dask.config.set(settings),
        suppress(KeyError),  # At its end the cluster can raise that of a worker that died before it had heard of it.
        distributed.LocalCluster(n_workers=5, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        yield client


def scaled(cluster: Any, client: Any, count: int) -> None:
    """Wait until the cluster has so many workers, all of which answer: it may not yet know of one that was killed."""
    cluster.scale(count)
    deadline = time.monotonic() + 60
    while len(client.scheduler_info(n_workers=-1)["workers"]) != count or len(on_workers(client, os.getpid)) != count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_same_bits_for_any_number_of_workers(cluster: Any, client: Any) -> None:
    operands = network_operands()
    f = el.cluster.compile(*NETWORK, memory_limit=LIMIT)
    assert f.slicing is not None and len(f.slicing) > 100
    expected = f.expression(*operands)
    for count in (5, 3, 2, 1):
        scaled(cluster, client, count)
        assert f(*operands, client=client).tobytes() == expected.tobytes(), count
        assert f.program is not None and f.run is not None and f.run.computed == len(f.program.work.units)
    assert np.allclose(expected, np.einsum(NETWORK[0], *operands, optimize=True))


def test_places_that_a_task_computes_together(cluster: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled(cluster, client, 2)
    operands = network_operands()
    monkeypatch.setattr("einloom.expression.units.LEAST_TASKS", 4)
    f = el.cluster.compile(*NETWORK, memory_limit=4 * LIMIT)
    assert f.program is not None and len(f.program.work.together) < f.program.work.slicing.places
    assert f(*operands, client=client).tobytes() == f.expression(*operands).tobytes()
    assert f.run is not None and f.run.computed == len(f.program.work.units)


@pytest.mark.soak
def test_random_expressions(cluster: Any, client: Any) -> None:
    scaled(cluster, client, 2)
    shared = 0
    for seed in range(soak_count(300, 0.07)):
        f, operands = drawn(seed)
        result = f(*operands, client=client)
        assert np.array_equal(result, np.einsum(f.expression.equation, *operands, optimize=True)), seed
        shared += f.program is not None
    assert shared


def test_el_cluster_einsum_takes_arrays_of_two_libraries(cluster: Any, client: Any) -> None:
    class Foreign:
        """An array of another library."""

        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return self.array

    a, b, c, d = network_operands()
    whole = el.einsum(NETWORK[0], a, b, c, d, memory_limit=LIMIT)
    result = el.cluster.einsum(NETWORK[0], a, b[:], Foreign(np.asfortranarray(c)), d, memory_limit=LIMIT)
    assert np.array_equal(result, whole)  # The client is the current one.


def test_results_come_in_the_library_of_the_first_operand_and_the_type_of_all(cluster: Any, client: Any) -> None:
    class Namespace:
        from_dlpack = staticmethod(np.from_dlpack)

    class Exporting:
        """An array of another library, which gives its memory away."""

        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

        def __array_namespace__(self) -> type:
            return Namespace

    first, *others = network_operands()
    operands = [Exporting(first.astype("float32")), *others]
    result = el.cluster.einsum(NETWORK[0], *operands, client=client, memory_limit=LIMIT)
    whole = el.einsum(NETWORK[0], *operands, memory_limit=LIMIT)
    assert result.dtype == whole.dtype == np.float64 and np.array_equal(result, whole)


def test_tasks_have_names(cluster: Any, client: Any) -> None:
    seen: set[str] = set()
    operands = network_operands()
    el.cluster.einsum(NETWORK[0], *operands, client=client, memory_limit=LIMIT)
    for events in client.run(lambda dask_worker: [str(entry) for entry in dask_worker.state.stimulus_log]).values():
        seen.update(text for text in events if "einsum abcd,cdef,efgh,ghi→ai" in text)
    assert seen


@pytest.mark.soak
def test_a_killed_worker_changes_nothing(cluster: Any, client: Any) -> None:
    """At random moments; the cluster's nanny starts another one."""
    scaled(cluster, client, 2)
    operands = network_operands()
    f = el.cluster.compile(*NETWORK, memory_limit=LIMIT)
    expected = f.expression(*operands).tobytes()
    begin = time.monotonic()
    assert f(*operands, client=client).tobytes() == expected
    usual, rng = time.monotonic() - begin, random.Random(3)
    for _ in range(soak_count(20, 0.1)):
        pid = rng.choice(list(on_workers(client, os.getpid).values()))
        killer = threading.Timer(rng.random() * usual, os.kill, (pid, signal.SIGKILL))
        killer.start()
        assert f(*operands, client=client).tobytes() == expected
        killer.join()
        client.wait_for_workers(2, timeout=60)


def test_a_checkpoint_spares_what_is_finished(cluster: Any, client: Any, tmp_path: Path) -> None:
    operands = network_operands()
    f = el.cluster.compile(*NETWORK, memory_limit=LIMIT)
    expected = f.expression(*operands).tobytes()
    assert f(*operands, client=client, checkpoint=tmp_path).tobytes() == expected
    files = sorted(tmp_path.glob("*.unit"))
    for file in files[::3]:
        file.unlink()
    assert f(*operands, client=client, checkpoint=tmp_path).tobytes() == expected
    assert f.run is not None and f.run.computed == len(files[::3]) < len(files)
    assert sorted(tmp_path.glob("*.unit")) == files


def test_other_workers_are_refused(cluster: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.cluster.peers.VERSION", "9.9")
    with pytest.raises(el.UnsupportedTarget, match="Install one version everywhere"):
        el.cluster.einsum(NETWORK[0], *network_operands(), client=client, memory_limit=LIMIT)


def test_a_full_disk_ends_cleanly(cluster: Any, client: Any) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with pytest.raises(el.DeviceError, match="Name a folder"):
        el.cluster.einsum(
            NETWORK[0], *network_operands(), client=client, memory_limit=LIMIT, checkpoint="/dev/full/folder"
        )


def test_workers_with_too_little_memory_are_named() -> None:
    with (
        distributed.LocalCluster(n_workers=1, processes=False, memory_limit="1 MB", dashboard_address=None) as small,
        distributed.Client(small) as client,
        pytest.raises(el.ArgumentError, match="Pass a smaller memory_limit="),
    ):
        el.cluster.einsum("ab,bc->ac", np.ones((512, 512)), np.ones((512, 512)), client=client)


def test_a_process_keeps_within_what_was_planned(cluster: Any, client: Any) -> None:
    """Its peak, as the kernel counts it, over what it has before the first operand comes."""
    scaled(cluster, client, 2)
    n = 1600
    operands = [np.random.default_rng(seed).standard_normal((n, n)) for seed in range(3)]
    f = el.cluster.compile("ab,bc,cd->ad", *operands, memory_limit=2**18)
    assert f.program is not None
    el.cluster.einsum("ab,bc,cd->ad", *[np.ones((400, 400))] * 3, client=client, memory_limit=2**14)
    client.run(lambda: Path("/proc/self/clear_refs").write_text("5"))
    before = client.run(_status, "VmRSS")
    f(*operands, client=client)
    grown = {address: peak - before[address] for address, peak in client.run(_status, "VmHWM").items()}
    assert len(grown) == 2 and max(grown.values()) <= f.program.bytes, (grown, f.program.bytes)
    assert min(grown.values()) >= f.program.operand_bytes  # It was counted.


def _status(field: str) -> int:
    """What the kernel says of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def test_workers_that_died_unnoticed_are_asked_again(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the scheduler has not heard of it, everything that goes to all workers fails."""
    for name in ("scatter", "register_plugin"):
        monkeypatch.setattr(client, name, failing(getattr(client, name), 3))
    operands = network_operands()
    result = el.cluster.einsum(NETWORK[0], *operands, client=client, memory_limit=LIMIT)
    assert np.array_equal(result, el.einsum(NETWORK[0], *operands, memory_limit=LIMIT))


def failing(function: Any, times: int) -> Any:
    """Return a function that fails so many times as if a worker had died."""
    left = [OSError("a worker died")] * times

    def asked(*arguments: Any, **options: Any) -> Any:
        if left:
            raise left.pop()
        return function(*arguments, **options)

    return asked


def test_results_are_equal_among_workers_and_close_to_the_call_that_cuts_otherwise(cluster: Any, client: Any) -> None:
    operands = [np.random.default_rng(seed).standard_normal((512, 512)) for seed in range(3)]
    results = []
    for count in (3, 2, 1):
        scaled(cluster, client, count)
        results.append(el.cluster.einsum("ab,bc,cd->ad", *operands, client=client, memory_limit=2**13))
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    local = el.einsum("ab,bc,cd->ad", *operands, memory_limit=2**13)
    bound = np.linalg.multi_dot([np.abs(each) for each in operands]) * 2 * 2 * 512 * np.finfo(float).eps
    assert np.all(np.abs(results[0] - local) <= bound)


def test_clients_that_are_none(cluster: Any) -> None:
    operands = [np.ones((512, 512))] * 2
    with distributed.Client(cluster) as closed:
        pass
    with (
        distributed.Client(cluster) as client,
        pytest.raises(el.ArgumentError, match="a client of Dask is client="),
    ):
        el.cluster.einsum("ab,bc->ac", *operands, comm=client)
    for client, words in ((closed, "is closed"), ("tcp://here", "no client of Dask")):
        with pytest.raises(el.ArgumentError, match=words):
            el.cluster.einsum("ab,bc->ac", *operands, client=client)

    async def inside() -> None:
        async with distributed.Client(cluster.scheduler_address, asynchronous=True) as client:
            with pytest.raises(el.ArgumentError, match="asynchronous"):
                el.cluster.einsum("ab,bc->ac", *operands, client=client)

    asyncio.run(inside())


def test_a_task_that_holds_its_thread_is_told_to_leave_it(cluster: Any, client: Any) -> None:
    scaled(cluster, client, 1)
    operands = network_operands()

    def in_task() -> Any:
        return el.cluster.einsum(NETWORK[0], *operands, memory_limit=LIMIT, client=distributed.get_client())

    def beside_tasks() -> Any:
        with distributed.worker_client() as own:
            return el.cluster.einsum(NETWORK[0], *operands, memory_limit=LIMIT, client=own)

    with pytest.raises(el.ArgumentError, match="worker_client"):
        client.submit(in_task, pure=False).result(timeout=60)
    whole = el.einsum(NETWORK[0], *operands, memory_limit=LIMIT)
    assert np.array_equal(client.submit(beside_tasks, pure=False).result(timeout=60), whole)


def test_without_a_client() -> None:
    with pytest.raises(el.ArgumentError, match="there is no client of Dask"):
        el.cluster.einsum("ab,bc->ac", np.ones((512, 512)), np.ones((512, 512)))


def test_tuning_brings_records_home(cluster: Any, client: Any, tmp_path: Path) -> None:
    """A killed worker costs what it was at."""
    scaled(cluster, client, 2)
    killer = threading.Timer(4, lambda: os.kill(next(iter(on_workers(client, os.getpid).values())), signal.SIGKILL))
    killer.start()
    found = el.cluster.tune("ab,bc->ac", (96, 64), (64, 96), client=client, budget=10, records=tmp_path / "mine.jsonl")
    killer.join()
    assert found.best is not None and found.best.confirmed and found.speedup >= 1
    assert sum(found.evaluations.values()) >= 10
    lines = (tmp_path / "mine.jsonl").read_text().splitlines()
    assert len(lines) >= 11 and found.best.schedule in lines[-1]


def test_candidates_compile_where_nothing_is_measured(cluster: Any, client: Any) -> None:
    scaled(cluster, client, 2)
    client.run(lambda dask_worker: dask_worker.state.log.clear())
    el.cluster.tune("ab,bc->ac", (48, 64), (64, 48), client=client, budget=4, records=False)
    done: dict[str, set[str]] = {"tune": set(), "compile": set()}
    for address, log in client.run(lambda dask_worker: [str(each) for each in dask_worker.state.log]).items():
        for kind in done:
            if any(f"'{kind}" in each and "'memory'" in each for each in log):
                done[kind].add(address)
    assert len(done["tune"]) == len(done["compile"]) == 1 and not done["tune"] & done["compile"]
