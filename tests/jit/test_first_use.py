"""First use from several threads, and a fork while another thread compiles: fresh processes that must not crash."""

from __future__ import annotations

import pytest

from tests.jit.processes import python
from tests.soak import soak_count

PROCESSES = soak_count(20, share=0.1)
"""Fresh processes of each kind; before code was built once under a lock, eight of ten crashed."""

THREADS = """
import threading
import numpy as np
import einloom as el

shapes = {"ab,bc->ac": ((40, 30), (30, 50)), "ab->ba": ((60, 70),), "ab->a": ((50, 40),), "ab,ab->b": ((30, 90),) * 2}
operands = {text: [np.random.default_rng(0).random(shape) for shape in given] for text, given in shapes.items()}
barrier = threading.Barrier(8)
failures = []

def work(number):
    barrier.wait()
    for turn in range(len(shapes)):
        text = list(shapes)[(number + turn) % len(shapes)]
        for threads in (2, 1):
            result = el.einsum(text, *operands[text], threads=threads)
            if not np.allclose(result, np.einsum(text, *operands[text])):
                failures.append(text)

workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(failures)
"""

FORK = """
import os, signal, threading
import numpy as np
import einloom as el

a = np.random.default_rng(0).random((20, 21))
stop = threading.Event()

def compile_for_ever():
    size = 3
    while not stop.is_set():
        size += 1
        el.einsum("ab,bc->ac", np.ones((size, 5)), np.ones((5, size)), threads=2)
        el.primitives.unary("relu", m=size, n=3)

worker = threading.Thread(target=compile_for_ever)
worker.start()
codes = []
for size in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a child that hangs dies
        right = True
        for threads in (1, 2):
            right &= np.allclose(el.einsum("ab,cb->ac", a, a, threads=threads), a @ a.T)
            right &= np.allclose(el.einsum("ab,bc->ac", a[size:], a.T, threads=threads), a[size:] @ a.T)
        el.primitives.unary("relu", m=size + 4, n=3)
        os._exit(0 if right else 2)
    codes.append(os.waitpid(child, 0)[1])
stop.set()
worker.join()
print(codes)
"""


EXIT = """
import threading, time
import numpy as np
import einloom as el

a = np.ones((300, 300), np.float32)
f = el.compile("ab,bc->ac", a, a, threads=THREADS)
inside = threading.Barrier(7)

def compute_for_ever():
    out = np.zeros_like(a)
    for _ in range(4):
        f(a, a, out=out)
    inside.wait()
    while True:
        f(a, a, out=out)
        el.einsum("ab,bc->ac", a, a)

for _ in range(6):
    threading.Thread(target=compute_for_ever, daemon=True).start()
inside.wait()
time.sleep(0.05)
"""


@pytest.mark.soak
@pytest.mark.parametrize("threads", [1, 2])
def test_the_interpreter_ends_while_daemon_threads_compute(threads: int) -> None:
    for _ in range(PROCESSES):
        assert python(EXIT.replace("THREADS", str(threads))) == ""


@pytest.mark.soak
def test_eight_threads_come_first_at_once() -> None:
    for _ in range(PROCESSES):
        assert python(THREADS) == "[]"


@pytest.mark.soak
def test_fork_while_another_thread_compiles() -> None:
    for _ in range(PROCESSES):
        assert python(FORK) == str([0] * 8)
