"""The code between Python and a team of threads: one call enters it, it enters the generated work on every thread.

It is pure: addresses come in as numbers, so the code for either ISA can be made and checked anywhere.

>>> asm, launch = launcher("x86_64", Addresses(state=8, parallel=16, thread_number=24, team_size=32), most=4)
>>> "launch:" in asm.listing()
True

Work is `void entry(void *arguments, int64 thread, int64 threads)`, which does share `thread` of `threads`. The runtime
may grant fewer threads than shares (nested use, OMP_DYNAMIC, OMP_THREAD_LIMIT): thread `i` of a team of `t` then does
the shares i, i + t, i + 2t, …, so every share is done exactly once, and always as a share of the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from einloom.errors import UnsupportedTarget

if TYPE_CHECKING:
    from einloom.asm import Assembler, Label

__all__ = ["Addresses", "front", "launcher"]


REFUSED = 24
"""Where the block on the stack, behind entry, arguments and threads, holds what `launch` returns."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the launcher calls and reads: the functions of an OpenMP `Runtime`, and a 64-bit word.

    Attributes:
        state: of a word that is 1 while the runtime may be used, 0 otherwise (none there, or a forked child).
        parallel, thread_number, team_size: as in `Runtime`; anything while the state is 0.
    """

    state: int
    parallel: int
    thread_number: int
    team_size: int


def launcher(isa: str, addresses: Addresses, most: int, together: bool = False) -> tuple[Assembler, Label]:
    """Return code with `int64 launch(entry, arguments, int64 threads)`, and the label of `launch`.

    It does all shares and returns 0; or nothing, and returns 1, when `threads` > 1 and the state is 0. At most `most`
    threads are asked for, however many shares there are. Shares that run `together` wait for each other: if the runtime
    grants fewer threads than there are shares, nothing is done and 2 returned.
    """
    emit: Callable[..., Label] = _choose(isa, x86_64=_launcher_x86, aarch64=_launcher_aarch64)
    asm = _assembler(isa)
    constants = [asm.data(value.to_bytes(8, "little"), name=name) for name, value in _named(addresses)]
    return asm, emit(asm, constants, most, together)


def front(isa: str, launch: int, words: int) -> Assembler:
    """Return code for `int64 front(entry, int64 threads, word 0, word 1, …)`: `launch` on a block of these words.

    The block lies on the caller's stack, so that any number of Python threads may be inside at once.
    """
    emit: Callable[..., None] = _choose(isa, x86_64=_front_x86, aarch64=_front_aarch64)
    asm = _assembler(isa)
    target = asm.data(launch.to_bytes(8, "little"), name="launch")
    emit(asm, target, words)
    return asm


def _choose(isa: str, **emitters: Any) -> Any:
    if isa not in emitters:
        raise UnsupportedTarget(f"there are thread teams for {', '.join(emitters)}, not for {isa}")
    return emitters[isa]


def _named(addresses: Addresses) -> zip[tuple[str, int]]:
    return zip(("state", "parallel", "thread_number", "team_size"), astuple(addresses))


# x86-64, System V calling convention: arguments in rdi, rsi, rdx, rcx, r8, r9, then on the stack; rbx, rbp, r12 … r15
# are the caller's; rsp is a multiple of 16 at every call.


def _assembler(isa: str) -> Assembler:
    from einloom.asm import Assembler  # Late: one thread needs none of this.

    return Assembler(isa)


def _launcher_x86(asm: Any, constants: list[Label], most: int, together: bool) -> Label:
    state, parallel, thread_number, team_size = constants
    worker, alone, refused = asm.forward("worker"), asm.forward("alone"), asm.forward("refused")
    launch = asm.label("launch")
    asm.cmp(asm.rdx, 1)
    asm.jle(alone)
    asm.mov(asm.rax, asm.mem(state))
    asm.cmp(asm.mem.qword(asm.rax), 0)
    asm.je(refused)
    asm.sub(asm.rsp, 40)
    for place, register in enumerate((asm.rdi, asm.rsi, asm.rdx)):
        asm.mov(asm.mem(asm.rsp, 8 * place), register)
    if together:
        asm.mov(asm.mem.qword(asm.rsp, REFUSED), 0)
    asm.lea(asm.rdi, asm.mem(worker))
    asm.mov(asm.rsi, asm.rsp)
    asm.mov(asm.eax, most)
    asm.cmp(asm.rdx, asm.rax)
    asm.cmovg(asm.rdx, asm.rax)
    asm.xor(asm.ecx, asm.ecx)
    asm.call(asm.mem(parallel))
    if together:
        asm.mov(asm.rax, asm.mem(asm.rsp, REFUSED))
    asm.add(asm.rsp, 40)
    if not together:
        asm.xor(asm.eax, asm.eax)
    asm.ret()

    asm.bind(alone)
    asm.sub(asm.rsp, 8)
    asm.mov(asm.rax, asm.rdi)
    asm.mov(asm.rdi, asm.rsi)
    asm.xor(asm.esi, asm.esi)
    asm.mov(asm.edx, 1)
    asm.call(asm.rax)
    asm.add(asm.rsp, 8)
    asm.xor(asm.eax, asm.eax)
    asm.ret()

    asm.bind(refused)
    asm.mov(asm.eax, 1)
    asm.ret()

    asm.bind(worker)
    asm.comment("void worker(block): what the runtime calls on every thread of the team")
    _worker_x86(asm, thread_number, team_size, together)
    return launch


def _worker_x86(asm: Any, thread_number: Label, team_size: Label, together: bool) -> None:
    block, share, step = asm.rbx, asm.r12, asm.r13
    done = asm.forward("done")
    for register in (block, share, step):
        asm.push(register)
    asm.mov(block, asm.rdi)
    asm.call(asm.mem(team_size))
    asm.mov(asm.r13d, asm.eax)
    if together:
        granted = asm.forward("granted")
        asm.cmp(step, asm.mem(block, 16))
        asm.jge(granted)
        asm.mov(asm.mem.qword(block, REFUSED), 2)
        asm.jmp(done)
        asm.bind(granted)
    asm.call(asm.mem(thread_number))
    asm.mov(asm.r12d, asm.eax)
    again = asm.label("again")
    asm.mov(asm.rdx, asm.mem(block, 16))
    asm.cmp(share, asm.rdx)
    asm.jge(done)
    asm.mov(asm.rdi, asm.mem(block, 8))
    asm.mov(asm.rsi, share)
    asm.call(asm.mem(block))
    asm.add(share, step)
    asm.jmp(again)
    asm.bind(done)
    for register in (step, share, block):
        asm.pop(register)
    asm.ret()


def _front_x86(asm: Any, launch: Label, words: int) -> None:
    frame = 16 * ((words + 1) // 2) + 8
    asm.sub(asm.rsp, frame)
    for place, register in enumerate((asm.rdx, asm.rcx, asm.r8, asm.r9)[:words]):
        asm.mov(asm.mem(asm.rsp, 8 * place), register)
    for place in range(4, words):
        asm.mov(asm.rax, asm.mem(asm.rsp, frame + 8 + 8 * (place - 4)))
        asm.mov(asm.mem(asm.rsp, 8 * place), asm.rax)
    asm.mov(asm.rdx, asm.rsi)
    asm.mov(asm.rsi, asm.rsp)
    asm.call(asm.mem(launch))
    asm.add(asm.rsp, frame)
    asm.ret()


# AArch64, AAPCS64: arguments in x0 … x7, then on the stack; x19 … x29 are the caller's; sp is a multiple of 16.


def _launcher_aarch64(asm: Any, constants: list[Label], most: int, together: bool) -> Label:
    state, parallel, thread_number, team_size = constants
    x, sp = asm.x, asm.sp
    worker, alone, refused = asm.forward("worker"), asm.forward("alone"), asm.forward("refused")
    launch = asm.label("launch")
    asm.stp(x[29], x[30], asm.mem(sp, -48).pre)
    asm.cmp(x[2], 1)
    asm.b("le", alone)
    asm.ldr(x[9], state)
    asm.ldr(x[9], asm.mem(x[9]))
    asm.cbz(x[9], refused)
    asm.stp(x[0], x[1], asm.mem(sp, 16))
    asm.str(x[2], asm.mem(sp, 32))
    if together:
        asm.str(asm.xzr, asm.mem(sp, 16 + REFUSED))
    asm.adr(x[0], worker)
    asm.add(x[1], sp, 16)
    asm.mov(x[9], most)
    asm.cmp(x[2], x[9])
    asm.csel(x[2], x[2], x[9], "lt")
    asm.mov(x[3], 0)
    asm.ldr(x[16], parallel)
    asm.blr(x[16])
    if together:
        asm.ldr(x[0], asm.mem(sp, 16 + REFUSED))
    else:
        asm.mov(x[0], 0)
    asm.ldp(x[29], x[30], asm.mem(sp).post(48))
    asm.ret()

    asm.bind(alone)
    asm.mov(x[16], x[0])
    asm.mov(x[0], x[1])
    asm.mov(x[1], 0)
    asm.mov(x[2], 1)
    asm.blr(x[16])
    asm.mov(x[0], 0)
    asm.ldp(x[29], x[30], asm.mem(sp).post(48))
    asm.ret()

    asm.bind(refused)
    asm.mov(x[0], 1)
    asm.ldp(x[29], x[30], asm.mem(sp).post(48))
    asm.ret()

    asm.bind(worker)
    asm.comment("void worker(block): what the runtime calls on every thread of the team")
    _worker_aarch64(asm, thread_number, team_size, together)
    return launch


def _worker_aarch64(asm: Any, thread_number: Label, team_size: Label, together: bool) -> None:
    x, w, sp = asm.x, asm.w, asm.sp
    block, share, step = x[19], x[20], x[21]
    done = asm.forward("done")
    asm.stp(x[29], x[30], asm.mem(sp, -48).pre)
    asm.stp(block, share, asm.mem(sp, 16))
    asm.str(step, asm.mem(sp, 32))
    asm.mov(block, x[0])
    asm.ldr(x[16], team_size)
    asm.blr(x[16])
    asm.mov(w[21], w[0])
    if together:
        granted = asm.forward("granted")
        asm.ldr(x[2], asm.mem(block, 16))
        asm.cmp(step, x[2])
        asm.b("ge", granted)
        asm.mov(x[2], 2)
        asm.str(x[2], asm.mem(block, REFUSED))
        asm.b(done)
        asm.bind(granted)
    asm.ldr(x[16], thread_number)
    asm.blr(x[16])
    asm.mov(w[20], w[0])
    again = asm.label("again")
    asm.ldr(x[2], asm.mem(block, 16))
    asm.cmp(share, x[2])
    asm.b("ge", done)
    asm.ldp(x[16], x[0], asm.mem(block))
    asm.mov(x[1], share)
    asm.blr(x[16])
    asm.add(share, share, step)
    asm.b(again)
    asm.bind(done)
    asm.ldp(block, share, asm.mem(sp, 16))
    asm.ldr(step, asm.mem(sp, 32))
    asm.ldp(x[29], x[30], asm.mem(sp).post(48))
    asm.ret()


def _front_aarch64(asm: Any, launch: Label, words: int) -> None:
    x, sp = asm.x, asm.sp
    frame = 16 * ((words + 1) // 2)
    asm.stp(x[29], x[30], asm.mem(sp, -16).pre)
    asm.sub(sp, sp, frame)
    for place in range(min(words, 6)):
        asm.str(x[2 + place], asm.mem(sp, 8 * place))
    for place in range(6, words):
        asm.ldr(x[9], asm.mem(sp, frame + 16 + 8 * (place - 6)))
        asm.str(x[9], asm.mem(sp, 8 * place))
    asm.mov(x[2], x[1])
    asm.mov(x[1], sp)
    asm.ldr(x[16], launch)
    asm.blr(x[16])
    asm.add(sp, sp, frame)
    asm.ldp(x[29], x[30], asm.mem(sp).post(16))
    asm.ret()
