"""Arrays of CUDA by DLPack, without CUDA: what is asked of their libraries, and what is read of their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.arrays.device import Home, check_apart, device_array, fresh_like, home_of
from einloom.arrays.dlpack import _tensor_of
from einloom.errors import DeviceError
from einloom.jit.gpu.driver import GpuLimits

CUDA, HERE, STREAM = 2, Home("cuda", 0), 4711


class Exported:
    """A NumPy array that says it lies on a CUDA device, and remembers for which stream it was asked."""

    def __init__(self, array: np.ndarray, number: int = 0, refuses: str = "") -> None:
        self.array, self.number, self.refuses = array, number, refuses
        self.streams: list[object] = []

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.number

    def __dlpack__(self, *, stream: object = None, **options: Any) -> object:
        if self.refuses:
            raise BufferError(self.refuses)
        self.streams.append(stream)
        capsule = self.array.__dlpack__(**options)
        tensor, _ = _tensor_of(capsule, "array")
        tensor.device.type, tensor.device.id = CUDA, self.number
        return capsule

    def new_empty(self, size: tuple[int, ...]) -> Exported:
        return Exported(np.empty(size, self.array.dtype), self.number)


def test_memory_is_found_and_the_stream_is_told():
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    thing = Exported(base[::-2, 1::3])
    found = device_array(thing, HERE, "operand 0", STREAM)
    assert home_of(thing) == HERE and home_of(base) is None
    assert thing.streams == [STREAM]
    assert found.memory == thing.array.__array_interface__["data"][0]
    assert (found.shape, found.strides, found.region.dtype) == ((3, 3), (-20, 3), "float32")
    fresh = fresh_like(thing, (2, 5))
    assert isinstance(fresh, Exported) and fresh.shape == (2, 5)


def test_overlap_is_seen_by_addresses():
    base = np.zeros(64, np.float32)
    whole, part = Exported(base), Exported(base[32:])
    inputs = [device_array(whole, HERE, "operand 0", STREAM)]
    with pytest.raises(el.OverlapError, match="out shares memory with operand 0"):
        check_apart(inputs, device_array(part, HERE, "out", STREAM, written=True), "i->i")
    check_apart(inputs, device_array(Exported(base.copy()), HERE, "out", STREAM, written=True), "i->i")


def test_misuse_is_refused():
    array = np.zeros((4, 4), np.float32)
    with pytest.raises(DeviceError, match="operand 1 lies in main memory, the other arrays on one cuda device"):
        device_array(array, HERE, "operand 1", STREAM)
    with pytest.raises(DeviceError, match="operand 1 lies in another cuda device"):
        device_array(Exported(array, number=1), HERE, "operand 1", STREAM)
    with pytest.raises(el.DTypeError, match="its library does not give its memory away: needs a gradient"):
        device_array(Exported(array, refuses="needs a gradient"), HERE, "operand 0", STREAM)
    crooked = np.zeros(17, np.uint8)[1:].view(np.float32)
    with pytest.raises(el.StrideError, match="operand 0 is not aligned"):
        device_array(Exported(crooked), HERE, "operand 0", STREAM)
    with pytest.raises(el.DTypeError, match="not in main memory\n  Copy it there, or compute where it lies"):
        el.einsum("ij->i", Exported(array))


class Liar:
    """What says that it speaks DLPack, and does not."""

    shape = (3,)

    def __init__(self, lies: object) -> None:
        self.lies = lies

    def __dlpack_device__(self) -> object:
        return self.lies

    def __dlpack__(self, **options: Any) -> object:
        return self.lies


@pytest.mark.parametrize("lies", [None, (2,), "there", (2, 0), (4, 0), (10, 0)])
@pytest.mark.parametrize("target", ["opencl", "cpu"])
def test_what_only_says_that_it_speaks_dlpack_is_refused(lies: object, target: str):
    with pytest.raises((el.DTypeError, DeviceError), match="\n  "):
        el.einsum("i->", Liar(lies), target=target)


def test_a_program_is_given_addresses(monkeypatch: pytest.MonkeyPatch):
    """Operands in place, intermediates of the pool, the result in an array of the operands' library."""
    driver = Recording()
    monkeypatch.setattr("einloom.expression.on_gpu.expression.open_gpu", lambda kind: driver)
    monkeypatch.setattr("einloom.expression.on_gpu.expression.open_home", lambda kind, place: driver)
    a, b, c = (Exported(np.ones(shape, np.float32)) for shape in ((4, 8), (8, 4), (4, 4)))
    result = el.einsum("ij,jk,kl->il", a, b, c, target="cuda")
    assert isinstance(result, Exported)
    passed = [address for launch in driver.launches for address in launch]
    for thing in (a, b, c, result):
        assert thing.array.__array_interface__["data"][0] in passed
        assert set(thing.streams) == {STREAM}
    assert driver.events[-1] == "wait"  # The operands' owner may free them then.


def test_arrays_without_elements_take_no_kernel(monkeypatch: pytest.MonkeyPatch):
    driver = Recording()
    monkeypatch.setattr("einloom.expression.on_gpu.expression.open_gpu", lambda kind: driver)
    monkeypatch.setattr("einloom.expression.on_gpu.expression.open_home", lambda kind, place: driver)
    empty, factor = Exported(np.ones((0, 8), np.float32)), Exported(np.ones((8, 4), np.float32))
    assert el.einsum("ij,jk->ik", empty, factor, target="cuda").shape == (0, 4) and driver.launches == []
    zeros = el.einsum("ij,ik->jk", empty, Exported(np.ones((0, 4), np.float32)), target="cuda")
    assert driver.launches == [[zeros.array.__array_interface__["data"][0]]]  # It reads nothing.


class Recording:
    """A driver of CUDA that runs nothing."""

    kind, identity, stream = "cuda", "recording", STREAM

    def __init__(self, architecture: str = "sm_90") -> None:
        self.limits = GpuLimits("recording", 1024, (1024, 1024, 64), 48 * 1024, 2**30, True, architecture, 132)
        self.launches: list[list[object]] = []
        self.events: list[str] = []

    program = b"code"

    def build(self, text: str, name: str) -> Recording:
        return self

    def load(self, program: bytes, name: str) -> Recording:
        return self

    def start(self, grid: object, block: object, arguments: list[object], after: object = ()) -> object:
        self.launches.append(list(arguments))
        return None

    def allocate(self, size: int) -> int:
        return 1 << 40

    def at(self, memory: int, start: int) -> tuple[int, int]:
        return memory + start, 0

    def after(self, queues: list[object]) -> list[object]:
        assert queues == []
        return []

    def before(self, queues: list[object], run: object) -> None:
        self.events.append("wait")
